"""What is kept beside the work: schedules, settings, the stop list, the record of what people did."""

from __future__ import annotations

from pydantic import JsonValue

from ramet import Act, Client, Schedule
from ramet.web.answers.shared import Answer, json_value
from ramet.web.page import NotFound

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


async def schedules(client: Client) -> list[ScheduleAnswer]:
    """All schedules, by name; a thousand at most."""
    return [_schedule(one) for one in (await client.schedules.all())[:LISTED_MAX]]


async def schedule(client: Client, name: str, *, limit: int = 50) -> OneScheduleAnswer:
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


async def settings(client: Client) -> list[SettingAnswer]:
    """Every setting that there is, with what holds now."""
    return SettingAnswer.each(await client.settings.all())


async def stop_list(client: Client, *, limit: int = LISTED_MAX) -> list[StopEntryAnswer]:
    """The stop list."""
    return StopEntryAnswer.each((await client.stop_list())[:limit])


async def acts(
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
