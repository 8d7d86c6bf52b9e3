"""Flow control, as methods of a store; :mod:`ramet.store.base_flow` has the promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ramet.model.flow.queues import CommitTimes, Declared, KindLimit, Queue, Unserved, Usage, WorkerSeen
from ramet.model.flow.resources import Policy, Resource, Told
from ramet.model.flow.shares import Taken, TakeRequest
from ramet.store.errors import StoreUncertain
from ramet.store.facade.runs import Verbs
from ramet.store.maintenance import path_followup
from ramet.store.reads import flow
from ramet.store.rows import commit_times
from ramet.store.rows import workers as serving
from ramet.store.state import path_changes
from ramet.store.verbs import limits, pause, rates, resources


class FlowVerbs(Verbs):
    """See :class:`ramet.store.base_flow.FlowStore`."""

    async def pause_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(pause.pause_lineage, tracking_id=tracking_id, by=by, reason=reason))

    async def resume_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(pause.resume_lineage, tracking_id=tracking_id, by=by, reason=reason))

    async def pause_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(pause.pause_queue, name=name, by=by, reason=reason))

    async def resume_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(pause.resume_queue, name=name, by=by, reason=reason))

    async def declare(self, declared: Declared) -> None:
        await self._write(partial(limits.declare, declared=declared))

    async def limit(self, what: str, name: str, concurrency: int | None, *, by: str, reason: str | None = None) -> None:
        await self._write(partial(limits.limit, what=what, name=name, concurrency=concurrency, by=by, reason=reason))

    async def limit_resource(self, policy: Policy, *, by: str, reason: str | None = None) -> None:
        await self._write(partial(limits.limit_resource, policy=policy, by=by, reason=reason))

    async def change_resource(
        self, pattern: str, changes: Mapping[str, Any], *, by: str, reason: str | None = None
    ) -> Policy:
        return await self._write(
            partial(limits.change_resource, pattern=pattern, changes=changes, by=by, reason=reason)
        )

    async def reset_limit(self, what: str, name: str, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(limits.reset_limit, what=what, name=name, by=by, reason=reason))

    async def kind_limits(self) -> Sequence[KindLimit]:
        return await self._read(limits.kind_limits)

    async def root_limits(self, kinds: Sequence[str], connection: object = None) -> dict[str, str]:
        verb = partial(limits.root_limits, kinds=kinds)
        return await self._read(verb) if connection is None else self._within(connection, verb)

    async def policies(self) -> list[Policy]:
        return await self._read(resources.policies)

    async def resources(self, name: str | None = None, *, limit: int = 100) -> list[Resource]:
        return await self._read(partial(resources.resources, name=name, limit=limit))

    async def open_breaker(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(resources.open_breaker, name=name, by=by, reason=reason))

    async def close_breaker(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(resources.close_breaker, name=name, by=by, reason=reason))

    async def take(self, wanted: Sequence[TakeRequest]) -> list[Taken]:
        return [*await self._write_together(rates.take, wanted)]

    async def adapt(self, name: str, told: Told) -> None:
        if await self._read(partial(rates.adapted, name=name, told=told)) is not None:
            await self._write_beside(partial(rates.adapt, name=name, told=told))

    async def usage(self) -> Usage:
        return await self._read(resources.in_use)

    async def acknowledge(self, pairs: Sequence[tuple[int, int]]) -> int:
        return await self._write_beside(partial(path_changes.let_go, pairs=pairs))

    async def tend_paths(self) -> bool:
        if not await self._read(path_followup.wanted):
            return False
        return await self._write_beside(path_followup.tend)

    async def see_worker(self, worker: WorkerSeen) -> None:
        await self._handed_over(partial(serving.see_worker, worker=worker))

    async def forget_worker(self, name: str) -> None:
        await self._handed_over(partial(serving.forget_worker, name=name))

    async def _handed_over(self, verb: Callable[..., None]) -> None:
        """Run it with how long commits of this process took since the last time."""
        measured = self._timer.take()
        try:
            await self._write_beside(partial(verb, measured=measured))
        except StoreUncertain:
            raise  # It may be stored: a second time would count commits that nobody made.
        except BaseException:
            self._timer.give_back(measured)
            raise

    async def commit_times(self) -> list[CommitTimes]:
        return await self._read(commit_times.commit_times)

    async def workers(self) -> list[WorkerSeen]:
        return await self._read(serving.workers)

    async def unserved(self) -> list[Unserved]:
        return await self._read(flow.unserved)

    async def now(self) -> float:
        return await self._read(lambda session: session.now)

    async def queues(self) -> list[Queue]:
        return await self._read(pause.queues)
