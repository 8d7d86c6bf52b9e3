"""A worker that runs every one of its loops twice at once. Nobody should; nothing may come of it."""

from __future__ import annotations

import asyncio
from typing import Any

from ramet.engine.base.claims import watch_ends
from ramet.engine.worker.loops import housekeeping
from ramet.engine.worker.worker import Worker


class DoubledWorker(Worker):
    """Two loops of each sort over one memory: claims, settlements, leases, ends, and everything of housekeeping."""

    async def _claim_loop(self) -> None:
        await _at_once(super()._claim_loop(), super()._claim_loop())

    async def _settle_loop(self) -> None:
        await _at_once(super()._settle_loop(), super()._settle_loop())

    async def _heartbeat_loop(self) -> None:
        """With the second of each loop that :meth:`run` starts without asking this class."""
        ends = watch_ends(self._store, self._claims, self._clock, self._ends_seconds, self._hurry)
        house = [loop() for _, loop in housekeeping(self._app, self._client, self._clock, self._tuning)]
        await _at_once(super()._heartbeat_loop(), super()._heartbeat_loop(), ends, *house)


async def _at_once(*loops: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop)
