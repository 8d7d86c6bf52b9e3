"""The part of the Store protocol for money; see :mod:`ramet.store.base`. Amounts are whole nano-dollars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ramet.model.money import Actual, Booked, Costs, Reserved, ReserveRequest


class CostStore(Protocol):
    """Reserve before a call, settle after it (DESIGN §8)."""

    async def reserve(self, wanted: Sequence[ReserveRequest]) -> list[Reserved]:
        """Keep money for claims, each by itself; durable when it returns.

        Spent and reserved together never pass the ceiling of the lineage, of the UTC day or of the database. A
        request is refused when its claim is stale or its lineage over, and where a ceiling has no room: then the
        refusal is stored among the lineage's blocks (promise I8). Repeating a request reserves once.
        """
        ...

    async def settle_reserved(self, actuals: Sequence[Actual]) -> list[Booked]:
        """Book what reserved calls really cost. Never refused: not after the claim, the task or the lineage ended.

        Keyed by reservation, so repeating it changes nothing. An amount above the reserved one is booked in full and
        raises the lineage's ``under_reserved`` (promise I2).
        """
        ...

    async def costs(self, tracking_id: str | None = None, *, limit: int = 100) -> Costs:
        """Sums of the present UTC day, of the database, and by lineage; of one lineage also by kind and task."""
        ...
