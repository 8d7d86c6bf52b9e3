"""Settle: everything a worker asks for under its claims, in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.limits import LOWERABLE
from ramet.model.lineage.lineage import OPEN, Lineage, retry_slot
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemResult
from ramet.model.task.lifecycle import decide
from ramet.model.task.retry import ErrorClass, fingerprint
from ramet.model.task.task import Standing
from ramet.model.task.transitions import PENDING, Change
from ramet.model.values import REASON_CHARACTERS_MAX, storable
from ramet.store.answers import SettleResult, SpawnResult
from ramet.store.errors import StoreError, StoreRefused
from ramet.store.requests import Settlement
from ramet.store.rows.blocks import Parent
from ramet.store.rows.branches import bound_of
from ramet.store.rows.lineages import lock_lineages, name_deadlines, tombstones_of
from ramet.store.rows.money import add_to_sums, book_charges
from ramet.store.rows.retained_slots import FLOW
from ramet.store.rows.tasks import load_standings
from ramet.store.rows.turns import renew
from ramet.store.session import Session, StatementFailed, StatementTimedOut
from ramet.store.state.apply import apply
from ramet.store.state.lanes import LaneMissed, end_successes
from ramet.store.state.path_changes import release_claims
from ramet.store.verbs import resources
from ramet.store.verbs.bound import Items, numbers_of, settle_items
from ramet.store.verbs.join import join
from ramet.store.verbs.lineage_end import start_ends
from ramet.store.verbs.spawn import RequiredRefused, check_required, hold_paths, load_parents, spawn

NOT_STORED = "what it asked for cannot be stored"
UNSETTLEABLE = (StoreRefused, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""Errors of settling because of one settlement: the whole transaction was refused, or a value is not of its declared
form.
"""


def repeated_failure(session: Session, standing: Standing, print_: str) -> str | None:
    """Id of the task whose final failure makes this error a repetition (DESIGN §6), or None.

    That is this very task, before a person revived it, or an ancestor; never a task of another lineage. A lineage has
    no second task of the same kind and key (promise I4).
    """
    [(task_id, _, chain, _)] = load_parents(session, [standing.seq]).values()
    before_revive = session.rows(
        "SELECT 1 FROM ramet_transitions WHERE seq = ? AND name = 'revive' AND fingerprint = ? LIMIT 1",
        (standing.seq, print_),
    )
    if before_revive:
        return task_id
    if chain:
        listed, values = session.members(chain)
        found = session.rows(
            f"SELECT id FROM ramet_tasks WHERE id {listed} AND state || '' = 'failed' AND fingerprint = ? LIMIT 1",
            (values, print_),
        )
        if found:
            return str(found[0][0])
    return None


def failed(item: Settlement, what: str, error: Exception) -> Settlement:
    """Return the settlement as the error that it turned out to be; nothing that it asked for is kept."""
    text = str(error) if isinstance(error, StatementFailed | StoreError) else f"{type(error).__name__}: {error}"
    error_class = ErrorClass.TRANSIENT if isinstance(error, StatementTimedOut) else ErrorClass.UNCLASSIFIED
    message = storable(f"{what}: {text}", REASON_CHARACTERS_MAX)
    event = ev.Error(item.fence, message, error_class.value, fingerprint(what, text), jitter=1.0)
    return Settlement(item.seq, item.fence, event)


def settle(session: Session, batch: Sequence[Settlement], *, lanes: bool = True) -> list[SettleResult]:
    """Apply settlements; return the answers in the order of the batch.

    Several settlements of one task take effect one after the other. A settlement that the database cannot take (a value
    that it cannot hold, say) becomes that error and leaves the others alone; so does one whose required spawn is
    refused.

    Args:
        session: the transaction.
        batch: of any tasks.
        lanes: False takes the usual way for all of them and their items (:mod:`ramet.store.state.lanes`).
    """
    try:
        with session.savepoint():
            return _settle_together(session, batch, lanes=lanes)
    except LaneMissed:
        return settle(session, batch, lanes=False)
    except RequiredRefused as refused:
        answers = settle(session, refused.replaced(batch), lanes=lanes)
        refused.record(session, answers)
        return answers
    except StatementFailed as error:
        if len(batch) == 1:
            return _settle_together(session, [failed(batch[0], NOT_STORED, error)], lanes=False)
    # One by one they would take their rows in the order of the batch, and two batches could wait for each other.
    _hold(session, batch)
    return [answer for item in batch for answer in settle(session, [item], lanes=lanes)]


