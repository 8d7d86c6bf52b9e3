"""Money: what was spent and reserved, under which ceilings."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from ramet import Client, Costs, TaskCalls
from ramet.web.answers import lineages
from ramet.web.answers.shared import Answer
from ramet.web.page import Asked, Limit, Look, NotFound, OptionalText, Page, Text

CALLS_MAX = 50
"""Of one task that are listed."""


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


async def load_costs(client: Client, tracking_id: str | None = None, *, limit: int = 50) -> Costs:
    """What was spent and reserved: today, in all, by lineage; of one lineage also by kind and task."""
    return await client.costs(tracking_id, limit=limit)


def costs_answer(found: Costs) -> CostsAnswer:
    """The same for machines."""
    return CostsAnswer.model_validate(found)


class CallAnswer(Answer):
    """A reservation of a task, or a charge that came with a settlement; money is whole nano-dollars."""

    id: str
    fence: int
    """The claim under which it was made."""
    amount: int
    """What was reserved; 0 for a charge."""
    actual: int | None
    """What it cost; null until somebody settled it."""
    reserved_at: float
    closed_at: float | None
    """When the end of the task closed it unsettled: its amount counts as spent since then."""
    settled_at: float | None


class TaskCallsAnswer(Answer):
    """What one task cost, whole nano-dollars."""

    calls: int
    """Reservations and charges."""
    spent: int
    reserved: int
    """Held for calls that nobody settled yet."""
    more: bool
    """The numbers are those of the first 20,000 calls only."""
    latest: list[CallAnswer]
    """The newest first."""


async def calls(client: Client, task_id: str, *, limit: int = CALLS_MAX) -> TaskCalls:
    """What one task reserved and was charged.

    Raises:
        NotFound: there is no such task.
    """
    found = await client.task_calls(task_id, limit=limit)
    if found is None:
        raise NotFound(f"no task {task_id}: it was never there, or its lineage was pruned")
    return found


router = APIRouter(tags=["costs"])


@router.get("/costs")
async def read_costs(client: Asked, *, tracking_id: OptionalText = None, limit: Limit = 50) -> CostsAnswer:
    """Money of today, of all time and by lineage; of one lineage also by kind and task. Whole nano-dollars."""
    if tracking_id is not None:
        await lineages.lineage(client, tracking_id)
    return costs_answer(await load_costs(client, tracking_id, limit=limit))


@router.get("/calls")
async def read_calls(client: Asked, *, task_id: Text, limit: Limit = 50) -> TaskCallsAnswer:
    """What one task reserved and was charged, with its latest calls. Whole nano-dollars."""
    return TaskCallsAnswer.model_validate(await calls(client, task_id, limit=limit))


async def all_costs(look: Look) -> dict[str, Any]:
    """Sums and ceilings."""
    return {"found": await load_costs(look.client, limit=look.number("limit", 50, 1, 200))}


PAGES = (Page("/costs", "costs", "costs.html", all_costs),)
