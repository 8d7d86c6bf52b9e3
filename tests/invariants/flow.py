"""The part of :mod:`tests.invariants.check` for flow control, schedules and kinds of several stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ramet.model.flow.resources import Resource, ResourcePolicy, policy_of
from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.schedule import Schedule, ScheduleSlot
from ramet.store.store import Store

if TYPE_CHECKING:
    from tests.invariants.check import Rows


class HoldRow(NamedTuple):
    seq: int
    fence: int
    tracking_id: str
    queue: str
    kind: str
    resource: str | None


class QueueRow(NamedTuple):
    name: str
    paused_at: float | None
    paused_by: str | None
    paused_seconds: float


class StageRow(NamedTuple):
    seq: int
    base: str
    places: int


class FlowRows:
    """What belongs to no single lineage."""

    def __init__(self) -> None:
        self.holds: list[HoldRow] = []
        self.resources: dict[str, Resource] = {}
        self.policies: list[ResourcePolicy] = []
        self.queues: list[QueueRow] = []
        self.schedules: dict[str, Schedule] = {}
        self.slots: list[ScheduleSlot] = []
        self.stages: dict[int, StageRow] = {}
        self.resource_of: dict[int, str | None] = {}
        """As the wide row says, by task number."""

    async def load(self, store: Store) -> None:
        async def table(name: str, fields: Any) -> list[Any]:
            return [fields._make(row) for row in await store.read(f"SELECT {', '.join(fields._fields)} FROM {name}")]

        self.holds = await table("ramet_holds", HoldRow)
        self.resources = {row.name: row for row in await table("ramet_resources", Resource)}
        self.policies = await table("ramet_policies", ResourcePolicy)
        self.queues = await table("ramet_queues", QueueRow)
        self.schedules = {row.name: row for row in await table("ramet_schedules", Schedule)}
        self.slots = await table("ramet_slots", ScheduleSlot)
        self.stages = {row.seq: row for row in await table("ramet_stages", StageRow)}
        self.resource_of = dict(await store.read("SELECT seq, resource FROM ramet_tasks"))


def held_slots_are_of_ended_claims(rows: Rows) -> Iterator[str]:
    """A slot is held on for a claim that was ended from outside, and for no claim that runs (it would count twice)."""
    ended = {(seq, fence) for seq, fence, _, outcome in rows.attempts if outcome == "ended"}
    for hold in rows.flow.holds:
        name = f"the slot held on for claim {hold.fence} of task {hold.seq}"
        task, standing = rows.tasks.get(hold.seq), rows.live.get(hold.seq)
        if task is None:
            if hold.tracking_id in rows.lineages:
                yield f"{name} is of no task"
            continue
        if (hold.seq, hold.fence) not in ended:
            yield f"{name} is of a claim that was not ended from outside"
        if standing is not None and standing.state == "processing" and standing.fence == hold.fence:
            yield f"{name} is of a claim that runs"
        told = (hold.tracking_id, hold.kind, hold.resource)
        if told != (task.tracking_id, task.kind, rows.flow.resource_of[hold.seq]):
            yield f"{name} says {told}, and the task something else"


def resources_are_sound(rows: Rows) -> Iterator[str]:
    """Tokens fit their policy; what is switched off or paused says by whom, or why (I8)."""
    for resource in rows.flow.resources.values():
        policy, name = policy_of(resource.name, rows.flow.policies), f"resource {resource.name!r}"
        if not resource.name:
            yield "a resource has no name"
        # What a handler takes at once may be more than there is, as a debt; claims stop at 0.
        if policy.rate_per_second is not None and (resource.tokens or 0.0) > policy.burst:
            yield f"{name} has {resource.tokens} tokens of {policy.burst}"
        if (resource.told_rate is not None and resource.told_rate <= 0) or (resource.cut_rate or 1.0) <= 0:
            yield f"{name} gains nothing: told {resource.told_rate}, cut to {resource.cut_rate}"
        if resource.failures < 0:
            yield f"{name} counts {resource.failures} failures"
        if (resource.opened_at is None) != (resource.opened_by is None):
            yield f"{name} is open since {resource.opened_at} by {resource.opened_by}"
        if (resource.opened_by == "engine" and not resource.opened_reason) or (
            resource.opened_at is None and resource.opened_reason
        ):
            yield f"{name} is open since {resource.opened_at} for the reason {resource.opened_reason}"
        if resource.paused_until > 0 and not resource.paused_reason:
            yield f"{name} is paused without a reason"


def tasks_wait_at_their_resource(rows: Rows) -> Iterator[str]:
    """I1: who has a resource goes through it, and it is looked at for as long as anybody waits for it."""
    for standing in rows.live.values():
        name = f"{standing.state} task {standing.seq}"
        if standing.seq in rows.tasks and standing.resource != rows.flow.resource_of[standing.seq]:
            yield f"{name} has the resource {standing.resource}, its wide row another"
        if standing.resource is None:
            if standing.wait == "resource":
                yield f"{name} waits for a resource and has none"
            continue
        if standing.wait is None and standing.ending is None:
            yield f"{name} goes past its resource {standing.resource}"
        if standing.wait == "resource" and standing.state == "pending":
            if standing.ending is not None:
                yield f"{name} is ending, and its last handler waits for {standing.resource}"
            resource = rows.flow.resources.get(standing.resource)
            if resource is None or resource.ready_at is None:
                yield f"{name} waits for {standing.resource}, which nobody will look at"


def pauses_of_queues_are_counted(rows: Rows) -> Iterator[str]:
    """A pause that goes on is counted whole, and somebody made it."""
    for queue in rows.flow.queues:
        least = 0.0 if queue.paused_at is None else PAUSE_SECONDS_MAX
        if (queue.paused_at is None) != (queue.paused_by is None) or queue.paused_seconds < least - 0.001:
            yield f"queue {queue}"


def schedules_count_their_slots(rows: Rows) -> Iterator[str]:
    """What became of a slot is counted; rows are pruned and counters are not, so a counter may be larger."""
    counted: Counter[tuple[str, str]] = Counter()
    for slot in rows.flow.slots:
        name = f"slot {slot.slot_at} of schedule {slot.schedule}"
        counted[slot.schedule, "runs" if slot.outcome == "manual" else slot.outcome.replace("run", "runs")] += (
            slot.slots
        )
        if slot.schedule not in rows.flow.schedules:
            yield f"{name} is of no schedule"
        if slot.slots < 1 or (slot.slots > 1 and slot.outcome != "missed"):
            yield f"{name} was {slot.outcome} and stands for {slot.slots}"
        if slot.outcome in ("run", "manual") and slot.tracking_id is None:
            yield f"{name} was {slot.outcome} and has no lineage"
        if slot.outcome in ("skipped", "missed") and not slot.reason:
            yield f"{name} was {slot.outcome} without a reason"
    for (schedule, name), count in counted.items():
        row = rows.flow.schedules.get(schedule)
        if row is not None and getattr(row, name) < count:
            yield f"schedule {schedule} counts {getattr(row, name)} {name}, and has {count} rows of them"


def stages_follow_their_first(rows: Rows) -> Iterator[str]:
    """A later stage takes no place of its own: its parent is a stage of the same kind and key, and the first of them
    paid for all."""
    by_id = {task.id: task for task in rows.tasks.values()}
    for row in rows.flow.stages.values():
        task = rows.tasks.get(row.seq)
        if task is None:
            continue  # Told by nothing_is_orphaned.
        if row.places < 0 or not task.kind.startswith(f"{row.base}."):
            yield f"task {task.id} of kind {task.kind} is a stage of {row.base} with {row.places} places"
        first, steps = row, 1
        while first.places == 0:
            parent = by_id.get(task.parent_id or "")
            above = None if parent is None else rows.flow.stages.get(parent.seq)
            if parent is None or above is None or (above.base, parent.key) != (row.base, task.key):
                yield f"task {task.id} is a later stage of {row.base} {task.key!r} and has no earlier one above it"
                break
            task, first, steps = parent, above, steps + 1
        if 0 < first.places < steps:
            yield f"{row.base} {task.key!r} is at its stage {steps} and paid for {first.places}"


FLOW_CHECKS = (
    held_slots_are_of_ended_claims,
    resources_are_sound,
    tasks_wait_at_their_resource,
    pauses_of_queues_are_counted,
    schedules_count_their_slots,
    stages_follow_their_first,
)
