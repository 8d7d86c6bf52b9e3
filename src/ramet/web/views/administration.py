"""Schedules, settings, the stop list, and the record of what people did."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from ramet.web.answers import administration
from ramet.web.answers.administration import SettingAnswer
from ramet.web.page import BadInput, Look, Page

DETAIL_CHARACTERS_MAX = 400


async def schedules(look: Look) -> dict[str, Any]:
    """All schedules."""
    return {"schedules": await administration.schedules(look.client)}


async def schedule(look: Look) -> dict[str, Any]:
    """One schedule with its newest slots."""
    name = look.text("name")
    if name is None:
        raise BadInput("give the name of a schedule: the page of schedules lists them")
    return {"found": await administration.schedule(look.client, name, limit=look.number("limit", 50, 1, 200))}


def _typed(value: Any) -> str:
    """A value as it is typed: what reads it back makes the same of it."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


async def settings(look: Look) -> dict[str, Any]:
    """Every setting, by what comes before its dot."""
    found = await administration.settings(look.client)
    wanted = (look.text("find", 100) or "").lower()
    named = [one for one in found if wanted in one.name.lower() or wanted in one.description.lower()]
    ordered = sorted(named, key=lambda one: (one.group, one.name))
    groups = [(name, list(group)) for name, group in groupby(ordered, key=lambda one: one.group)]
    typed: dict[str, tuple[str, str]] = {one.name: _shown(one) for one in named}
    return {"groups": groups, "typed": typed, "find": wanted, "changed": sum(one.stored for one in found)}


def _shown(one: SettingAnswer) -> tuple[str, str]:
    return _typed(one.value), _typed(one.default)


async def stop_list(look: Look) -> dict[str, Any]:
    """What nothing is created for."""
    return {"entries": await administration.stop_list(look.client)}


async def acts(look: Look) -> dict[str, Any]:
    """What people did, newest first."""
    tracking_id = look.text("tracking_id")
    before = look.number("after", administration.ACT_NUMBER_MAX, 0, administration.ACT_NUMBER_MAX)
    found = await administration.acts(look.client, tracking_id, limit=look.number("limit", 50, 1, 200), before=before)
    details = {one.seq: _detail(one.detail) for one in found.acts}
    return {"found": found, "tracking_id": tracking_id, "details": details}


def _detail(detail: Any) -> str:
    text = "" if detail is None else json.dumps(detail, ensure_ascii=False)
    return text if len(text) <= DETAIL_CHARACTERS_MAX else f"{text[:DETAIL_CHARACTERS_MAX]} ..."


PAGES = (
    Page("/schedules", "schedules", "schedules.html", schedules),
    Page("/schedule", "schedule", "schedule.html", schedule),
    Page("/settings", "settings", "settings.html", settings, live=False),
    Page("/stop-list", "stop-list", "stop-list.html", stop_list, live=False),
    Page("/acts", "acts", "acts.html", acts, live=False),
)
