"""Lineages: lists, one, its refused spawns.

A tracking id may hold slashes, and be no more than dots: besides ``/lineages/ID``, in which it is percent-encoded,
``/lineage?tracking_id=ID`` takes any.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from ramet.model.lineage.lineage import LineageState
from ramet.model.lineage.outcome import OutcomeKind
from ramet.web.answers import lineages
from ramet.web.answers.lineages import BlockList, LineageDetail, LineageList
from ramet.web.api.parts import Asked, Cursor, Id, Limit, OptionalText, Text

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
    found = await lineages.blocks(client, tracking_id, limit, after=after, kind=kind, key=key, reason=reason)
    return lineages.block_list(found)
