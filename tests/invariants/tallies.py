"""The part of :mod:`tests.invariants.check` for tallies: they equal a recount, at every commit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from ramet.model.tallies import COLUMNS, ENDS, Tally, added, tally_of
from ramet.model.task.task import Standing
from ramet.store.store import Store
from tests.invariants.rows import TaskRow


async def tallies(store: Store, tasks: Mapping[int, TaskRow], live: Mapping[int, Standing]) -> list[str]:
    """Live tasks exactly; what was pruned is counted still, so the others are at least what is there."""
    told = await _told(store)
    found = []
    living = Counter(row.kind for row in live.values())
    there = Counter(task.kind for task in tasks.values())
    depths = Counter((task.kind, task.spawn_depth) for task in tasks.values())
    for kind in told.keys() | living.keys() | there.keys():
        if kind not in told:
            found.append(f"{there[kind]} tasks of kind {kind} are in no tally")
            continue
        tally = told[kind]
        if tally.live != living[kind]:
            found.append(f"{tally.live} tasks of kind {kind} are counted as live, not {living[kind]}")
        if tally.created < there[kind] or sum(tally.depths) != tally.created:
            found.append(
                f"{tally.created} tasks of kind {kind} were created, in {tally.depths}; {there[kind]} are there"
            )
        if sum(tally.chains) != sum(tally.ended.values()):
            found.append(f"tasks of kind {kind} ended {tally.ended}, in {tally.chains}")
        found += [
            f"{tally.depths[depth]} tasks of kind {kind} were created at depth {depth}, not {depths[kind, depth]}"
            for depth in range(11)
            if tally.depths[depth] < depths[kind, depth]
        ]
    ended = Counter((task.kind, task.state) for task in tasks.values() if task.state is not None)
    for kind, total in Counter(task.kind for task in tasks.values() if task.state in ENDS).items():
        if kind in told and sum(told[kind].ended.values()) < total:
            found.append(f"{told[kind].ended} of kind {kind} ended, not {ended}")
    return found + await _attempts(store, told)


async def _told(store: Store) -> dict[str, Tally]:
    """By kind. All time is one row, and what is not in that yet."""
    rows: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for kind, *numbers in await store.read(
        f"SELECT kind, {', '.join(COLUMNS)} FROM ramet_tallies WHERE stripe >= 0 OR seconds = 0"
    ):
        rows[kind].append(tuple(numbers))
    return {kind: tally_of(kind, 0.0, 0.0, added(several)) for kind, several in rows.items()}


async def _attempts(store: Store, told: Mapping[str, Tally]) -> list[str]:
    rows = await store.read(
        "SELECT t.kind, a.outcome, COUNT(*) FROM ramet_attempts a JOIN ramet_tasks t ON t.seq = a.seq "
        "GROUP BY t.kind, a.outcome"
    )
    return [
        f"{count} attempts of kind {kind} came to {outcome}; tallies say {tally}"
        for kind, outcome, count in rows
        if (tally := told[kind].attempts.get(outcome, 0) if kind in told else 0) < count
    ]


_LISTED = "SELECT seq, tracking_id, state, spawn_depth FROM ramet_unsuccessful"
_ENDED = "SELECT seq, tracking_id, state, spawn_depth FROM ramet_tasks WHERE state IS NOT NULL AND state <> 'success'"


async def ends(store: Store, tracking_ids: Collection[str]) -> list[str]:
    """One line for every task that is listed and should not be, or the other way."""
    listed = {row for row in await store.read(_LISTED) if row[1] in tracking_ids}
    ended = {row for row in await store.read(_ENDED) if row[1] in tracking_ids}
    return [
        f"task {row[0]} is {'' if row in ended else 'not '}{row[2]}, and the list of those says otherwise"
        for row in sorted(listed ^ ended)
    ]
