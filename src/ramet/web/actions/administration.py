"""Actions on settings, the deny list, schedules and alerts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ramet import Alert, Client, Schedule
from ramet.web.actions.action import Action, Done, Fields, Name, Person, Value, done, require
from ramet.web.actions.setting_effects import effects, shown
from ramet.web.page import existing


class OneSetting(Fields):
    """Name of a setting."""

    name: Annotated[Name, Field(title="Setting")]


class SettingValueFields(OneSetting):
    """Name and new value of a setting."""

    value: Annotated[
        Value,
        Field(title="Value", description="As its type says, money in dollars; none for no limit, where it may be."),
    ]


class StopEntryFields(Fields):
    """An entry of the deny list."""

    entry_type: Annotated[Literal["host", "domain", "pattern"], Field(title="Type")]
    value: Annotated[Name, Field(title="Value", description="A host, a domain, or a pattern of keys with * and ?.")]


class OneSchedule(Fields):
    """Name of a schedule."""

    name: Annotated[Name, Field(title="Schedule")]


async def _ask_set(client: Client, fields: SettingValueFields) -> str:
    held = await client.settings.get(fields.name)
    value = await client.settings.check(held.name, fields.value)
    require(value != held.value, f"{held.name} is {shown(held, value)} already")
    return " ".join([line async for line in effects(client, held, value)])


async def _set(client: Client, fields: SettingValueFields, person: Person) -> Done:
    before = await client.settings.get(fields.name)
    value = await client.settings.set(before.name, fields.value, by=person.by, reason=person.reason)
    return Done(
        f"{before.name} is {shown(before, value)} now (was {shown(before, before.value)})",
        {"name": before.name, "value": value, "before": before.value},
    )


async def _ask_unset(client: Client, fields: OneSetting) -> str:
    held = await client.settings.get(fields.name)
    require(held.stored, f"{held.name} has its default already: {shown(held, held.default)}")
    return " ".join([line async for line in effects(client, held, held.default)])


async def _unset(client: Client, fields: OneSetting, person: Person) -> Done:
    changed = await client.settings.unset(fields.name, by=person.by, reason=person.reason)
    message, why = f"{fields.name} has its default again", f"{fields.name} has its default already"
    return done(changed, message, why, name=fields.name)


async def _ask_stop(client: Client, fields: StopEntryFields) -> str:
    return (
        f"Stops {fields.entry_type} {fields.value}: the guard blocks every spawn that it covers, and submits of it are "
        "refused. Tasks that exist are not touched."
    )


async def _stop(client: Client, fields: StopEntryFields, person: Person) -> Done:
    entry = await client.stop(fields.entry_type, fields.value, by=person.by, reason=person.reason)
    return Done(f"stopped {entry.entry_type} {entry.value}", entry._asdict())


async def _ask_unstop(client: Client, fields: StopEntryFields) -> str:
    listed = any((one.entry_type, one.value) == (fields.entry_type, fields.value) for one in await client.stop_list())
    require(listed, f"{fields.entry_type} {fields.value} is not on the deny list")
    return (
        f"Removes {fields.entry_type} {fields.value} from the deny list. Spawns that it blocked can be offered again "
        "then."
    )


async def _unstop(client: Client, fields: StopEntryFields, person: Person) -> Done:
    removed = await client.unstop(fields.entry_type, fields.value, by=person.by, reason=person.reason)
    what = f"{fields.entry_type} {fields.value}"
    return done(removed, f"removed {what} from the deny list", f"{what} is not on the deny list", value=fields.value)


async def _schedule(client: Client, name: str) -> Schedule:
    return existing(await client.schedules.get(name), f"no schedule {name!r}: the page of schedules lists them")


async def _ask_pause(client: Client, fields: OneSchedule) -> str:
    one = await _schedule(client, fields.name)
    require(one.state == "active", f"schedule {one.name} is paused already")
    return f"Runs no slot of schedule {one.name} until it is resumed. A run that has begun continues."


async def _pause(client: Client, fields: OneSchedule, person: Person) -> Done:
    one = await _schedule(client, fields.name)
    paused = await client.schedules.pause(one.name, by=person.by, reason=person.reason)
    return done(paused, f"paused schedule {one.name}", f"schedule {one.name} is paused already", schedule=one.name)


async def _ask_resume(client: Client, fields: OneSchedule) -> str:
    one = await _schedule(client, fields.name)
    require(one.state != "active", f"schedule {one.name} is not paused")
    return f"Resumes schedule {one.name} with its next slot; slots that passed while it was paused are not run."


async def _resume(client: Client, fields: OneSchedule, person: Person) -> Done:
    one = await _schedule(client, fields.name)
    resumed = await client.schedules.resume(one.name, by=person.by, reason=person.reason)
    return done(resumed, f"resumed schedule {one.name}", f"schedule {one.name} is not paused", schedule=one.name)


async def _ask_run(client: Client, fields: OneSchedule) -> str:
    one = await _schedule(client, fields.name)
    return f"Starts a run of schedule {one.name} ({one.kind}) now, in a lineage of its own."


async def _run(client: Client, fields: OneSchedule, person: Person) -> Done:
    one = await _schedule(client, fields.name)
    slot = await client.schedules.run(one.name, by=person.by, reason=person.reason)
    return Done(f"schedule {one.name} runs as lineage {slot.tracking_id}", {"tracking_id": slot.tracking_id})


async def _ask_remove(client: Client, fields: OneSchedule) -> str:
    one = await _schedule(client, fields.name)
    back = " An app declared it: its next worker brings it back. Pause it instead." if one.declared_by == "app" else ""
    return f"Removes schedule {one.name} and its slots; its runs stay.{back}"


async def _remove(client: Client, fields: OneSchedule, person: Person) -> Done:
    one = await _schedule(client, fields.name)
    removed = await client.schedules.remove(one.name, by=person.by, reason=person.reason)
    return done(removed, f"removed schedule {one.name}", f"no schedule {one.name!r}", schedule=one.name)


ACTIONS = (
    Action(
        "set-setting",
        "Change setting",
        "Store a setting; workers act on it within seconds.",
        SettingValueFields,
        _ask_set,
        _set,
        open=frozenset({"value"}),
    ),
    Action(
        "unset-setting", "Back to default", "Let the default of a setting hold again.", OneSetting, _ask_unset, _unset
    ),
    Action(
        "stop",
        "Add to the deny list",
        "Refuse new tasks of a host, a domain or a pattern of keys.",
        StopEntryFields,
        _ask_stop,
        _stop,
    ),
    Action(
        "unstop",
        "Remove from the deny list",
        "Remove an entry from the deny list.",
        StopEntryFields,
        _ask_unstop,
        _unstop,
    ),
    Action("pause-schedule", "Pause schedule", "Run no slot of a schedule.", OneSchedule, _ask_pause, _pause),
    Action("resume-schedule", "Resume schedule", "Resume a paused schedule.", OneSchedule, _ask_resume, _resume),
    Action("run-schedule", "Run now", "Start one run of a schedule now.", OneSchedule, _ask_run, _run),
    Action(
        "remove-schedule",
        "Remove schedule",
        "Remove a schedule; its runs stay.",
        OneSchedule,
        _ask_remove,
        _remove,
        True,
    ),
)


NUMBER_MAX = 2**53


class OneAlert(Fields):
    """Number of an alert."""

    alert_id: Annotated[int, Field(ge=0, le=NUMBER_MAX, title="Alert")]


async def _alert(client: Client, number: int) -> Alert:
    return existing(await client.alert(number), f"no alert {number}: it does not exist, or was pruned")


def _otherwise(alert: Alert) -> str:
    if alert.state != "firing":
        return f"alert {alert.id} is {alert.state} already"
    return f"alert {alert.id} was acknowledged already, by {alert.acknowledged_by}"


async def _ask_acknowledge(client: Client, fields: OneAlert) -> str:
    alert = await _alert(client, fields.alert_id)
    require(alert.state == "firing" and alert.acknowledged_at is None, _otherwise(alert))
    return f"Acknowledges alert {alert.id}: {alert.subject}. No further notifications while it fires."


async def _acknowledge(client: Client, fields: OneAlert, person: Person) -> Done:
    alert = await _alert(client, fields.alert_id)
    noticed = await client.acknowledge_alert(alert.id, by=person.by, reason=person.reason)
    return done(noticed, f"acknowledged alert {alert.id}", _otherwise(alert), alert_id=alert.id)


ALERT_ACTIONS = (
    Action("acknowledge", "Acknowledge alert", "Acknowledge a firing alert; no further notifications while it fires.",
           OneAlert, _ask_acknowledge, _acknowledge),
)  # fmt: skip
