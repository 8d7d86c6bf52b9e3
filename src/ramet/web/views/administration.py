"""Schedules, settings, the deny list and the audit log: readings, API routes and pages."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query

from ramet import AuditEntry, Client, Schedule, ScheduleSlot, StopEntry, as_usd
from ramet.engine.client.settings import SettingInForce
from ramet.engine.settings.setting import NANO_DOLLARS_UNIT, SETTINGS
from ramet.web.answer import Answer, AsObject
from ramet.web.page import BadInput, ClientDep, Limit, OptionalText, Page, Visit, existing

LISTED_MAX = 1_000
ACT_NUMBER_MAX = 2**62


class ScheduleAnswer(Answer):
    """A periodic trigger."""

    name: str
    kind: str
    times: str
    """The times of its slots in words."""
    state: str
    """``active`` or ``paused``."""
    reason: str | None
    """Why it is paused."""
    declared_by: str
    """``app`` or ``person``."""
    overlap: str
    """``skip`` or ``allow``: what becomes of a slot while the last run is not over."""
    catch_up: int
    """Missed slots that are run late."""
    next_at: float | None
    """None while it is paused."""
    last_slot: float | None
    last_tracking_id: str | None
    runs: int
    skipped: int
    missed: int


SlotAnswer = Annotated[ScheduleSlot, AsObject(without={"schedule"})]


class OneScheduleAnswer(Answer):
    """A schedule and its newest slots."""

    schedule: ScheduleAnswer
    slots: list[SlotAnswer]


SettingAnswer = Annotated[SettingInForce, AsObject("SettingAnswer")]
StopEntryAnswer = Annotated[StopEntry, AsObject()]
ActAnswer = Annotated[AuditEntry, AsObject()]


class AuditLogAnswer(Answer):
    """Entries of the audit log, newest first."""

    acts: list[ActAnswer]
    next_before: int | None
    """Give it as ``before`` for the page that follows; None at the end."""


async def load_schedules(client: Client) -> list[ScheduleAnswer]:
    """Return all schedules, by name; a thousand at most."""
    return [_schedule(one) for one in (await client.schedules.all())[:LISTED_MAX]]


async def load_schedule(client: Client, name: str, *, limit: int = 50) -> OneScheduleAnswer:
    """Return one schedule and the outcomes of its newest slots.

    Raises:
        NotFound: there is none.
    """
    found = existing(await client.schedules.get(name), f"no schedule {name!r}: the page of schedules lists them")
    slots = await client.schedules.slots(name, limit=limit)
    return OneScheduleAnswer(schedule=_schedule(found), slots=list(slots))


def _schedule(one: Schedule) -> ScheduleAnswer:
    return ScheduleAnswer(
        name=one.name, kind=one.kind, times=one.timing.describe(), state=one.state, reason=one.reason,
        declared_by=one.declared_by, overlap=one.overlap, catch_up=one.catch_up,
        next_at=one.next_at if one.state == "active" else None, last_slot=one.last_slot,
        last_tracking_id=one.last_tracking_id, runs=one.runs, skipped=one.skipped, missed=one.missed,
    )  # fmt: skip


async def load_acts(
    client: Client, tracking_id: str | None = None, *, limit: int = 50, before: int | None = None
) -> AuditLogAnswer:
    """Read a page of the audit log, of one lineage or of all."""
    found = await client.acts(tracking_id, limit=limit + 1, before=before)
    shown = found[:limit]
    return AuditLogAnswer(acts=list(shown), next_before=shown[-1].seq if len(found) > limit else None)


router = APIRouter(tags=["kept"])


@router.get("/schedules")
async def schedules(client: ClientDep) -> list[ScheduleAnswer]:
    """List all schedules, by name."""
    return await load_schedules(client)


@router.get("/schedules/{name:path}")
async def schedule(client: ClientDep, name: str, *, limit: Limit = 50) -> OneScheduleAnswer:
    """Return one schedule and the outcomes of its newest slots."""
    return await load_schedule(client, name, limit=limit)


@router.get("/settings")
async def settings(client: ClientDep) -> list[SettingAnswer]:
    """List every setting with its present value."""
    return list(await client.settings.all())


@router.get("/stop-list")
async def stop_list(client: ClientDep) -> list[StopEntryAnswer]:
    """List the hosts, domains and patterns for which nothing is created."""
    return list((await client.stop_list())[:LISTED_MAX])


@router.get("/acts")
async def acts(
    client: ClientDep,
    *,
    tracking_id: OptionalText = None,
    before: Annotated[int | None, Query(ge=0, le=ACT_NUMBER_MAX)] = None,
    limit: Limit = 50,
) -> AuditLogAnswer:
    """List the audit log, newest first."""
    return await load_acts(client, tracking_id, limit=limit, before=before)


DETAIL_CHARACTERS_MAX = 400


async def schedules_page(visit: Visit) -> dict[str, Any]:
    """Show all schedules."""
    return {"schedules": await load_schedules(visit.client)}


async def schedule_page(visit: Visit) -> dict[str, Any]:
    """Show one schedule with its newest slots."""
    name = visit.text("name")
    if name is None:
        raise BadInput("give the name of a schedule: the page of schedules lists them")
    return {"found": await load_schedule(visit.client, name, limit=visit.number("limit", 50, 1, 200))}


def _typed(value: Any, unit: str) -> str:
    """Return a value as it is typed; reading it back gives the same value."""
    if value is None:
        return "none"
    if unit == NANO_DOLLARS_UNIT:
        return as_usd(value)
    return value if isinstance(value, str) else json.dumps(value)


class SettingGroup(NamedTuple):
    """Settings with one prefix."""

    name: str
    settings: list[SettingInForce]
    in_use: bool
    """They are the engine's, of an app or of a product that this database has rows of, or one of them is stored."""


