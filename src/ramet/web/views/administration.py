"""What is kept beside the work: schedules, settings, the stop list, the record of what people did."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import JsonValue

from ramet import Act, Client, Schedule
from ramet.web.answers.shared import Answer, json_value
from ramet.web.page import Asked, BadInput, Limit, Look, NotFound, OptionalText, Page

LISTED_MAX = 1_000
ACT_NUMBER_MAX = 2**62


class ScheduleAnswer(Answer):
    """A periodic trigger."""

    name: str
    kind: str
    times: str
    """When its slots are, in words."""
    state: str
    """``active`` or ``paused``."""
    reason: str | None
    """Why it is paused."""
    declared_by: str
    """``app`` or ``person``."""
    overlap: str
    """``skip`` or ``allow``: what becomes of a slot while the last run is not over."""
    catch_up: int
    """How many slots that nobody ran in time are run late."""
    next_at: float | None
    """None while it is paused."""
    last_slot: float | None
    last_tracking_id: str | None
    runs: int
    skipped: int
    missed: int


class SlotAnswer(Answer):
    """What became of a slot."""

    slot_at: float
    outcome: str
    """``run``, ``skipped``, ``missed`` or ``manual``."""
    tracking_id: str | None
    reason: str | None
    slots: int
    """How many slots it stands for."""
    decided_at: float


class OneScheduleAnswer(Answer):
    """A schedule and its newest slots."""

    schedule: ScheduleAnswer
    slots: list[SlotAnswer]


class SettingAnswer(Answer):
    """A setting and what holds now."""

    name: str
    value: JsonValue
    default: JsonValue
    stored: bool
    """False: the default holds."""
    value_type: str
    unit: str
    description: str
    reader: str
    """Who acts on it."""
    updated_at: float | None

    @property
    def group(self) -> str:
        """What comes before the first dot of its name."""
        return self.name.partition(".")[0]


class StopEntryAnswer(Answer):
    """A host, a domain or a pattern of keys that nothing is created for."""

    entry_type: str
    value: str
    reason: str | None
    added_by: str
    added_at: float


class ActAnswer(Answer):
    """One thing that a person did."""

    seq: int
    at: float
    by: str
    act: str
    subject: str
    tracking_id: str | None
    reason: str | None
    detail: JsonValue


class ActsAnswer(Answer):
    """What people did, newest first."""

    acts: list[ActAnswer]
    next_before: int | None
    """Give it as ``before`` for the page that follows; None at the end."""


async def load_schedules(client: Client) -> list[ScheduleAnswer]:
    """All schedules, by name; a thousand at most."""
    return [_schedule(one) for one in (await client.schedules.all())[:LISTED_MAX]]


async def load_schedule(client: Client, name: str, *, limit: int = 50) -> OneScheduleAnswer:
    """One schedule and what became of its newest slots.

    Raises:
        NotFound: there is none.
    """
    found = await client.schedules.get(name)
    if found is None:
        raise NotFound(f"no schedule {name!r}: the page of schedules lists them")
    slots = await client.schedules.slots(name, limit=limit)
    return OneScheduleAnswer(schedule=_schedule(found), slots=SlotAnswer.each(slots))


def _schedule(one: Schedule) -> ScheduleAnswer:
    return ScheduleAnswer(
        name=one.name, kind=one.kind, times=one.timing.describe(), state=one.state, reason=one.reason,
        declared_by=one.declared_by, overlap=one.overlap, catch_up=one.catch_up,
        next_at=one.next_at if one.state == "active" else None, last_slot=one.last_slot,
        last_tracking_id=one.last_tracking_id, runs=one.runs, skipped=one.skipped, missed=one.missed,
    )  # fmt: skip


async def load_settings(client: Client) -> list[SettingAnswer]:
    """Every setting that there is, with what holds now."""
    return SettingAnswer.each(await client.settings.all())


async def load_stop_list(client: Client, *, limit: int = LISTED_MAX) -> list[StopEntryAnswer]:
    """The stop list."""
    return StopEntryAnswer.each((await client.stop_list())[:limit])


async def load_acts(
    client: Client, tracking_id: str | None = None, *, limit: int = 50, before: int | None = None
) -> ActsAnswer:
    """What people did to one lineage, or to anything; a page at a time."""
    found = await client.acts(tracking_id, limit=limit + 1, before=before)
    shown = found[:limit]
    return ActsAnswer(acts=[_act(one) for one in shown], next_before=shown[-1].seq if len(found) > limit else None)


def _act(one: Act) -> ActAnswer:
    return ActAnswer(
        seq=one.seq, at=one.at, by=one.by, act=one.act, subject=one.subject, tracking_id=one.tracking_id,
        reason=one.reason, detail=json_value(one.detail),
    )  # fmt: skip


router = APIRouter(tags=["kept"])


@router.get("/schedules")
async def schedules(client: Asked) -> list[ScheduleAnswer]:
    """All schedules, by name."""
    return await load_schedules(client)


@router.get("/schedules/{name:path}")
async def schedule(client: Asked, name: str, *, limit: Limit = 50) -> OneScheduleAnswer:
    """One schedule and what became of its newest slots."""
    return await load_schedule(client, name, limit=limit)


@router.get("/settings")
async def settings(client: Asked) -> list[SettingAnswer]:
    """Every setting that there is, with what holds now."""
    return await load_settings(client)


@router.get("/stop-list")
async def stop_list(client: Asked) -> list[StopEntryAnswer]:
    """Hosts, domains and patterns that nothing is created for."""
    return await load_stop_list(client)


@router.get("/acts")
async def acts(
    client: Asked,
    *,
    tracking_id: OptionalText = None,
    before: Annotated[int | None, Query(ge=0, le=ACT_NUMBER_MAX)] = None,
    limit: Limit = 50,
) -> ActsAnswer:
    """What people did, newest first."""
    return await load_acts(client, tracking_id, limit=limit, before=before)


DETAIL_CHARACTERS_MAX = 400


async def schedules_page(look: Look) -> dict[str, Any]:
    """All schedules."""
    return {"schedules": await load_schedules(look.client)}


async def schedule_page(look: Look) -> dict[str, Any]:
    """One schedule with its newest slots."""
    name = look.text("name")
    if name is None:
        raise BadInput("give the name of a schedule: the page of schedules lists them")
    return {"found": await load_schedule(look.client, name, limit=look.number("limit", 50, 1, 200))}


def _typed(value: Any) -> str:
    """A value as it is typed: what reads it back makes the same of it."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


async def settings_page(look: Look) -> dict[str, Any]:
    """Every setting, by what comes before its dot."""
    found = await load_settings(look.client)
    wanted = (look.text("find", 100) or "").lower()
    named = [one for one in found if wanted in one.name.lower() or wanted in one.description.lower()]
    ordered = sorted(named, key=lambda one: (one.group, one.name))
    groups = [(name, list(group)) for name, group in groupby(ordered, key=lambda one: one.group)]
    typed: dict[str, tuple[str, str]] = {one.name: _shown(one) for one in named}
    return {"groups": groups, "typed": typed, "find": wanted, "changed": sum(one.stored for one in found)}


def _shown(one: SettingAnswer) -> tuple[str, str]:
    return _typed(one.value), _typed(one.default)


async def stop_list_page(look: Look) -> dict[str, Any]:
    """What nothing is created for."""
    return {"entries": await load_stop_list(look.client)}


async def acts_page(look: Look) -> dict[str, Any]:
    """What people did, newest first."""
    tracking_id = look.text("tracking_id")
    before = look.number("after", ACT_NUMBER_MAX, 0, ACT_NUMBER_MAX)
    found = await load_acts(look.client, tracking_id, limit=look.number("limit", 50, 1, 200), before=before)
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
