"""The import's verbs: tasks of another queue enter with their past, through the same constraints as any other.

A row's id is what makes a run repeatable: a task that exists is left alone, whatever the file says now. Counters of
lineages and parents are brought up to date in the transaction that inserts; identity, depth and size are held by the
same keys and checks as for a submit.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

from ramet.model.keys import bounded_key
from ramet.model.lineage.guard import GlobalHolder, imported_seconds
from ramet.model.lineage.lineage import OPEN, Lineage, LineageState, Placement, reopened
from ramet.model.reasons import Reason, code_of, stored
from ramet.model.task.task import TaskState
from ramet.store.answers import ImportBatchResult, ImportPlace, ImportRow
from ramet.store.errors import StoreError
from ramet.store.requests import ImportRunResult, ImportTask
from ramet.store.rows import keys as uniqueness
from ramet.store.rows.lineages import insert_lineages, lock_lineages, read_lineages
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.settings import record_audit_entry
from ramet.store.rows.turns import Turns
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Session
from ramet.store.state.apply import enter_ended
from ramet.store.verbs.submit import Births, create

DUPLICATE = "import_duplicate"
STEP_SECONDS = 1e-6
"""Between two rows of a file that line up: what a float of today's moments can still tell apart."""
_PLACE_LIST = "t.id, t.tracking_id, t.ancestry_chain, t.spawn_depth, t.kind, t.key, g.max_spawn_depth"


def history_key(key: str, reason: str, task_id: str) -> str:
    """Return the key of a row that may not have its own: no canonical key has such an end, and no two rows have the
    same.
    """
    return bounded_key(f"{key}#{reason}:{task_id}")


def places(
    session: Session, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()
) -> tuple[list[ImportPlace], dict[str, int]]:
    """Return which of these tasks exist, and where; and ``max_spawn_depth`` of those lineages that exist."""
    listed, values = session.members(task_ids)
    rows = session.rows(
        f"SELECT {_PLACE_LIST} FROM ramet_tasks t JOIN ramet_lineages g ON g.tracking_id = t.tracking_id "
        f"WHERE t.id {listed}",
        (values,),
    )
    lineages = read_lineages(session, tracking_ids) if tracking_ids else {}
    return [ImportPlace(*row) for row in rows], {name: row.max_spawn_depth for name, row in lineages.items()}


def import_tasks(
    session: Session,
    name: str,
    batch: Sequence[ImportTask],
    *,
    line_up_at: float | None = None,
    hold_until: float | None = None,
) -> ImportBatchResult:
    """Create tasks with their past, all or none; a task whose id exists is left alone.

    The record of the import ``name``, which must have begun, counts them in the same transaction.

    A live task takes its unique key, or becomes history where another task holds it. An ended one holds it from its end
    on, unless a live task does, or one that holds it longer.

    Counters of lineages and parents stay exact; limits of size and fan-out are raised to what arrives. A pending task
    can be claimed at once, or with ``hold_until`` not before that moment or
    :meth:`~ramet.store.store.Store.import_release`.
    """
    _refuse_closed(session, name)
    known, _ = places(session, [item.new.id for item in batch], ())
    there = {place.id for place in known}
    fresh = [item for item in batch if item.new.id not in there]
    if not fresh:
        return ImportBatchResult(0, len(there), ())
    fresh, duplicates = _without_duplicates(session, fresh)
    fresh, others = _without_held_keys(session, fresh)
    duplicates += others
    lock_stripes(session, (), [(x.new.path, x.new.queue, x.tracking_id) for x in fresh if x.new.path is not None])
    lineages = lock_lineages(session, [item.tracking_id for item in fresh])
    new = _new_lineages(session, fresh, lineages)
    fresh = [_adapted_to_lineage(item, lineages[item.tracking_id]) for item in fresh]
    turns = Turns(session)
    live = [item for item in fresh if item.state == TaskState.PENDING]
    ended = [item for item in fresh if item.state != TaskState.PENDING]
    insert_lineages(session, new)
    _create_live(session, live, lineages, turns, hold_until=hold_until, line_up_at=line_up_at)
    _create_ended(session, ended)
    _remember(session, fresh)
    _count_children(session, fresh)
    _count_lineages(session, fresh, lineages, turns)
    history = sum(1 for item in fresh if (code_of(item.reason) or "").startswith("import_"))
    session.run(
        "UPDATE ramet_imports SET created = created + ?, history = history + ? WHERE name = ?",
        (len(fresh), history, name),
    )
    return ImportBatchResult(len(fresh), len(there), duplicates)