async def settings_page(visit: Visit) -> dict[str, Any]:
    """Show every setting by its prefix: the engine's first, then of packages in use, those of others folded."""
    found = await visit.client.settings.all()
    wanted = (visit.text("find", 100) or "").lower()
    named = [one for one in found if wanted in one.name.lower() or wanted in one.description.lower()]
    own = {one.name for one in visit.client.settings.live.declared.own}
    used = {one.name for one in visit.request.app.state.products.used} | {
        _group(one) for one in found if one.stored or one.name in own
    }
    groups = [_settings_of(name, list(group), used) for name, group in groupby(named, key=_group)]
    groups.sort(key=lambda group: not group.in_use)
    typed: dict[str, tuple[str, str]] = {
        one.name: (_typed(one.value, one.unit), _typed(one.default, one.unit)) for one in named
    }
    return {"groups": groups, "typed": typed, "find": wanted, "changed": sum(one.stored for one in found)}


def _settings_of(name: str, settings: list[SettingInForce], used: set[str]) -> SettingGroup:
    return SettingGroup(name, settings, name in used or settings[0].name in SETTINGS)


def _group(setting: SettingInForce) -> str:
    """Return what precedes the first dot of the name."""
    return setting.name.partition(".")[0]


async def stop_list_page(visit: Visit) -> dict[str, Any]:
    """Show the deny list."""
    return {"entries": (await visit.client.stop_list())[:LISTED_MAX]}


async def acts_page(visit: Visit) -> dict[str, Any]:
    """Show the audit log, newest first."""
    tracking_id = visit.text("tracking_id")
    before = visit.number("after", ACT_NUMBER_MAX, 0, ACT_NUMBER_MAX)
    found = await load_acts(visit.client, tracking_id, limit=visit.number("limit", 50, 1, 200), before=before)
    details = {one.seq: _detail(one.detail) for one in found.acts}
    return {"found": found, "tracking_id": tracking_id, "details": details}


def _detail(detail: Any) -> str:
    text = "" if detail is None else json.dumps(detail, ensure_ascii=False)
    return text if len(text) <= DETAIL_CHARACTERS_MAX else f"{text[:DETAIL_CHARACTERS_MAX]} ..."


PAGES = (
    Page("/schedules", "schedules", "schedules.html", schedules_page),
    Page("/schedule", "schedule", "schedule.html", schedule_page),
    Page("/settings", "settings", "settings.html", settings_page, live=False),
    Page("/stop-list", "stop-list", "stop-list.html", stop_list_page, live=False),
    Page("/acts", "acts", "acts.html", acts_page, live=False),
)
