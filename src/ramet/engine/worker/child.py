"""The handler process: loads the app, runs handlers, and asks its supervisor for everything durable.

Started by :class:`ramet.engine.worker.child_process.ChildProcess`. It ends when the supervisor's end of the socket
closes, so no handler outlives its worker.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import random
import signal
import socket
import sys
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, NoReturn

from ramet.engine.app.app import App
from ramet.engine.app.loading import load_app
from ramet.engine.base import logs
from ramet.engine.base.clock import SystemClock
from ramet.engine.base.current_tasks import PendingSlotNotes
from ramet.engine.base.error_text import describe_error
from ramet.engine.base.observe import observer
from ramet.engine.base.retrying import AWAY
from ramet.engine.base.work import (
    FRAME_HEAD,
    Work,
    frame,
    outcomes_out,
    settled_in,
    settlement_out,
    unframe,
    unsettled,
    works_in,
)
from ramet.engine.client.client import Client
from ramet.engine.running.invocation import invoke
from ramet.engine.running.runner import Runner
from ramet.engine.worker.child_process import BLOCKED_AT_START, ChildShape
from ramet.store import StoreError, open_store
from ramet.store.answers import SettleResult
from ramet.store.loggers import own_logger
from ramet.store.processes.running_notes import RunningNotes
from ramet.store.requests import Settlement

log = own_logger("ramet.worker")


_AWAY = {error.__name__: error for error in AWAY}
"""Errors that a handler can tell from a statement that was refused."""


class _Supervised:
    """The runner's port over the socket."""

    def __init__(self, writer: asyncio.StreamWriter, app: App, slots: RunningNotes) -> None:
        self._writer = writer
        self._app = app
        self.database = ""
        """Address of the database; it comes before any work."""
        self._client: Client | None = None
        self._delivered: list[Settlement] = []
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._number = 0
        self._due = False
        """True when delivered outcomes are about to be sent."""
        self._draining: asyncio.Task[None] | None = None
        self.notes = PendingSlotNotes(slots, self._flush, self._flush_soon)
        writer.transport.set_write_buffer_limits(high=0)

    def send(self, message: list[Any]) -> None:
        self._writer.write(frame(message))

    def deliver(self, settlement: Settlement) -> None:
        self._delivered.append(settlement)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._due = False
        delivered, self._delivered = self._delivered, []
        if delivered:
            try:
                self.send(["done", *outcomes_out(delivered)])
            except Exception:
                # One of them cannot be sent, or not all at once: the others must not wait for ever because of it.
                for item in delivered:
                    self._send_alone(item)
        self.notes.leaving()
        if not self._writer.transport.get_write_buffer_size():
            self.notes.gone()
        elif self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._gone_when_drained())

    async def _gone_when_drained(self) -> None:
        await self._writer.drain()
        if not self._writer.transport.get_write_buffer_size():
            self.notes.gone()

    def _send_alone(self, item: Settlement) -> None:
        try:
            self.send(["done", *outcomes_out([item])])
        except Exception as error:
            try:
                self.send(["done", *outcomes_out([unsettled(item, "what it asked for cannot be sent", error)])])
            except BaseException:
                os._exit(1)  # Not even that: its note is left, and counts as a loss.

    def stopped(self, claim: tuple[int, int]) -> None:
        self.send(["stopped", [claim]])

    def started(self, works: Sequence[Work]) -> None:
        """Have the supervisor tell of it: all events of an app come in one process."""
        self.send(["started", [(work.seq, work.fence) for work in works]])

    async def call(self, settlement: Settlement) -> SettleResult:
        return settled_in(await self._asked("call", settlement_out(settlement)))

    async def ask(self, errand: str, *arguments: Any) -> Any:
        return await self._asked("ask", errand, arguments)

    async def _asked(self, what: str, *message: Any) -> Any:
        self._number += 1
        number = self._number
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        self.send([what, number, *message])
        try:
            return await answer
        finally:
            del self._calls[number]

    def answered(self, number: int, answer: Any) -> None:
        if number in self._calls and not self._calls[number].done():
            self._calls[number].set_result(answer)

    def failed(self, number: int, why: str) -> None:
        if number in self._calls and not self._calls[number].done():
            name, _, text = why.partition(": ")
            known = _AWAY.get(name)
            self._calls[number].set_exception(StoreError(why) if known is None else known(text))

    invoke = staticmethod(invoke)

    def client(self) -> Client:
        if self._client is None:
            self._client = Client(self._app.registry, open_store(self.database, create=False), self._app.limits)
        return self._client