def _without_duplicates(
    session: Session, fresh: Sequence[ImportTask]
) -> tuple[list[ImportTask], tuple[tuple[str, str], ...]]:
    """Rows whose identity a task has that exists already become history: what exists is never changed."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for item in fresh:
        wanted[item.tracking_id].add(item.new.key)
    holders: dict[tuple[str, str, str], str] = {}
    for tracking_id, keys in sorted(wanted.items()):
        listed, values = session.members(sorted(keys))
        for key, kind, task_id in session.rows(
            "SELECT i.key, i.kind, t.id FROM ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq "
            f"WHERE i.tracking_id = ? AND i.key {listed}",
            (tracking_id, values),
        ):
            holders[tracking_id, key, kind] = task_id
    kept, duplicates = [], []
    for item in fresh:
        holder = holders.get((item.tracking_id, item.new.key, item.new.kind))
        if holder is None:
            kept.append(item)
            continue
        duplicates.append((item.new.id, holder))
        kept.append(_as_duplicate(item, holder))
    return kept, tuple(duplicates)


def _without_held_keys(
    session: Session, fresh: Sequence[ImportTask]
) -> tuple[list[ImportTask], tuple[tuple[str, str], ...]]:
    """Live rows whose unique key another task holds, in whatever lineage, become history."""
    live = [item for item in fresh if item.state == TaskState.PENDING and item.new.unique_seconds is not None]
    held = uniqueness.holders(session, {(item.new.unique_kind, item.new.key) for item in live}) if live else {}
    of = {}
    for item in live:
        own = GlobalHolder(item.new.id, item.tracking_id, None, None)
        holder = held.setdefault((item.new.unique_kind, item.new.key), own)
        if holder is not own:
            of[item.new.id] = holder.id
    kept = [_as_duplicate(item, of[item.new.id]) if item.new.id in of else item for item in fresh]
    return kept, tuple(of.items())


def _as_duplicate(item: ImportTask, holder: str) -> ImportTask:
    return as_history(item, DUPLICATE, Reason(DUPLICATE, task=holder))


def as_history(item: ImportTask, mark: str, reason: str) -> ImportTask:
    """Return the row as one that is kept and never run: terminal, with its reason, under a key of its own."""
    state = TaskState.SKIPPED.value if item.state == TaskState.PENDING else item.state
    key = history_key(item.new.key, mark, item.new.id)
    return item._replace(new=item.new._replace(key=key, unique_seconds=None), state=state, reason=reason)


def _new_lineages(session: Session, fresh: Sequence[ImportTask], lineages: dict[str, Lineage]) -> list[Lineage]:
    """Rows of lineages that do not exist yet; their clocks begin now, whenever their tasks were created."""
    made = []
    for item in fresh:
        if item.tracking_id in lineages:
            continue
        bounds = item.limits
        row = Lineage(
            tracking_id=item.tracking_id, state=LineageState.FINISHED.value, reason=None, created_at=session.now,
            deadline_at=session.now + bounds.lineage_seconds, ended_at=session.now,
            max_spawn_depth=item.max_spawn_depth, max_tasks=bounds.max_tasks, max_fan_out=bounds.max_fan_out,
            tasks=0, live=0, success=0, filtered=0, skipped=0, failed=0, cancelled=0, blocks=0, tombstones="", sweep=0,
            queue=item.new.queue,
            retries_per_minute=bounds.retries_per_minute, max_shape=bounds.max_shape, max_cost=bounds.max_cost,
            soft_cost=bounds.soft_cost,
        )  # fmt: skip
        lineages[item.tracking_id] = row
        made.append(row)
    return made


def _adapted_to_lineage(item: ImportTask, lineage: Lineage) -> ImportTask:
    """Adapt a row to its lineage: one that was cancelled or is past its deadline takes no live task any more."""
    over = lineage.state not in OPEN and lineage.state != LineageState.FINISHED
    if item.state == TaskState.PENDING and over:
        reason = Reason("over_before_import", state=lineage.state)
        return item._replace(state=lineage.state, reason=reason, held_seconds_max=0.0)
    return item


def _create_live(
    session: Session,
    live: Sequence[ImportTask],
    lineages: dict[str, Lineage],
    turns: Turns,
    *,
    hold_until: float | None,
    line_up_at: float | None,
) -> None:
    births = Births()
    held: list[tuple[float, str]] = []
    for item in live:
        place = Placement(item.tracking_id, item.parent_id, item.ancestry_chain, item.spawn_depth)
        new = item.new
        due = hold_until
        if new.path is not None and line_up_at is not None:
            due = line_up_at + item.number * STEP_SECONDS
        if due is not None:
            new = new._replace(delay_seconds=max(1.0, due - session.now))
            held.append((due, new.id))
        births.add([new], place, turns.take(lineages[item.tracking_id], [new], item.spawn_depth))
    create(session, births)
    session.update("ramet_tasks", ("created_at",), ("id",), [(item.created_at, item.new.id) for item in live])
    session.run_many(
        "UPDATE ramet_live SET attempts = ?, stage = ? WHERE seq = (SELECT seq FROM ramet_tasks WHERE id = ?)",
        [(item.attempts, item.stage, item.new.id) for item in live if item.attempts or item.stage],
    )
    session.run_many(
        "UPDATE ramet_live SET available_at = ? WHERE seq = (SELECT seq FROM ramet_tasks WHERE id = ?)", held
    )


def _create_ended(session: Session, ended: Sequence[ImportTask]) -> None:
    if not ended:
        return
    first = session.take_numbers(len(ended))
    named = [(item.new.key, item.tracking_id, item.new.kind, seq) for seq, item in enumerate(ended, first)]
    uniqueness.insert_identities(session, named)
    rows, uniques = [], []
    for seq, item in enumerate(ended, first):
        new, ended_at = item.new, session.now if item.ended_at is None else item.ended_at
        seconds = None if new.unique_seconds is None else imported_seconds(item.state, new.unique_seconds)
        if seconds is not None:
            until = ended_at + (seconds if item.held_seconds_max is None else min(seconds, item.held_seconds_max))
            uniques.append((new.key, new.unique_kind, new.id, seq, item.tracking_id, item.state, until))
        reason, facts = stored(item.reason)
        rows.append({
            **new._asdict(), **item._asdict(), "reason": reason, "reason_facts": facts, "seq": seq,
            "ancestry_chain": json.dumps(item.ancestry_chain), "fence": 0, "losses": 0, "snoozes": 0,
            "chain_depth": 0, "fan_out": 0, "finished_at": ended_at, "resource": None,
        })  # fmt: skip
    uniqueness.take_ended(session, uniques)
    enter_ended(session, rows)
    stages = [(seq, x.tracking_id, x.new.base, 1) for seq, x in enumerate(ended, first) if x.new.base is not None]
    session.insert("ramet_stages", ("seq", "tracking_id", "base", "places"), stages)


def _remember(session: Session, fresh: Sequence[ImportTask]) -> None:
    """Pipeline states, and what a person will want to know about a row that did not arrive as it was."""
    session.run_many(
        "INSERT INTO ramet_checkpoints (seq, tracking_id, pipeline_state, progress, updated_at) "
        "SELECT seq, tracking_id, ?, NULL, ? FROM ramet_tasks WHERE id = ?",
        [(item.pipeline_state, session.now, item.new.id) for item in fresh if item.pipeline_state is not None],
    )
    session.run_many(
        "INSERT INTO ramet_transitions (seq, number, tracking_id, name, from_state, to_state, at, by, reason) "
        "SELECT seq, 1, tracking_id, 'import', ?, ?, ?, 'import', ? FROM ramet_tasks WHERE id = ?",
        [(item.noted[0], item.state, session.now, item.noted[1], item.new.id) for item in fresh if item.noted],
    )


def _count_children(session: Session, fresh: Sequence[ImportTask]) -> None:
    """Every parent counts its children, and its lineage's limit covers them."""
    children = Counter(item.parent_id for item in fresh if item.parent_id is not None)
    if not children:
        return
    rows = [(count, parent_id) for parent_id, count in sorted(children.items())]
    session.run_many(
        "UPDATE ramet_live SET fan_out = fan_out + ? WHERE seq = (SELECT seq FROM ramet_tasks WHERE id = ?)", rows
    )
    session.update("ramet_tasks", ("fan_out = fan_out + ?",), ("id", "finished_at IS NOT NULL"), rows)
    listed, values = session.members(sorted(parent_id for _, parent_id in rows))
    widest = session.rows(
        "SELECT t.tracking_id, MAX(COALESCE(l.fan_out, t.fan_out)) FROM ramet_tasks t "
        f"LEFT JOIN ramet_live l ON l.seq = t.seq WHERE t.id {listed} GROUP BY t.tracking_id",
        (values,),
    )
    session.update(
        "ramet_lineages",
        ("max_fan_out",),
        ("tracking_id", "max_fan_out < ?"),
        [(width, tracking_id, width) for tracking_id, width in widest],
    )


