"""Lineages: lists, one, its refused spawns.

A tracking id may hold slashes, and be no more than dots: besides ``/lineages/ID``, in which it is percent-encoded,
``/lineage?tracking_id=ID`` takes any.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from ramet.model.lineage.lineage import LineageState, OutcomeKind
from ramet.model.views import LINEAGE_ORDERS
from ramet.web.answers import lineages, tasks
from ramet.web.answers.lineages import BlockList, LineageDetail, LineageList
from ramet.web.answers.shared import stored_lineage
from ramet.web.page import Asked, Cursor, Id, Limit, Look, OptionalText, Page, Text

router = APIRouter(tags=["lineages"])


@router.get("/lineages")
async def list_lineages(
    client: Asked,
    *,
    state: Annotated[list[LineageState], Query(max_length=5)] = [],  # noqa: B006  # FastAPI copies it
    limit: Limit = 50,
    before: Cursor = None,
    order: Literal["newest", "fullest", "deadline"] = "newest",
    prefix: OptionalText = None,
    outcome: OutcomeKind | None = None,
) -> LineageList:
    """Lineages: the newest, those that used most of their limits, those whose time ends first; or by name those whose
    tracking id begins with `prefix`. `outcome` keeps those that are clean, have failures or are incomplete."""
    return await lineages.lineages(
        client, states=state, limit=limit, before=before, order=order, prefix=prefix, outcome=outcome
    )


@router.get("/lineage")
async def read_lineage(client: Asked, *, tracking_id: Text) -> LineageDetail:
    """One lineage with its tasks by kind and state and its refusals by reason."""
    return await lineages.lineage_detail(client, tracking_id)


@router.get("/lineages/{tracking_id:path}")
async def read_lineage_at(client: Asked, tracking_id: Id) -> LineageDetail:
    """The same as `/lineage?tracking_id=`."""
    return await lineages.lineage_detail(client, tracking_id)


@router.get("/blocks")
async def list_blocks(
    client: Asked,
    *,
    tracking_id: Text,
    kind: OptionalText = None,
    key: OptionalText = None,
    reason: OptionalText = None,
    limit: Limit = 50,
    after: Cursor = None,
) -> BlockList:
    """Spawns that the guard refused in a lineage, by kind, key and reason."""
    return await lineages.blocks(client, tracking_id, limit, after=after, kind=kind, key=key, reason=reason)


ACTS_MAX = 20
DELAYS_MAX = 10


CURSOR_CHARACTERS_MAX = 10_000


async def lineage_list(look: Look) -> dict[str, Any]:
    """Lineages by state and the beginning of their name, in an order."""
    state, order = look.word("state", lineages.STATES), look.word("order", LINEAGE_ORDERS) or "newest"
    prefix, outcome = look.text("prefix"), look.word("outcome", lineages.OUTCOMES)
    page = await lineages.lineages(
        look.client,
        states=() if state is None else (state,),
        limit=look.number("limit", 50, 1, 200),
        before=look.text("after", CURSOR_CHARACTERS_MAX),
        order=order,
        prefix=prefix,
        outcome=outcome,
    )
    return {"found": page, "state_asked": state, "states": lineages.STATES, "here": look.address, "order": order,
            "orders": LINEAGE_ORDERS, "prefix": prefix, "outcome_asked": outcome,
            "outcomes": lineages.OUTCOMES}  # fmt: skip


async def lineage(look: Look) -> dict[str, Any]:
    """One lineage: what it used, what is in it, what was refused, what people did."""
    tracking_id = look.id("tracking_id")
    found = await lineages.lineage_detail(look.client, tracking_id)
    return {
        "one": found,
        "level": await tasks.level(look.client, tracking_id=tracking_id),
        "delays": found.delays[:DELAYS_MAX],
        "acts": await look.client.acts(tracking_id, limit=ACTS_MAX),
        "alerts": await look.client.alerts(firing=False, tracking_id=tracking_id, limit=ACTS_MAX),
        "reofferable": any(reason in lineages.REOFFERED for reason in found.refused),
        "here": look.address,
    }


async def spend(look: Look) -> dict[str, Any]:
    """What a lineage cost, by kind and task."""
    tracking_id = (await stored_lineage(look.client, look.id("tracking_id"))).tracking_id
    return {"tracking_id": tracking_id, "found": await look.client.costs(tracking_id, limit=20)}


async def blocks(look: Look) -> dict[str, Any]:
    """Refused spawns of a lineage."""
    tracking_id = look.id("tracking_id")
    asked = {name: look.text(name) for name in ("kind", "key", "reason")}
    limit, after = look.number("limit", 50, 1, 200), look.text("after", CURSOR_CHARACTERS_MAX)
    found = await lineages.blocks(look.client, tracking_id, limit, after=after, **asked)
    totals = await lineages.refused(look.client, tracking_id)
    offered = [reason for reason in lineages.REOFFERED if reason in totals]
    return {"tracking_id": tracking_id, "found": found, "asked": asked, "totals": totals, "offered": offered,
            "here": look.address, "limit": limit}  # fmt: skip


PAGES = (
    Page("/lineages", "lineages", "lineages.html", lineage_list),
    Page("/lineages/{tracking_id:path}", "lineage", "lineage.html", lineage),
    Page("/blocks", "blocks", "blocks.html", blocks, live=False),
    Page("/spend", "spend", "spend.html", spend, live=False),
    Page("/parts/spend", "spend-part", "parts/spend.html", spend, live=False),
)
