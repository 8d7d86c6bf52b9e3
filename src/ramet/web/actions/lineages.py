"""Actions on lineages: retry failed tasks, cancel, pause, raise limits, offer blocked spawns again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from ramet import Client, Lineage, LineageState, TaskState, UniqueHeld
from ramet.commands.terminal import counted
from ramet.model.lineage.guard import REOFFERABLE
from ramet.model.lineage.limits import RAISABLE
from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, as_usd
from ramet.web.actions.action import Action, Done, Fields, Name, Person, done, require
from ramet.web.actions.tasks import Extend
from ramet.web.page import existing

RETRIED_MAX = 1_000
"""Failed tasks that one action revives, in one transaction."""
REASONS = sorted(reason.value for reason in REOFFERABLE)

Tracking = Annotated[Name, Field(title="Lineage")]
Count = Annotated[int | None, Field(ge=0, le=AMOUNT_MAX)]
Money = Annotated[int | None, Field(ge=0, le=AMOUNT_MAX, description="Whole nano-dollars; as text: dollars.")]


class OneLineage(Fields):
    """Tracking id of a lineage."""

    tracking_id: Tracking


class RetryLineageFields(OneLineage):
    """Tracking id of a lineage, and its extension."""

    extend_seconds: Extend = None


class RaiseLimitsFields(OneLineage):
    """Tracking id of a lineage, and its new limits; none is ever lowered."""

    max_tasks: Annotated[Count, Field(title="Tasks that it may ever create")] = None
    max_spawn_depth: Annotated[Count, Field(title="Largest depth of a task")] = None
    max_fan_out: Annotated[Count, Field(title="Children of one task")] = None
    max_shape: Annotated[Count, Field(title="Spawned keys of one shape")] = None
    retries_per_minute: Annotated[Count, Field(title="Retries of all its tasks in a minute")] = None
    max_cost: Annotated[Money, Field(title="Money that it may spend (dollars)")] = None
    soft_cost: Annotated[Money, Field(title="Money up to which it reserves (dollars)")] = None
    allow_shape: Annotated[Name | None, Field(
        title="Allow a shape", description="Of honest pages, such as https://x.example/a/#, or with a limit: ...=5000.",
    )] = None  # fmt: skip
    extend_seconds: Extend = None

    @field_validator("max_cost", "soft_cost", mode="before")
    @classmethod
    def _in_nano_dollars(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            amount = float(value)
        except ValueError:
            amount = -1.0
        if not 0 <= amount <= AMOUNT_MAX / NANO_DOLLARS:
            raise ValueError(f"give an amount of dollars from 0 to {AMOUNT_MAX // NANO_DOLLARS:,}")
        return round(amount * NANO_DOLLARS)

    @property
    def limits(self) -> dict[str, int]:
        """Those that were given."""
        return {name: getattr(self, name) for name in sorted(RAISABLE) if getattr(self, name) is not None}

    @property
    def shapes(self) -> list[str]:
        """The shape that is to be allowed, if any."""
        return [self.allow_shape] if self.allow_shape else []


class ReofferFields(OneLineage):
    """Tracking id of a lineage, and a filter of its blocks."""

    reasons: Annotated[Name | None, Field(
        title="Blocked by", description=f"Some of {', '.join(REASONS)}, with commas between them; all, if empty.",
    )] = None  # fmt: skip
    kind: Annotated[Name | None, Field(title="Kind")] = None
    key: Annotated[Name | None, Field(title="Key", description="In its canonical form.")] = None
    shape: Annotated[Name | None, Field(title="Shape", description="Such as https://x.example/a/#.")] = None

    @property
    def only(self) -> dict[str, str | None]:
        """Filters beside the reasons."""
        return {name: getattr(self, name) or None for name in ("kind", "key", "shape")}

    @property
    def wanted(self) -> list[str]:
        """The reasons by themselves."""
        return [word.strip() for word in (self.reasons or "").split(",") if word.strip()]


async def _lineage(client: Client, tracking_id: str) -> Lineage:
    return existing(await client.lineage(tracking_id), f"no lineage {tracking_id}: the page of lineages lists them")


async def _ask_retry(client: Client, fields: RetryLineageFields) -> str:
    lineage = await _lineage(client, fields.tracking_id)
    require(lineage.failed > 0, f"no task of lineage {lineage.tracking_id} has failed")
    most = "" if lineage.failed <= RETRIED_MAX else f"the first {RETRIED_MAX:,} of "
    return f"Gives {most}{counted(lineage.failed, 'failed task')} of lineage {lineage.tracking_id} new attempts."


async def _retry(client: Client, fields: RetryLineageFields, person: Person) -> Done:
    lineage = await _lineage(client, fields.tracking_id)
    page = await client.tasks(tracking_id=lineage.tracking_id, states=[TaskState.FAILED], limit=RETRIED_MAX)
    wanted = [task.id for task in page.tasks]
    revived: list[str] = []
    held = 0
    while wanted:
        try:
            revived = await client.revive(
                wanted, by=person.by, reason=person.reason, extend_seconds=fields.extend_seconds
            )  # fmt: skip
            break
        except UniqueHeld as error:
            # One whose unique key another task holds by now does not keep the others down.
            wanted.remove(error.task_id)
            held += 1
    left = (await _lineage(client, lineage.tracking_id)).failed
    message = f"revived {counted(len(revived), 'task')} of lineage {lineage.tracking_id}"
    message += f"; {counted(left, 'failed task')} left" if left else ""
    message += f", {held} of them without their unique key" if held else ""
    why = f"no failed task of lineage {lineage.tracking_id} can be retried"
    return done(bool(revived), message, why, revived=len(revived), left=left)


async def _ask_cancel(client: Client, fields: OneLineage) -> str:
    lineage = await _lineage(client, fields.tracking_id)
    over = lineage.state not in (LineageState.RUNNING, LineageState.PAUSED)
    require(not over, f"nothing to cancel: lineage {lineage.tracking_id} is {lineage.state} already")
    live = counted(lineage.live, "live task")
    return f"Cancels {live} of lineage {lineage.tracking_id}. Running handlers are notified; late results are refused."


async def _cancel(client: Client, fields: OneLineage, person: Person) -> Done:
    lineage = await _lineage(client, fields.tracking_id)
    cancelled = await client.cancel_lineage(lineage.tracking_id, by=person.by, reason=person.reason)
    message = f"cancelled lineage {lineage.tracking_id} with {counted(lineage.live, 'live task')}"
    why = f"nothing to cancel: lineage {lineage.tracking_id} has ended already"
    return done(cancelled, message, why, tracking_id=lineage.tracking_id, live=lineage.live)


async def _ask_pause(client: Client, fields: OneLineage) -> str:
    lineage = await _lineage(client, fields.tracking_id)
    running = lineage.state == LineageState.RUNNING
    require(running, f"lineage {lineage.tracking_id} is {lineage.state}: only a running one can be paused")
    back = await client.held_back(lineage.tracking_id)
    held = f"{'at least ' if back.more else ''}{counted(back.tasks, 'task')} of other lineages"
    behind = f" Its tasks keep their places in line: {held} cannot begin meanwhile." if back.tasks or back.more else ""
    return (
        f"Claims nothing more of lineage {lineage.tracking_id} ({counted(lineage.live, 'live task')}) and stops its "
        f"clocks, for at most 30 days. Running handlers continue.{behind}"
    )


async def _pause(client: Client, fields: OneLineage, person: Person) -> Done:
    lineage = await _lineage(client, fields.tracking_id)
    paused = await client.pause_lineage(lineage.tracking_id, by=person.by, reason=person.reason)
    why = f"lineage {lineage.tracking_id} is {lineage.state}: only a running one can be paused"
    return done(paused, f"paused lineage {lineage.tracking_id}", why, tracking_id=lineage.tracking_id)


async def _ask_resume(client: Client, fields: OneLineage) -> str:
    lineage = await _lineage(client, fields.tracking_id)
    require(lineage.state == LineageState.PAUSED, f"lineage {lineage.tracking_id} is not paused")
    live = counted(lineage.live, "live task")
    return f"Resumes lineage {lineage.tracking_id}: {live}. Its deadlines move by the time it was paused."


async def _resume(client: Client, fields: OneLineage, person: Person) -> Done:
    lineage = await _lineage(client, fields.tracking_id)
    resumed = await client.resume_lineage(lineage.tracking_id, by=person.by, reason=person.reason)
    why = f"lineage {lineage.tracking_id} is not paused"
    return done(resumed, f"resumed lineage {lineage.tracking_id}", why, tracking_id=lineage.tracking_id)


async def _ask_raise(client: Client, fields: RaiseLimitsFields) -> str:
    lineage = await _lineage(client, fields.tracking_id)
    changes = [f"{name} from {_shown(name, getattr(lineage, name))} to {_shown(name, value)}"
            for name, value in fields.limits.items()]  # fmt: skip
    changes += [f"allowing the shape {shape}" for shape in fields.shapes]
    if fields.extend_seconds is not None:
        changes.append(f"its deadline to {fields.extend_seconds:g} s from now, where that is later")
    what = f": {'; '.join(changes)}" if changes else ""
    return f"Raises limits of lineage {lineage.tracking_id}{what}. A limit is never lowered by this."


def _shown(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    return as_usd(value) if name.endswith("_cost") else f"{value:,}"


async def _raise(client: Client, fields: RaiseLimitsFields, person: Person) -> Done:
    lineage = await _lineage(client, fields.tracking_id)
    given = bool(fields.limits or fields.shapes) or fields.extend_seconds is not None
    require(given, "nothing to raise: give a limit, or how long it may run")
    after = await client.raise_limits(
        lineage.tracking_id, by=person.by, reason=person.reason, extend_seconds=fields.extend_seconds,
        allow_shapes=fields.shapes, **fields.limits,
    )  # fmt: skip
    raised = {name: getattr(after, name) for name in (*sorted(RAISABLE), "allowed_shapes", "deadline_at")
              if getattr(after, name) != getattr(lineage, name)}  # fmt: skip
    message = f"raised {', '.join(sorted(raised))} of lineage {lineage.tracking_id}"
    return done(bool(raised), message, f"lineage {lineage.tracking_id} has these limits already", raised=raised)


async def _ask_reoffer(client: Client, fields: ReofferFields) -> str:
    lineage = await _lineage(client, fields.tracking_id)
    wanted = set(fields.wanted or REASONS)
    totals = await client.block_totals(lineage.tracking_id)
    count = sum(number for (_, reason), number in totals.items() if reason in wanted)
    named = ", ".join(f"{name} {value}" for name, value in fields.only.items() if value is not None)
    only = f", only of {named}" if named else ""
    return (
        f"Offers the spawns of lineage {lineage.tracking_id} again that were refused for {', '.join(sorted(wanted))} "
        f"({counted(count, 'refusal')} so far){only}. Each goes through the whole guard; "
        "what passes is created."
    )


async def _reoffer(client: Client, fields: ReofferFields, person: Person) -> Done:
    lineage = await _lineage(client, fields.tracking_id)
    result = await client.reoffer(
        lineage.tracking_id, reasons=fields.wanted, by=person.by, reason=person.reason, **fields.only
    )
    created, still = len(result.created), sum(result.still_blocked.values())
    return Done(
        f"created {counted(created, 'task')}; {result.there_already:,} existed by now, {still:,} still blocked",
        {"created": created, "there_already": result.there_already, "still_blocked": dict(result.still_blocked)},
    )


ACTIONS = (
    Action(
        "retry-failed",
        "Retry failed tasks",
        "Give all failed tasks of a lineage new attempts.",
        RetryLineageFields,
        _ask_retry,
        _retry,
    ),
    Action(
        "cancel-lineage", "Cancel lineage", "Cancel everything of a lineage.", OneLineage, _ask_cancel, _cancel, True
    ),
    Action(
        "pause-lineage",
        "Pause lineage",
        "Claim nothing more of a lineage and stop its clocks.",
        OneLineage,
        _ask_pause,
        _pause,
    ),
    Action("resume-lineage", "Resume lineage", "Resume a paused lineage.", OneLineage, _ask_resume, _resume),
    Action(
        "raise-limits",
        "Raise limits",
        "Raise limits of a lineage, or extend its deadline.",
        RaiseLimitsFields,
        _ask_raise,
        _raise,
    ),
    Action(
        "reoffer",
        "Offer blocked spawns again",
        "Offer spawns again that a limit, the deny list or a trap refused.",
        ReofferFields,
        _ask_reoffer,
        _reoffer,
    ),
)
