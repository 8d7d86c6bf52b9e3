"""Lanes: claims, bindings, and successes that ask for nothing else, set by set (docs/decisions/0058).

Nearly all tasks need no more. A lane writes what :func:`ramet.model.task.lifecycle.decide` says and
:func:`ramet.store.state.apply.apply` would write, column for column, but once for all rows that stand alike, or fed by
the database from the rows themselves. A row that does not meet the conditions is left for the usual way, in the same
transaction. Tests compare both ways on random standings, on both stores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ramet.model.lineage.lineage import OPEN, Lineage
from ramet.model.task.task import Standing, standing_of
from ramet.model.task.transitions import PENDING, PROCESSING, SUCCESS, Change
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement
from ramet.store.rows import tallies, waits
from ramet.store.rows.lineages import lock_lineages
from ramet.store.rows.money import close_open
from ramet.store.rows.retained_slots import wake_resources
from ramet.store.schema.columns import CLOSED_COLUMNS, LIVE_COLUMNS, picker
from ramet.store.session import EndedGroup, Session
from ramet.store.state.apply import count_ends, misses, moved_by

# --- moves of tasks that stand alike ------------------------------------------------------------------------------


def move_alike(session: Session, alike: Iterable[tuple[Change, Sequence[Standing]]]) -> dict[int, Standing]:
    """Apply decided moves, each to all tasks that are alike; return the standing of each task then, by number.

    Args:
        session: the transaction in which the standings were read.
        alike: a change of a transition that says which fields it writes, and ends no attempt; with the standings of
            which it is true, that of the change among them.

    Returns:
        Without tasks that changed since they were read: those are left alone.
    """
    same: dict[tuple[Any, ...], list[Standing]] = defaultdict(list)
    for change, standings in alike:
        columns, values = moved_by(change.transition)
        same[(columns, values(change.after), change.before.state, change.before.fence)] += standings
    found: dict[int, Standing] = {}
    for (columns, values, state, fence), standings in same.items():
        listed, seqs = session.members([standing.seq for standing in standings])
        written = session.run(_move(columns, listed), (*values, seqs, state, fence))
        after = _after(columns)
        moved = {standing.seq: standing_of(after(standing + values)) for standing in standings}
        if written != len(standings):
            for seq in misses(session, [*moved.items()]):
                del moved[seq]
        found.update(moved)
    return found


@cache
def _move(columns: tuple[str, ...], listed: str) -> str:
    written = ", ".join(f"{name} = ?" for name in columns)
    return f"UPDATE ramet_live SET {written} WHERE seq {listed} AND state || '' = ? AND fence = ?"


@cache
def _after(columns: tuple[str, ...]) -> Any:
    """Return what takes the standing after from the one before, with the values of these columns behind it."""
    return picker((*LIVE_COLUMNS, *columns), LIVE_COLUMNS)


# --- plain successes ----------------------------------------------------------------------------------------------

_ALONE = ("l.fence = i.fence", "l.ending IS NULL", "l.unique_seconds IS NULL", "l.holds_path IS NULL")
PLAIN_ROW = (*_ALONE, f"l.state || '' = '{PROCESSING}'", "l.lease_until > {now}")
"""SQL of a hot row ``l`` and of what is asked for, ``i``, at a time that is filled in: the claim is current, and its
success concerns nothing but itself, its lineage and its resource."""

PLAIN_LINEAGE = ("n.state IN ('running', 'paused')", "n.tombstones = ''", "n.branches = 0")
"""SQL of a lineage's row ``n`` of which such a success concerns nothing but counters and the task's own reservations;
:func:`is_plain_lineage`."""

BOUND_ROW = (*_ALONE, f"l.state || '' = '{PENDING}'", "l.bound_to = {settler}")
"""SQL of a hot row ``l`` that is bound to a settler, as :data:`PLAIN_ROW`: the settler's claim is current already."""

