"""The client that a handler has: everything but what would widen its own lineage (DESIGN §5, §8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ramet.engine.client import Client
from ramet.engine.lineages import LimitsGiven
from ramet.engine.registry import Handler
from ramet.model.limits import GENERATIONS_MAX, Limits
from ramet.model.lineage import Lineage
from ramet.model.retry import Permanent
from ramet.store.answers import Submitted
from ramet.store.base_persons import Reoffered
from ramet.store.requests import NewLineage


class OwnLineage(Permanent):
    """Raised by ``ctx.client``: a handler wants what only an operator may do to its lineage, or begins one too many."""


class OwnClient(Client):
    """See :attr:`ramet.Context.client`. Shares everything with the client that it is made of."""

    __slots__ = ("_own",)

    def __init__(self, client: Client, tracking_id: str) -> None:
        self.__dict__ = client.__dict__
        self._own = tracking_id

    def _refuse_act(self, act: str, tracking_id: str) -> None:
        if tracking_id == self._own:
            raise OwnLineage(f"a handler cannot {act} its own lineage {tracking_id}: an operator does")

    async def raise_limits(self, tracking_id: str, **options: Any) -> Lineage:
        self._refuse_act("raise limits of", tracking_id)
        return await super().raise_limits(tracking_id, **options)

    async def reoffer(self, tracking_id: str, **options: Any) -> Reoffered:
        self._refuse_act("offer blocked spawns again in", tracking_id)
        return await super().reoffer(tracking_id, **options)

    async def resume_lineage(self, tracking_id: str, **options: Any) -> bool:
        self._refuse_act("resume", tracking_id)
        return await super().resume_lineage(tracking_id, **options)

    async def revive(self, task_ids: Iterable[str], **options: Any) -> list[str]:
        ids = list(task_ids)
        for task_id in ids:
            task = await self.store.get(task_id)
            self._refuse_act("retry tasks of", "" if task is None else task.tracking_id)
        return await super().revive(ids, **options)

    async def _bounds(
        self, kinds: Iterable[str | Handler], limits: LimitsGiven | None, may_raise: bool, connection: object
    ) -> Limits:
        if may_raise:
            raise OwnLineage("a handler cannot raise what was declared: an operator does, so leave may_raise out")
        return await super()._bounds(kinds, limits, may_raise, connection)

    async def _submit(self, lineages: Sequence[NewLineage], connection: Any) -> list[Submitted]:
        row = await self.store.lineage(self._own)
        generation = 1 if row is None else row.generation + 1
        if generation > GENERATIONS_MAX:
            raise OwnLineage(
                f"generation {generation} is over {GENERATIONS_MAX}: lineages that begin lineages have to end; "
                "a schedule begins one again and again"
            )
        return await super()._submit([item._replace(generation=generation) for item in lineages], connection)