class _LockedRows(NamedTuple):
    """The rows that a batch decides about: live ones first, in order of number, then lineages, in order of name."""

    seqs: dict[str, int]
    """Numbers of bound tasks, by id."""
    standings: dict[int, Standing]
    lineages: dict[str, Lineage]


def _bound_numbers(session: Session, batch: Sequence[Settlement]) -> dict[str, int]:
    """Return the numbers of the bound tasks that a batch names, by id."""
    named = [each.task_id for item in batch if item.items for each in item.items]
    return numbers_of(session, named) if named else {}


def _hold(session: Session, batch: Sequence[Settlement], *, lanes: bool = False) -> _LockedRows:
    """Hold the rows that a batch decides about, in one order for all, and read them; with `lanes`, not those of bound
    tasks, which are read where a lane leaves them (:meth:`ramet.store.verbs.bound.Items.load`)."""
    seqs = _bound_numbers(session, batch)
    if session.for_update and lanes and seqs:
        _hold_rows(session, batch, seqs)
    elif session.for_update:
        hold_paths(session, batch, seqs.values())
    standings = load_standings(session, [*(item.seq for item in batch), *(() if lanes else seqs.values())])
    tracking_ids = {row.tracking_id for row in standings.values()}
    late = [item.seq for item in batch if item.spawns and item.seq not in standings]
    if late:
        tracking_ids |= {tracking_id for _, tracking_id, _, _ in load_parents(session, late).values()}
    lineages = lock_lineages(session, tracking_ids)
    if any(row.resource for row in standings.values()) or any(map(_names_resource, batch)):
        session.lock(FLOW)
    return _LockedRows(seqs, standings, lineages)


def _names_resource(item: Settlement) -> bool:
    event = item.event
    return (type(event) is ev.Snooze and bool(event.resource)) or any(new.resource for new in item.spawns)


Spoken = list[tuple[int, resources.ResourceOutcome | resources.ResourceSuccess]]
"""Statements of settlements about resources, with their places in the batch."""


def _settle_together(session: Session, batch: Sequence[Settlement], *, lanes: bool) -> list[SettleResult]:
    answers: dict[int, SettleResult] = {}
    rounds = _rounds(batch)
    plain = [(at, item) for at, item in rounds[0] if item.only_returned] if lanes and len(rounds) == 1 else []
    if len(rounds) > 1:
        _hold(
            session, batch
        )  # In one order for all: rows that a later round wants are not waited for while others are locked.
    elif plain:
        # A handler's own statements come first: one that ends the transaction must not keep what is ours.
        by_lane = {at for at, _ in plain}
        rounds = [[(at, item) for at, item in rounds[0] if at not in by_lane]]
    in_order = bool(rounds[0]) or session.rows_left or not session.for_update
    if plain and in_order and session.for_update:
        _hold_rows(session, batch, _bound_numbers(session, batch))
    about = Spoken()
    for items in rounds:
        _settle_round(session, items, answers, about, lanes=lanes)
    if plain:
        about += _settle_plain(session, plain, answers)
        left = [(at, item) for at, item in plain if at not in answers]
        session.rows_left = bool(left)
        if left and not in_order:
            raise LaneMissed  # Their rows would be held after those of lineages.
        _settle_round(session, left, answers, about, lanes=lanes)
    resources.settled(session, [results for _, results in sorted(about, key=itemgetter(0))])
    return [answers[at] for at in range(len(batch))]


def _settle_plain(
    session: Session, plain: Sequence[tuple[int, Settlement]], answers: dict[int, SettleResult]
) -> Spoken:
    """Settle what a lane can take; return what that says about resources."""
    done = end_successes(session, [item for _, item in plain])
    answers.update((at, done.answers[item.seq]) for at, item in plain if item.seq in done.answers)
    _then(session, done.lineages, ())
    named = [(at, done.resources[item.seq]) for at, item in plain if item.seq in done.resources]
    return [(at, resources.ResourceSuccess(name)) for at, name in named]


def _hold_rows(session: Session, batch: Sequence[Settlement], bound: Mapping[str, int]) -> None:
    """Hold everything that a batch decides about, bound tasks among it, in the order of :func:`_hold`; read nothing."""
    hold_paths(session, batch, bound.values())
    listed, values = session.members([*(item.seq for item in batch), *bound.values()])
    found = session.rows(
        "SELECT DISTINCT tracking_id, resource IS NOT NULL FROM (SELECT tracking_id, resource FROM ramet_live "
        f"WHERE seq {listed} ORDER BY seq{session.for_update}) AS held",
        (values,),
    )
    lock_lineages(session, [tracking_id for tracking_id, _ in found])
    if any(shared for _, shared in found):
        session.lock(FLOW)  # Before the sums of money, which the others may write before the lane.


