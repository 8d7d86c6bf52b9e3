"""Actions: the confirmation page, and the API routes for one task or many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NamedTuple, get_args

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.fields import FieldInfo
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ramet import BulkAction, BulkSelection, TaskFilter, TaskState
from ramet.model.paths import DEPTH_MAX
from ramet.web.actions import ACTIONS
from ramet.web.actions.action import (
    REASON_CHARACTERS_MAX,
    Action,
    Fields,
    Name,
    Person,
    Value,
    guarded,
    missing,
    one_line,
    perform,
    question,
    read_fields,
)
from ramet.web.actions.tasks import Extend
from ramet.web.guard import form_of, local
from ramet.web.page import BadInput, NotFound, NothingDone, Page, Visit, dashboard_of, visit_of
from ramet.web.templating import render_in_frame

Reason = Annotated[Value | None, Field(max_length=REASON_CHARACTERS_MAX, description="Why, for the record.")]


class ActionResultAnswer(BaseModel):
    """Result of an action."""

    told: str
    """One line for people."""
    result: dict[str, JsonValue]


class ActionAnswer(BaseModel):
    """An action of the dashboard."""

    name: str
    title: str
    about: str
    dangerous: bool
    fields: list[str]


router = APIRouter(tags=["actions"])


@router.get("/actions")
async def actions() -> list[ActionAnswer]:
    """List every action."""
    return [
        ActionAnswer(name=one.name, title=one.title, about=one.about, dangerous=one.dangerous,
                     fields=[*one.fields.model_fields])
        for one in ACTIONS.values()
    ]  # fmt: skip


def _asked(action: Action) -> type[Fields]:
    """Return the model of the body of an action: its fields, and the reason."""
    name = "".join(word.title() for word in action.name.split("-"))
    return create_model(f"{name}Asked", __base__=action.fields, reason=(Reason, None))


def _endpoint(action: Action) -> Callable[..., Awaitable[ActionResultAnswer]]:
    async def act(request: Request, asked: Any) -> ActionResultAnswer:
        visitor = request.state.visitor
        if not visitor.may_act:
            raise HTTPException(403, "you may look, not act: come in with the admin token")
        given = asked.model_dump()
        reason = given.pop("reason")
        fields = action.fields.model_validate(given)
        done = await perform(dashboard_of(request).client, action, fields, Person(visitor.by, reason))
        return ActionResultAnswer(told=done.message, result=dict(done.result))

    # Each route has a body of its own type, which the document shows.
    act.__annotations__.update({"request": Request, "asked": _asked(action), "return": ActionResultAnswer})
    return act


for _one in ACTIONS.values():
    router.add_api_route(
        f"/actions/{_one.name}", _endpoint(_one), methods=["POST"], summary=_one.title, description=_one.about,
        operation_id=f"act_{_one.name.replace('-', '_')}",
    )  # fmt: skip


LEFT_MAX = 100
bulk_router = APIRouter(tags=["tasks"])


class BulkRequest(BaseModel):
    """A filter of tasks, and the confirmation."""

    model_config = ConfigDict(extra="forbid")

    states: list[TaskState] = Field(default=[], max_length=len(TaskState))
    """Left out: failed tasks to retry or exclude, live ones to cancel."""
    kind: Name | None = None
    error: Name | None = None
    """A part of the error or the reason, in upper or lower case."""
    since: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """Ended at or after, live ones created at or after; Unix seconds."""
    lineage_prefix: Name | None = None
    """Prefix of the tracking id."""
    path: Annotated[list[Value], Field(max_length=DEPTH_MAX)] = []
    """Path of the tasks: at it and below it."""
    queue: Name | None = None
    """Queue of the tasks; with a path `default` where none is given."""
    extend_seconds: Extend = None
    """Least seconds that the lineages live from now on, with `retry` only."""
    reason: Reason = None
    confirm: Annotated[int | None, Field(ge=0)] = None
    """Number of tasks to act on, as counted by a request without it; without it nothing is done."""


class BulkCount(BaseModel):
    """Tasks of one kind and state."""

    kind: str
    state: TaskState
    tasks: int


class BulkAnswer(BaseModel):
    """Tasks that match, and the effect."""

    act: BulkAction
    selected: int
    counts: list[BulkCount]
    done: int | None
    """Number of tasks on which it took effect; null where they were only counted."""
    left: dict[str, str]
    """Why others were left as they are, by id: the first 100."""


@bulk_router.post("/bulk/{act}")
async def act_on_many(request: Request, act: BulkAction, asked: BulkRequest) -> BulkAnswer:
    """Retry, cancel or exclude all tasks that match a filter, in batches; counts only, without `confirm`."""
    visitor, client = request.state.visitor, dashboard_of(request).client
    if not visitor.may_act:
        raise HTTPException(403, "you may look, not act: come in with the admin token")
    wanted = asked.model_dump(include={"states", "kind", "error", "since", "lineage_prefix", "path", "queue"})
    if not any(value not in (None, []) for value in wanted.values()):
        raise BadInput("give at least one of states, kind, error, since, lineage_prefix, path and queue")
    selection = await guarded(_selected(request, act, wanted))
    if asked.confirm is None:
        return _answer(selection, None, {})
    if asked.confirm != len(selection.task_ids):
        raise BadInput(f"{len(selection.task_ids)} tasks match by now, not {asked.confirm}: confirm that number")
    done = client.bulk_run(selection, by=visitor.by, reason=asked.reason, extend_seconds=asked.extend_seconds)
    result = await guarded(done)
    return _answer(selection, len(result.done), dict(list(result.left.items())[:LEFT_MAX]))


async def _selected(request: Request, act: BulkAction, wanted: dict[str, object]) -> BulkSelection:
    return await dashboard_of(request).client.bulk_select(act, TaskFilter(**wanted))  # type: ignore[arg-type]


def _answer(selection: BulkSelection, done: int | None, left: dict[str, str]) -> BulkAnswer:
    counts = [
        BulkCount(kind=kind, state=TaskState(state), tasks=tasks) for (kind, state), tasks in selection.counts.items()
    ]
    return BulkAnswer(act=selection.act, selected=len(selection.task_ids), counts=counts, done=done, left=left)


STEP = "step"
OWN = frozenset({"reason", "back", "csrf", STEP})
"""Parts of a form that are not fields of an action."""
BACK_CHARACTERS_MAX = 2_000
CONFIRM = "confirm"
"""The step at which an action whose values are typed shows their effect, and a button that does it."""


async def _nothing(visit: Visit) -> dict[str, Any]:
    return {}


PAGE = Page("/act/{name}", "act", "act.html", _nothing, live=False)


def action_routes() -> list[BaseRoute]:
    """Return the routes that confirm and carry out an action."""
    return [
        Route(PAGE.path, asked, name=PAGE.name, methods=["GET"]),
        Route(PAGE.path, acted, name="act:do", methods=["POST"]),
    ]


class Input(NamedTuple):
    """One field as a form shows it."""

    name: str
    label: str
    hint: str
    value: str
    fixed: bool
    """The address names it: shown, not asked."""
    required: bool
    choices: tuple[str, ...]


async def asked(request: Request) -> Response:
    """Show the effect of an action, and a button."""
    visit = visit_of(request)
    action, given = _action(visit), _given(request.query_params)
    try:
        require_admin(visit)
        return await _form(visit, action, given, given)
    except (BadInput, NotFound) as error:
        return await _refusal(visit, action, given, error)


async def acted(request: Request) -> Response:
    """Carry out an action, and go back to where the visitor came from."""
    visit = visit_of(request)
    action = _action(visit)
    form = await form_of(request)
    given = _given(form)
    try:
        require_admin(visit)
        person = Person(visit.visitor.by, reason_of(form))
        done = await perform(visit.client, action, read_fields(action, given), person)
    except (BadInput, NotFound) as error:
        return await _refusal(visit, action, given, error, form)
    visit.dashboard.flashes.tell(visit.visitor.csrf, done.message)
    return RedirectResponse(back_to(form.get("back", "")), status_code=303)


def back_to(address: str) -> str:
    """Return an address of this host; the first page for others, and for pages of actions, which would ask again."""
    here = address if len(address) <= BACK_CHARACTERS_MAX else "/"
    if here.startswith("/live/"):  # A link that came with a page's event stream.
        here = here.removeprefix("/live")
    return "/" if here.startswith("/act/") else local(here)


class _Forbidden(BadInput):
    """A visitor who may only look asks to act."""


def require_admin(visit: Visit) -> None:
    """Refuse a visitor who may only look.

    Raises:
        BadInput: the visitor may not act.
    """
    if not visit.visitor.may_act:
        raise _Forbidden("you may look, not act: come in with the admin token")


def reason_of(form: Mapping[str, str]) -> str | None:
    """Return the reason that a form gives; None where it is empty.

    Raises:
        BadInput: it is too long, or has a NUL.
    """
    reason = form.get("reason", "").strip() or None
    if reason is not None and (len(reason) > REASON_CHARACTERS_MAX or "\x00" in reason):
        raise BadInput(f"reason: give at most {REASON_CHARACTERS_MAX} characters, and no NUL")
    return reason


def _action(visit: Visit) -> Action:
    name = visit.path["name"]
    if name not in ACTIONS:
        raise NotFound(f"no action {name[:100]!r}")
    return ACTIONS[name]


def _given(parts: ImmutableMultiDict[str, str] | Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in parts.items() if name not in OWN}


async def _form(visit: Visit, action: Action, given: Mapping[str, str], fixed: Mapping[str, str]) -> Response:
    known = set(action.fields.model_fields)
    if not set(given) <= known:
        raise BadInput(f"{action.name} has no field {sorted(set(given) - known)[0][:100]!r}")
    words, confirms = action.about, not action.open or visit.word(STEP, [CONFIRM]) is not None
    if confirms and not missing(action, given):
        words = await question(visit.client, action, read_fields(action, given))
    return await render_in_frame(visit, PAGE, _context(visit, action, given, fixed, words=words, confirms=confirms))


def _context(
    visit: Visit,
    action: Action,
    given: Mapping[str, str],
    fixed: Mapping[str, str],
    *,
    words: str = "",
    line: str = "",
    reason: str = "",
    back: str | None = None,
    confirms: bool | None = None,
) -> dict[str, Any]:
    where = visit.request.query_params.get("back", "") if back is None else back
    confirms = not action.open if confirms is None else confirms
    asked = frozenset() if confirms else action.open
    inputs = [_input(asked, name, field, given, fixed) for name, field in action.fields.model_fields.items()]
    return {
        "action": action, "inputs": inputs, "confirms": confirms, "step": (STEP, CONFIRM), "words": words, "line": line,
        "reason": reason, "back": back_to(where), "reason_most": REASON_CHARACTERS_MAX,
    }  # fmt: skip


def _input(
    asked: frozenset[str], name: str, field: FieldInfo, given: Mapping[str, str], fixed: Mapping[str, str]
) -> Input:
    values = get_args(field.annotation)
    choices = tuple(value for value in values if isinstance(value, str))
    value = given.get(name, "")
    if not value and not field.is_required() and field.default is not None:
        value = str(field.default)
    # A required value of the address is not asked again; an optional one can still be changed.
    is_fixed = bool(fixed.get(name)) and field.is_required() and name not in asked
    return Input(name, field.title or name, field.description or "", value, is_fixed, field.is_required(), choices)


async def _refusal(
    visit: Visit, action: Action, given: Mapping[str, str], error: Exception, form: Mapping[str, str] | None = None
) -> Response:
    status = 403 if isinstance(error, _Forbidden) else 404 if isinstance(error, NotFound) else 400
    if isinstance(error, NothingDone):
        status = 409
    form = form or {}
    context = _context(
        visit, action, given, {}, line=one_line(error), reason=form.get("reason", "")[:REASON_CHARACTERS_MAX],
        back=form.get("back"),
    )  # fmt: skip
    return await render_in_frame(visit, PAGE, context, status)
