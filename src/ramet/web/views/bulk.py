"""Retry, cancel or exclude many tasks: those ticked in a list, or all that match a filter; counted, then confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ramet import BulkAction, BulkSelection, TaskFilter, TaskState
from ramet.commands.terminal import counted, read_moment
from ramet.web.actions.action import REASON_CHARACTERS_MAX, guarded
from ramet.web.guard import form_of
from ramet.web.page import TEXT_MAX, BadInput, NothingDone, Page, Visit, visit_of
from ramet.web.templating import render_in_frame
from ramet.web.views.action import back_to, reason_of, require_admin

TASKS_MAX = 2_000
"""Most tasks of one confirmation: an act takes a transaction for each 200 of them."""
LOOKS_MAX = 4_000
"""Most tasks that a filter is compared with, the newest."""
TICKED_MAX = 200
"""Most ticked tasks, which is the length of a list."""
LEFT_SHOWN = 3
TITLES = {BulkAction.RETRY: "Retry", BulkAction.CANCEL: "Cancel", BulkAction.EXCLUDE: "Exclude"}
ABOUT = {
    BulkAction.RETRY: "They get new attempts under their old identity.",
    BulkAction.CANCEL: "They end as cancelled; what grew from them goes on.",
    BulkAction.EXCLUDE: "They are taken out for good; their identity stays taken.",
}
FIELDS = ("state", "kind", "error", "since", "tracking_id")
"""Fields of the filter, as the address names them."""


class BulkAsked(NamedTuple):
    """A bulk act as an address or a form asks for it."""

    act: BulkAction
    ids: tuple[str, ...]
    """Tasks that are ticked; empty for all that match the filter."""
    fields: dict[str, str]
    """The filter, as it was typed."""

    def filter(self, now: float) -> TaskFilter:
        """Return the filter of the tasks.

        Raises:
            BadInput: the filter is empty or invalid.
        """
        if not self.ids and not self.fields:
            raise BadInput("tick tasks, or give a state, kind, error, time or lineage: all tasks at once are no filter")
        given: dict[str, Any] = {name: self.fields.get(name) for name in ("kind", "error", "tracking_id")}
        try:
            since = read_moment(self.fields["since"], now) if "since" in self.fields else None
            states = [TaskState(self.fields["state"])] if "state" in self.fields else []
            return TaskFilter(states, since=since, task_ids=self.ids, **given)
        except ValueError as error:
            raise BadInput(str(error)) from error


def read_bulk(given: Mapping[str, str], ids: Sequence[str]) -> BulkAsked:
    """Read an address or a form.

    Raises:
        BadInput: there is no such act, or there is too much.
    """
    try:
        act = BulkAction(given.get("act", ""))
    except ValueError:
        raise BadInput(f"give act as one of {', '.join(BulkAction)}") from None
    if len(ids) > TICKED_MAX or any(not one or len(one) > TEXT_MAX or "\x00" in one for one in ids):
        raise BadInput(f"give at most {TICKED_MAX} ids of tasks")
    fields = {name: given[name] for name in FIELDS if given.get(name)}
    if any(len(text) > TEXT_MAX or "\x00" in text for text in fields.values()):
        raise BadInput(f"give at most {TEXT_MAX} characters in each field, without a NUL")
    return BulkAsked(act, tuple(ids), fields)


async def select(visit: Visit, asked: BulkAsked) -> BulkSelection:
    """Count the tasks that are meant, up to a bound.

    Raises:
        BadInput: the act leads nowhere from the state that is named.
    """
    wanted = asked.filter(visit.now)
    return await guarded(visit.client.bulk_select(asked.act, wanted, limit=TASKS_MAX, looks=LOOKS_MAX, newest=True))


def _context(visit: Visit, asked: BulkAsked, selection: BulkSelection | None, **more: Any) -> dict[str, Any]:
    back = visit.request.query_params.get("back", "")
    return {
        "asked": asked, "selection": selection, "title": TITLES[asked.act], "about": ABOUT[asked.act],
        "states": [state.value for state in TaskState], "back": back_to(back or "/tasks"), "line": "",
        "reason_most": REASON_CHARACTERS_MAX, "most": TASKS_MAX, "looks": LOOKS_MAX, **more,
    }  # fmt: skip


async def bulk_page(visit: Visit) -> dict[str, Any]:
    """Count the tasks of an act by kind, and show a button."""
    query = visit.request.query_params
    asked = read_bulk(query if query else {"act": BulkAction.RETRY}, query.getlist("task"))
    require_admin(visit)
    return _context(visit, asked, await select(visit, asked) if query else None)


async def acted(request: Request) -> Response:
    """Act on exactly as many tasks as were confirmed, and go back to the list."""
    visit, form = visit_of(request), await form_of(request)
    asked = read_bulk(form, [one for one in form.get("ids", "").split(",") if one])
    require_admin(visit)
    reason = reason_of(form)
    selection = await select(visit, asked)
    count = len(selection.task_ids)
    back = back_to(form.get("back", "/tasks"))
    if form.get("confirm") != str(count):
        line = f"{counted(count, 'task')} by now, not {form.get('confirm', 'any')[:20]}: look again, then confirm"
        context = _context(visit, asked, selection, line=line) | {"back": back}
        return await render_in_frame(visit, PAGE, context, 409)
    if not count:
        raise NothingDone("no task is like that any more")
    result = await guarded(visit.client.bulk_run(selection, by=visit.visitor.by, reason=reason))
    words = f"{DONE[asked.act]} {counted(len(result.done), 'task')}"
    if result.left:
        why = "; ".join([*dict.fromkeys(result.left.values())][:LEFT_SHOWN])
        words += f"; {counted(len(result.left), 'task')} left as they are: {why}"
    visit.dashboard.flashes.tell(visit.visitor.csrf, words)
    return RedirectResponse(back, status_code=303)


DONE = {BulkAction.RETRY: "retried", BulkAction.CANCEL: "cancelled", BulkAction.EXCLUDE: "excluded"}
PAGE = Page("/bulk", "bulk", "bulk.html", bulk_page, live=False)


def bulk_routes() -> list[BaseRoute]:
    """Return the routes of the form of the page."""
    return [Route(PAGE.path, acted, name="bulk:do", methods=["POST"])]
