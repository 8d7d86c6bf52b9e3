"""Schedules: who is due, and taking their slots (DESIGN §8). One transaction decides a slot, creates its lineage and
moves the schedule on; so whatever crashes, and however many workers look at once, one run per slot exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramet.model.lineage.lineage import OPEN
from ramet.model.schedule import CLOCK_BACK_SECONDS, Schedule, ScheduleSlot
from ramet.store.answers import DueSchedules
from ramet.store.errors import StoreError
from ramet.store.requests import NewLineage, SlotPlan
from ramet.store.rows.settings import record_audit_entry
from ramet.store.schema.flow import SCHEDULE_LIST, SLOT_LIST
from ramet.store.session import Session, StatementFailed
from ramet.store.verbs.submit import submit

SLOTS_MAX = 1_000
_TIMES = ("cron", "every_seconds", "timezone")
_DECLARED = (*_TIMES, "kind", "task", "limits", "overlap", "catch_up", "declared_by")


def _put_slots(session: Session, slots: Sequence[ScheduleSlot]) -> None:
    key = ("schedule", "slot_at")
    rest = tuple(name for name in ScheduleSlot._fields if name not in key)
    session.insert("ramet_slots", ScheduleSlot._fields, slots, key=key, changes=rest)


def find(session: Session, name: str) -> Schedule | None:
    """One schedule."""
    found = session.rows(f"SELECT {SCHEDULE_LIST} FROM ramet_schedules WHERE name = ?", (name,))
    return Schedule._make(found[0]) if found else None


def _known(session: Session, name: str) -> Schedule:
    found = find(session, name)
    if found is None:
        raise StoreError(f"no schedule {name!r}: `ramet schedule list` shows them")
    return found


def put_schedule(session: Session, schedule: Schedule, *, by: str | None, replace: bool) -> bool:
    """Store a schedule.

    An existing one keeps its state and counters; its next slot is computed again only if its times changed.

    Args:
        schedule: ``created_at``, ``updated_at`` and ``planned_at`` are set here, by the store's clock.
        by: the author, for the record; None for an app's declaration, which is not recorded and leaves an operator's
            schedule of the same name alone.
        replace: False refuses a name that is taken.

    Returns:
        False when nothing changed.

    Raises:
        StoreError: the name is taken.
    """
    old = find(session, schedule.name)
    now = session.now
    if old is None:
        new = schedule._replace(created_at=now, updated_at=now, planned_at=now)
        marks = ", ".join("?" * len(Schedule._fields))
        session.run(f"INSERT INTO ramet_schedules ({SCHEDULE_LIST}) VALUES ({marks})", new)
    else:
        if not replace:
            raise StoreError(f"there is a schedule {schedule.name!r} already: remove it first, or choose another name")
        if by is None and old.declared_by == "person":
            return False
        if all(getattr(old, name) == getattr(schedule, name) for name in _DECLARED):
            return False
        same_times = all(getattr(old, name) == getattr(schedule, name) for name in _TIMES)
        next_at, planned_at = (old.next_at, old.planned_at) if same_times else (schedule.next_at, now)
        session.run(
            f"UPDATE ramet_schedules SET {', '.join(f'{name} = ?' for name in _DECLARED)}, updated_at = ?, "
            "next_at = ?, planned_at = ? WHERE name = ?",
            (*(getattr(schedule, name) for name in _DECLARED), now, next_at, planned_at, schedule.name),
        )
    if by is not None:
        record_audit_entry(
            session, by=by, act="put_schedule", subject=schedule.name,
            detail={"times": schedule.timing.describe(), "kind": schedule.kind},
        )  # fmt: skip
    return True


def schedules(session: Session) -> list[Schedule]:
    """Return all schedules, by name."""
    rows = session.rows(f"SELECT {SCHEDULE_LIST} FROM ramet_schedules ORDER BY name")
    return [Schedule._make(row) for row in rows]


def slots(session: Session, name: str, *, limit: int = 100) -> list[ScheduleSlot]:
    """Return what became of a schedule's slots, the newest first; they are kept for as long as ended lineages are."""
    rows = session.rows(
        f"SELECT {SLOT_LIST} FROM ramet_slots WHERE schedule = ? ORDER BY slot_at DESC LIMIT ?",
        (name, max(1, min(limit, SLOTS_MAX))),
    )
    return [ScheduleSlot._make(row) for row in rows]