def _count_lineages(session: Session, fresh: Sequence[ImportTask], lineages: dict[str, Lineage], turns: Turns) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sizes: Counter[str] = Counter()
    for item in fresh:
        to_run = item.state == TaskState.PENDING
        counts[item.tracking_id]["live" if to_run else item.state] += 1
        # A task per stage that is to run has its place for each of them.
        sizes[item.tracking_id] += item.new.places if to_run else 1
    for tracking_id, added in sorted(counts.items()):
        row, size = lineages[tracking_id], sizes[tracking_id]
        live = row.live + added["live"]
        state, ended_at = row.state, row.ended_at
        if added["live"] and row.state == LineageState.FINISHED:
            state, ended_at = reopened(row).value, None
        session.run(
            # Tasks of a cancelled subtree are ended by the sweep, which has to begin again for newcomers.
            "UPDATE ramet_lineages SET max_tasks = CASE WHEN max_tasks < tasks + ? THEN tasks + ? ELSE max_tasks END, "
            "tasks = tasks + ?, live = ?, success = success + ?, filtered = filtered + ?, skipped = skipped + ?, "
            "failed = failed + ?, cancelled = cancelled + ?, turns = ?, state = ?, ended_at = ?, "
            "sweep = CASE WHEN tombstones = '' THEN sweep ELSE 1 END WHERE tracking_id = ?",
            (size, size, size, live, added["success"], added["filtered"],
             added["skipped"], added["failed"], added["cancelled"],
             turns.text(tracking_id) if added["live"] else row.turns, state, ended_at, tracking_id),
        )  # fmt: skip


