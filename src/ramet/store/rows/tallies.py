"""Tallies, counted where it happens: in the transaction that creates, tries and ends tasks (docs/decisions/0050).

While verbs run, what they did is noted on their session, and undone there with a savepoint. The last thing before the
commit is to add it to a few rows. Those belong to a stripe of the connection's own, so no two transactions that are
under way ever write the same row; :mod:`ramet.store.maintenance.sweep` brings the stripes together later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ramet.model.tallies import (
    COLUMNS,
    CREATION,
    OTHER,
    WORDS_MAX,
    ZERO,
    ReasonTally,
    Tallies,
    added,
    count_attempt,
    count_created,
    count_ended,
    count_revived,
    first_word,
    tally_of,
)
from ramet.model.task.task import LIVE, TERMINAL, Standing
from ramet.model.task.transitions import PENDING, PROCESSING, SUCCESS, Change
from ramet.store.session import NO_COUNTS, EndedGroup, Moment, Row, Session, TallyNotes

MINUTE, HOUR = 60, 3_600
ALL_TIME = 0
"""Value of the column ``seconds`` of a row that counts all that ever happened."""
FOLDED = -1
"""The stripe of what is in the row of all time, too."""

_FOR_ALL_TIME: Moment = (ALL_TIME, 0)


def _moment(session: Session) -> Moment:
    return MINUTE, int(session.now // MINUTE) * MINUTE


# --- noting what happens


def created(session: Session, kinds_and_depths: Iterable[tuple[str, int]]) -> None:
    """Tasks were created."""
    session.noted.append(TallyNotes(_moment(session), created=Counter(kinds_and_depths)))


def imported(session: Session, tasks: Iterable[tuple[Any, ...]]) -> None:
    """Tasks came that ended elsewhere: kind, depth and state of each. They count in all time only: nothing of it
    happened here, nor now."""
    births: Counter[tuple[str, int]] = Counter()
    ends: Counter[tuple[tuple[Any, ...], str, str | None]] = Counter()
    for kind, depth, state in tasks:
        births[kind, depth] += 1
        ends[(kind, PENDING, 0.0, 0.0, 0, 0), state, None] += 1
    session.noted.append(TallyNotes(_FOR_ALL_TIME, births, ends))


_BEFORE = itemgetter(*map(Standing._fields.index, ("kind", "state", "available_at", "claimed_at", "attempts",
                                                   "chain_depth")))  # fmt: skip
_STATE = itemgetter(Standing._fields.index("state"))
_COUNTED = itemgetter(*map(Change._fields.index, ("before", "after", "outcome")))


def changed(session: Session, changes: Sequence[Change]) -> None:
    """Count applied changes; those that end no attempt and do not cross the line between live and ended may be left
    out.
    """
    if not changes:
        return
    counted: Mapping[tuple[tuple[Any, ...], str, str | None], int]
    if len(changes) == 1:
        [only] = changes
        counted = {(_BEFORE(only.before), only.after.state, only.outcome): 1}
    else:
        befores, afters, outcomes = zip(*map(_COUNTED, changes), strict=True)
        # All of it below the interpreter's own steps: a batch of a thousand has few that differ.
        counted = Counter(zip(map(_BEFORE, befores), map(_STATE, afters), outcomes, strict=True))
    reasons = [reason for c in changes if c.after.state != SUCCESS and (reason := _reason(c)) is not None]
    counts = Counter(reasons) if reasons else NO_COUNTS
    session.noted.append(TallyNotes(_moment(session), NO_COUNTS, counted, counts, session.now, changes))


def succeeded(session: Session, groups: Sequence[EndedGroup]) -> None:
    """Tasks succeeded that no change tells of."""
    counted: Counter[tuple[tuple[Any, ...], str, str | None]] = Counter()
    for g in groups:
        before = (g.kind, PROCESSING, g.available_at, g.claimed_at, g.attempts, g.chain_depth)
        counted[before, SUCCESS, "success"] += len(g.seqs)
    ended = [seq for group in groups for seq in group.seqs]
    session.noted.append(TallyNotes(_moment(session), NO_COUNTS, counted, now=session.now, ended=ended))


def _reason(c: Change) -> tuple[str, str, str] | None:
    if c.after.state in TERMINAL:
        # An end that is only named again does not count.
        return (c.after.state, c.before.kind, first_word(c.reason)) if c.before.state in LIVE else None
    again = c.outcome in ("error", "lost") and c.after.state == PENDING and c.after.ending is None
    return ("retry", c.before.kind, first_word(c.reason)) if again else None


def blocked(session: Session, kinds_and_reasons: Iterable[tuple[str, str]]) -> None:
    """Count spawns that the guard refused."""
    reasons = Counter(("blocked", kind, reason) for kind, reason in kinds_and_reasons)
    session.noted.append(TallyNotes(_moment(session), reasons=reasons))


# --- writing it down


def _upsert(names: Sequence[str]) -> str:
    sums = ", ".join(f"{name} = ramet_tallies.{name} + excluded.{name}" for name in names)
    return (
        f"INSERT INTO ramet_tallies (stripe, seconds, at, kind, {', '.join(names)}) "
        f"VALUES ({', '.join('?' * (len(names) + 4))}) ON CONFLICT (stripe, seconds, at, kind) DO UPDATE SET {sums}"
    )


ADD = _upsert(COLUMNS)
"""Adds a whole row."""
_ADD_BIRTHS, _ADD_OTHERS = _upsert(COLUMNS[:CREATION]), _upsert(COLUMNS[CREATION:])
"""Add only the columns of creation, or all others: a transaction often needs one of these."""
ADD_REASON = (
    "INSERT INTO ramet_tally_reasons (stripe, seconds, at, what, kind, reason, count) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (stripe, seconds, at, what, kind, reason) DO UPDATE SET "
    "count = ramet_tally_reasons.count + excluded.count"
)


def write(session: Session) -> None:
    """Add what was noted on this session to its stripe: the last statements of a transaction.

    A transaction that waits here, for a fold that has one of its rows, holds nothing that a fold waits for.
    """
    noted = session.noted
    if not noted:
        return
    session.noted, session.written = [], noted
    stripe = session.stripe()
    births, others = _rows(noted)
    # In one order, as everywhere: row after row, and of each only the columns that are touched.
    for place in sorted({*births, *others}):
        (seconds, at), kind = place
        if place not in others:
            session.run(_ADD_BIRTHS, (stripe, seconds, at, kind, *births[place][:CREATION]))
        elif place not in births:
            session.run(_ADD_OTHERS, (stripe, seconds, at, kind, *others[place][CREATION:]))
        else:
            numbers = (*births[place][:CREATION], *others[place][CREATION:])
            session.run(ADD, (stripe, seconds, at, kind, *numbers))
    if any(item.reasons for item in noted):
        _write_reasons(session, stripe, noted)


EndsCallback = Callable[[list[int]], None]
"""Called with the numbers of tasks that ended, once that is durable and before anybody has an answer."""


def ends_of(written: Iterable[TallyNotes]) -> list[int]:
    """Numbers of the tasks that ended, of what a transaction wrote."""
    found: list[int] = []
    for noted in written:
        found += noted.ended
        found += [c.before.seq for c in noted.changes if c.before.state in LIVE and c.after.state in TERMINAL]
    return found


def report_ends(session: Session, on_ends: EndsCallback | None) -> None:
    """Report the tasks that a transaction ended, once it is durable, to the callback if there is one."""
    if on_ends is not None and session.written and (ended := ends_of(session.written)):
        on_ends(ended)


_Rows = dict[tuple[Moment, str], list[int]]
"""Numbers by moment and kind."""


def _rows(noted: Sequence[TallyNotes]) -> tuple[_Rows, _Rows]:
    """Return the rows of what was created, and of everything else."""
    births: _Rows = {}
    others: _Rows = {}
    for item in noted:
        moment = item.moment
        for (kind, depth), times in item.created.items():
            count_created(_numbers(births, moment, kind), depth, times)
        for ((kind, came, due_at, claimed_at, attempts, chain_depth), went, outcome), times in item.changed.items():
            numbers = _numbers(others, moment, kind)
            if outcome is not None:
                count_attempt(
                    numbers, outcome, attempts - 1, times,
                    waited_seconds=claimed_at - due_at, ran_seconds=item.now - claimed_at,
                )  # fmt: skip
            if went in TERMINAL and came in LIVE:
                count_ended(numbers, went, chain_depth, times)
            elif went in LIVE and came in TERMINAL:
                count_revived(numbers, times)
    return births, others


def _numbers(rows: _Rows, moment: Moment, kind: str) -> list[int]:
    found = rows.get((moment, kind))
    if found is None:
        found = rows[moment, kind] = [*ZERO]
    return found


def _write_reasons(session: Session, stripe: int, noted: Sequence[TallyNotes]) -> None:
    reasons: Counter[tuple[Moment, str, str, str]] = Counter()
    for item in noted:
        for (what, kind, reason), times in item.reasons.items():
            reasons[item.moment, what, kind, _bounded_word(session, what, reason)] += times
    for (moment, *names), times in sorted(reasons.items()):
        session.run(ADD_REASON, (stripe, *moment, *names, times))


def _bounded_word(session: Session, what: str, word: str) -> str:
    """Return the word, or *other* when the most words are counted apart already. A few more are when several find that
    at once.
    """
    known = session.words.setdefault(what, {OTHER})
    if word not in known and len(known) <= WORDS_MAX:
        known.update(
            reason
            for (reason,) in session.rows("SELECT DISTINCT reason FROM ramet_tally_reasons WHERE what = ?", (what,))
        )
        if len(known) <= WORDS_MAX:
            known.add(word)
    return word if word in known else OTHER


# --- reading


_NUMBERS = ", ".join(COLUMNS)
_EVER_SPANS = (f"stripe = {FOLDED} AND seconds = {ALL_TIME}", "stripe >= 0")
EVER = f"({' OR '.join(_EVER_SPANS)})"
"""All time is the folded row of all time, and what is in no folded row yet."""


def tallies(session: Session, since: float | None = None, *, kinds: bool = True) -> Tallies:
    """Return exactly what happened to tasks, as of the last commit; reads a few rows, however many tasks there are.

    Args:
        since: None for all time, a tally per kind; else spans that end after this moment (Unix seconds): minutes of the
            last 3 hours, hours of the 8 days before.
        kinds: False sums over all kinds.
    """
    found: dict[tuple[Moment, str], list[Row]] = defaultdict(list)
    for seconds, at, kind, *numbers in _read(session, f"kind, {_NUMBERS} FROM ramet_tallies", since):
        moment = _FOR_ALL_TIME if since is None else (seconds, at)
        found[moment, kind if kinds else ""].append(tuple(numbers))
    rows = (
        tally_of(kind, float(at), float(seconds), several[0] if len(several) == 1 else added(several))
        for ((seconds, at), kind), several in sorted(found.items(), key=_in_time)
    )
    counts: Counter[tuple[Moment, str, str, str]] = Counter()
    for seconds, at, what, kind, reason, count in _read(
        session, "what, kind, reason, count FROM ramet_tally_reasons", since
    ):
        counts[_FOR_ALL_TIME if since is None else (seconds, at), what, kind if kinds else "", reason] += count
    return Tallies(
        tuple(rows),
        tuple(
            ReasonTally(what, kind, reason, float(at), float(seconds), count)
            for ((seconds, at), what, kind, reason), count in sorted(counts.items(), key=_in_time)
        ),
    )


def ended_since(session: Session, state: str, since: float) -> int:
    """Return how many tasks ended in this state in the spans that end after a moment (Unix seconds)."""
    found = _read(session, f"ended_{state} FROM ramet_tallies", since)
    return sum(int(count) for _, _, count in found)


def _in_time(item: tuple[tuple[Moment, *tuple[str, ...]], object]) -> tuple[object, ...]:
    (seconds, at), *names = item[0]
    return (at, seconds, *names)


def _read(session: Session, what: str, since: float | None) -> Iterable[Row]:
    if since is None:
        for where in _EVER_SPANS:
            yield from session.rows(f"SELECT seconds, at, {what} WHERE {where}")
        return
    for seconds in (MINUTE, HOUR):
        yield from session.rows(
            f"SELECT seconds, at, {what} WHERE stripe = ? AND seconds = ? AND at > ?",
            (FOLDED, seconds, since - seconds),
        )
    yield from session.rows(
        f"SELECT seconds, at, {what} WHERE stripe >= 0 AND seconds > 0 AND at > ?", (since - MINUTE,)
    )
