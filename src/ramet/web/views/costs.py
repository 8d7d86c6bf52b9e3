"""Money: what was spent and reserved, under which ceilings."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter

from ramet import Client, Costs, TaskCalls
from ramet.model.money import Ceiling
from ramet.web.answer import AsObject, stored_lineage
from ramet.web.page import ClientDep, Limit, OptionalText, Page, Text, Visit, existing, no_task

CALLS_MAX = 50
"""Most calls of one task that are listed."""


CostsAnswer = Annotated[Costs, AsObject(inner={Ceiling: Annotated[Ceiling, AsObject(without={"name"})]})]
TaskCallsAnswer = Annotated[TaskCalls, AsObject()]


async def calls(client: Client, task_id: str, *, limit: int = CALLS_MAX) -> TaskCalls:
    """Return the reservations and charges of a task.

    Raises:
        NotFound: there is no such task.
    """
    return existing(await client.task_calls(task_id, limit=limit), no_task(task_id))


router = APIRouter(tags=["costs"])


@router.get("/costs")
async def read_costs(client: ClientDep, *, tracking_id: OptionalText = None, limit: Limit = 50) -> CostsAnswer:
    """Return money of today, of all time and by lineage; of one lineage also by kind and task. Whole nano-dollars."""
    if tracking_id is not None:
        await stored_lineage(client, tracking_id)
    return await client.costs(tracking_id, limit=limit)


@router.get("/calls")
async def read_calls(client: ClientDep, *, task_id: Text, limit: Limit = 50) -> TaskCallsAnswer:
    """Return reservations and charges of one task, with its latest calls. Whole nano-dollars."""
    return await calls(client, task_id, limit=limit)


async def all_costs(visit: Visit) -> dict[str, Any]:
    """Show sums and ceilings of money."""
    return {"found": await visit.client.costs(limit=visit.number("limit", 50, 1, 200))}


PAGES = (Page("/costs", "costs", "costs.html", all_costs),)
