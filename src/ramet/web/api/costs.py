"""What was spent and reserved, under which ceilings."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import costs, lineages
from ramet.web.answers.costs import CostsAnswer, TaskCallsAnswer
from ramet.web.api.parts import Asked, Limit, OptionalText, Text

router = APIRouter(tags=["costs"])


@router.get("/costs")
async def read_costs(client: Asked, *, tracking_id: OptionalText = None, limit: Limit = 50) -> CostsAnswer:
    """Money of today, of all time and by lineage; of one lineage also by kind and task. Whole nano-dollars."""
    if tracking_id is not None:
        await lineages.lineage(client, tracking_id)
    return costs.costs_answer(await costs.costs(client, tracking_id, limit=limit))


@router.get("/calls")
async def read_calls(client: Asked, *, task_id: Text, limit: Limit = 50) -> TaskCallsAnswer:
    """What one task reserved and was charged, with its latest calls. Whole nano-dollars."""
    return TaskCallsAnswer.model_validate(await costs.calls(client, task_id, limit=limit))
