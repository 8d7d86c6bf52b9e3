"""A worker that runs every one of its loops twice at once. Nobody should; nothing may come of it."""

from __future__ import annotations

import asyncio
from typing import Any

from ramet.engine.maintenance import maintain
from ramet.engine.worker import Worker


class DoubledWorker(Worker):
    """Two loops that claim, two that settle, two that keep leases alive and two of maintenance, over one memory."""

    async def _claim_loop(self) -> None:
        await _twice(super()._claim_loop(), super()._claim_loop())

    async def _settle_loop(self) -> None:
        await _twice(super()._settle_loop(), super()._settle_loop())

    async def _heartbeat_loop(self) -> None:
        maintaining = maintain(self._store, self._clock, self._tuning.sweep_seconds)
        await _twice(super()._heartbeat_loop(), super()._heartbeat_loop(), maintaining)


async def _twice(*loops: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop)