def _rounds(batch: Sequence[Settlement]) -> list[list[tuple[int, Settlement]]]:
    """Return the batch with its places, in parts in which each task comes once."""
    if len({item.seq for item in batch}) == len(batch):
        return [list(enumerate(batch))]
    rounds: list[list[tuple[int, Settlement]]] = []
    turn: dict[int, int] = defaultdict(int)
    for at, item in enumerate(batch):
        if turn[item.seq] == len(rounds):
            rounds.append([])
        rounds[turn[item.seq]].append((at, item))
        turn[item.seq] += 1
    return rounds


def _settle_round(
    session: Session,
    items: Sequence[tuple[int, Settlement]],
    answers: dict[int, SettleResult],
    about: Spoken,
    *,
    lanes: bool,
) -> None:
    if not items:
        return
    held = _hold(session, [item for _, item in items], lanes=lanes)
    standings, lineages = held.standings, held.lineages
    accepted: list[tuple[int, Settlement, Standing]] = []
    over: list[Change] = []
    for at, item in items:
        standing = standings.get(item.seq)
        if standing is None or not _current(standing, item.fence, session.now):
            answers[at] = SettleResult(item.seq, None, "stale", _refuse_spawns(session, item, lineages))
            continue
        end = _lineage_end(session, standing, lineages[standing.tracking_id])
        if end is None:
            accepted.append((at, item, standing))
            continue
        change = decide(standing, end, session.now)
        assert isinstance(change, Change)
        over.append(change)
        answers[at] = SettleResult(item.seq, None, end.state, _refuse_spawns(session, item, lineages), end.reason)
    _settle_accepted(session, accepted, held, answers, over, about=about, lanes=lanes)
    # A settlement proves that the handler has stopped: a slot retained after an end from outside is released.
    release_claims(
        session,
        [(item.seq, item.fence) for at, item in items if answers[at].refused and type(item.event) not in _GOES_ON],
    )


_GOES_ON = (ev.Progress, ev.Checkpoint)


def _current(standing: Standing, fence: int, now: float) -> bool:
    """Return whether a claim is current: no newer one was taken and its lease runs (DESIGN §2: stale is an expired
    lease).
    """
    return standing.fence == fence and standing.state == "processing" and standing.lease_until > now


def _settle_accepted(
    session: Session,
    accepted: Sequence[tuple[int, Settlement, Standing]],
    held: _LockedRows,
    answers: dict[int, SettleResult],
    over: list[Change],
    *,
    about: Spoken,
    lanes: bool,
) -> None:
    lineages = held.lineages
    accepted = resources.capped(session, _all_with_writes(session, accepted))
    _lower_limits(session, accepted, lineages)
    charged = _charge(session, accepted, lineages)
    settled_items = _settle_items(session, accepted, held, lanes=lanes)
    spawned = _spawn_all(session, accepted, lineages)
    # Errors count retries on these rows; each lineage is written once, however many of its tasks failed.
    retries_before = {tracking_id: (row.retry_minute, row.retries) for tracking_id, row in lineages.items()}
    changes: list[Change] = over
    results: dict[int, str | None] = {}
    now, renewed = session.now, list[Standing]()
    for at, item, read in accepted:
        spawns = spawned.get(item.seq, ())
        granted = _children(item, spawns) if spawns else 0
        standing, event = read, item.event
        item_results = settled_items.get(item.seq, ())
        if granted or item.writes or item.charge is not None or (item_results and any(t.state for t in item_results)):
            standing = read._replace(fan_out=read.fan_out + granted, progressed=1)
        if type(event) is ev.Error:
            change = _decide_error(session, standing, event, lineages)
        elif type(event) is ev.Join:
            change = join(session, standing, item, spawns, lineages)
        elif type(event) is ev.Snooze and not event.uses_time:
            until = bound_of(session, standing, lineages[standing.tracking_id])
            change = _decided(standing, replace(event, bound_at=until), now, item.hold_seconds)
        else:
            change = _decided(standing, event, now, item.hold_seconds)
        if type(event) is ev.Continue and change.after.state == PENDING:
            renewed.append(change.after)
        if read.resource is not None or type(event) is ev.Snooze:
            about.append((at, resources.ResourceOutcome(change, event, item.switch_off)))
        changes.append(change)
        if item.result is not None:
            results[item.seq] = item.result
        answers[at] = SettleResult(
            item.seq, change.after.state, None, spawns, change.reason, item_results, change.error
        )
    _save_retries(session, lineages, retries_before)
    changes = _with_deadlines(session, changes, accepted, answers)
    applied = apply(session, changes, results)
    assert not applied.lost, f"tasks {sorted(applied.lost)} changed inside the transaction that read them"
    renew(session, renewed)
    _save_checkpoints(session, [(item, standing) for _, item, standing in accepted])
    _save_logs(session, accepted)
    add_to_sums(session, charged)
    _then(session, lineages, changes)


