"""Costs: today, of all time, and the dearest lineages."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import costs
from ramet.web.page import Look, Page


async def all_costs(look: Look) -> dict[str, Any]:
    """Sums and ceilings."""
    return {"found": await costs.costs(look.client, limit=look.number("limit", 50, 1, 200))}


PAGES = (Page("/costs", "costs", "costs.html", all_costs),)