def due_schedules(session: Session, *, limit: int = 100) -> DueSchedules:
    """Return active schedules whose slot has come, or that were planned by a clock which has been set back since.

    Without schedules this is two looks at empty indexes.
    """
    found = session.rows(
        f"SELECT {SCHEDULE_LIST} FROM ramet_schedules WHERE state = 'active' AND next_at <= ? ORDER BY next_at LIMIT ?",
        (session.now, limit),
    )
    found += session.rows(
        f"SELECT {SCHEDULE_LIST} FROM ramet_schedules WHERE state = 'active' AND planned_at > ? AND next_at > ? "
        "ORDER BY planned_at LIMIT ?",
        (session.now + CLOCK_BACK_SECONDS, session.now, limit),
    )
    following = session.rows(
        "SELECT next_at FROM ramet_schedules WHERE state = 'active' AND next_at > ? ORDER BY next_at LIMIT 1",
        (session.now,),
    )
    return DueSchedules(
        session.now, tuple(Schedule._make(row) for row in found), following[0][0] if following else None
    )


def take_slots(session: Session, plans: Sequence[SlotPlan]) -> list[ScheduleSlot]:
    """Create the runs of slots and move each schedule on, in one transaction; return the decided slots.

    A slot that was decided before is passed over, and so is a schedule that changed since it was read: of any number of
    workers with the same plan, one does it. A slot that cannot be run never stops the next.
    """
    decided: list[ScheduleSlot] = []
    current = _hold(session, {plan.seen.name for plan in plans})
    for plan in plans:
        if current.get(plan.seen.name) == plan.seen:
            decided += _take(session, plan)
            del current[plan.seen.name]
    return decided


def _hold(session: Session, names: Iterable[str]) -> dict[str, Schedule]:
    """Schedules by name, held until the transaction ends."""
    listed, values = session.members(sorted(names))
    rows = session.rows(
        f"SELECT {SCHEDULE_LIST} FROM ramet_schedules WHERE name {listed} ORDER BY name{session.for_update}", (values,)
    )
    return {row[0]: Schedule._make(row) for row in rows}


def _take(session: Session, plan: SlotPlan) -> list[ScheduleSlot]:
    seen = plan.seen
    last_id, decided = seen.last_tracking_id, []
    if plan.missed and plan.missed_from is not None and not _decided(session, seen.name, plan.missed_from):
        decided.append(ScheduleSlot(seen.name, plan.missed_from, "missed", None, "no_worker", plan.missed, session.now))
    for slot_at, lineage in plan.run:
        if _decided(session, seen.name, slot_at):
            continue
        slot = _run(session, seen, last_id, slot_at, lineage)
        last_id = slot.tracking_id if slot.outcome == "run" else last_id
        decided.append(slot)
    _put_slots(session, decided)
    missed, ran, skipped = (
        sum(slot.slots for slot in decided if slot.outcome == name) for name in ("missed", "run", "skipped")
    )
    session.run(
        "UPDATE ramet_schedules SET planned_at = ?, next_at = ?, last_slot = ?, last_tracking_id = ?, runs = runs + ?, "
        "skipped = skipped + ?, missed = missed + ? WHERE name = ?",
        (session.now, plan.next_at, max((slot.slot_at for slot in decided), default=seen.last_slot), last_id,
         ran, skipped, missed, seen.name),
    )  # fmt: skip
    return decided