def _then(session: Session, lineages: Mapping[str, Lineage], changes: Sequence[Change]) -> None:
    """Do what follows from settling: ends that are wanted, and tasks to claim."""
    if any(row.end_wanted for row in lineages.values()):
        start_ends(session, limit=len(lineages))
    if any(change.after.state == PENDING for change in changes):
        session.wake()


def _with_deadlines(
    session: Session,
    changes: list[Change],
    accepted: Sequence[tuple[int, Settlement, Standing]],
    answers: dict[int, SettleResult],
) -> list[Change]:
    """Return the changes with the deadline of the lineage as the reason of those that it ended."""
    named = name_deadlines(session, changes)
    if named is changes:
        return changes
    reasons = {change.before.seq: change.reason for change in named}
    for at, item, _ in accepted:
        answers[at] = answers[at]._replace(reason=reasons[item.seq])
    return list(named)


def _children(item: Settlement, results: Sequence[SpawnResult]) -> int:
    """Return the number of its spawns that count as fan-out: those granted that are not a later stage of the task
    itself.
    """
    return sum(1 for new, answer in zip(item.spawns, results, strict=True) if answer.id is not None and new.places)


def _settle_items(
    session: Session, accepted: Sequence[tuple[int, Settlement, Standing]], held: _LockedRows, *, lanes: bool
) -> Mapping[int, Sequence[ItemResult]]:
    wanted = [(item.seq, item.items) for _, item, _ in accepted if item.items]
    return settle_items(session, Items(session, *held), wanted, lanes=lanes) if wanted else {}


def _charge(
    session: Session, accepted: Sequence[tuple[int, Settlement, Standing]], lineages: dict[str, Lineage]
) -> int:
    charges = [
        (item.seq, item.fence, standing.tracking_id, item.charge)
        for _, item, standing in accepted
        if item.charge is not None
    ]
    return book_charges(session, charges, lineages) if charges else 0


def _decided(standing: Standing, event: ev.Event, now: float, hold_seconds: float | None = None) -> Change:
    change = decide(standing, event, now)
    assert isinstance(change, Change), f"a current claim refused {event}: {change}"
    return change if hold_seconds is None else change._replace(hold_seconds=hold_seconds)


def _decide_error(session: Session, standing: Standing, event: ev.Error, lineages: dict[str, Lineage]) -> Change:
    """Return an error, with what only the database knows: was it seen before, has its lineage retried too often."""
    if event.error_class == ErrorClass.UNCLASSIFIED:
        event = replace(event, repeats=repeated_failure(session, standing, event.fingerprint))
    change = _decided(standing, event, session.now)
    if change.after.state != PENDING:
        return change
    lineages[standing.tracking_id], not_before_at = retry_slot(lineages[standing.tracking_id], session.now)
    if not_before_at is None:
        return change
    return _decided(standing, replace(event, not_before_at=not_before_at), session.now)


def _save_retries(session: Session, lineages: dict[str, Lineage], before: dict[str, tuple[int, int]]) -> None:
    rows = [
        (row.retry_minute, row.retries, tracking_id)
        for tracking_id, row in lineages.items()
        if (row.retry_minute, row.retries) != before[tracking_id]
    ]
    session.update("ramet_lineages", ("retry_minute", "retries"), ("tracking_id",), rows)


def _refuse_spawns(session: Session, item: Settlement, lineages: dict[str, Lineage]) -> Sequence[SpawnResult]:
    """Of a settlement that is refused nothing is written but the reason why its spawns were refused (promise I8)."""
    if not item.spawns:
        return ()
    parents = load_parents(session, [item.seq])
    if item.seq not in parents:
        return ()
    task_id, tracking_id, chain, depth = parents[item.seq]
    parent = Parent(task_id, tracking_id, chain, depth, 0, claim_current=False)
    [results] = spawn(session, [(parent, item.spawns)], lineages)
    return results