def release(session: Session, tracking_id: str, hold_until: float) -> None:
    """Let tasks of a lineage that were imported with this ``hold_until`` be claimed from now on."""
    session.run(
        "UPDATE ramet_live SET available_at = ? WHERE tracking_id = ? AND wait = 'due' AND available_at = ?",
        (session.now, tracking_id, hold_until),
    )
    session.wake()


def line_up(session: Session, rows: Sequence[tuple[int, str]], since: float) -> None:
    """Let imported tasks with paths take their places in line in the order of their rows: (number, id).

    Maintenance gives tickets in this order. Tasks that have a place already are left alone.

    Args:
        since: when lining up began; the same for all calls of a run.
    """
    session.run_many(
        "UPDATE ramet_live SET available_at = ? WHERE seq = (SELECT seq FROM ramet_tasks WHERE id = ?) "
        "AND wait = 'ticket' AND started_at IS NULL AND available_at > ?",
        [(since + number * STEP_SECONDS, task_id, session.now) for number, task_id in rows],
    )
    session.wake()


# --- the record


_ROW_LIST = ", ".join(ImportRow._fields)


def imports(session: Session) -> list[ImportRow]:
    """Return all imports, by name."""
    return [ImportRow(*row) for row in session.rows(f"SELECT {_ROW_LIST} FROM ramet_imports ORDER BY name")]


