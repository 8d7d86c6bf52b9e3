"""Joins: a task waits for those that grew from it, and is claimed again when they have ended (docs/decisions/0059)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ramet.model.lineage.lineage import Lineage
from ramet.model.reasons import winner_of
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import NewTask, Standing, Wait
from ramet.model.task.transitions import Change
from ramet.store.answers import SpawnResult
from ramet.store.requests import Settlement
from ramet.store.rows import waits
from ramet.store.rows.waits import RefusedSpawn
from ramet.store.session import Session
from ramet.store.verbs.spawn import load_parents


def join(
    session: Session,
    standing: Standing,
    item: Settlement,
    results: Sequence[SpawnResult],
    lineages: dict[str, Lineage],
) -> Change:
    """Decide a join, and write down the tasks that it waits for.

    Args:
        session: the transaction, which holds the rows of task and lineage.
        standing: of the task that joins.
        item: what its handler asked for, a join; spawns that were granted are there already.
        results: the guard's answers to its spawns.
        lineages: brought up to date: a task of this one waits.
    """
    event = item.event
    assert isinstance(event, ev.Join)
    known = waits.load(session, [standing.seq]).get(standing.seq)
    before = known or waits.first_row(standing.seq, standing.tracking_id)
    seconds_left = None
    if standing.task_seconds is not None and standing.deadline_at is not None:
        seconds_left = standing.deadline_at - session.now
    row = before._replace(
        round=before.round + 1,
        branch=int(event.branch),
        skips=int(event.skip_on_failure),
        failed=None,
        seconds_left=seconds_left,
        since=session.now,
    )
    [(task_id, _, _, _)] = load_parents(session, [standing.seq]).values()
    row = waits.begin_round(session, row, task_id, _refused(session, row.first, event, item.spawns, results))
    # One that failed already has it skipped by the next claim, as one that fails later does.
    live = row.remaining or int(row.failed is not None)
    row = row._replace(idle_rounds=0 if live else before.idle_rounds + 1)
    lineage = lineages[standing.tracking_id]
    # A join waits for what grew below: without tasks that come after others none of it leads back.
    circle = waits.circle_of(session, row) if row.remaining and lineage.edges else None
    event = replace(event, live=live, idle_rounds=row.idle_rounds, circle=circle)
    change = decide(standing, event, session.now)
    assert isinstance(change, Change), f"a current claim refused a join: {change}"
    waits.save(session, [row._replace(waiting=int(change.after.wait == Wait.TASKS))])
    if known is None:
        lineages[standing.tracking_id] = lineage._replace(waits=lineage.waits + 1)
        session.run("UPDATE ramet_lineages SET waits = waits + 1 WHERE tracking_id = ?", (standing.tracking_id,))
    return change


def _refused(
    session: Session, first: int, event: ev.Join, spawns: Sequence[NewTask], results: Sequence[SpawnResult]
) -> list[RefusedSpawn]:
    """Return what the guard refused under this claim, each behind the granted spawn that it came after."""
    if not event.refused and all(answer.reason is None for answer in results):
        return []
    asked = [*event.refused]
    last = event.last
    for new, answer in zip(spawns, results, strict=True):
        if answer.reason is None:
            last = answer.id
        else:
            asked.append((last, new.kind, new.key, answer.reason.value, json.dumps({**answer.facts})))
    winners = [winner_of(json.loads(facts)) for *_, facts in asked]
    listed, values = session.members(sorted({*winners, *(after for after, *_ in asked)} - {None}))
    seqs: dict[str, int] = dict(session.rows(f"SELECT id, seq FROM ramet_tasks WHERE id {listed}", (values,)))
    behind: Counter[int] = Counter()
    found: list[RefusedSpawn] = []
    for (after, kind, key, reason, facts), winner in zip(asked, winners, strict=True):
        place = first - 1 if after is None else seqs.get(after, first - 1)
        behind[place] += 1
        there = None if winner is None else seqs.get(winner)
        found.append(RefusedSpawn(place, behind[place], kind, key, reason, facts, there))
    return found