def _lineage_end(session: Session, standing: Standing, lineage: Lineage) -> ev.LineageEnded | None:
    """Return the end of the lineage, from its row: work that was going on when it ended is refused."""
    if standing.ending is not None:
        return None
    if lineage.state not in OPEN:
        return ev.LineageEnded(lineage.state, lineage.reason or Reason(f"lineage_{lineage.state}"))
    marks = tombstones_of(lineage)
    if marks:
        [(task_id, _, chain, _)] = load_parents(session, [standing.seq]).values()
        grave = tombstone_over(marks, task_id, chain)
        if grave is not None:
            return ev.LineageEnded("cancelled", Reason("cancel_tree", task=grave))
    return None


def claim_refusal(session: Session, standing: Standing | None, fence: int, lineage: Lineage | None) -> str | None:
    """Why a claim may not ask for anything any more, as settle would say; None for a current one."""
    if standing is None or lineage is None or not _current(standing, fence, session.now):
        return "stale"
    end = _lineage_end(session, standing, lineage)
    return None if end is None else end.state


def _all_with_writes(
    session: Session, accepted: Sequence[tuple[int, Settlement, Standing]]
) -> Sequence[tuple[int, Settlement, Standing]]:
    if not any(item.writes for _, item, _ in accepted):
        return accepted
    return [(at, _with_writes(session, item), standing) for at, item, standing in accepted]


def _with_writes(session: Session, item: Settlement) -> Settlement:
    """Run a handler's own writes; when one fails, the settlement becomes that error and nothing of it is kept."""
    if not item.writes:
        return item
    try:
        with session.theirs():
            for write in item.writes:
                session.run(write.sql, write.parameters)
    except StatementFailed as error:
        return failed(item, "a ctx.write failed", error)
    return item


def _lower_limits(
    session: Session, accepted: Sequence[tuple[int, Settlement, Standing]], lineages: dict[str, Lineage]
) -> None:
    for _, item, standing in accepted:
        for name, wanted in item.lower:
            if name not in LOWERABLE:
                raise StatementFailed(f"{name} cannot be lowered by a handler: use one of {sorted(LOWERABLE)}")
            lineage = lineages[standing.tracking_id]
            # Never under what exists already: the row's own CHECK holds tasks <= max_tasks.
            lowered = max(wanted, lineage.tasks) if name == "max_tasks" else wanted
            if lowered < getattr(lineage, name):
                session.run(
                    f"UPDATE ramet_lineages SET {name} = ? WHERE tracking_id = ?", (lowered, lineage.tracking_id)
                )
                lineages[standing.tracking_id] = Lineage._make(
                    lowered if field == name else value for field, value in zip(Lineage._fields, lineage, strict=True)
                )


def _spawn_all(
    session: Session, accepted: Sequence[tuple[int, Settlement, Standing]], lineages: dict[str, Lineage]
) -> dict[int, list[SpawnResult]]:
    asking = [(item, standing) for _, item, standing in accepted if item.spawns]
    if not asking:
        return {}
    parents = load_parents(session, [item.seq for item, _ in asking])
    wanted = [
        # A task that is ending has a claim for its on_end handler only, which spawns nothing.
        (Parent(*parents[item.seq], fan_out=standing.fan_out, claim_current=standing.ending is None), item.spawns)
        for item, standing in asking
    ]
    results = spawn(session, wanted, lineages)
    check_required([at for at, item, _ in accepted if item.spawns], wanted, results)
    return {item.seq: answers for (item, _), answers in zip(asking, results, strict=True)}


def _save_checkpoints(session: Session, items: Sequence[tuple[Settlement, Standing]]) -> None:
    rows = [
        (item.seq, standing.tracking_id, item.pipeline_state, item.progress, session.now)
        for item, standing in items
        if item.pipeline_state is not None or item.progress is not None
    ]
    if rows:
        session.insert(
            "ramet_checkpoints",
            ("seq", "tracking_id", "pipeline_state", "progress", "updated_at"),
            rows,
            key=("seq",),
            changes=(
                "pipeline_state = COALESCE(excluded.pipeline_state, ramet_checkpoints.pipeline_state)",
                "progress = COALESCE(excluded.progress, ramet_checkpoints.progress)",
                "updated_at",
            ),
        )


def _save_logs(session: Session, accepted: Sequence[tuple[int, Settlement, Standing]]) -> None:
    rows = [(item.seq, item.fence, standing.tracking_id, item.log) for _, item, standing in accepted if item.log]
    session.insert(
        "ramet_task_logs", ("seq", "fence", "tracking_id", "log"), rows, key=("seq", "fence"), changes=("log",)
    )
