"""Count the files, functions and calls of ramet that one operation enters, on a fresh embedded SQLite database.

    python -m benchmarks.files_entered                    # every operation
    python -m benchmarks.files_entered submit claim       # these
    python -m benchmarks.files_entered --list submit      # with the files, and the calls into each

Each operation runs in a database of its own: once to fill caches and to load what is loaded late, then once counted.
The table has for each the files entered, the distinct functions in them, the calls, and the crossings: calls from one
file to another, with code of other packages in between left out.

All threads are seen: the profile function is set before the store starts its thread. Lambdas, generator expressions and
coroutines count like functions; a coroutine or generator that resumes is not another call. Generated code (the
``__init__`` of a dataclass, the ``__new__`` of a named tuple) counts in the file of its class.

Two runs print the same figures, except for ``worker``: its loops run side by side.
"""

from __future__ import annotations

import argparse
import asyncio
import dis
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import ramet
from ramet import App, Claim, Client, Context, Spawn, Worker

ROOT = Path(ramet.__file__).parent
GROUP = 2
"""Tasks that are claimed or settled at once."""
SPAWNS = 3

app = App()


@app.task("plain")
async def plain(context: Context, number: int) -> None:
    """Do nothing."""


class Call(NamedTuple):
    """A function that began to run."""

    file: str
    """Below the watched folder."""
    name: str
    code: int
    """Identity of its code: two functions may have one name."""
    caller: str | None
    """File of the nearest watched function below it on the stack; None where an event loop or a thread called it."""
    thread: int


class Recorder:
    """Records the calls of functions in one folder, in all threads that start while it watches, and in its own."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[Call] = []
        self._folder = f"{folder}{os.sep}"
        self._recording = False
        self._ended_in: int | None = None
        self._files: dict[int, tuple[CodeType, str | None]] = {}
        """By identity of the code, which is kept so that the identity stays its own."""
        self._starts: dict[int, int] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Set the profile function for this thread and those that start inside the block."""
        before = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._entered)
        sys.setprofile(self._entered)
        try:
            yield
        finally:
            self._recording = False
            sys.setprofile(before[0])
            threading.setprofile(before[1])

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the block. Other threads are recorded until :meth:`watching` ends.

        A store's thread wakes others after the caller has its answer: close the store inside of ``watching``.
        """
        self._recording, self._ended_in = True, None
        try:
            yield
        finally:
            self._ended_in = threading.get_ident()

    def _entered(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self._recording:
            return
        thread = threading.get_ident()
        file = self._file(frame)
        if file is not None and thread != self._ended_in and self._begins(frame):
            code = frame.f_code
            self.calls.append(Call(file, code.co_qualname, id(code), self._caller(frame), thread))

    def _caller(self, frame: FrameType) -> str | None:
        below = frame.f_back
        while below is not None:
            file = self._file(below)
            if file is not None:
                return file
            below = below.f_back
        return None

    def _begins(self, frame: FrameType) -> bool:
        """Tell a call from a resumption: only a call stands at the first RESUME of its code."""
        code = frame.f_code
        start = self._starts.get(id(code))
        if start is None:
            resumes = (step.offset for step in dis.get_instructions(code) if step.opname == "RESUME")
            start = self._starts[id(code)] = next(resumes)
        return frame.f_lasti <= start

    def _file(self, frame: FrameType) -> str | None:
        """Return the file of a frame's code below the folder; None where it is elsewhere."""
        code = frame.f_code
        known = self._files.get(id(code))
        if known is None:
            path = _source(frame)
            inside = path is not None and path.startswith(self._folder)
            known = self._files[id(code)] = code, path[len(self._folder) :] if inside and path is not None else None
        return known[1]


def _source(frame: FrameType) -> str | None:
    """Return the path of the file that a frame's code is from; for generated code that of the class it is made for."""
    code = frame.f_code
    if not code.co_filename.startswith("<"):
        return code.co_filename
    path = frame.f_globals.get("__file__")
    if path is None and code.co_argcount:  # of a named tuple: no module, but the class is the first argument
        first = frame.f_locals.get(code.co_varnames[0])
        owner = first if isinstance(first, type) else type(first)
        path = getattr(sys.modules.get(owner.__module__), "__file__", None)
    return path


class Profile(NamedTuple):
    """The calls of one operation."""

    operation: str
    calls: Sequence[Call]

    @property
    def files(self) -> Mapping[str, int]:
        """The files entered, with the calls into each."""
        return dict(sorted(Counter(call.file for call in self.calls).items()))

    @property
    def functions(self) -> int:
        """Distinct functions entered."""
        return len({call.code for call in self.calls})

    @property
    def crossings(self) -> int:
        """Calls from one file to another."""
        return sum(call.caller not in (None, call.file) for call in self.calls)


