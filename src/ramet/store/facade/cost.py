"""Money, as methods of a store; :mod:`ramet.store.base_cost` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.model.money import Actual, Booked, Costs, Reserved, ReserveRequest
from ramet.store.facade.runs import Verbs
from ramet.store.rows import money as costs
from ramet.store.verbs import fenced as reserving


class CostVerbs(Verbs):
    """See :class:`ramet.store.base_cost.CostStore`."""

    async def reserve(self, wanted: Sequence[ReserveRequest]) -> list[Reserved]:
        return await self._write_beside(partial(reserving.reserve, wanted=wanted))

    async def settle_reserved(self, actuals: Sequence[Actual]) -> list[Booked]:
        return await self._write_beside(partial(costs.settle_reserved, actuals=actuals))

    async def costs(self, tracking_id: str | None = None, *, limit: int = 100) -> Costs:
        return await self._read(partial(costs.costs, tracking_id=tracking_id, limit=limit))