class _Frames:
    """Reads frame by frame. A handler that cancels whatever runs in its loop takes no part of one away."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._length: int | None = None

    async def read(self) -> bytes:
        while True:
            try:
                if self._length is None:
                    self._length = int.from_bytes(await self._reader.readexactly(FRAME_HEAD), "big")
                body = await self._reader.readexactly(self._length)
            except asyncio.CancelledError:
                continue
            self._length = None
            return body


async def _serve(
    app: App, link: socket.socket, slots: RunningNotes, *, shape: ChildShape, lease_seconds: float
) -> None:
    reader, writer = await asyncio.open_connection(sock=link)
    port, clock, frames = _Supervised(writer, app, slots), SystemClock(), _Frames(reader)
    opened = AsyncExitStack()
    try:
        lifespan = await opened.enter_async_context(app.opened())
    except RuntimeError as error:
        sys.stderr.write(f"ramet: {error}\n")
        os._exit(2)
    runner = Runner(
        app.registry,
        port,
        concurrency=shape.calls,
        lease_seconds=lease_seconds,
        clock=clock,
        rng=random.Random(),
        started=port.notes,
        width=shape.width,
        patient=True,
        alone=shape.alone,
        on_late=lambda claims, where: port.send(["late", claims, where]),
        on_start=port.started if "start" in app.registry.listeners else None,
        lifespan=lifespan,
    )
    runner.start()
    port.send(["ready"])
    while True:
        try:
            body = await frames.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            # The supervisor is gone: nothing that runs here could be settled any more.
            os._exit(1)
        match unframe(body):
            case ["ping"]:
                port.send(["pong"])
            case ["run", columns]:
                runner.add(works_in(columns))
            case ["database", address, ahead_seconds]:
                port.database, clock.ahead_seconds = address, ahead_seconds
            case ["settings", stored]:
                app.registry.live.update(stored)
            case ["settled", number, row]:
                port.answered(number, row)
            case ["failed", number, why]:
                port.failed(number, why)
            case ["cancel", claims]:
                runner.cancel([(seq, fence) for seq, fence in claims])
            case ["end"]:
                await _end(runner, opened)
            case ["drain"]:
                port.send(["drained", [(work.seq, work.fence) for work in runner.take_unstarted()]])
            case message:
                raise ValueError(f"the supervisor sent {message!r:.200}")


async def _end(runner: Runner, opened: AsyncExitStack) -> NoReturn:
    """Close what this process opened, and end it; threads of handlers that still run must not hold it."""
    await runner.stop()
    try:
        await opened.aclose()
    except Exception:
        log.exception("what the app closes at the end of this process failed")
    if (watching := observer()) is not None:
        watching.close()
    with suppress(OSError, ValueError):  # Closed, or nothing reads it any more.
        sys.stdout.flush()
    os._exit(0)


def _leave_signals_to_the_supervisor() -> None:
    """Leave signals to the supervisor: a terminal sends Ctrl-C and its end to both processes, and only the supervisor
    decides what they mean.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Not ignored: programs that a handler starts would inherit that, and could not be terminated.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_AT_START)


PR_SET_PDEATHSIG = 1


def _die_with_the_supervisor() -> None:
    """Make this process die with its supervisor, where the system can: a handler that holds the interpreter would not
    see the link close.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main(arguments: list[str]) -> int:
    """Run until the supervisor goes away; returns only when the app cannot be loaded."""
    target, link_fd, slots_fd, lease, *shape = arguments
    _die_with_the_supervisor()
    _leave_signals_to_the_supervisor()
    logs.inherit()
    try:
        app = load_app(target)
    except Exception as error:
        sys.stderr.write(f"ramet: cannot load {target}: {type(error).__name__}: {error}\n")
        return 2
    gc.freeze()  # The app's loaded objects stay: looking for garbage in them again and again costs every task.
    slots, link = RunningNotes(int(slots_fd)), socket.socket(fileno=int(link_fd))
    for handle in (int(slots_fd), int(link_fd)):
        os.set_inheritable(handle, False)  # A program that a handler starts must not hold the link open.
    calls, width, alone = map(int, shape)
    wanted = ChildShape(calls, width, bool(alone))
    os.register_at_fork(after_in_child=partial(_cut_off, link.fileno()))
    _run_for_ever(_serve(app, link, slots, shape=wanted, lease_seconds=float(lease)))


def _cut_off(link: int) -> None:
    """In a copy that a handler forked: it must neither take what is sent to the original nor speak in its name."""
    ours, theirs = socket.socketpair()
    theirs.close()
    os.dup2(ours.detach(), link, inheritable=False)


def _run_for_ever(serving: Coroutine[Any, Any, None]) -> NoReturn:
    """Run the loop until this process ends itself. An exception of a handler's own task that would end the loop
    (`SystemExit`, `KeyboardInterrupt`), or a handler that stops it, ends nothing: code that waits for that task gets
    the error.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(serving)
    while not task.done():
        try:
            loop.run_until_complete(task)
        except BaseException as error:
            log.error("something that a handler left behind stopped the loop (%s): it goes on", describe_error(error))
    os._exit(1)  # None of it can go on without its messages; threads of handlers must not hold the process.


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