class CountedStore:
    """A store of which one verb can be recorded without the client's part before and after it."""

    def __init__(self, store: Any, recorder: Recorder) -> None:
        self._store = store
        self._recorder = recorder
        self.counted: str | None = None
        """The verb that is recorded."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return partial(self._run, found) if name == self.counted else found

    async def _run(self, verb: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
        with self._recorder.recording():
            return await verb(*arguments, **named)


class Bench(NamedTuple):
    """A fresh database, and the means to record."""

    client: Client
    store: CountedStore
    recorder: Recorder

    @asynccontextmanager
    async def counted(self, verb: str | None = None) -> AsyncIterator[None]:
        """Record the block, or only this verb of the store in it."""
        # The store's thread wakes others after it has answered: with the answer to the next verb, that is over.
        await self.client.cancel("none", by="benchmark")
        await self.client.settings.refresh(0.0)  # They are read again every other second: not in the block.
        if verb is not None:
            self.store.counted = verb
            yield
        else:
            with self.recorder.recording():
                yield

    async def claimed(self, first: int, tasks: int) -> list[Claim]:
        """Submit tasks with numbers of their own, and claim them."""
        await self.submit(first, tasks)
        return await self.client.claim(plain, tasks)

    async def submit(self, first: int, tasks: int) -> None:
        """Submit tasks with numbers of their own."""
        for number in range(first, first + tasks):
            await self.client.submit(plain, number)

    async def complete(self, claims: Sequence[Claim]) -> None:
        """Settle these claims together."""
        await self.client.settle_many((claim, None) for claim in claims)


async def _get(bench: Bench) -> None:
    submitted = await bench.client.submit(plain, 0)
    await bench.client.get(submitted.id)
    async with bench.counted():
        await bench.client.get(submitted.id)


async def _submit(bench: Bench) -> None:
    await bench.submit(0, 1)
    async with bench.counted():
        await bench.client.submit(plain, 1)


async def _claim(bench: Bench) -> None:
    await bench.complete(await bench.claimed(0, GROUP))
    await bench.submit(GROUP, GROUP)
    async with bench.counted("claim"):
        await bench.client.claim(plain, GROUP)


async def _settle(bench: Bench) -> None:
    await bench.complete(await bench.claimed(0, GROUP))
    claims = await bench.claimed(GROUP, GROUP)
    async with bench.counted("settle"):
        await bench.complete(claims)


async def _spawn(bench: Bench) -> None:
    [first, second] = await bench.claimed(0, 2)
    await first.complete(spawns=[Spawn(plain, number) for number in range(2, 2 + SPAWNS)])
    async with bench.counted("settle"):
        await second.complete(spawns=[Spawn(plain, number) for number in range(2 + SPAWNS, 2 + 2 * SPAWNS)])


async def _worker(bench: Bench) -> None:
    await bench.submit(0, 1)
    await Worker(app, bench.client, until_idle=True).run()
    await bench.submit(1, 1)
    async with bench.counted():
        await Worker(app, bench.client, until_idle=True).run()


class Operation(NamedTuple):
    """An operation that can be profiled."""

    title: str
    run: Callable[[Bench], Awaitable[None]]


OPERATIONS = {
    "get": Operation("client.get", _get),
    "submit": Operation("client.submit of one task", _submit),
    "claim": Operation(f"store.claim of {GROUP} tasks", _claim),
    "settle": Operation(f"store.settle of {GROUP} completions", _settle),
    "spawn": Operation(f"store.settle of one with {SPAWNS} spawns", _spawn),
    "worker": Operation("a worker that runs one task", _worker),
}


def profile(name: str) -> Profile:
    """Run one of :data:`OPERATIONS` in a database of its own and return its calls."""
    operation, recorder = OPERATIONS[name], Recorder(ROOT)

    async def run(place: Path) -> None:
        async with app.client(place / "ramet.db") as opened:
            store: Any = CountedStore(opened.store, recorder)
            await operation.run(Bench(Client(app.registry, store, app.limits), store, recorder))

    with tempfile.TemporaryDirectory(prefix="ramet-files-") as folder, recorder.watching():
        asyncio.run(run(Path(folder)))
    return Profile(operation.title, recorder.calls)


def report(profiles: Sequence[Profile], *, listed: bool) -> str:
    """Return a table, and with ``listed`` the files of each operation."""
    lines = ["| operation | files | functions | calls | crossings |", "| --- | ---: | ---: | ---: | ---: |"]
    for found in profiles:
        counts = len(found.files), found.functions, len(found.calls), found.crossings
        lines.append(f"| {found.operation} | {' | '.join(map(str, counts))} |")
    for found in profiles if listed else ():
        lines += ["", f"{found.operation}:", *(f"{calls:6} {file}" for file, calls in found.files.items())]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, profile, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=f"of {', '.join(OPERATIONS)}; default: all")
    parser.add_argument("--list", action="store_true", help="the files of each operation as well")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.operations if name not in OPERATIONS]
    if unknown:
        parser.error(f"unknown operation {unknown[0]}: choose from {', '.join(OPERATIONS)}")
    print(report([profile(name) for name in options.operations or OPERATIONS], listed=options.list))


if __name__ == "__main__":
    main()
