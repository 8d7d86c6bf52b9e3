"""What people do beyond single tasks, as methods of a store; :mod:`ramet.store.base_persons` has the promises."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from ramet.model.lineage.deny_list import StopEntry
from ramet.model.lineage.lineage import Lineage
from ramet.model.operations import Act, BulkAct
from ramet.store.base_persons import Cursor, Reoffered
from ramet.store.facade.runs import Verbs
from ramet.store.rows import deny_list as stop_list
from ramet.store.rows import settings as acts
from ramet.store.rows import spawns
from ramet.store.verbs import operate
from ramet.store.verbs import raise_limits as raising
from ramet.store.verbs import reoffer as reoffering


class PersonsVerbs(Verbs):
    """See :class:`ramet.store.base_persons.PersonsStore`."""

    async def acts(self, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None) -> list[Act]:
        return await self._read(partial(acts.acts, tracking_id=tracking_id, limit=limit, before=before))

    async def exclude(self, task_ids: Sequence[str], *, by: str, reason: str | None = None) -> list[str]:
        return await self._write(partial(operate.exclude, task_ids=task_ids, by=by, reason=reason))

    async def act_on_tasks(
        self,
        act: BulkAct,
        task_ids: Sequence[str],
        *,
        by: str,
        reason: str | None = None,
        detail: Mapping[str, Any],
        extend_seconds: float | None = None,
    ) -> list[str]:
        if act is BulkAct.RETRY:
            await self._follow(task_ids)
        return await self._write(
            partial(
                operate.act_on_tasks,
                act=act,
                task_ids=task_ids,
                by=by,
                reason=reason,
                detail=detail,
                extend_seconds=extend_seconds,
            )
        )

    async def raise_limits(
        self,
        tracking_id: str,
        limits: Mapping[str, int],
        *,
        by: str,
        reason: str | None = None,
        extend_seconds: float | None = None,
        allow_shapes: Sequence[str] = (),
    ) -> Lineage:
        return await self._write(
            partial(
                raising.raise_limits,
                tracking_id=tracking_id,
                limits=limits,
                extend_seconds=extend_seconds,
                by=by,
                reason=reason,
                allow_shapes=allow_shapes,
            )
        )

    async def reoffer(
        self,
        tracking_id: str,
        *,
        by: str,
        reasons: Collection[str] = (),
        reason: str | None = None,
        limit: int = 1_000,
        after: Cursor | None = None,
        kind: str | None = None,
        key: str | None = None,
        shape: str | None = None,
    ) -> Reoffered:
        await self._follow((), [tracking_id])
        return await self._write(
            partial(
                reoffering.reoffer,
                tracking_id=tracking_id,
                reasons=reasons,
                by=by,
                reason=reason,
                limit=limit,
                after=after,
                only=reoffering.Only(kind, key, shape),
            )
        )

    async def edges(self, tracking_id: str, parent_ids: Sequence[str]) -> dict[str, list[str]]:
        return await self._read(partial(spawns.edges, tracking_id=tracking_id, parent_ids=parent_ids))

    async def stop_list(self) -> list[StopEntry]:
        return await self._read(stop_list.entries)

    async def stop(self, entry_type: str, value: str, *, by: str, reason: str | None = None) -> tuple[StopEntry, bool]:
        return await self._write(partial(stop_list.add, entry_type=entry_type, value=value, by=by, reason=reason))

    async def unstop(self, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(stop_list.remove, entry_type=entry_type, value=value, by=by, reason=reason))
