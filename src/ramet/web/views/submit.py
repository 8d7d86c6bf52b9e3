"""Routes that start work: scope ``submit``."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, cast

from fastapi import APIRouter, Header
from pydantic import Field, JsonValue, model_validator

from ramet import LineageExists, SubmitResult
from ramet.engine.kinds.options import TaskOptions
from ramet.web.actions.action import guarded
from ramet.web.answer import Answer
from ramet.web.page import BadInput, ClientDep, NotFound, NothingDone
from ramet.web.wanted import ITEMS_MAX, Body, SpawnAnswer, Text, WantedRoot

router = APIRouter(tags=["submit"])
KEY_CHARACTERS_MAX = 200
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=KEY_CHARACTERS_MAX, pattern=r"^[\x21-\x7e]+$",
        description="Names the lineage where no tracking_id does: the same request again changes nothing.",
    ),
]  # fmt: skip


class LineageBody(Body):
    """Options of a submit for the lineage that it starts."""

    tracking_id: Text | None = None
    """Names the lineage; the same submit again changes nothing."""
    limits: dict[str, JsonValue] = Field(default={}, max_length=50)
    """Limits of the lineage by name, where they are stricter than the default: max_tasks, max_spawn_depth, max_fan_out,
    max_cost (nano-dollars), lineage_seconds, ..."""
    on_lineage_end: Text | None = None
    """A kind of which a task runs when the lineage has ended."""


class SubmitBody(LineageBody, WantedRoot):
    """One root and its lineage."""


class SubmitManyBody(LineageBody):
    """Many roots, all or none: a lineage each, or all in one."""

    items: Annotated[list[WantedRoot], Field(min_length=1, max_length=ITEMS_MAX)]
    one_lineage: bool = False

    @model_validator(mode="after")
    def _named(self) -> SubmitManyBody:
        if self.tracking_id is not None and not self.together:
            raise ValueError("tracking_id names one lineage: give one_lineage true with it")
        return self

    @property
    def together(self) -> bool:
        """Whether all are in one lineage."""
        return self.one_lineage or any(item.after for item in self.items)


class AddBody(Body):
    """Roots for a lineage that runs."""

    tracking_id: Text
    items: Annotated[list[WantedRoot], Field(min_length=1, max_length=ITEMS_MAX)]


class SubmitAnswer(Answer):
    """A submitted task."""

    id: str
    tracking_id: str
    created: bool
    """False where the task was there already."""


def _lineage_of(key: str) -> str:
    """Return the tracking id for an idempotency key."""
    return f"key-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _about_lineage(body: LineageBody, name: str | None) -> dict[str, Any]:
    more: dict[str, Any] = {"tracking_id": name, "on_lineage_end": body.on_lineage_end}
    return {**more, "limits": body.limits} if body.limits else more


async def _submitted(asked: Any) -> Any:
    try:
        return await guarded(asked)
    except BadInput as error:
        if isinstance(error.__cause__, LineageExists):
            raise NothingDone(str(error)) from error
        raise


@router.post("/submit")
async def submit_task(client: ClientDep, body: SubmitBody, idempotency_key: IdempotencyKey = None) -> SubmitAnswer:
    """Start a lineage with one root; durable when answered. 409 where another lineage has the tracking id."""
    name = body.tracking_id or (idempotency_key and _lineage_of(idempotency_key))
    options = {key: value for key, value in body.options().items() if key not in LineageBody.model_fields}
    if body.after:
        raise BadInput("after: one root has no other task of its lineage to wait for; use submit/many or submit/roots")
    one = await _submitted(client.submit(body.kind, body.payload, **options, **_about_lineage(body, name)))
    return _answer(one)


@router.post("/submit/many")
async def submit_many(
    client: ClientDep, body: SubmitManyBody, idempotency_key: IdempotencyKey = None
) -> list[SubmitAnswer]:
    """Start many roots at once, all or none. With `after` they are one lineage."""
    items = [_wanted(item) for item in body.items]
    if idempotency_key is not None and not body.together:
        raise BadInput("an Idempotency-Key names one lineage: give one_lineage true with it")
    name = body.tracking_id or (idempotency_key and _lineage_of(idempotency_key))
    about = _about_lineage(body, name)
    done = await _submitted(client.submit_many(items, one_lineage=body.together, **about))
    return [_answer(one) for one in done]


@router.post("/submit/roots")
async def add_roots(client: ClientDep, body: AddBody) -> list[SpawnAnswer]:
    """Add roots to a lineage that runs, under its limits and its guard: the answer says of each whether it was refused.

    The same request again adds nothing: the tasks are there, and each answer names its winner.
    """
    if await client.lineage(body.tracking_id) is None:
        raise NotFound(f"no lineage {body.tracking_id}: it was never there, or it was pruned")
    items = [_wanted(item) for item in body.items]
    return SpawnAnswer.each(await guarded(client.add(body.tracking_id, items)))


def _wanted(item: WantedRoot) -> tuple[str, Any, TaskOptions]:
    return item.kind, item.payload, cast(TaskOptions, item.options())


def _answer(one: SubmitResult) -> SubmitAnswer:
    return SubmitAnswer(id=one.id, tracking_id=one.tracking_id, created=one.created)
