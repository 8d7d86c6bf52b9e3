"""Effects of changing a setting, as sentences: shown before the change is confirmed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

from ramet import Client, Limits, as_usd
from ramet.commands.terminal import counted
from ramet.engine.client.settings import SettingInForce
from ramet.engine.settings.setting import LIMITS_PREFIX, NANO_DOLLARS_UNIT
from ramet.model.lineage.limits import worst_case
from ramet.model.money import DAY_SETTING, GLOBAL_SETTING

RETENTION = "maintenance.retention_days"
DAY_SECONDS = 86_400.0
PRUNED_MAX = 10_000
"""Lineages that are counted."""
_HOURLY = ("cycles", "invocations", "items", "calls", "running_seconds")
"""Numbers of the worst hour that `ramet limits show` prints too."""


def shown(held: SettingInForce, value: Any) -> str:
    """Return a value as people read it: money in dollars, numbers with their unit."""
    if value is None:
        return "none"
    if held.unit == NANO_DOLLARS_UNIT:
        return str(as_usd(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.15g} {held.unit}".rstrip()
    return str(value)


async def effects(client: Client, held: SettingInForce, value: Any) -> AsyncIterator[str]:
    """Yield a sentence for each effect of storing a value that may be stored."""
    now, then, default = (shown(held, one) for one in (held.value, value, held.default))
    yield f"Changes {held.name} ({held.description}) from {now} to {then}; its default is {default}."
    yield f"Acted on by: {held.reader}, within seconds."
    if held.name.startswith(LIMITS_PREFIX):
        yield "Lineages and tasks that exist keep their limits; where an app gives a stricter value, that holds."
        for line in await _worst_hour(client, held.name.removeprefix(LIMITS_PREFIX), value):
            yield line
    find = _COUNTED.get(held.name)
    if find is not None and value is not None:
        yield await find(client, value)


async def _worst_hour(client: Client, name: str, value: Any) -> list[str]:
    """Describe what the limit allows in an hour at worst, before and after; empty where that is equal."""
    before = await client.settings.limits(Limits())
    try:
        after = worst_case(replace(before, **{name: value}))
    except (TypeError, ValueError):
        return []  # A limit that ends nothing by itself is refused when it is stored, with its own words.
    now = worst_case(before)
    pairs = [(one.replace("_", " "), getattr(now, one), getattr(after, one)) for one in _HOURLY]
    changes = [f"{words} {old:,.0f} -> {new:,.0f}" for words, old, new in pairs if old != new]
    return [f"At worst in an hour: {', '.join(changes)}."] if changes else []


async def _pruned(client: Client, days: Any) -> str:
    found = await client.store.prunable(client.clock.now() - days * DAY_SECONDS, limit=PRUNED_MAX)
    more = "at least " if found.lineages >= PRUNED_MAX else ""
    return f"Maintenance then deletes {more}{counted(found.lineages, 'lineage')} that ended before that."


async def _spent_today(client: Client, most: Any) -> str:
    day = (await client.costs(limit=1)).day
    return _against("today (UTC)", day.spent + day.reserved, most)


async def _spent_in_all(client: Client, most: Any) -> str:
    total = (await client.costs(limit=1)).total
    return _against("in all", total.spent + total.reserved, most)


def _against(when: str, used: int, most: int) -> str:
    passed = "more than that: calls that cost money end at once" if used > most else "within that"
    return f"Spent and reserved {when} is {as_usd(used)}, {passed}."


_COUNTED: dict[str, Callable[[Client, Any], Awaitable[str]]] = {
    RETENTION: _pruned,
    DAY_SETTING: _spent_today,
    GLOBAL_SETTING: _spent_in_all,
}
"""Settings of which the database says what a value would meet now."""
