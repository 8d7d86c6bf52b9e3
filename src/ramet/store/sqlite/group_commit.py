"""Group commit: one thread owns the only writing connection and commits for everybody who waits.

An idle writer commits a lone verb at once. While one commit is on its way to the disk, verbs gather, and the next
transaction takes them all; 50 ms is the longest that a transaction collects.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from ramet.store.errors import StoreError
from ramet.store.rows.tallies import EndsCallback, report_ends
from ramet.store.session import Session, TransactionRolledBack
from ramet.store.sqlite.session import retry_while_busy

GATHER_SECONDS_MAX = 0.05
TURN_SECONDS = 0.001
"""Between two looks whether another process has ended its transaction."""

Answer = TypeVar("Answer")
Verb = Callable[[Session], Any]


class Transaction(Session, Protocol):
    """A session that can be begun and ended; the writer's side of it."""

    woken: bool

    @property
    def open(self) -> bool: ...
    def begin(self, *, write: bool) -> None: ...
    def start_verb(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class _QueuedVerb(NamedTuple):
    verb: Verb
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class InlineWriter:
    """Runs every verb at once in the caller's thread: for simulation and tests, where order must be decided by them."""

    def __init__(self, session: Transaction, on_wake: Callable[[], None]) -> None:
        self._session = session
        self._on_wake = on_wake
        self.on_ends: EndsCallback | None = None

    async def run(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run one verb in a transaction of its own."""
        return run_alone(self._session, verb, self._on_wake, self.on_ends)

    def stop(self) -> None:
        """Nothing to stop."""


def begin(session: Transaction) -> None:
    """Begin to write, as soon as other processes let it.

    SQLite's own waiting grows to a tenth of a second between two looks, so that a process which always has something
    to write keeps the others out for seconds: looking often, they take turns.

    Raises:
        sqlite3.OperationalError: another process has written for too long.
    """
    retry_while_busy(partial(session.begin, write=True), TURN_SECONDS)


def run_alone(
    session: Transaction,
    verb: Callable[[Session], Answer],
    on_wake: Callable[[], None],
    on_ends: EndsCallback | None = None,
) -> Answer:
    """One verb, one transaction, in the calling thread."""
    begin(session)
    try:
        session.start_verb()
        answer = verb(session)
        session.commit()
    except BaseException:
        session.rollback()
        raise
    report_ends(session, on_ends)
    if session.woken:
        on_wake()
    return answer


class ThreadWriter:
    """The writer thread. Verbs come in from any event loop; their answers go back once they are durable."""

    def __init__(self, session: Transaction, on_wake: Callable[[], None], name: str) -> None:
        self._session = session
        self._on_wake = on_wake
        self._waiting: queue.SimpleQueue[_QueuedVerb | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self.on_ends: EndsCallback | None = None
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb within the next transaction; returns when that is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        with self._closing:
            if self._closed:
                raise StoreError("the database is closed: open it again")
            self._waiting.put(_QueuedVerb(verb, loop, future))
        return await future

    def stop(self) -> None:
        """Finish what waits, then end the thread."""
        with self._closing:
            self._closed = True
            self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        item = self._waiting.get()
        while item is not None:
            item = self._transaction(item)

    def _transaction(self, first: _QueuedVerb) -> _QueuedVerb | None:
        """Commit ``first`` and all that gathers; returns what comes after (None ends the thread)."""
        taken: list[_QueuedVerb] = [first]
        answers: list[tuple[_QueuedVerb, Any, BaseException | None]] = []
        try:
            begin(self._session)
            gather_until = time.monotonic() + GATHER_SECONDS_MAX
            answers.append((first, *self._run(first.verb)))
            while (following := self._gathered(gather_until)) is not None:
                taken.append(following)
                answers.append((following, *self._run(following.verb)))
            self._session.commit()
            report_ends(self._session, self.on_ends)
        except TransactionRolledBack as error:
            # One of them is to blame: each by itself, so that the others are not undone with it.
            self._session.rollback()
            answers = [(first, None, error)] if len(taken) == 1 else []
            for item in taken if len(taken) > 1 else ():
                self._one(item)
        except BaseException as error:
            # Nothing of this transaction is durable: everybody in it learns so.
            self._session.rollback()
            answers = [(item, None, error) for item in taken]
        else:
            if self._session.woken:
                self._on_wake()  # First: with a lone submit a worker waits for the task, while its answer can wait.
        _deliver(answers)
        return self._waiting.get()

    def _one(self, item: _QueuedVerb) -> None:
        """One verb in a transaction of its own."""
        try:
            answer, error = run_alone(self._session, item.verb, self._on_wake, self.on_ends), None
        except BaseException as refused:
            answer, error = None, refused
        _deliver([(item, answer, error)])

    def _gathered(self, until: float) -> _QueuedVerb | None:
        """Return the verbs that wait already, up to a monotonic time. The wish to stop is put back: it is for after the
        transaction.
        """
        if time.monotonic() >= until:
            return None
        try:
            item = self._waiting.get_nowait()
        except queue.Empty:
            return None
        if item is None:
            self._waiting.put(None)
        return item

    def _run(self, verb: Verb) -> tuple[Any, BaseException | None]:
        """One verb inside the common transaction: when it fails, only its own part is undone."""
        try:
            with self._session.savepoint():
                self._session.start_verb()
                return verb(self._session), None
        except Exception as error:
            if not self._session.open:
                raise  # The database undid the whole transaction: what came before is gone as well.
            return None, error


def _deliver(answers: list[tuple[_QueuedVerb, Any, BaseException | None]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, BaseException | None]]] = {}
    for item, answer, error in answers:
        by_loop.setdefault(item.loop, []).append((item.future, answer, error))
    for loop, batch in by_loop.items():
        # A loop that ended meanwhile has no waiting tasks left.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, batch)


def _resolve(answers: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, answer, error in answers:
        if future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)
