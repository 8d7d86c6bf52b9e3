"""The page of an action: it says what will happen and asks once; a form that comes back does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ramet.web.actions import ACTIONS
from ramet.web.actions.action import (
    REASON_CHARACTERS_MAX,
    Action,
    Person,
    missing,
    one_line,
    perform,
    question,
    read_fields,
)
from ramet.web.guard import form_of, local
from ramet.web.page import BadInput, Look, NotFound, NothingDone, Page, look_of
from ramet.web.templating import render

OWN = frozenset({"reason", "back", "csrf"})
"""Parts of a form that are no field of an action."""
BACK_CHARACTERS_MAX = 2_000


async def _nothing(look: Look) -> dict[str, Any]:
    return {}


PAGE = Page("/act/{name}", "act", "act.html", _nothing, live=False)


def action_routes() -> list[BaseRoute]:
    """Ask, and do."""
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
    """The address names it: it is told, not asked."""
    required: bool
    choices: tuple[str, ...]


async def asked(request: Request) -> Response:
    """What will happen, and a button."""
    look = look_of(request)
    action, given = _action(look), _given(request.query_params)
    try:
        _may(look)
        return await _form(look, action, given, given)
    except (BadInput, NotFound) as error:
        return _refusal(look, action, given, error)


async def acted(request: Request) -> Response:
    """Do it, and go back to where the visitor came from."""
    look = look_of(request)
    action = _action(look)
    form = await form_of(request)
    given = _given(form)
    try:
        _may(look)
        reason = form.get("reason", "").strip() or None
        if reason is not None and (len(reason) > REASON_CHARACTERS_MAX or "\x00" in reason):
            raise BadInput(f"reason: give at most {REASON_CHARACTERS_MAX} characters, and no NUL")
        done = await perform(look.client, action, read_fields(action, given), Person(look.visitor.by, reason))
    except (BadInput, NotFound) as error:
        return _refusal(look, action, given, error, form)
    look.dashboard.flashes.tell(look.visitor.csrf, done.told)
    return RedirectResponse(back_to(form.get("back", "")), status_code=303)


def back_to(address: str) -> str:
    """The address, where it is one of this host; the page of an action is none, as it would ask again."""
    here = address if len(address) <= BACK_CHARACTERS_MAX else "/"
    if here.startswith("/live/"):  # A link that came with a page's event stream.
        here = here.removeprefix("/live")
    return "/" if here.startswith("/act/") else local(here)


class _Forbidden(BadInput):
    """A reader asks to act."""


def _may(look: Look) -> None:
    if not look.visitor.may_act:
        raise _Forbidden("you may look, not act: come in with the admin token")


def _action(look: Look) -> Action:
    name = look.path["name"]
    if name not in ACTIONS:
        raise NotFound(f"no action {name[:100]!r}")
    return ACTIONS[name]


def _given(parts: ImmutableMultiDict[str, str] | Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in parts.items() if name not in OWN}


async def _form(look: Look, action: Action, given: Mapping[str, str], fixed: Mapping[str, str]) -> Response:
    known = set(action.fields.model_fields)
    if not set(given) <= known:
        raise BadInput(f"{action.name} has no field {sorted(set(given) - known)[0][:100]!r}")
    words = action.about
    if not missing(action, given):
        words = await question(look.client, action, read_fields(action, given))
    return render(look, PAGE, _context(look, action, given, fixed, words=words))


def _context(
    look: Look,
    action: Action,
    given: Mapping[str, str],
    fixed: Mapping[str, str],
    *,
    words: str = "",
    line: str = "",
    reason: str = "",
    back: str | None = None,
) -> dict[str, Any]:
    where = look.request.query_params.get("back", "") if back is None else back
    inputs = [_input(action, name, field, given, fixed) for name, field in action.fields.model_fields.items()]
    return {"action": action, "inputs": inputs, "words": words, "line": line, "reason": reason,
            "back": back_to(where), "reason_most": REASON_CHARACTERS_MAX}  # fmt: skip


def _input(action: Action, name: str, field: FieldInfo, given: Mapping[str, str], fixed: Mapping[str, str]) -> Input:
    values = get_args(field.annotation)
    choices = tuple(value for value in values if isinstance(value, str))
    value = given.get(name, "")
    if not value and not field.is_required() and field.default is not None:
        value = str(field.default)
    # What an address names is not asked again, but what may be left out can still be changed.
    is_fixed = bool(fixed.get(name)) and field.is_required() and name not in action.open
    return Input(name, field.title or name, field.description or "", value, is_fixed, field.is_required(), choices)


def _refusal(
    look: Look, action: Action, given: Mapping[str, str], error: Exception, form: Mapping[str, str] | None = None
) -> Response:
    status = 403 if isinstance(error, _Forbidden) else 404 if isinstance(error, NotFound) else 400
    if isinstance(error, NothingDone):
        status = 409
    form = form or {}
    context = _context(
        look, action, given, {}, line=one_line(error), reason=form.get("reason", "")[:REASON_CHARACTERS_MAX],
        back=form.get("back"),
    )  # fmt: skip
    return render(look, PAGE, context, status)
