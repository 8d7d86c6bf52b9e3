"""Gate of every request to a host: a bounded number at once and a smallest gap, over all workers on a database.

A wiki counts what comes from one operator, not from one process. The slots of a host are rows; each is held under a
lease, so one whose holder was killed comes back by itself. Statements are in the part of SQL that SQLite and PostgreSQL
share.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ramet import ClaimLost, Statement, StatementResult, TransactionRefused

if TYPE_CHECKING:
    from ramet import Client

SLOTS = 3
"""Requests to one host at once: what wikis ask of clients."""
LEASE_SECONDS = 20.0
"""Seconds for which a slot is held for a holder that sends nothing. The others wait that long for those of killed
holders.
"""
RENEW_SECONDS = LEASE_SECONDS / 3
LOOK_SECONDS = (0.02, 0.5)
"""Seconds between two looks for a free slot: at first, and at most. The actual wait is half of it or more."""


def slot_table(name: str) -> str:
    """Return the statement that creates a table of slots with this name, which is a constant of the program."""
    return f"""
    CREATE TABLE IF NOT EXISTS {name} (
        host   TEXT NOT NULL,
        slot   INTEGER NOT NULL,
        holder TEXT NOT NULL,
        until  DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (host, slot)
    )"""


DEFINITIONS = (
    """
    CREATE TABLE IF NOT EXISTS wiki_hosts (
        host    TEXT NOT NULL PRIMARY KEY,
        next_at DOUBLE PRECISION NOT NULL
    )""",
    slot_table("wiki_host_slots"),
)
"""Definitions of the gate's tables. Times are Unix seconds."""


class SlotStatements(NamedTuple):
    """Statements on a table of slots: columns ``host``, ``slot``, ``holder`` and ``until``."""

    add: str
    """(host, slot)"""
    take: str
    """(holder, until, host, now, host, now, slots): two that want the same slot at once: the second changes no row."""
    renew: str
    """(until, host, holder)"""
    give_back: str
    """(host, holder)"""


def slot_statements(table: str) -> SlotStatements:
    """Return the statements on a table of this name, which is a constant of the program."""
    return SlotStatements(
        f"INSERT INTO {table} (host, slot, holder, until) VALUES (?, ?, '', 0) ON CONFLICT (host, slot) DO NOTHING",  # noqa: S608
        f"""
        UPDATE {table} SET holder = ?, until = ?
        WHERE host = ? AND until <= ? AND slot = (
            SELECT MIN(slot) FROM {table} WHERE host = ? AND until <= ? AND slot < ?)""",  # noqa: S608
        f"UPDATE {table} SET until = ? WHERE host = ? AND holder = ?",  # noqa: S608
        f"UPDATE {table} SET holder = '', until = 0 WHERE host = ? AND holder = ?",  # noqa: S608
    )


ADD_HOST = "INSERT INTO wiki_hosts (host, next_at) VALUES (?, 0) ON CONFLICT (host) DO NOTHING"
ADD_SLOT, TAKE, RENEW, GIVE_BACK = slot_statements("wiki_host_slots")
PACE = """
    UPDATE wiki_hosts SET next_at = CASE WHEN next_at > ? THEN next_at ELSE ? END + ?
    WHERE host = ? AND EXISTS (SELECT 1 FROM wiki_host_slots WHERE host = ? AND holder = ?)
    RETURNING next_at"""
"""(now, now, gap, host, host, holder): the end of the gap after this request; no row without a slot."""

Transaction = Callable[[Sequence[Statement]], Awaitable[Sequence[StatementResult]]]
"""Runs statements now, all or none: `ctx.transaction` of a handler."""


_transaction: ContextVar[Transaction] = ContextVar("wiki_gate_transaction")


@contextmanager
def through(transaction: Transaction) -> Iterator[None]:
    """Pass the requests made inside, by this asyncio task or those it starts, through a `SharedGate` with this
    transaction.

    A source is shared by many tasks of the engine, and each writes under a claim of its own.
    """
    token = _transaction.set(transaction)
    try:
        yield
    finally:
        _transaction.reset(token)


