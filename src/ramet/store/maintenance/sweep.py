"""Maintenance: due, stale, overdue and ended tasks, and tallies folded together. Safe to run in every worker at once.

Stripes of a minute that is over become one, and go into the row of all time; minutes older than three hours become
hours, and hours older than eight days go. Sums of all time never fall. One fold at a time writes rows of stripe -1, and
nothing else does; of other stripes it takes only rows that are not locked. So it never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import add
from typing import NamedTuple

from ramet.model.lineage.lineage import LineageState
from ramet.model.tallies import COLUMNS
from ramet.model.task import events as ev
from ramet.store.answers import SweepResult
from ramet.store.maintenance import path_followup
from ramet.store.rows.lineages import BOUND, DEADLINE_REASON, LEFT, end_lineage, overdue, queue_offsets
from ramet.store.rows.tallies import ADD, ADD_REASON, ALL_TIME, FOLDED, HOUR, MINUTE
from ramet.store.rows.tasks import take_live
from ramet.store.rows.turns import LEVELS_IDLE_SECONDS, forget_levels
from ramet.store.session import Session
from ramet.store.state.path_changes import release_lapsed
from ramet.store.verbs import over_ceiling
from ramet.store.verbs.bound import ended_settlers, expire_polled, unbind_orphans
from ramet.store.verbs.claim import promote_due
from ramet.store.verbs.lineage_end import start_ends
from ramet.store.verbs.lineage_followup import follow_ends
from ramet.store.verbs.queue_block import drained, start_drained
from ramet.store.verbs.rates import forget_shares
from ramet.store.verbs.reclaim import DeadWorkers, apply_events, reclaim
from ramet.store.verbs.resources import forget_idle, idle_names, skip_disabled
from ramet.store.verbs.wake import WANTED, wake_waiting

CLOSED_SECONDS = 120.0
"""A minute that began so long ago is over, and so are the transactions that began in it, but for few."""
MINUTES_SECONDS = 3 * 3_600.0
"""Seconds for which minutes are kept apart."""
HOURS_SECONDS = 8 * 86_400.0
"""Seconds for which hours are kept apart."""


class _Table(NamedTuple):
    name: str
    names: tuple[str, ...]
    """Columns that tell its rows of one moment apart."""
    numbers: tuple[str, ...]
    add: str
    """The statement that adds to a row."""


_TABLES = (
    _Table("ramet_tallies", ("kind",), COLUMNS, ADD),
    _Table("ramet_tally_reasons", ("what", "kind", "reason"), ("count",), ADD_REASON),
)
_Key = tuple[int, int, *tuple[str, ...]]
"""Seconds, at, and names."""
_CLOSED = "stripe >= 0 AND at <= ?"
_OLD = f"stripe = {FOLDED} AND seconds = ? AND at < ?"


def folding_wanted(session: Session) -> bool:
    """Return True where something is to be folded. Writes nothing."""
    return any(
        session.rows(f"SELECT 1 FROM {table.name} WHERE {where} LIMIT 1", values)
        for table in _TABLES
        for where, values in _folding_due(session)
    )


def _folding_due(session: Session) -> Sequence[tuple[str, tuple[float, ...]]]:
    """Return the conditions of rows to fold: closed ones, old minutes, old hours; in this order."""
    return (
        (_CLOSED, (session.now - CLOSED_SECONDS,)),
        (_OLD, (MINUTE, session.now - MINUTES_SECONDS)),
        (_OLD, (HOUR, session.now - HOURS_SECONDS)),
    )


def fold(session: Session, limit: int) -> int:
    """Fold up to about ``limit`` rows of each sort; returns how many where there may be more, else 0."""
    if not folding_wanted(session):
        return 0
    session.lock("tallies")
    more = 0
    for table in _TABLES:
        for fold_one, (where, values) in zip((_close, _hours, _nothing), _folding_due(session), strict=True):
            taken = _take(session, table, where, values, limit)
            sums: dict[_Key, list[int]] = {}
            for key, numbers in taken:
                for wide in fold_one(key):
                    sums[wide] = [*map(add, sums[wide], numbers)] if wide in sums else [*numbers]
            for wide, total in sorted(sums.items()):
                session.run(table.add, (FOLDED, *wide, *total))
            more += len(taken) if len(taken) >= limit else 0
    return more


def _close(key: _Key) -> Sequence[_Key]:
    """Return the row that a row of a stripe goes into."""
    seconds, _, *names = key
    ever: _Key = (ALL_TIME, 0, *names)
    return (ever,) if seconds == ALL_TIME else (key, ever)


def _hours(key: _Key) -> Sequence[_Key]:
    _, at, *names = key
    return ((HOUR, at // HOUR * HOUR, *names),)


def _nothing(key: _Key) -> Sequence[_Key]:
    """All time has it already."""
    return ()


def _take(
    session: Session, table: _Table, where: str, values: Sequence[float], limit: int
) -> list[tuple[_Key, Sequence[int]]]:
    """Delete rows that are not locked, and return them."""
    places = ("stripe", "seconds", "at", *table.names)
    rows = session.rows(
        f"SELECT {', '.join(places + table.numbers)} FROM {table.name} WHERE {where} LIMIT ?{session.skip_locked}",
        (*values, limit),
    )
    width = len(places)
    session.delete(table.name, tuple(places), [row[:width] for row in rows])
    return [((row[1], row[2], *row[3:width]), row[width:]) for row in rows]


_OVERDUE_TASKS = f"{overdue('', LEFT)} <= ? AND (COALESCE(wait, '') <> 'resource' OR ending IS NOT NULL)"
"""Condition of overdue tasks. While one waits for its turn at its resource its own time does not run: the deadline of
its lineage ends it.
"""


def expire(session: Session, limit: int) -> int:
    """Pending tasks past their own deadline fail. Claimed ones are judged when their attempt's outcome is known, and so
    is a kind with ``max_attempts=None``, which is claimed once more after it.

    A task that is ending has an hour for its last handler, and no pause of its queue makes that longer (promise I6).
    """
    found = take_live(
        session,
        # Left to itself SQLite takes another index, and every sweep reads the whole backlog.
        f"INDEXED BY ramet_live_overdue WHERE {_OVERDUE_TASKS}",
        (session.now,),
        limit,
    )
    return len(apply_events(session, [(standing, ev.DeadlinePassed()) for standing in found]))


_OVERDUE = "SELECT tracking_id FROM ramet_lineages INDEXED BY ramet_lineages_open WHERE state IN ('running', 'paused')"


def _overdue(session: Session, limit: int, ending: str = "") -> list[str]:
    """Open lineages past their deadline; ``ending`` holds them."""
    offsets = queue_offsets(session)
    apart, values = "", []
    if offsets:
        listed, members = session.members(sorted(offsets))
        apart, values = f"AND NOT queue {listed}", [members]
    rows = session.rows(f"{_OVERDUE} AND deadline_at <= ? {apart} LIMIT ?{ending}", (session.now, *values, limit))
    for queue, seconds in sorted(offsets.items()):
        rows += session.rows(
            f"{_OVERDUE} AND deadline_at <= ? AND queue = ? LIMIT ?{ending}", (session.now - seconds, queue, limit)
        )
    return [tracking_id for (tracking_id,) in rows]


def end_overdue_lineages(session: Session, limit: int) -> int:
    """Lineages past their deadline fail: the row first, in this transaction; their tasks follow."""
    found = _overdue(session, limit, session.skip_locked)
    for tracking_id in found:
        end_lineage(session, tracking_id, LineageState.FAILED, DEADLINE_REASON)
    return len(found)


class SweepStep(NamedTuple):
    """One duty of maintenance."""

    wanted: Callable[[Session, DeadWorkers], bool]
    """A look that writes nothing; True where there may be something to do."""
    run: Callable[[Session, int, DeadWorkers], SweepResult]
    """Do a bounded part of it. It holds what it decides about, and passes over what others hold."""


def sweep(session: Session, limit: int, dead_workers: DeadWorkers | None = None) -> SweepResult:
    """One round of everything, in one transaction. A field that is not 0 says that another round may find more."""
    return added(part.run(session, limit, dead_workers or {}) for part in PARTS)


def due_steps(session: Session, dead_workers: DeadWorkers) -> list[SweepStep]:
    """Return the parts of a sweep that may have something to do, each for a transaction of its own."""
    return [part for part in PARTS if part.wanted(session, dead_workers)]


def run_part(session: Session, part: SweepStep, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    """One part, as a verb."""
    return part.run(session, limit, dead_workers)


def added(results: Iterable[SweepResult]) -> SweepResult:
    """Return the sum of the results of several parts."""
    return SweepResult(*map(sum, zip(SweepResult(), *results, strict=True)))


def _made_claimable(step: Callable[[Session, int], int]) -> Callable[[Session, int, DeadWorkers], SweepResult]:
    def run(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
        due = step(session, limit)
        if due:
            session.wake()
        return SweepResult(due=due)

    return run


def _stale(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    reclaimed, poisoned = reclaim(session, limit, dead_workers)
    if reclaimed:
        session.wake()
    return SweepResult(reclaimed=reclaimed, poisoned=poisoned)


def _followed(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    ended, followed = follow_ends(session, limit)
    return SweepResult(ended=ended, followed=followed)


def _forgotten(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    forget_levels(session)
    forget_shares(session)
    return SweepResult(followed=release_lapsed(session, limit))


def _due_on_paths(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    # Not both: a transaction takes all of its slots before any row.
    return SweepResult(
        due=path_followup.take_places(session, limit) or path_followup.give_up_tickets_at_breakers(session, limit)
    )


def _waves(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    return SweepResult(followed=path_followup.advance_wave(session, limit))


def _repaired(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    return SweepResult(followed=path_followup.repair(session, limit))


def _idle(session: Session, limit: int, dead_workers: DeadWorkers) -> SweepResult:
    forget_idle(session)
    return SweepResult()


def _any_row(sql: str) -> Callable[[Session, DeadWorkers], bool]:
    """Return a look for one row, by the present time where the statement has a parameter."""
    return lambda session, _: bool(session.rows(f"{sql} LIMIT 1", (session.now,) if "?" in sql else ()))


def _stale_there(session: Session, dead_workers: DeadWorkers) -> bool:
    return bool(dead_workers) or _STALE(session, dead_workers)


_STALE = _any_row("SELECT 1 FROM ramet_live WHERE state = 'processing' AND lease_until <= ?")
PARTS = (
    SweepStep(
        _any_row("SELECT 1 FROM ramet_live WHERE wait = 'due' AND available_at <= ?"), _made_claimable(promote_due)
    ),
    SweepStep(_any_row(WANTED), _made_claimable(wake_waiting)),
    SweepStep(_stale_there, _stale),
    SweepStep(
        lambda session, _: path_followup.has_due_tasks(session) or path_followup.at_breakers(session), _due_on_paths
    ),
    SweepStep(lambda session, _: path_followup.has_waves(session), _waves),
    SweepStep(_any_row("SELECT 1 FROM ramet_paths WHERE waits_on IS NOT NULL"), _repaired),
    SweepStep(
        _any_row(f"SELECT 1 FROM ramet_live WHERE {_OVERDUE_TASKS}"),
        lambda session, limit, _: SweepResult(expired=expire(session, limit)),
    ),
    SweepStep(
        lambda session, _: bool(_overdue(session, 1)),
        lambda session, limit, _: SweepResult(lineages_ended=end_overdue_lineages(session, limit)),
    ),
    SweepStep(_any_row("SELECT 1 FROM ramet_lineages WHERE sweep > 0"), _followed),
    SweepStep(
        lambda session, _: over_ceiling.in_flight_over(session),
        lambda session, limit, _: SweepResult(ended=over_ceiling.end_in_flight(session, limit)),
    ),
    SweepStep(
        _any_row(f"SELECT 1 FROM ramet_live WHERE {overdue('', BOUND)} <= ?"),
        lambda session, limit, _: SweepResult(expired=expire_polled(session, limit)),
    ),
    SweepStep(
        lambda session, _: bool(ended_settlers(session, 1)),
        lambda session, limit, _: SweepResult(unbound=unbind_orphans(session, limit)),
    ),
    SweepStep(
        _any_row("SELECT 1 FROM ramet_lineages WHERE end_wanted = 1 AND ended_at IS NOT NULL AND live = 0"),
        lambda session, limit, _: SweepResult(followed=start_ends(session, limit)),
    ),
    SweepStep(
        lambda session, _: bool(drained(session)),
        lambda session, limit, _: SweepResult(followed=start_drained(session)),
    ),
    SweepStep(
        lambda session, _: bool(
            session.rows(
                "SELECT 1 WHERE EXISTS (SELECT 1 FROM ramet_turns WHERE moved_at <= ?) "
                "OR EXISTS (SELECT 1 FROM ramet_holds WHERE lease_until <= ?) "
                "OR EXISTS (SELECT 1 FROM ramet_shares WHERE until <= ?)",
                (session.now - LEVELS_IDLE_SECONDS, session.now, session.now),
            )
        ),
        _forgotten,
    ),
    SweepStep(lambda session, _: bool(idle_names(session, 1)), _idle),
    SweepStep(
        lambda session, _: folding_wanted(session), lambda session, limit, _: SweepResult(followed=fold(session, limit))
    ),
    SweepStep(
        _any_row("SELECT 1 FROM ramet_resources WHERE opened_at IS NOT NULL AND ready_at IS NOT NULL"),
        lambda session, limit, _: SweepResult(ended=skip_disabled(session, limit)),
    ),
)
