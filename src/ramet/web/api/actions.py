"""Actions for machines: the same table as behind the pages, a route for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, Field, JsonValue, create_model

from ramet.web.actions import ACTIONS
from ramet.web.actions.action import REASON_CHARACTERS_MAX, Action, Fields, Person, Value, perform
from ramet.web.state import dashboard_of

Reason = Annotated[Value | None, Field(max_length=REASON_CHARACTERS_MAX, description="Why, for the record.")]


class DoneAnswer(BaseModel):
    """What an action did."""

    told: str
    """One line for people."""
    result: dict[str, JsonValue]


class ActionAnswer(BaseModel):
    """An action that there is."""

    name: str
    title: str
    about: str
    dangerous: bool
    fields: list[str]


router = APIRouter(tags=["actions"])


@router.get("/actions")
async def actions() -> list[ActionAnswer]:
    """Every action that there is."""
    return [
        ActionAnswer(name=one.name, title=one.title, about=one.about, dangerous=one.dangerous,
                     fields=[*one.fields.model_fields])
        for one in ACTIONS.values()
    ]  # fmt: skip


def _asked(action: Action) -> type[Fields]:
    """The body of an action: its fields, and why."""
    name = "".join(word.title() for word in action.name.split("-"))
    return create_model(f"{name}Asked", __base__=action.fields, reason=(Reason, None))


def _endpoint(action: Action) -> Callable[..., Awaitable[DoneAnswer]]:
    async def act(request: Request, asked: Any) -> DoneAnswer:
        visitor = request.state.visitor
        if not visitor.may_act:
            raise HTTPException(403, "you may look, not act: come in with the admin token")
        given = asked.model_dump()
        reason = given.pop("reason")
        fields = action.fields.model_validate(given)
        done = await perform(dashboard_of(request).client, action, fields, Person(visitor.by, reason))
        return DoneAnswer(told=done.told, result=dict(done.result))

    # Each route has a body of its own type, which the document shows.
    act.__annotations__.update({"request": Request, "asked": _asked(action), "return": DoneAnswer})
    return act


for _one in ACTIONS.values():
    router.add_api_route(
        f"/actions/{_one.name}", _endpoint(_one), methods=["POST"], summary=_one.title, description=_one.about,
        operation_id=f"act_{_one.name.replace('-', '_')}",
    )  # fmt: skip
