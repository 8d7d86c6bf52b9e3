"""Where handlers run, as the supervisor sees it: in its own loop, or in a child process that may die alone."""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ramet.engine.clock import Clock
from ramet.engine.runner import Runner
from ramet.engine.work import FRAME_HEAD, Work, frame, settlement_in, unframe
from ramet.store.base import Settled, Settlement

if TYPE_CHECKING:
    from ramet.engine.app import App
    from ramet.engine.client import Client

log = logging.getLogger("ramet.worker")

SLOT_BYTES = 8
READY_SECONDS_MAX = 60.0
BLOCKED_AT_START = frozenset({signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
"""Held back while a child starts, until it has said that it leaves them to the supervisor."""
END_SECONDS_MAX = 5.0
"""How long a child may take to close what its handlers opened."""


class StartCutShort(RuntimeError):
    """The handlers' process was killed before it was ready: that says nothing about the app, and may be tried again."""


class Supervisor(Protocol):
    """What handlers tell the worker."""

    def outcomes(self, settlements: Sequence[Settlement]) -> None:
        """Tasks ended."""
        ...

    async def call(self, settlement: Settlement) -> Settled:
        """A running handler wants something settled now."""
        ...

    async def ask(self, errand: str, *arguments: Any) -> Any:
        """A handler wants an errand of :mod:`ramet.engine.errands` run."""
        ...

    def died(self, running: frozenset[int], why: str) -> None:
        """The handlers' process is gone; these tasks were in its slots."""
        ...


class Handlers(Protocol):
    """A place where handlers run."""

    async def start(self, supervisor: Supervisor) -> None:
        """Be ready to run tasks."""
        ...

    def run(self, works: Sequence[Work]) -> None:
        """Run these, as slots become free."""
        ...

    def cancel(self, seqs: frozenset[int]) -> None:
        """Stop these: their claims are lost."""
        ...

    async def drain(self) -> list[tuple[int, int]]:
        """Begin nothing more; returns (seq, fence) of what was not begun."""
        ...

    async def stop(self) -> None:
        """End everything now."""
        ...


class InProcess:
    """Handlers in the worker's own event loop: for embedding, tests and debugging."""

    def __init__(
        self, app: App, client: Client, *, concurrency: int, lease_seconds: float, rng: random.Random, clock: Clock
    ) -> None:
        self._app = app
        self._client = client
        self._supervisor: Supervisor | None = None
        self._delivered: list[Settlement] = []
        self._runner = Runner(
            app.registry, self, concurrency=concurrency, lease_seconds=lease_seconds, rng=rng, clock=clock
        )

    async def start(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._runner.start()

    def run(self, works: Sequence[Work]) -> None:
        self._runner.add(works)

    def cancel(self, seqs: frozenset[int]) -> None:
        self._runner.cancel(seqs)

    async def drain(self) -> list[tuple[int, int]]:
        return [(work.seq, work.fence) for work in self._runner.take_unstarted()]

    async def stop(self) -> None:
        await self._runner.stop()
        self._app.end()

    # The runner's port.

    def deliver(self, settlement: Settlement) -> None:
        if not self._delivered:
            asyncio.get_running_loop().call_soon(self._flush)
        self._delivered.append(settlement)

    def _flush(self) -> None:
        delivered, self._delivered = self._delivered, []
        assert self._supervisor is not None
        self._supervisor.outcomes(delivered)

    async def call(self, settlement: Settlement) -> Settled:
        assert self._supervisor is not None
        return await self._supervisor.call(settlement)

    async def ask(self, errand: str, *arguments: Any) -> Any:
        assert self._supervisor is not None
        return await self._supervisor.ask(errand, *arguments)

    def client(self) -> Client:
        return self._client


class ChildProcess:
    """Handlers in a child process, started afresh (never forked) and spoken to in JSON frames over a socket pair.

    The child writes the number of the task in each slot into shared memory before it runs it, so that after its death
    the supervisor knows which tasks were running, and which never began.
    """

    def __init__(self, target: str, database: str, *, concurrency: int, lease_seconds: float) -> None:
        self._target = target
        self._database = database
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._slots: mmap.mmap | None = None
        self._supervisor: Supervisor | None = None
        self._drained: asyncio.Future[list[tuple[int, int]]] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._waiting: list[Work] = []
        """Claimed while there was no child to take them."""

    @property
    def pid(self) -> int | None:
        """The child's process id."""
        return None if self._process is None else self._process.pid

    async def start(self, supervisor: Supervisor) -> None:
        """Start the child and wait until it has loaded the app.

        Raises:
            RuntimeError: the app cannot be loaded; the child has printed why.
            StartCutShort: it was killed, or took too long, before that was known.
        """
        self._supervisor = supervisor
        self._ready = asyncio.get_running_loop().create_future()
        ours, theirs = socket.socketpair()
        shared = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the two processes
        shared.truncate(self._concurrency * SLOT_BYTES)
        self._slots = mmap.mmap(shared.fileno(), self._concurrency * SLOT_BYTES)
        command = [sys.executable, "-m", "ramet.engine.child", self._target, self._database]
        command += [str(n) for n in (theirs.fileno(), shared.fileno(), self._concurrency, self._lease_seconds)]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_AT_START)
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - our own interpreter and module
                command, pass_fds=(theirs.fileno(), shared.fileno()), stdin=subprocess.DEVNULL, env=_child_environment()
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        shared.close()
        reader, self._writer = await asyncio.open_connection(sock=ours)
        self._listening = asyncio.create_task(self._listen(reader))
        try:
            await asyncio.wait_for(self._ready, READY_SECONDS_MAX)
        except (TimeoutError, ConnectionError) as error:
            process = self._process
            await self.stop()
            if process.returncode < 0:
                why = f"the handler process was ended by signal {-process.returncode} while it started"
                raise StartCutShort(why) from error
            raise RuntimeError(f"the handler process could not load {self._target}: see its message above") from error
        waiting, self._waiting = self._waiting, []
        if waiting:
            self.run(waiting)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                head = await reader.readexactly(FRAME_HEAD)
                body = await reader.readexactly(int.from_bytes(head, "big"))
                self._heard(unframe(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            self._gone()

    def _heard(self, message: list[Any]) -> None:
        assert self._supervisor is not None
        match message:
            case ["done", rows]:
                self._supervisor.outcomes([settlement_in(row) for row in rows])
            case ["call", number, row]:
                self._answer_later(number, self._supervisor.call(settlement_in(row)))
            case ["ask", number, errand, arguments]:
                self._answer_later(number, self._supervisor.ask(errand, *arguments))
            case ["drained", rows]:
                if self._drained is not None and not self._drained.done():
                    self._drained.set_result([(seq, fence) for seq, fence in rows])
            case ["ready"]:
                assert self._ready is not None
                self._ready.set_result(None)
            case _:
                raise ValueError(f"the handler process sent {message!r:.200}")

    def _answer_later(self, number: int, work: Coroutine[Any, Any, Any]) -> None:
        answering = asyncio.create_task(self._answer(number, work))
        self._calls.add(answering)
        answering.add_done_callback(self._calls.discard)

    async def _answer(self, number: int, work: Coroutine[Any, Any, Any]) -> None:
        try:
            self._send(["settled", number, await work])
        except Exception as error:
            log.warning("a handler's call failed: %s", error)
            self._send(["failed", number, f"{type(error).__name__}: {error}"])

    def _send(self, message: list[Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(message))

    def _gone(self) -> None:
        """The child closed its end: it died, or was told to stop."""
        if self._writer is not None:
            self._writer.close()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result([])
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(ConnectionError("the handler process ended before it was ready"))
            return
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # It may have closed its end and live on; nothing of it is wanted any more.
        code = process.wait()
        assert self._slots is not None
        numbers = memoryview(self._slots).cast("q")
        running = frozenset(number for number in numbers if number)
        numbers.release()
        assert self._supervisor is not None
        self._supervisor.died(running, f"the handler process ended with {code}")

    def run(self, works: Sequence[Work]) -> None:
        if self._process is None or self._ready is None or not self._ready.done():
            self._waiting += works
        else:
            self._send(["run", works])

    def cancel(self, seqs: frozenset[int]) -> None:
        self._waiting = [work for work in self._waiting if work.seq not in seqs]
        self._send(["cancel", sorted(seqs)])

    async def drain(self) -> list[tuple[int, int]]:
        waiting, self._waiting = [(work.seq, work.fence) for work in self._waiting], []
        if self._process is None:
            return waiting
        self._drained = asyncio.get_running_loop().create_future()
        self._send(["drain"])
        return waiting + await self._drained

    async def stop(self) -> None:
        """Ask the child to end, and kill it when it does not. What it ran is not settled by it any more."""
        process, self._process = self._process, None
        if process is not None:
            self._send(["end"])
            try:
                await asyncio.to_thread(process.wait, END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                await asyncio.to_thread(process.wait)
        if self._listening is not None:
            self._listening.cancel()
        if self._writer is not None:
            self._writer.close()


def _child_environment() -> dict[str, str]:
    """The child must find the app where this process found it, working directory included."""
    path = os.pathsep.join(item or os.getcwd() for item in sys.path)
    return {**os.environ, "PYTHONPATH": path}
