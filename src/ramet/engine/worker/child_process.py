"""One handler process, as its supervisor sees it: started afresh, spoken to in JSON frames, and known by its slots."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ramet.engine.base.current_tasks import SPARE_CALLS
from ramet.engine.base.work import FRAME_HEAD, Work, frame, outcomes_in, settlement_in, unframe, works_out
from ramet.engine.settings.live import LiveSettings
from ramet.store.answers import SettleResult
from ramet.store.loggers import own_logger
from ramet.store.processes.running_notes import RunningNote, new_notes
from ramet.store.requests import Settlement

log = own_logger("ramet.worker")

READY_SECONDS_MAX = 60.0
BLOCKED_AT_START = frozenset({signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
"""Held back while a child starts, until it has said that it leaves them to the supervisor."""
END_SECONDS_MAX = 5.0
"""Most seconds that a child may take to close what its handlers opened."""
LAST_WORDS_SECONDS_MAX = 1.0
"""Seconds after its end for which to wait for the end of its stream, which a process that it started may keep open."""

_numbers = count(1)


class StartCutShort(RuntimeError):
    """The handlers' process was killed before it was ready: that says nothing about the app, and may be tried again."""


class ChildListener(Protocol):
    """Receiver of a child's events."""

    def done(self, child: ChildProcess, settlements: Sequence[Settlement]) -> None:
        """Tasks ended."""
        ...

    def started(self, claims: Sequence[tuple[int, int]]) -> None:
        """Report that the handlers of these claims are called; only where the app has functions for that event."""
        ...

    def stopped(self, child: ChildProcess, claims: Sequence[tuple[int, int]]) -> None:
        """Report that the handlers of these cancelled claims have ended."""
        ...

    async def call(self, settlement: Settlement) -> SettleResult:
        """Settle something for a running handler now."""
        ...

    async def ask(self, errand: str, *arguments: Any) -> Any:
        """Run an errand for a handler."""
        ...

    def died(self, child: ChildProcess, why: str) -> None:
        """Handle the death of the child, which was not ended here."""
        ...


class ChildShape(NamedTuple):
    """Shape of a child: what it can run at a time."""

    calls: int
    width: int
    """Tasks in one call, at most."""
    alone: bool
    """One call, which may be limited in its memory."""

    @property
    def places(self) -> int:
        """Of notes: of what runs, and of what has ended and is on its way to the supervisor."""
        return self.calls * self.width + (self.width if self.alone else SPARE_CALLS)


class ChildPlan(NamedTuple):
    """Common plan of all children of a worker."""

    target: str
    database: str
    lease_seconds: float
    worker: str
    """The worker's name, with which the names of its slots begin."""
    slots_folder: Path | None
    live: LiveSettings | None = None
    """Settings in force, sent to a child together with the next tasks."""
    ahead_seconds: float = 0.0
    """Seconds by which the database's clock is ahead."""


