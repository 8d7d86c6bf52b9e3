"""PostgreSQL: who runs the verbs that write, what is run again, and what became of a commit whose answer was lost.

A few threads with a connection each. Verbs of one name that wait while a transaction is on its way are taken together
by the next one (submits, settlements): one commit, and their rows are locked in one order.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import psycopg

from ramet.store.backoff import Backoff
from ramet.store.errors import StoreError, StoreFull, StoreUncertain, StoreUnreachable
from ramet.store.postgres.errors import (
    CommitUnknown,
    ConnectionLost,
    PartitionMissing,
    WriteRaced,
    first_line,
    is_gone,
    is_race,
    new_writer,
    read_commit_marker,
    taken_row,
    write_commit_marker,
)
from ramet.store.postgres.partitions import Partitions
from ramet.store.postgres.session import Hook, Mode, PostgresSession
from ramet.store.rows.tallies import EndsCallback, report_ends
from ramet.store.scan_floor import ScanFloors
from ramet.store.session import Row, Session

THREADS = 4
TRIES = 12
"""Times that a verb that meets others is run before it is given up."""
PAUSE_SECONDS_MAX = 1.0
PATIENCE_SECONDS = 30.0
"""Seconds for which a verb waits for a database that cannot be reached."""

Answer = TypeVar("Answer")
Verb = Callable[[Session], Any]
Together = Callable[[Session, Sequence[Any]], Sequence[Any]]
"""A verb with an answer to each item, whose calls may be made as one."""


class WriterConnection:
    """One connection of a writer, with the row that tells what it committed."""

    def __init__(
        self, open_connection: Callable[[], psycopg.Connection[Row]], clock: Callable[[], float] | None,
        hook: Hook | None, fence_base: int, *, floors: ScanFloors | None = None, room: Partitions | None = None,
    ) -> None:  # fmt: skip
        self._open = open_connection
        self._clock = clock
        self._hook = hook
        self._fence_base = fence_base
        self._floors = floors
        self._room = room
        self._backoff = Backoff(first_seconds=0.05, seconds_max=PAUSE_SECONDS_MAX)
        self.stopping = threading.Event()
        """Event; when set, a verb that does not work at once is given up."""
        self._session: PostgresSession | None = None
        self._id = new_writer()
        self._commits = 0
        self._taken: set[str] = set()
        self.on_ends: EndsCallback | None = None

    def run(self, verb: Callable[[Session], Answer], mode: Mode) -> tuple[Answer, bool]:
        """Run a verb in one transaction, as often as other transactions or a lost connection make necessary.

        Returns:
            The answer, and whether workers are to be woken.

        Raises:
            StoreError: the database was away for too long, is full, or refused a statement.
        """
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        tried = 0
        self._taken.clear()
        while True:
            try:
                return self._attempt(verb, mode, last_try=tried >= TRIES - 1)
            except PartitionMissing:
                continue
            except WriteRaced as race:
                tried += 1  # The last try raises its error unchanged.
                if not isinstance(race.__cause__, psycopg.errors.UniqueViolation):
                    self._pause()  # The transaction that took a unique row has committed already.
            except ConnectionLost as lost:
                tried = 0
                if self._gives_up(give_up_at):
                    raise StoreUnreachable(
                        f"the database is away ({lost}): see that it runs and can be reached, then try again"
                    ) from lost

    def _attempt(self, verb: Callable[[Session], Answer], mode: Mode, *, last_try: bool) -> tuple[Answer, bool]:
        session = self._connected()
        session.last_try = last_try
        session.taken = self._taken
        try:
            if self._room is not None and self._room.short:
                self._room.make(session.connection)
            session.begin(mode, self._id)
            answer = verb(session)
        except BaseException as error:
            session.rollback()
            raise self._meaning(error, session, last_try) from error
        woken = session.woken
        if session.unchanged:
            session.end()
            return answer, woken
        try:
            self._commit(session)
            self._backoff.succeeded()
        except psycopg.Error as error:  # Refused: a constraint that waits for the end, a full disk.
            session.rollback()
            raise self._meaning(error, session, last_try) from error
        report_ends(session, self.on_ends)
        return answer, woken

    def _meaning(self, error: BaseException, session: PostgresSession, last_try: bool) -> BaseException:
        if isinstance(error, psycopg.Error) and is_gone(error, session.connection):
            self._drop()
            return ConnectionLost(first_line(error))
        if is_race(error, self._taken) and not last_try:
            if isinstance(error, psycopg.errors.UniqueViolation):
                self._taken.add(taken_row(error))
            return WriteRaced()
        return error

    def _commit(self, session: PostgresSession) -> None:
        wanted = self._commits + 1
        try:
            session.commit(write_commit_marker(self._id, wanted))
        except CommitUnknown as error:
            self._drop()
            if not self._look(wanted):
                raise ConnectionLost(first_line(error.__cause__)) from error
        self._commits = wanted

    def _look(self, wanted: int) -> bool:
        """Did the transaction commit whose answer never came? Waits until it has ended, either way."""
        give_up_at = time.monotonic() + 2 * PATIENCE_SECONDS
        while True:
            try:
                return self._connected_and_seen()[1] >= wanted
            except (psycopg.Error, ConnectionLost) as error:
                self._drop()
                if self._gives_up(give_up_at):
                    self._id = new_writer()  # The result of that commit must not be taken for the next one's.
                    raise StoreUncertain(
                        "the database went away during a commit, and did not come back: whether this "
                        "step took effect is not known; look before you repeat it"
                    ) from error

    def _gives_up(self, at: float) -> bool:
        """Return True when there is no more time to wait for the database; else a pause has passed."""
        return self.stopping.is_set() or time.monotonic() >= at or self._pause()

    def _pause(self) -> bool:
        return self.stopping.wait(self._backoff.failed())

    def _connected(self) -> PostgresSession:
        return self._connected_and_seen()[0]

    def _connected_and_seen(self) -> tuple[PostgresSession, int]:
        """Return the session, and on a new connection what the writer's row says; it waits for a transaction that has
        it.
        """
        if self._session is not None and not self._session.connection.closed:
            return self._session, self._commits
        try:
            connection = self._open()
        except psycopg.Error as error:
            raise ConnectionLost(first_line(error)) from error
        try:
            commits = self._ask(connection)
        except BaseException as error:
            # Where a server makes every transaction repeatable, the first look may be refused as too late.
            lost = is_race(error) or (isinstance(error, psycopg.Error) and is_gone(error, connection))
            connection.close()
            if lost:
                raise ConnectionLost(first_line(error)) from error
            raise
        self._session = PostgresSession(connection, self._clock, self._hook)
        self._session.fence_base = self._fence_base
        self._session.floors = self._floors
        self._session.room = self._room
        return self._session, commits

    def _ask(self, connection: psycopg.Connection[Row]) -> int:
        answers = connection.execute(read_commit_marker(self._id, self._commits), prepare=False)
        answers.nextset()
        [(commits,)] = answers.fetchall()
        return int(commits)

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def close(self) -> None:
        """Take the row away and close the connection."""
        if self._session is not None and not self._session.connection.closed:
            with contextlib.suppress(psycopg.Error):
                self._session.connection.execute("DELETE FROM ramet_writers WHERE id = %s", (self._id,))
        self._drop()


class _QueuedVerb(NamedTuple):
    verb: Verb | None
    mode: Mode
    together: Together | None
    items: Sequence[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class Writers:
    """The writing threads. Verbs come in from any event loop; their answers go back once they are durable.

    A thread and its connection are made when all others are busy, and the one that was used last is used next: who
    only submits has one. Of a verb whose calls go together one transaction is under way, while the others gather.
    """

    def __init__(self, links: Sequence[WriterConnection], on_wake: Callable[[], None], name: str) -> None:
        self._links = links
        self._on_wake = on_wake
        self._name = name
        self._waiting: deque[_QueuedVerb] = deque()
        self._under_way: set[Together] = set()
        self._lock = threading.Lock()
        self._idle: list[threading.Condition] = []
        self._threads: list[threading.Thread] = []
        self._closed = False

    async def run(self, verb: Callable[[Session], Answer], mode: Mode) -> Answer:
        """Run a verb in a transaction of its own; returns when that is durable."""
        found: Answer = await self._put(verb, mode, None, ())
        return found

    async def run_together(self, verb: Together, items: Sequence[Any]) -> Sequence[Any]:
        """Run a verb over these items, perhaps together with others' in one transaction; the answers to these."""
        found: Sequence[Any] = await self._put(None, "beside", verb, items)
        return found

    async def _put(self, verb: Verb | None, mode: Mode, together: Together | None, items: Sequence[Any]) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._closed:
                raise StoreError("the database is closed: open it again")
            self._waiting.append(_QueuedVerb(verb, mode, together, items, loop, future))
            if together not in self._under_way:
                self._call_one()
        return await future

    def _call_one(self) -> None:
        if self._idle:
            self._idle.pop().notify()
        elif len(self._threads) < len(self._links):
            link = self._links[len(self._threads)]
            name = f"{self._name} {len(self._threads)}"
            self._threads.append(threading.Thread(target=self._serve, args=(link,), name=name, daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        """Finish what waits, then end the threads."""
        with self._lock:
            self._closed = True
            for link in self._links:
                link.stopping.set()
            while self._idle:
                self._idle.pop().notify()
        for thread in self._threads:
            thread.join()

    def _serve(self, link: WriterConnection) -> None:
        called = threading.Condition(self._lock)
        while taken := self._take(called):
            together = taken[0].together
            if together is None or len(taken) == 1:
                for item in taken:
                    self._one(link, item)
            else:
                self._several(link, taken)
            if together is not None:
                with self._lock:
                    self._under_way.discard(together)
        link.close()

    def _take(self, called: threading.Condition) -> list[_QueuedVerb]:
        """Return the next verb, with those that go together with it; empty when all is done."""
        with self._lock:
            while True:
                first = self._runnable()
                if first is not None:
                    taken = self._gathered(first)
                    if self._runnable() is not None:
                        self._call_one()
                    return taken
                if self._closed and not self._waiting:
                    return []
                self._idle.append(called)
                called.wait()

    def _runnable(self) -> _QueuedVerb | None:
        return next((item for item in self._waiting if item.together not in self._under_way), None)

    def _gathered(self, first: _QueuedVerb) -> list[_QueuedVerb]:
        if first.together is None:
            self._waiting.remove(first)
            return [first]
        self._under_way.add(first.together)
        taken = [item for item in self._waiting if item.together is first.together]
        self._waiting = deque(item for item in self._waiting if item.together is not first.together)
        return taken

    def _one(self, link: WriterConnection, item: _QueuedVerb) -> None:
        try:
            answer, woken = link.run(_verb_of(item), item.mode)
        except BaseException as error:
            _deliver(item, None, error)
            return
        if woken:
            self._on_wake()  # First: with a lone submit a worker waits for the task, while its answer can wait.
        _deliver(item, answer, None)

    def _several(self, link: WriterConnection, taken: Sequence[_QueuedVerb]) -> None:
        together = taken[0].together
        assert together is not None
        items = [each for item in taken for each in item.items]
        try:
            answers, woken = link.run(lambda session: together(session, items), "beside")
        except (StoreUnreachable, StoreUncertain, StoreFull) as error:
            # Nothing that any of them asked for is the reason, and what may have been done is not repeated.
            for item in taken:
                _deliver(item, None, error)
            return
        except Exception:
            # One of them is refused: each by itself, so that the others are not.
            for item in taken:
                self._one(link, item)
            return
        if woken:
            self._on_wake()
        at = 0
        for item in taken:
            _deliver(item, answers[at : at + len(item.items)], None)
            at += len(item.items)


def _verb_of(item: _QueuedVerb) -> Verb:
    if item.verb is not None:
        return item.verb
    together = item.together
    assert together is not None
    return lambda session: together(session, item.items)


def _deliver(item: _QueuedVerb, answer: Any, error: BaseException | None) -> None:
    # A loop that ended meanwhile has no waiting tasks left.
    with contextlib.suppress(RuntimeError):
        item.loop.call_soon_threadsafe(_resolve, item.future, answer, error)


def _resolve(future: asyncio.Future[Any], answer: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(answer)


class InlineConnection:
    """Runs every verb at once in the caller's thread: for simulation and tests, where order must be decided by them."""

    def __init__(self, link: WriterConnection, on_wake: Callable[[], None]) -> None:
        self._link = link
        self._on_wake = on_wake

    async def run(self, verb: Callable[[Session], Answer], mode: Mode) -> Answer:
        """Run one verb in a transaction of its own."""
        answer, woken = self._link.run(verb, mode)
        if woken:
            self._on_wake()
        return answer

    async def run_together(self, verb: Together, items: Sequence[Any]) -> Sequence[Any]:
        """Run one verb in a transaction of its own."""
        return await self.run(lambda session: verb(session, items), "beside")

    def stop(self) -> None:
        """Close the connection."""
        self._link.close()
