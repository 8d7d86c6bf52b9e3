"""The part of the client for flow control: pauses, limits, breakers, workers."""

from __future__ import annotations

from ramet.engine.kinds.options import at_least_one, checked_policy
from ramet.model.flow.resources import CommitTimes, KindLimit, Policy, Queue, Resource, Unserved, Usage, WorkerSeen
from ramet.store.store import Store


class FlowClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def pause_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim nothing more of a lineage and stop its clocks, for at most 30 days. False when it is not running."""
        return await self.store.pause_lineage(tracking_id, by=by, reason=reason)

    async def resume_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Let a paused lineage go on; its deadlines move by the time it was paused. False when it is not paused."""
        return await self.store.resume_lineage(tracking_id, by=by, reason=reason)

    async def pause_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim nothing more from a queue and stop the clocks of what began in it. False when it is paused already."""
        return await self.store.pause_queue(name, by=by, reason=reason)

    async def resume_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim from a paused queue again. False when it is not paused."""
        return await self.store.resume_queue(name, by=by, reason=reason)

    async def queues(self) -> list[Queue]:
        """Every queue that was ever limited or paused, by name."""
        return await self.store.queues()

    async def limit(
        self, what: str, name: str, concurrency: int | None, *, by: str = "client", reason: str | None = None
    ) -> None:
        """Set how many claims at once a ``queue`` or ``kind`` may have over all workers; None for no limit.

        From then on what an app declares about it changes nothing.

        Raises:
            ValueError: the limit is less than 1, or ``what`` is neither.
        """
        if what not in ("queue", "kind"):
            raise ValueError(f"{what!r} cannot be limited: give 'queue' or 'kind', or use limit_resource")
        await self.store.limit(what, name, at_least_one(f"{what} {name!r}", concurrency), by=by, reason=reason)

    async def limit_resource(self, policy: Policy, *, by: str = "client", reason: str | None = None) -> None:
        """Set all that a resource, or all with a prefix, bear. From then on what an app declares changes nothing.

        :meth:`change_resource` sets some of it, :meth:`reset_limit` takes it back.

        Raises:
            ValueError: a number is out of range.
        """
        await self.store.limit_resource(checked_policy(policy), by=by, reason=reason)

    async def change_resource(
        self, pattern: str, *, by: str = "client", reason: str | None = None, **changes: float | None
    ) -> Policy:
        """Set some of what a resource, or all with a prefix, bear; everything else stays as it is.

        Args:
            changes: fields of :class:`ramet.Policy`, such as ``rate_per_second=2``; None for no limit.

        Returns:
            What holds from now on.

        Raises:
            ValueError: there is no such field, or a number is out of range.
        """
        known = Policy._fields[1:-1]
        for name in changes:
            if name not in known:
                raise ValueError(f"a resource has no {name!r}: give some of {', '.join(known)}")
        checked_policy(Policy(pattern)._replace(**changes))  # type: ignore[arg-type]  # What a field holds is checked there.
        return await self.store.change_resource(pattern, changes, by=by, reason=reason)

    async def reset_limit(self, what: str, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Let what an app declares about a ``queue``, ``kind`` or ``resource`` hold again. False when it does already.

        Raises:
            ValueError: ``what`` is none of these.
        """
        if what not in ("queue", "kind", "resource"):
            raise ValueError(f"{what!r} has no limits: give 'queue', 'kind' or 'resource'")
        return await self.store.reset_limit(what, name, by=by, reason=reason)

    async def kind_limits(self) -> list[KindLimit]:
        """Limits of kinds, by name."""
        return list(await self.store.kind_limits())

    async def policies(self) -> list[Policy]:
        """What resources bear, by pattern."""
        return await self.store.policies()

    async def resources(self, name: str | None = None, *, limit: int = 100) -> list[Resource]:
        """Where resources stand, those with an open breaker first; or the one of this name."""
        return await self.store.resources(name, limit=limit)

    async def open_breaker(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Switch a resource off. False when its breaker is open already."""
        return await self.store.open_breaker(name, by=by, reason=reason)

    async def close_breaker(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Switch a resource on again and end its pause. False when there was neither."""
        return await self.store.close_breaker(name, by=by, reason=reason)

    async def usage(self) -> Usage:
        """Claims that are held now, by queue, kind and resource."""
        return await self.store.usage()

    async def workers(self) -> list[WorkerSeen]:
        """Workers that were seen within a day, with what they serve."""
        return await self.store.workers()

    async def commit_times(self) -> list[CommitTimes]:
        """How long transactions took, by what they were for, as all workers measured them (a quarter of a minute ago).

        Programs that only submit do not hand over what they measured.
        """
        return await self.store.commit_times()

    async def unserved(self) -> list[Unserved]:
        """Kinds and queues with live tasks that no living worker serves.

        Of each at most 10,000 claimable tasks are counted, and of tasks that wait the first 2,000 of each sort.
        """
        return await self.store.unserved()
