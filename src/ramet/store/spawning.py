"""Spawns inside a settling transaction: gather the guard's facts, ask it, create what it allows, store what it refuses.

Everything is decided against rows held by this transaction, in the order in which the spawns were asked for, so two
workers can never both see the last free place of a budget.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ramet.model.guard import REOFFERABLE, Blocked, Facts, Holder, check_spawn
from ramet.model.lineage import Lineage, child_of
from ramet.model.ordering import TurnClass, rank_of
from ramet.model.task import NewTask
from ramet.store.base import SpawnAnswer
from ramet.store.creating import Birth, create
from ramet.store.demands import DEMANDED
from ramet.store.lineages import add_tasks, tombstones_of
from ramet.store.screening import Screen
from ramet.store.session import Session
from ramet.store.turns import Turns


class Parent(NamedTuple):
    """A task that asks for spawns."""

    id: str
    tracking_id: str
    ancestry_chain: tuple[str, ...]
    spawn_depth: int
    fan_out: int
    claim_current: bool


class Refusal(NamedTuple):
    """A blocked spawn, to be stored."""

    parent: Parent
    new: NewTask
    blocked: Blocked


Holders = dict[tuple[str, str], list[Holder]]


def load_parents(session: Session, seqs: Sequence[int]) -> dict[int, tuple[str, str, tuple[str, ...], int]]:
    """Id, tracking_id, ancestry and depth of the given tasks, by number."""
    listed, values = session.members(seqs)
    found = session.rows(
        f"SELECT seq, id, tracking_id, ancestry_chain, spawn_depth FROM ramet_tasks WHERE seq IN {listed}",
        (values,),
    )
    return {row[0]: (row[1], row[2], tuple(json.loads(row[3])), row[4]) for row in found}


def spawn(
    session: Session,
    wanted: Sequence[tuple[Parent, Sequence[NewTask]]],
    lineages: dict[str, Lineage],
) -> list[list[SpawnAnswer]]:
    """Decide and create spawns; ``lineages`` is brought up to date with what they took.

    Returns:
        One list of answers per parent, in the order asked.
    """
    holders = _load_holders(session, wanted)
    screen = Screen(session, ((parent.tracking_id, new) for parent, news in wanted for new in news))
    births: list[Birth] = []
    refusals: list[Refusal] = []
    answers: list[list[SpawnAnswer]] = []
    taken: dict[str, int] = defaultdict(int)
    turns = Turns(session)
    for parent, news in wanted:
        told, fan_out = [], parent.fan_out
        lineage = lineages[parent.tracking_id]
        tombstones = tombstones_of(lineage)
        place = child_of(parent.tracking_id, parent.id, parent.ancestry_chain, parent.spawn_depth)
        for new in news:
            there = holders[(parent.tracking_id, new.key)]
            facts = Facts(lineage, tombstones, parent.id, parent.ancestry_chain, parent.spawn_depth, fan_out,
                          parent.claim_current, new.kind, new.cycle_on, tuple(there), session.now,
                          max_attempts=new.max_attempts)  # fmt: skip
            verdict = check_spawn(facts if screen.idle else screen.look(facts, new))
            if isinstance(verdict, Blocked):
                refusals.append(Refusal(parent, new, verdict))
                told.append(SpawnAnswer(None, new.kind, new.key, *verdict))
                continue
            fan_out += 1
            taken[parent.tracking_id] += 1
            lineage = lineage._replace(tasks=lineage.tasks + 1, live=lineage.live + 1)
            there.append(Holder(new.id, new.kind, "pending"))
            screen.granted(parent.tracking_id, new)
            kin = TurnClass(new.queue, new.kind, rank_of(new.priority, new.breadth, place.spawn_depth))
            births.append(Birth(new, place, turns.take(lineage, kin)))
            told.append(SpawnAnswer(new.id, new.kind, new.key))
        lineages[parent.tracking_id] = lineage
        answers.append(told)
    for tracking_id, count in sorted(taken.items()):
        add_tasks(session, tracking_id, count, turns.text(tracking_id))
        lineages[tracking_id] = lineages[tracking_id]._replace(turns=turns.text(tracking_id))
    create(session, births)
    screen.save(session)
    store_blocks(session, refusals, lineages)
    return answers


def _load_holders(session: Session, wanted: Sequence[tuple[Parent, Sequence[NewTask]]]) -> Holders:
    """Who has the wanted keys already: one probe of the identity index per key."""
    keys: dict[str, set[str]] = defaultdict(set)
    for parent, news in wanted:
        keys[parent.tracking_id].update(new.key for new in news)
    holders: Holders = defaultdict(list)
    for tracking_id, wanted_keys in keys.items():
        listed, values = session.members(wanted_keys)
        for key, kind, task_id, state in session.rows(
            "SELECT i.key, i.kind, t.id, COALESCE(t.state, l.state) FROM ramet_identities i "
            "JOIN ramet_tasks t ON t.seq = i.seq LEFT JOIN ramet_live l ON l.seq = i.seq "
            f"WHERE i.tracking_id = ? AND i.key IN {listed} ORDER BY i.seq",
            (tracking_id, values),
        ):
            holders[(tracking_id, key)].append(Holder(task_id, kind, state))
    return holders


# --- stored refusals (promise I8) -------------------------------------------------------------------------------

_BLOCK = (
    "INSERT INTO ramet_blocks (tracking_id, kind, key, reason, detail, count, first_parent, last_parent, winner, "
    "payload, first_at, last_at) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?) "
    f"ON CONFLICT (tracking_id, kind, key, reason) DO UPDATE SET {DEMANDED}, count = ramet_blocks.count + 1, "
    "last_parent = excluded.last_parent, last_at = excluded.last_at"
)
_BLOCK_COUNT = (
    "INSERT INTO ramet_block_counts (tracking_id, parent_id, kind, reason, count) VALUES (?, ?, ?, ?, 1) "
    "ON CONFLICT (tracking_id, parent_id, kind, reason) DO UPDATE SET count = ramet_block_counts.count + 1"
)


def store_blocks(session: Session, refusals: Sequence[Refusal], lineages: dict[str, Lineage]) -> None:
    """One row per (lineage, kind, key, reason), at most as many as the lineage may have tasks; then counters."""
    if not refusals:
        return
    by_lineage: dict[str, list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        by_lineage[refusal.parent.tracking_id].append(refusal)
    for tracking_id, several in by_lineage.items():
        known = _known_blocks(session, tracking_id, several)
        lineage = lineages[tracking_id]
        room = lineage.max_tasks - lineage.blocks
        rows, overflow = [], []
        for item in several:
            name = (item.new.kind, item.new.key, item.blocked.reason.value)
            if name not in known:
                if room <= 0:
                    overflow.append((tracking_id, item.parent.id, item.new.kind, item.blocked.reason.value))
                    continue
                known.add(name)
                room -= 1
            rows.append(_block_row(item, session.now))
        session.run_many(_BLOCK, rows)
        session.run_many(_BLOCK_COUNT, overflow)
        stored = lineage.max_tasks - room
        if stored != lineage.blocks:
            session.run("UPDATE ramet_lineages SET blocks = ? WHERE tracking_id = ?", (stored, tracking_id))
            lineages[tracking_id] = lineage._replace(blocks=stored)


def _known_blocks(session: Session, tracking_id: str, several: Sequence[Refusal]) -> set[tuple[str, str, str]]:
    known: set[tuple[str, str, str]] = set()
    for kind in {item.new.kind for item in several}:
        listed, values = session.members({item.new.key for item in several if item.new.kind == kind})
        known.update(
            (kind, key, reason)
            for key, reason in session.rows(
                f"SELECT key, reason FROM ramet_blocks WHERE tracking_id = ? AND kind = ? AND key IN {listed}",
                (tracking_id, kind, values),
            )
        )
    return known


def _block_row(item: Refusal, now: float) -> tuple[object, ...]:
    parent, new, blocked = item
    payload = new.payload if blocked.reason in REOFFERABLE else None
    return (
        parent.tracking_id, new.kind, new.key, blocked.reason.value, blocked.detail, parent.id, parent.id,
        blocked.winner, payload, now, now,
    )  # fmt: skip
