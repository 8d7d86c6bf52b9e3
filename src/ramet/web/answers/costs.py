"""Money: what was spent and reserved, under which ceilings."""

from __future__ import annotations

from ramet import Client, Costs
from ramet.web.answers.shared import Answer


class CeilingAnswer(Answer):
    """A sum of money and what bounds it, in whole nano-dollars."""

    spent: int
    reserved: int
    most: int | None
    """The hard ceiling."""
    soft: int | None
    """Nothing is reserved above it."""


class LineageCostAnswer(Answer):
    """What a lineage cost."""

    tracking_id: str
    spent: int
    reserved: int
    max_cost: int | None
    soft_cost: int | None
    under_reserved: int


class KindCostAnswer(Answer):
    """What the tasks of a kind cost in a lineage."""

    kind: str
    calls: int
    spent: int
    reserved: int


class TaskCostAnswer(Answer):
    """What one task cost."""

    task_id: str
    kind: str
    key: str
    calls: int
    spent: int
    reserved: int


class CostsAnswer(Answer):
    """Sums of the database, and of one lineage where it was asked for. Money is whole nano-dollars."""

    day: CeilingAnswer
    """Of the present UTC day."""
    total: CeilingAnswer
    lineages: list[LineageCostAnswer]
    """The dearest first."""
    kinds: list[KindCostAnswer]
    tasks: list[TaskCostAnswer]
    more: bool
    """True when kinds and tasks are those of the lineage's latest 20,000 calls only."""


async def costs(client: Client, tracking_id: str | None = None, *, limit: int = 50) -> Costs:
    """What was spent and reserved: today, in all, by lineage; of one lineage also by kind and task."""
    return await client.costs(tracking_id, limit=limit)


def costs_answer(found: Costs) -> CostsAnswer:
    """The same for machines."""
    return CostsAnswer.model_validate(found)
