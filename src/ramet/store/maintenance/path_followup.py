"""Maintenance of paths: tickets for what is due, waves that go on where an end stopped, lost wake-ups (DESIGN §7).

Maintenance looks at a few of those that are waited on, from another beginning each time, and repairs what it finds; the
count is a measure of faults of ours (``ramet doctor`` shows it).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ramet.model.flow.resources import half_open_at, policy_of
from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.lineage import LineageState
from ramet.model.reasons import Reason, code_of, facts_of, restored, stored
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing
from ramet.model.task.transitions import PENDING, Change
from ramet.store.errors import UniqueHeld
from ramet.store.rows import paths as rows
from ramet.store.rows.keys import take_again
from ramet.store.rows.lineages import lock_lineages, tombstones_of
from ramet.store.rows.paths import REPAIRS_COUNTER, PathRow, load_lines
from ramet.store.rows.tasks import HistoryRecord, ended_standing, load_standings, record
from ramet.store.session import LOOKS_MAX, Session
from ramet.store.state.apply import apply
from ramet.store.state.path_changes import give_up_tickets
from ramet.store.state.path_enter import line_up, wait
from ramet.store.state.path_follow import (
    BACK,
    REVIVE,
    SKIP,
    WAKE,
    WAVE_LIST,
    PathWave,
    held_by_waves,
    leave_line,
    look_again,
    wake,
)
from ramet.store.verbs.resources import load, policies
from ramet.store.verbs.spawn import load_parents

LOOKED_AT = 20
"""Tickets that one round looks at."""
_ENDS = "SELECT " + ", ".join(
    f"(SELECT {end}(waits_on) FROM ramet_paths WHERE waits_on IS NOT NULL)" for end in ("MIN", "MAX")
)


def repair(session: Session, limit: int) -> int:
    """Look for waiting tasks whose ticket before them is gone, and let them go on; returns how many there were."""
    lost = [line for line in _sample(session) if _is_lost(session, line)]
    repaired = 0
    session.lock_stripes({line.slot for line in lost})
    for line in lost:
        waiting = rows.select(session, "waits_on = ? ORDER BY ticket LIMIT ?", (line.waits_on, min(limit, LOOKS_MAX)))
        if not waiting or not _is_lost(session, waiting[0]):
            continue
        look_again(session, waiting)
        repaired += len(waiting)
    if repaired:
        session.run(
            "INSERT INTO ramet_counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = ramet_counters.value + excluded.value",
            (REPAIRS_COUNTER, repaired),
        )
    return repaired


def _sample(session: Session) -> list[PathRow]:
    """Return the first who waits on each of some tickets, beginning anywhere among those that are waited on."""
    # One statement, or the rows may go between both answers; two sub-selects, each of them one look at an end of the
    # index: as two columns of one select they would read all of it.
    [(least, most)] = session.rows(_ENDS)
    if least is None or most is None:
        return []
    after = least - 1 + int(session.now * 7_919) % (most - least + 1)
    sample: list[PathRow] = []
    for _ in range(LOOKED_AT):
        found = _next(session, after)
        if not found:
            break
        sample += found
        after = found[0].waits_on or 0
    return sample


def _next(session: Session, after: int) -> Sequence[PathRow]:
    return rows.select(session, "waits_on > ? ORDER BY waits_on, ticket LIMIT 1", (after,))


def _is_lost(session: Session, line: PathRow) -> bool:
    looks = [(node, 1, line.waits_on or 0) for node in line.nodes]
    looks.append((line.node, 0, line.waits_on or 0))
    waiting = session.look_up("SELECT 1 FROM ramet_path_tickets WHERE node = ? AND exact = ? AND ticket = ?", looks)
    if any(waiting) or line.seq in held_by_waves(session, [line]):
        return False
    return not session.rows(
        "SELECT 1 FROM ramet_path_waves WHERE what = 'wake' AND ticket = ? LIMIT 1", (line.waits_on,)
    )


LET_GO_SECONDS = 1.0
LATER_SECONDS = 30.0
"""A task whose resource is switched off looks again after so long, or sooner where that is known."""

_DUE = "SELECT seq FROM ramet_live WHERE wait = 'ticket' AND available_at <= ?"
# Tasks behind one that is to come back wait for it, and are lined up by its wave.
_DUE_NOW = f"{_DUE} AND seq NOT IN (SELECT seq FROM ramet_paths WHERE behind IS NOT NULL)"


def has_due_tasks(session: Session) -> bool:
    """Return True when it is time for a task to take its place."""
    return bool(session.rows(f"{_DUE_NOW} LIMIT 1", (session.now,)))


def take_places(session: Session, limit: int) -> int:
    """Tasks whose time has come take tickets, the longest due first; returns how many were looked at."""
    found = session.rows(f"{_DUE_NOW} ORDER BY available_at, seq LIMIT ?", (session.now, min(limit, LOOKS_MAX)))
    seqs = [seq for (seq,) in found]
    if not seqs:
        return 0
    rows.lock_stripes(session, seqs)
    listed, values = session.members(seqs)
    held = session.rows(
        f"SELECT seq, resource FROM ramet_live WHERE seq {listed} AND wait = 'ticket' AND available_at <= ? "
        f"ORDER BY seq{session.for_update}",
        (values, session.now),
    )
    resources: dict[int, str | None] = dict(held)
    lines = load_lines(session, resources)
    # Revived before the worker of its last claim let go: that lines it up, and this only looks again.
    later = [(session.now + LET_GO_SECONDS, seq) for seq, line in lines.items() if line.ended is not None]
    session.update("ramet_live", ("available_at",), ("seq",), later)
    lines = {seq: line for seq, line in lines.items() if line.ended is None}
    wait(session, [line.seq for line in lines.values() if line.ticket is not None and not line.holds])
    rows.hold_paths(session, [line for line in lines.values() if line.holds])
    ready = [lines[seq] for seq in seqs if seq in lines and lines[seq].ticket is None and lines[seq].behind is None]
    off = _switched_off(session, {name for name in resources.values() if name is not None})
    later = [(off[resources[line.seq]], line.seq) for line in ready if resources[line.seq] in off]
    session.update("ramet_live", ("available_at",), ("seq",), later)
    ready = [line for line in ready if resources[line.seq] not in off]
    again = [line for line in ready if line.was_ticket is not None]
    record(session, [HistoryRecord(x.seq, x.tracking_id, "path_ticket", PENDING, PENDING, "engine") for x in again])
    line_up(session, ready)
    return len(seqs)


def _switched_off(session: Session, names: set[str]) -> dict[str | None, float]:
    """Return resources whose breaker is open for a time -> the moment to look again.

    One that is not looked at, as nothing waits for it, is judged by its cool-down: those that gave their tickets up are
    the ones that have to try it. One that only a person closes keeps no task away from it: what waits there is skipped.
    """
    if not names:
        return {}
    opened = [resource for resource in load(session, names).values() if resource.opened_at is not None]
    known = policies(session) if opened else []
    off: dict[str | None, float] = {}
    for resource in opened:
        cooled_at = half_open_at(resource, policy_of(resource.name, known))
        if cooled_at is None:
            continue
        until = cooled_at if resource.ready_at is None else resource.ready_at
        if until > session.now:
            off[resource.name] = min(until, session.now + LATER_SECONDS)
    return off


_AT_A_BREAKER = (
    "SELECT l.seq FROM ramet_resources r JOIN ramet_live l ON l.resource = r.name "
    "WHERE r.opened_at IS NOT NULL AND (r.ready_at IS NULL OR r.ready_at > ?) "
    "AND l.wait = 'resource' AND l.holds_path = 1 LIMIT ?"
)


def at_breakers(session: Session) -> bool:
    """Return True when a task holds a path and waits for a breaker."""
    return bool(session.rows(_AT_A_BREAKER, (session.now, 1)))


def give_up_tickets_at_breakers(session: Session, limit: int) -> int:
    """Tasks that wait for a breaker give their tickets up: it would hold everybody else back, too."""
    seqs = [seq for (seq,) in session.rows(_AT_A_BREAKER, (session.now, min(limit, LOOKS_MAX)))]
    if not seqs:
        return 0
    rows.lock_stripes(session, seqs)
    standings = load_standings(session, seqs)
    there = [s for s in standings.values() if s.state == PENDING and s.wait == "resource" and s.holds_path == 1]
    off = _switched_off(session, {s.resource for s in there if s.resource is not None})
    there = [s for s in there if s.resource in off and s.ending is None]
    lines = load_lines(session, [s.seq for s in there])
    give_up_tickets(session, [*lines.values()], "its resource is switched off")
    session.update("ramet_live", ("available_at",), ("seq",), [(off[s.resource], s.seq) for s in there])
    return len(there)


def has_work(session: Session) -> bool:
    """Return True when there is work on paths that may make a task claimable."""
    return has_due_tasks(session) or has_waves(session)


def run_step(session: Session) -> bool:
    """Do a part of the work on paths; return whether there was any."""
    # Not both: a transaction takes all of its slots before any row.
    return (take_places(session, LOOKS_MAX) or advance_wave(session, LOOKS_MAX)) > 0


# --- waves ------------------------------------------------------------------------------------------------------

_FAILED_BELOW = "dependency_failed"

_ORDER = (SKIP, WAKE, BACK, REVIVE)
"""Order in which tasks to be skipped are found before others are let in."""


def has_waves(session: Session) -> bool:
    """Return True when something is left to do."""
    return bool(session.rows("SELECT 1 FROM ramet_path_waves WHERE what IN ('wake', 'skip', 'back', 'revive') LIMIT 1"))


def advance_wave(session: Session, limit: int) -> int:
    """Do the next part of one wave, or of many that wake a task; return 1 when there was one."""
    limit = min(limit, session.looks_left)
    if limit <= 0:
        return int(has_waves(session))
    for what in _ORDER:
        found = session.rows(f"SELECT {WAVE_LIST} FROM ramet_path_waves WHERE what = ? ORDER BY seq LIMIT 1", (what,))
        if found:
            break
    else:
        return 0
    session.wake()
    if what == WAKE:
        wake(session, limit)
        return 1
    wave = PathWave._make(found[0])
    session.lock_stripes({wave.slot})
    key = (wave.seq, wave.what, wave.ticket, wave.node)
    where = "seq = ? AND what = ? AND ticket = ? AND node = ?"
    if not session.rows(f"SELECT 1 FROM ramet_path_waves WHERE {where}", key):
        return 1  # Another process did this part meanwhile.
    last = _STEPS[what](session, wave, limit)
    if last is None:
        session.run(f"DELETE FROM ramet_path_waves WHERE {where}", key)
    elif last != wave.ticket:
        session.run(f"UPDATE ramet_path_waves SET ticket = ? WHERE {where}", (last, *key))
    return 1


def _tasks_of_wave(session: Session, wave: PathWave, limit: int, behind: Collection[int]) -> list[PathRow]:
    """Return the tasks in the stretch of the line that a wave is about, or that were there before one came behind one
    of these, in their old order.
    """
    standing = session.rows(
        "SELECT ticket, seq FROM ramet_path_tickets WHERE node = ? AND exact = 0 AND ticket > ? AND ticket < ? "
        "ORDER BY ticket LIMIT ?",
        (wave.node, wave.ticket, wave.until_ticket, limit),
    )
    listed, values = session.members(sorted(behind))
    stood = session.rows(
        f"SELECT was_ticket, seq FROM ramet_paths WHERE behind {listed} AND was_ticket > ? AND was_ticket < ? "
        "ORDER BY was_ticket LIMIT ?",
        (values, wave.ticket, wave.until_ticket, limit),
    )
    seqs = [seq for _, seq in sorted([*standing, *stood])[:limit]]
    lines = load_lines(session, seqs)
    return [lines[seq] for seq in seqs]


def _skip(session: Session, wave: PathWave, limit: int) -> int | None:
    """Those who waited for a task that failed, at a proper prefix of their paths."""
    # The task that they are behind need not be this one: they may have to come after several.
    away = session.rows(
        "SELECT DISTINCT seq FROM ramet_path_waves WHERE slot = ? AND what IN ('skip', 'away', 'back', 'revive')",
        (wave.slot,),
    )
    stretch = _tasks_of_wave(session, wave, limit, {seq for (seq,) in away})
    below = [line for line in stretch if wave.node in line.nodes[:-1] and not line.holds]
    victims = [line for line in below if line.skips]
    spared = [line for line in below if not line.skips] + _skip_all(session, wave, victims)
    if wave.because == wave.seq:
        # The task that they were behind is over: they line up without it.
        _requeue_behind(session, wave, [line for line in spared if line.behind == wave.seq], limit)
    # Those that were skipped just now may have let some of them in.
    found = load_lines(session, [line.seq for line in spared if line.ticket is not None]).values()
    look_again(session, [line for line in found if line.ticket is not None and not line.holds], limit)
    return None if len(stretch) < limit else stretch[-1].stood


def _skip_all(session: Session, wave: PathWave, victims: Sequence[PathRow]) -> list[PathRow]:
    """Skip these; returns those that cannot be (they are ending): they run."""
    if not victims:
        return []
    because, task_id = _root_cause(session, wave.because)
    event = ev.DependencyFailed(Reason(_FAILED_BELOW, task=task_id))
    standings = load_standings(session, [line.seq for line in victims])
    changes, spared = list[Change](), list[PathRow]()
    for line in victims:
        change = decide(standings[line.seq], event, session.now)
        if isinstance(change, Change):
            changes.append(change)
        else:
            spared.append(line._replace(skips=0))
    stood = {line.seq: line.stood for line in victims}
    session.insert(
        "ramet_path_skips",
        ("because", "ticket", "seq", "tracking_id"),
        [(because, stood[c.before.seq], c.before.seq, c.before.tracking_id) for c in changes],
        key=("because", "seq"),
        changes=("ticket",),
    )
    session.update("ramet_paths", ("skips = 0",), ("seq",), [(line.seq,) for line in spared])
    apply(session, changes)
    return spared


def _root_cause(session: Session, seq: int) -> tuple[int, str]:
    """Return number and id of the task that failed; of one that was skipped in turn, of that because of which it
    was.
    """
    [(task_id, *why)] = session.rows("SELECT id, reason, reason_facts FROM ramet_tasks WHERE seq = ?", (seq,))
    reason = restored(*why)
    if code_of(reason) == _FAILED_BELOW:
        found = session.rows("SELECT seq, id FROM ramet_tasks WHERE id = ?", (facts_of(reason)["task"],))
        return (found[0][0], found[0][1]) if found else (seq, task_id)
    return seq, task_id


def _requeue_followers(session: Session, wave: PathWave, limit: int) -> int | None:
    """Those who come after a task that has its new ticket take theirs, in their old order."""
    stretch = _tasks_of_wave(session, wave, limit, [wave.seq])
    # It may have come back from a failure: who was not to be skipped with it has been let in meanwhile.
    late = [line for line in stretch if not line.holds]
    if load_lines(session, [wave.seq]):
        _requeue_behind(session, wave, late, limit)
        return None if len(stretch) < limit else stretch[-1].stood
    if not stretch:
        return None
    # It is over instead: tasks in line keep their places, and no longer come behind it.
    session.run(
        "UPDATE ramet_path_waves SET ticket = ? WHERE seq = ? AND what = 'back' AND ticket = ? AND node = ?",
        (stretch[-1].stood, wave.seq, wave.ticket, wave.node),
    )
    _requeue_behind(session, wave, [line for line in late if line.ticket is None], limit)
    look_again(session, [line for line in late if line.ticket is not None], limit)
    return wave.ticket


def _requeue_behind(session: Session, wave: PathWave, lines: Sequence[PathRow], limit: int) -> None:
    """Requeue tasks that no longer wait for the task of the wave: they take new tickets, unless another task is to come
    first.
    """
    verdicts = held_by_waves(session, lines, apart_from=wave.seq)
    bare = [x._replace(ticket=None, waits_on=None, was_ticket=x.stood, behind=None) for x in lines]
    others = [line._replace(behind=verdicts[line.seq]) for line in bare if verdicts.get(line.seq) is not None]
    rows.update(session, [*bare, *others])
    leave_line(session, [line for line in lines if line.ticket is not None], limit)
    line_up(session, [line for line in bare if verdicts.get(line.seq) is None])


def _revive(session: Session, wave: PathWave, limit: int) -> int | None:
    """Those who were skipped because of a task that was revived come back after it, in their old order."""
    [(task_id,)] = session.rows("SELECT id FROM ramet_tasks WHERE seq = ?", (wave.seq,))
    found = session.rows(
        "SELECT s.ticket, s.seq, s.tracking_id FROM ramet_path_skips s JOIN ramet_tasks t ON t.seq = s.seq "
        "WHERE s.because = ? AND s.ticket > ? AND s.ticket < ? AND t.state = 'skipped' AND t.reason = ? "
        "AND t.reason_facts = ? ORDER BY s.ticket LIMIT ?",
        (wave.seq, wave.ticket, wave.until_ticket, *stored(Reason(_FAILED_BELOW, task=task_id)), limit),
    )
    lineages = lock_lineages(session, {tracking_id for *_, tracking_id in found})
    parents = load_parents(session, [seq for _, seq, _ in found])
    changes = []
    for _, seq, tracking_id in found:
        lineage, (task_id, _, chain, _) = lineages[tracking_id], parents[seq]
        ended = lineage.state in (LineageState.FAILED, LineageState.CANCELLED) or session.now >= lineage.deadline_at
        if ended or lineage.sweep < 0 or tombstone_over(tombstones_of(lineage), task_id, chain) is not None:
            continue
        standing, print_ = ended_standing(session, seq)
        change = None if standing is None else decide(standing, ev.Revive(wave.by or "", wave.reason), session.now)
        if isinstance(change, Change) and _takes_its_key(session, change.before):
            changes.append(change._replace(fingerprint=print_))
    session.delete("ramet_path_skips", ("because", "seq"), [(wave.seq, change.before.seq) for change in changes])
    apply(session, changes)
    return None if len(found) < limit else int(found[-1][0])


def _takes_its_key(session: Session, standing: Standing) -> bool:
    """Return False where another task holds its unique key by now: it stays skipped."""
    if standing.unique_seconds is None:
        return True
    try:
        take_again(session, standing.seq)
    except UniqueHeld:
        return False
    return True


_STEPS: dict[str, Callable[[Session, PathWave, int], int | None]] = {
    SKIP: _skip,
    BACK: _requeue_followers,
    REVIVE: _revive,
}