class Gate(Protocol):
    """Lets requests to a host through."""

    def request(self) -> AbstractAsyncContextManager[None]:
        """Entered when a request may begin, left when its answer is there."""
        ...


class LocalGate:
    """A gate of this process alone, for a program that is the only one."""

    def __init__(
        self,
        requests_per_second: float | None = None,
        *,
        slots: int = SLOTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """At most `slots` at once, and begun at most `requests_per_second` times a second; None: as fast as it goes."""
        self._sleep = sleep
        self._slots = asyncio.Semaphore(slots)
        self._gap = 0.0 if requests_per_second is None else 1 / requests_per_second
        self._next_at = 0.0

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """See `Gate.request`."""
        async with self._slots:
            now = asyncio.get_running_loop().time()
            starts_at = max(now, self._next_at)
            self._next_at = starts_at + self._gap
            if starts_at > now:
                await self._sleep(starts_at - now)
            yield


class SharedGate:
    """A gate for all workers on a database. Its requests are made within `through`."""

    def __init__(
        self,
        client: Client,
        host: str,
        *,
        requests_per_second: float | None = None,
        slots: int = SLOTS,
        rng: random.Random | None = None,
    ) -> None:
        """Guard `host` by the clock of the client's database; the limits as of `LocalGate`, but over all processes."""
        self._host = host
        self._clock = client.clock
        self._gap = 0.0 if requests_per_second is None else 1 / requests_per_second
        self._slots = slots
        # Of this process only a bounded number look for a slot; hundreds of others would look in vain all the time.
        self._in_line = asyncio.Semaphore(slots)
        self._rng = rng or random.Random()
        self._known = False

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """See `Gate.request`.

        Raises:
            LookupError: it is not within `through`.
            ClaimLost: the claim of the handler whose transaction it is was lost.
        """
        transaction = _transaction.get()
        holder = uuid.uuid4().hex
        async with self._in_line:
            try:
                await self._wait_for_turn(transaction, holder)
                async with self._held(transaction, holder):
                    yield
            finally:
                # A handler that lost its claim can write no more: the slot comes back with its lease.
                with suppress(ClaimLost, TransactionRefused):
                    await transaction([Statement(GIVE_BACK, (self._host, holder))])

    @asynccontextmanager
    async def _held(self, transaction: Transaction, holder: str) -> AsyncIterator[None]:
        """Keep the slot for as long as the request takes."""
        renewing = asyncio.create_task(self._renew(transaction, holder))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self, transaction: Transaction, holder: str) -> None:
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            renewal = Statement(RENEW, (self._clock.now() + LEASE_SECONDS, self._host, holder))
            # One that is on its way is not broken off: what comes after the slot was given back changes nothing.
            await asyncio.shield(transaction([renewal]))

    async def _wait_for_turn(self, transaction: Transaction, holder: str) -> None:
        if not self._known:
            slots = [Statement(ADD_SLOT, (self._host, slot)) for slot in range(self._slots)]
            await transaction([Statement(ADD_HOST, (self._host,)), *slots])
            self._known = True
        shortest, longest = LOOK_SECONDS
        pause = shortest
        while (starts_in := await self._take(transaction, holder)) is None:
            await self._clock.sleep(pause * self._rng.uniform(0.5, 1.0))
            pause = min(2 * pause, longest)
        if starts_in > 0:
            await self._clock.sleep(starts_in)

    async def _take(self, transaction: Transaction, holder: str) -> float | None:
        """In how many seconds the request may begin; None: all slots are taken."""
        now = self._clock.now()
        # Those who hold the other slots may begin before this one.
        until = now + LEASE_SECONDS + self._slots * self._gap
        _, paced = await transaction(
            [
                Statement(TAKE, (holder, until, self._host, now, self._host, now, self._slots)),
                Statement(PACE, (now, now, self._gap, self._host, self._host, holder)),
            ]
        )
        if not paced.rows:
            return None
        return float(paced.rows[0][0]) - self._gap - now