def begin(session: Session, name: str, by: str) -> ImportRow:
    """Return the record of an import, creating it when there is none."""
    session.run(
        f"INSERT INTO ramet_imports ({_ROW_LIST}) VALUES (?, 'open', 0, 0, 0, ?, NULL, ?) "
        "ON CONFLICT (name) DO NOTHING",
        (name, session.now, by),
    )
    [row] = session.rows(f"SELECT {_ROW_LIST} FROM ramet_imports WHERE name = ?", (name,))
    return ImportRow(*row)


def _refuse_closed(session: Session, name: str) -> None:
    if session.rows("SELECT 1 FROM ramet_imports WHERE name = ? AND state = 'closed'", (name,)):
        raise StoreError(f"the import {name} is closed: give --name to import more")


def end(session: Session, name: str, by: str, did: ImportRunResult, *, close: bool) -> None:
    """Add a run to the record of its import and to the audit log; with ``close``, end the import.

    Raises:
        StoreError: the import is closed already.
    """
    begin(session, name, by)
    _refuse_closed(session, name)
    session.run(
        "UPDATE ramet_imports SET rows = ?, state = ?, closed_at = ? WHERE name = ?",
        (did.rows, "closed" if close else "open", session.now if close else None, name),
    )
    if did.created or close:
        act = "import_close" if close else "import"
        record_audit_entry(session, by=by, act=act, subject=name, detail=did._asdict())


# --- enforce


def verify(session: Session, task_ids: Sequence[str]) -> dict[str, str]:
    """Return what is wrong with these tasks, by id; sound ones are absent.

    A task must exist, with lineage, depth and ancestry that follow from its parent, and an identity row of its own.
    """
    listed, values = session.members(task_ids)
    rows = session.rows(
        "SELECT t.id, t.tracking_id, t.ancestry_chain, t.spawn_depth, t.parent_id, p.tracking_id, p.ancestry_chain, "
        "p.spawn_depth, i.seq, t.seq, g.max_spawn_depth FROM ramet_tasks t LEFT JOIN ramet_tasks p "
        "ON p.id = t.parent_id LEFT JOIN ramet_identities i ON i.key = t.key AND i.tracking_id = t.tracking_id "
        "AND i.kind = t.kind LEFT JOIN ramet_lineages g ON g.tracking_id = t.tracking_id "
        f"WHERE t.id {listed}",
        (values,),
    )
    wrong: dict[str, str] = dict.fromkeys(task_ids, "it is not in the database: run the import again without --enforce")
    for own, tracking_id, chain, depth, parent_id, *parent, holder, seq, depth_max in rows:
        del wrong[own]
        # The ancestors of a root may be left behind in the other queue, so its depth may be any.
        expected: tuple[str, list[str], int] = (tracking_id, [], depth)
        if parent_id is not None and parent[0] is not None:
            expected = (parent[0], [*json.loads(parent[1]), parent_id], parent[2] + 1)
        if parent_id is not None and parent[0] is None:
            wrong[own] = f"its parent {parent_id} is not in the database: run the import again without --enforce"
        elif (tracking_id, json.loads(chain), depth) != expected:
            wrong[own] = "its lineage, ancestry or depth does not follow from its parent"
        elif holder != seq:
            wrong[own] = "its identity belongs to another task"
        elif depth_max is None or depth > depth_max:
            wrong[own] = f"it is at depth {depth} of {depth_max}"
    return wrong


def recount(session: Session, tracking_ids: Sequence[str]) -> dict[str, str]:
    """Return the lineages whose counters differ from a recount, by tracking_id, and how."""
    wrong: dict[str, str] = {}
    for tracking_id in tracking_ids:
        rows = session.rows(
            f"SELECT g.tasks, g.live, (SELECT COUNT(*) FROM ramet_live WHERE {live_of_lineage()}), "
            "(SELECT COALESCE(SUM(COALESCE(s.places, 1)), 0) FROM ramet_tasks t LEFT JOIN ramet_stages s "
            "ON s.seq = t.seq WHERE t.tracking_id = g.tracking_id) "
            "+ CASE WHEN g.on_end IS NULL THEN 0 ELSE 1 END FROM ramet_lineages g WHERE g.tracking_id = ?",
            (tracking_id, tracking_id),
        )
        for tasks, live, live_found, found in rows:
            if live != live_found or tasks != found:
                wrong[tracking_id] = f"counts {tasks} tasks, {live} live; it has {found}, {live_found}"
    return wrong
