"""The part of the Store protocol for flow control; see :mod:`ramet.store.base`."""

from __future__ import annotations

from typing import Protocol

from ramet.model.pausing import Queue


class FlowStore(Protocol):
    """Pauses, limits of concurrency and rate, breakers, and who serves what."""

    async def pause_lineage(self, tracking_id: str, *, by: str, reason: str | None = None) -> bool:
        """Claim nothing more of a lineage, from this commit on, and stop its clocks for at most 30 days (DESIGN §8).

        Handlers that run may settle and spawn; what they spawn waits. False when it is not running.
        """
        ...

    async def resume_lineage(self, tracking_id: str, *, by: str, reason: str | None = None) -> bool:
        """Claim its tasks again; its deadlines move by the time it was paused. False when it is not paused."""
        ...

    async def pause_queue(self, name: str, *, by: str, reason: str | None = None) -> bool:
        """Claim nothing more from a queue, from this commit on, and stop the clocks of what began in it.

        A lineage goes by the queue of its first root, a task by its own. False when it is paused already.
        """
        ...

    async def resume_queue(self, name: str, *, by: str, reason: str | None = None) -> bool:
        """Claim from the queue again. False when it is not paused."""
        ...

    async def queues(self) -> list[Queue]:
        """Every queue that was ever limited or paused, by name."""
        ...