_ELSEWHERE = {"state": f"'{SUCCESS}'", "result": "i.result", "finished_at": "{now}"}
_CLOSED = {name: _ELSEWHERE.get(name) or (f"l.{name}" if name in LIVE_COLUMNS else "NULL") for name in CLOSED_COLUMNS}
"""The columns that the end of a task writes, as SQL of its hot row ``l`` and of what was asked for, ``i``."""
_ATTEMPT = {
    **{name: f"l.{name}" for name in ("seq", "fence", "tracking_id", "claimed_at")},
    "worker": "COALESCE(l.worker, l.bound_to)",
    "ended_at": "{now}",
    "outcome": "'success'",
}
"""Columns of the attempt that succeeded; its other columns are NULL."""
_COUNTED = ", ".join(f"l.{name}" for name in EndedGroup._fields[:-1])


SETTLING = "CREATE TEMP TABLE IF NOT EXISTS ramet_settling (seq INTEGER PRIMARY KEY, fence INTEGER, result TEXT)"
"""Makes the table of a batch that a database without lists in its statements is fed from."""


class StepwiseEnds(NamedTuple):
    """The statements of a database that writes one table at a time, fed from ``ramet_settling``."""

    look: str
    """SELECT of the tasks that may be ended, by group, with their numbers as text; parameter: now, or the settler of
    bound ones."""
    statements: Sequence[tuple[str, bool]]
    """Statements on what is in the table, each with whether it takes now as a parameter; all write as many rows."""


def stepwise_ends(*, bound: bool = False) -> StepwiseEnds:
    """Return the statements as the conditions are now; `bound`: of tasks that are bound to a settler."""
    source = "ramet_settling i CROSS JOIN ramet_live l ON l.seq = i.seq"
    look = (
        f"SELECT g.* FROM (SELECT {_COUNTED}, group_concat(l.seq) FROM {source} "
        f"WHERE {' AND '.join(BOUND_ROW if bound else PLAIN_ROW)} GROUP BY {_COUNTED}) g "
        f"JOIN ramet_lineages n ON n.tracking_id = g.tracking_id WHERE {' AND '.join(PLAIN_LINEAGE)}"
    )
    attempts = f"INSERT INTO ramet_attempts ({', '.join(_ATTEMPT)}) SELECT {', '.join(_ATTEMPT.values())} FROM {source}"
    close = (
        f"UPDATE ramet_tasks SET ({', '.join(_CLOSED)}) = (SELECT {', '.join(_CLOSED.values())} FROM {source} "
        "WHERE i.seq = ramet_tasks.seq) WHERE seq IN (SELECT seq FROM ramet_settling) AND state IS NULL"
    )
    gone = "DELETE FROM ramet_live WHERE seq IN (SELECT seq FROM ramet_settling)"
    now = {"now": "?1", "settler": "?1"}
    return StepwiseEnds(
        look.format(**now), ((attempts.format(**now), True), (close.format(**now), True), (gone, False))
    )


def ends_at_once(tasks: str, now: str, settler: str | None = None) -> str:
    """Return the one statement of a database that feeds writes from each other.

    It reads ``i`` (seq, fence, result), a list of WITH that the caller puts in front, and gives the groups with their
    numbers, and how many wide rows were written.

    Args:
        tasks: the table of the wide rows, or the part that has them.
        now: the parameter of the time.
        settler: the parameter of the id that the tasks are bound to; None for claimed ones.
    """
    row = " AND ".join(PLAIN_ROW if settler is None else BOUND_ROW)
    closed = ", ".join(
        f"{name} = {'d.result' if name == 'result' else value.replace('l.', 'd.')}" for name, value in _CLOSED.items()
    )
    attempt = ", ".join(_ATTEMPT.values()).replace("l.", "d.")
    text = (
        # As a value for each row, not as a join: the planner would begin with the lineages, and read all of theirs.
        f"d AS (DELETE FROM ramet_live l USING i WHERE l.seq = i.seq "
        f"AND {row} AND (SELECT {' AND '.join(PLAIN_LINEAGE)} FROM ramet_lineages n "
        "WHERE n.tracking_id = l.tracking_id) RETURNING l.*, i.result), "
        f"t AS (UPDATE {tasks} t SET {closed} FROM d WHERE t.seq = d.seq AND COALESCE(t.state, '') = '' RETURNING 1), "
        f"a AS (INSERT INTO ramet_attempts ({', '.join(_ATTEMPT)}) SELECT {attempt} FROM d) "
        f"SELECT {_COUNTED.replace('l.', 'd.')}, array_agg(d.seq), (SELECT count(*) FROM t) FROM d "
        f"GROUP BY {_COUNTED.replace('l.', 'd.')}"
    )
    return text.format(now=now, settler=settler)