def _decided(session: Session, name: str, slot_at: float) -> bool:
    """Return whether a slot is decided for good; a missed one is not: with the clock set right again, its time may come
    after all.
    """
    return bool(
        session.rows(
            "SELECT 1 FROM ramet_slots WHERE schedule = ? AND slot_at = ? AND outcome <> 'missed'", (name, slot_at)
        )
    )


def _open(session: Session, tracking_id: str | None) -> bool:
    found = session.rows("SELECT state FROM ramet_lineages WHERE tracking_id = ?", (tracking_id,))
    return bool(found) and found[0][0] in OPEN


def _run(session: Session, seen: Schedule, last_id: str | None, slot_at: float, lineage: NewLineage) -> ScheduleSlot:
    """Create the slot's lineage, or say why not. Nothing that goes wrong here may stop the next slot."""
    skipped = ScheduleSlot(seen.name, slot_at, "skipped", None, None, 1, session.now)
    if seen.overlap == "skip" and _open(session, last_id):
        return skipped._replace(tracking_id=last_id, reason="previous_running")
    try:
        with session.savepoint():
            [answer] = submit(session, [lineage])
    except (StoreError, StatementFailed) as error:
        return skipped._replace(reason=f"refused: {error}")
    if answer.tracking_id != lineage.tracking_id:
        return skipped._replace(tracking_id=answer.tracking_id, reason=f"elsewhere: {answer.id}")
    return skipped._replace(outcome="run", tracking_id=lineage.tracking_id)


def run_schedule(
    session: Session, name: str, lineage: NewLineage, slot_at: float, *, by: str, reason: str | None
) -> ScheduleSlot:
    """Create a run now, outside the slots, recorded.

    Raises:
        StoreError: there is no such schedule, or its last run is not over and ``overlap`` is ``skip``.
    """
    seen = _known(session, name)
    slot = _run(session, seen, seen.last_tracking_id, slot_at, lineage)
    if slot.reason == "previous_running":
        raise StoreError(f"the last run of {name!r} is not over ({slot.tracking_id}): wait for it, or cancel it first")
    if slot.outcome != "run":
        raise StoreError(f"schedule {name!r} could not be run: {slot.reason}")
    slot = slot._replace(outcome="manual", reason=reason)
    _put_slots(session, [slot])
    session.run(
        "UPDATE ramet_schedules SET last_tracking_id = ?, runs = runs + 1 WHERE name = ?", (slot.tracking_id, name)
    )
    record_audit_entry(session, by=by, act="run_schedule", subject=name, tracking_id=slot.tracking_id, reason=reason)
    return slot


def pause_schedule(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Let no slot of a schedule run, recorded; return False when it is paused already.

    Raises:
        StoreError: there is no such schedule.
    """
    if _known(session, name).state == "paused":
        return False
    session.run("UPDATE ramet_schedules SET state = 'paused', reason = ? WHERE name = ?", (reason or f"by {by}", name))
    record_audit_entry(session, by=by, act="pause_schedule", subject=name, reason=reason)
    return True


def resume_schedule(session: Session, name: str, next_at: float, *, by: str, reason: str | None = None) -> bool:
    """Continue a schedule with the slot at ``next_at``, recorded; return False when it is not paused.

    Slots that came while it was paused are not run.

    Raises:
        StoreError: there is no such schedule.
    """
    if _known(session, name).state != "paused":
        return False
    session.run(
        "UPDATE ramet_schedules SET state = 'active', reason = NULL, next_at = ?, planned_at = ? WHERE name = ?",
        (next_at, session.now, name),
    )
    record_audit_entry(session, by=by, act="resume_schedule", subject=name, reason=reason)
    return True


def remove_schedule(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Delete a schedule and its slots, recorded; its runs stay. Returns False when there is no such schedule."""
    if not session.run("DELETE FROM ramet_schedules WHERE name = ?", (name,)):
        return False
    session.run("DELETE FROM ramet_slots WHERE schedule = ?", (name,))
    record_audit_entry(session, by=by, act="remove_schedule", subject=name, reason=reason)
    return True
