"""One reading of the database for whoever asks for metrics: shared, seldom, and in bounded time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ramet import Alert, Client, Costs, Lineage, StoreError, Usage
from ramet.engine.base.logs import own_logger
from ramet.model.flow.queues import CommitTimes
from ramet.model.lineage.lineage import OPEN
from ramet.model.tallies import Tallies
from ramet.model.views import Present

log = own_logger("ramet.metrics")

FRESH_SECONDS = 5.0
"""The database is read no oftener, however many ask."""
READ_SECONDS_MAX = 10.0
"""Prometheus gives a scrape ten seconds by default."""
LINEAGES_MAX = 100
ALERTS_MAX = 1_000


class Snapshot(NamedTuple):
    """What one reading saw."""

    tallies: Tallies
    present: Present
    usage: Usage
    costs: Costs
    lineages: Sequence[Lineage]
    """The newest that are open."""
    alerts: Sequence[Alert]
    commit_times: Sequence[CommitTimes]
    seconds: float = 0.0
    """How long the reading took."""


async def read_snapshot(client: Client) -> Snapshot:
    """Read everything once.

    Raises:
        StoreError: the database cannot be used.
    """
    began = time.monotonic()
    read = Snapshot(
        await client.tallies(),
        await client.present(),
        await client.usage(),
        await client.costs(limit=1),
        await client.lineages(states=[state.value for state in OPEN], limit=LINEAGES_MAX),
        await client.alerts(limit=ALERTS_MAX),
        await client.commit_times(),
    )
    return read._replace(seconds=time.monotonic() - began)


class Snapshots:
    """Readings of one database, each told to all who ask within five seconds. For one event loop."""

    def __init__(
        self,
        client: Client,
        *,
        seconds_max: float = READ_SECONDS_MAX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is read before :meth:`get`."""
        self._client = client
        self._seconds_max = seconds_max
        self._monotonic = monotonic
        self._reading = asyncio.Lock()
        self._read_at: float | None = None
        self._latest: Snapshot | None = None

    async def get(self) -> Snapshot | None:
        """The latest reading, at most five seconds old; None when the database did not answer in time."""
        async with self._reading:
            if self._read_at is None or self._monotonic() - self._read_at >= FRESH_SECONDS:
                self._latest = await self._read()
                self._read_at = self._monotonic()
            return self._latest

    async def _read(self) -> Snapshot | None:
        try:
            async with asyncio.timeout(self._seconds_max):
                return await read_snapshot(self._client)
        except (StoreError, TimeoutError) as error:
            log.warning("the database cannot be read for metrics: %s", str(error) or "no answer in time")
            return None