class ChildProcess:
    """A child process that runs handlers, from its start to its end.

    It writes the claim in each slot into shared memory before it runs it, so that after its death the supervisor
    knows which tasks were running, and which never began.
    """

    def __init__(self, plan: ChildPlan, owner: ChildListener, shape: ChildShape) -> None:
        self._plan = plan
        self._owner = owner
        self._shape = shape
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._slots, self._slots_handle = new_notes(plan.slots_folder, f"{plan.worker}.{next(_numbers)}", shape.places)
        self._drained: asyncio.Future[list[tuple[int, int]]] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._sent_settings: object = None
        """The settings that it knows of."""
        self._asked_at: float | None = None
        """Moment at which it was asked whether it answers, while it has said nothing since."""
        self._wanted = True
        """False once the supervisor ends it: then its end is not a death."""
        self.how: str | None = None
        """It died, in words."""
        self.where: dict[tuple[int, int], str | None] = {}
        """Places of plain handlers when their time was over."""

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return None if self._process is None else self._process.pid

    @property
    def alive(self) -> bool:
        """False when it is gone, or to be ended."""
        return self._wanted

    def running(self) -> list[RunningNote]:
        """Return the claims whose handlers run in it; after its death, those that ran."""
        return self._slots.running()

    def forget(self) -> None:
        """Remove its slots: everybody who would have to read them has."""
        self._slots.remove()

    # --- its start

    async def start(self) -> None:
        """Start it and wait until it has loaded the app and opened its lifespan.

        Raises:
            RuntimeError: that failed; the child has printed why.
            StartCutShort: it was killed, or took too long, before that was known.
        """
        self._ready = asyncio.get_running_loop().create_future()
        ours, theirs = socket.socketpair()
        try:
            self._process = self._launch(theirs.fileno())
        finally:
            theirs.close()
            os.close(self._slots_handle)
        reader, self._writer = await asyncio.open_connection(sock=ours)
        # Not as an argument: everybody may list those, and an address has a password in it.
        self._send(["database", self._plan.database, self._plan.ahead_seconds])
        self._listening = asyncio.create_task(self._listen(reader))
        try:
            await self._loaded(self._ready, self._process)
        except BaseException:
            await self.kill()
            self.forget()
            raise

    async def _loaded(self, ready: asyncio.Future[None], process: subprocess.Popen[bytes]) -> None:
        try:
            # Not wait_for: before Python 3.12 that forgets a cancellation that comes with the answer, and a caller that
            # learns "cut short" starts another one.
            async with asyncio.timeout(READY_SECONDS_MAX):
                await ready
        except (TimeoutError, ConnectionError) as error:
            await self.end()
            if process.returncode < 0:
                why = f"the handler process was ended by signal {-process.returncode} while it started"
                raise StartCutShort(why) from error
            target = self._plan.target
            raise RuntimeError(f"the handler process could not start {target}: see its message above") from error

    def _launch(self, link: int) -> subprocess.Popen[bytes]:
        plan = self._plan
        command = [sys.executable, "-m", "ramet.engine.worker.child", plan.target]
        command += [str(n) for n in (link, self._slots_handle, plan.lease_seconds, *map(int, self._shape))]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_AT_START)
        try:
            handles = (link, self._slots_handle)
            return subprocess.Popen(command, pass_fds=handles, stdin=subprocess.DEVNULL, env=_child_environment())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    # --- what it says

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                head = await reader.readexactly(FRAME_HEAD)
                body = await reader.readexactly(int.from_bytes(head, "big"))
                self._heard(unframe(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception:
            log.exception("the handler process %s cannot be understood", self.pid)
        self._silent()

    def _heard(self, message: list[Any]) -> None:
        self._asked_at = None
        match message:
            case ["pong"]:
                pass
            case ["done", columns, others]:
                self._owner.done(self, outcomes_in(columns, others))
            case ["call", number, row]:
                self._answer_later(number, self._owner.call(settlement_in(row)))
            case ["ask", number, errand, arguments]:
                self._answer_later(number, self._owner.ask(errand, *arguments))
            case ["stopped", claims]:
                self._owner.stopped(self, [(seq, fence) for seq, fence in claims])
            case ["started", claims]:
                self._owner.started([(seq, fence) for seq, fence in claims])
            case ["drained", rows]:
                if self._drained is not None and not self._drained.done():
                    self._drained.set_result([(seq, fence) for seq, fence in rows])
            case ["late", claims, where]:
                self.where.update(((seq, fence), where) for seq, fence in claims)
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

    def _silent(self) -> None:
        """Handle a closed end: it died, or was asked to end."""
        if self._writer is not None:
            self._writer.close()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result([])
        assert self._ready is not None
        assert self._process is not None
        if not self._ready.done():
            self._ready.set_exception(ConnectionError("the handler process ended before it was ready"))
        elif self._wanted:
            self._wanted = False
            self._process.kill()  # It may have closed its end and live on; nothing of it is wanted any more.
            self.how = f"the handler process {self.pid} ended with {self._process.wait()}"
            self._owner.died(self, self.how)

    def look(self) -> None:
        """Notice an end that its stream does not tell, because a process that it started holds it open."""
        if self._wanted and self._process is not None and self._process.poll() is not None:
            asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS_MAX, self._hang_up)

    def _hang_up(self) -> None:
        if self._wanted and self._listening is not None:
            self._listening.cancel()
            self._silent()

    def silent_seconds(self, now: float) -> float:
        """Ask whether it answers, and for how long it has not; its loop answers, whatever its handlers wait for."""
        if self._asked_at is None:
            self._asked_at = now
            self._send(["ping"])
        return now - self._asked_at

    def excuse(self) -> None:
        """Excuse it from answering: a handler may hold its interpreter."""
        self._asked_at = None

    # --- messages to it

    def _send(self, message: list[Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(message))

    def run(self, works: Sequence[Work]) -> None:
        """Run these, as slots become free."""
        live = self._plan.live
        if live is not None and live.stored is not self._sent_settings:
            self._sent_settings = live.stored
            self._send(["settings", self._sent_settings])
        self._send(["run", works_out(works)])

    def cancel(self, claims: Sequence[tuple[int, int]]) -> None:
        """Stop the handlers of these claims, and begin none of them."""
        self._send(["cancel", claims])

    async def drain(self) -> list[tuple[int, int]]:
        """Begin nothing more; returns the claims that were not begun, none when it dies first."""
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()
            if self._writer is None or self._writer.is_closing():
                self._drained.set_result([])
            self._send(["drain"])
        return await asyncio.shield(self._drained)

    async def end(self) -> None:
        """Ask it to end, and kill it when it does not. All that it had said by then is heard."""
        self._wanted = False
        self._send(["end"])
        if self._process is not None:
            try:
                await asyncio.to_thread(self._process.wait, END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
        await self._ended()

    async def kill(self) -> None:
        """End it now, whatever it does. All that it had said by then is heard."""
        self._wanted = False
        if self._process is not None:
            self._process.kill()
        await self._ended()

    async def _ended(self) -> None:
        if self._process is not None:
            await asyncio.to_thread(self._process.wait)
        if self._listening is not None:
            await asyncio.wait({self._listening}, timeout=LAST_WORDS_SECONDS_MAX)
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()


async def try_to_start(child: ChildProcess, broken: Callable[[RuntimeError], None]) -> bool:
    """Start a child; that it was killed meanwhile is seen by ``child.alive``, and worth another one.

    Returns:
        False when none can be started: ``broken`` knows why.
    """
    try:
        await child.start()
    except StartCutShort as error:
        log.error("%s; starting another", error)
    except RuntimeError as error:
        log.error("%s", error)
        broken(error)
        return False
    return True


def _child_environment() -> dict[str, str]:
    """Return the environment of a child, which must find the app where this process found it, working directory
    included.
    """
    path = os.pathsep.join(item or os.getcwd() for item in sys.path)
    # By default the C library keeps a heap for each thread that allocates, and gives little of it back: handlers run in
    # many threads, of which one at a time runs Python.
    return {"MALLOC_ARENA_MAX": "2", **os.environ, "PYTHONPATH": path}
