"""The part of the Store protocol for flow control; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ramet.model.flow.queues import CommitTimes, Declared, KindLimit, Queue, Unserved, Usage, WorkerSeen
from ramet.model.flow.resources import Policy, Resource, Told
from ramet.model.flow.shares import Taken, TakeRequest


class FlowStore(Protocol):
    """Pauses, limits of concurrency and rate, breakers, and who serves what."""

    async def pause_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim nothing more of a lineage, from this commit on, and stop its clocks for at most 30 days (DESIGN §8).

        Handlers that run may settle and spawn; what they spawn waits. False when it is not running.
        """
        ...

    async def resume_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim its tasks again; its deadlines move by the time it was paused. False when it is not paused."""
        ...

    async def pause_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim nothing more from a queue, from this commit on, and stop the clocks of what began in it.

        A lineage goes by the queue of its first root, a task by its own. False when it is paused already.
        """
        ...

    async def resume_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim from the queue again. False when it is not paused."""
        ...

    async def declare(self, declared: Declared) -> None:
        """Store what an app says about its queues, kinds and resources. What a person set stays."""
        ...

    async def limit(self, what: str, name: str, concurrency: int | None, *, by: str, reason: str | None = None) -> None:
        """Set how many claims at once a ``queue`` or ``kind`` may have over all workers; None for no limit.

        Counted from live leases when tasks are claimed, never exceeded, and stronger than an app's declaration.
        """
        ...

    async def limit_resource(self, policy: Policy, *, by: str, reason: str | None = None) -> None:
        """Set what a resource, or all with a prefix, bear; stronger than an app's declaration."""
        ...

    async def change_resource(
        self, pattern: str, changes: Mapping[str, Any], *, by: str, reason: str | None = None
    ) -> Policy:
        """Set some of what a resource, or all with a prefix, bear; all else stays as it is. Returns what holds now."""
        ...

    async def reset_limit(self, what: str, name: str, *, by: str, reason: str | None = None) -> bool:
        """Let what an app declares about a ``queue``, ``kind`` or ``resource`` hold again; False when it does."""
        ...

    async def kind_limits(self) -> Sequence[KindLimit]:
        """Limits of kinds, by name."""
        ...

    async def root_limits(self, kinds: Sequence[str], connection: object = None) -> dict[str, str]:
        """What apps declared about lineages whose root is of one of these kinds: JSON by name, where they did.

        Args:
            connection: asked instead of one of the store's own, as for :meth:`submit_within`, in the caller's thread.
        """
        ...

    async def policies(self) -> list[Policy]:
        """What resources bear, by pattern."""
        ...

    async def resources(self, name: str | None = None, *, limit: int = 100) -> list[Resource]:
        """Where resources stand, those with an open breaker first; or the one of this name."""
        ...

    async def open_breaker(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Switch a resource off. False when its breaker is open already."""
        ...

    async def close_breaker(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Switch a resource on again and end its pause. False when there was neither."""
        ...

    async def take(self, wanted: Sequence[TakeRequest]) -> list[Taken]:
        """Take from the buckets of resources under claims, each request all or nothing; durable when it returns.

        Over any window of ``t`` seconds no bucket gives more than its burst (or the largest amount, if that is more)
        and its rate times ``t``, whoever asks. Of a bucket that is scarce, lineages get equal shares. A stale claim
        takes nothing. A resource without a rate gives any amount, and nothing is written.
        """
        ...

    async def adapt(self, name: str, told: Told) -> None:
        """What a server's response says about its limits: from now on nobody is faster. Writes only what changes."""
        ...

    async def usage(self) -> Usage:
        """Claims that are held now, by queue, kind and resource."""
        ...

    async def acknowledge(self, pairs: Sequence[tuple[int, int]]) -> int:
        """The worker runs these ``(seq, fence)`` no longer: a slot that was held on after an end from outside is free.

        Returns how many were held on. Unknown pairs change nothing.
        """
        ...

    async def tend_paths(self) -> bool:
        """Do a batch of what is left to do about paths: tickets for what is due, looks at who waits after an end.

        For a worker with nothing to claim; maintenance does the same. Returns whether there was anything.
        """
        ...

    async def see_worker(self, worker: WorkerSeen) -> None:
        """Note that a worker lives and what it serves; said again every few seconds.

        How long commits of this process took since it was last said is stored with it.
        """
        ...

    async def forget_worker(self, name: str) -> None:
        """The worker ended in good order; what its process measured since it was last seen is stored."""
        ...

    async def commit_times(self) -> list[CommitTimes]:
        """How long commits took, for every verb, as all workers measured them; they never fall."""
        ...

    async def workers(self) -> list[WorkerSeen]:
        """Workers that were seen within a day, the newest last."""
        ...

    async def unserved(self) -> list[Unserved]:
        """Kinds and queues with live tasks that no living worker serves. Counts every live task."""
        ...

    async def now(self) -> float:
        """The store's clock, which judges leases, rates and pauses: Unix seconds."""
        ...

    async def queues(self) -> list[Queue]:
        """Every queue that was ever limited or paused, by name."""
        ...