class LaneMissed(Exception):
    """A lane did what it may not: another transaction changed a lineage in the moment in which its tasks were ended, or
    rows are left that must be held before it. Nothing of the batch may be kept; it goes the usual way."""


class LaneResult(NamedTuple):
    """The work of a lane of successes."""

    answers: Mapping[int, SettleResult]
    """Answers of the tasks that it ended, by number."""
    lineages: Mapping[str, Lineage]
    """Lineages as they were before."""
    resources: Mapping[int, str]
    """Resources of tasks that have one, by number."""


def _by_lineage(groups: Sequence[EndedGroup]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for group in groups:
        found[group.tracking_id] += group.seqs
    return found


def is_plain_lineage(row: Lineage) -> bool:
    """Return whether the success of a plain task concerns nothing of its lineage but counters and its reservations."""
    return row.state in OPEN and not (row.tombstones or row.branches)


def end_successes(session: Session, items: Sequence[Settlement]) -> LaneResult:
    """End the tasks of plain settlements that are plain themselves.

    Args:
        session: the transaction.
        items: of handlers that only returned, each of another task.

    Raises:
        LaneMissed: another transaction changed a lineage meanwhile; undo this one, and go the usual way.
    """
    groups = session.end_successes(sorted((item.seq, item.fence, item.result) for item in items))
    lineages = _follow_ends(session, groups)
    shared = {seq: group.resource for group in groups if group.resource is not None for seq in group.seqs}
    answers = {seq: SettleResult(seq, SUCCESS) for group in groups for seq in group.seqs}
    return LaneResult(answers, lineages, shared)


def end_bound(
    session: Session, settler_id: str, items: Iterable[tuple[int, int, str | None]]
) -> tuple[set[int], Mapping[str, Lineage]]:
    """End, as successes, those of the tasks that are bound to a settler and plain.

    Args:
        session: the transaction, in which the settler's claim was found current.
        settler_id: of the settler.
        items: number, number of the binding and result (JSON text) of each.

    Returns:
        The numbers of the tasks that it ended, and their lineages as they were before.

    Raises:
        LaneMissed: as :func:`end_successes`.
    """
    groups = session.end_successes(sorted(items), settler_id)
    lineages = _follow_ends(session, groups)
    return {seq for group in groups for seq in group.seqs}, lineages


def _follow_ends(session: Session, groups: Sequence[EndedGroup]) -> Mapping[str, Lineage]:
    """Count the ends, close what the tasks had reserved, and wake what waits; return the lineages as they were."""
    if not groups:
        return {}
    by_lineage = _by_lineage(groups)
    lineages = lock_lineages(session, by_lineage)
    for tracking_id, row in lineages.items():
        if not is_plain_lineage(row):
            raise LaneMissed(tracking_id)
    wake_resources(session, {group.resource for group in groups if group.resource is not None})
    # After the resources, as everywhere.
    if paying := [seq for name, seqs in by_lineage.items() if lineages[name].reserved for seq in seqs]:
        close_open(session, paying, lineages)
    count_ends(session, {name: {"live": -len(seqs), SUCCESS: len(seqs)} for name, seqs in by_lineage.items()}, lineages)
    waits.ended(session, lineages, by_lineage)
    tallies.succeeded(session, groups)
    return lineages
