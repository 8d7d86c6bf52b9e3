"""Spawns inside a settling transaction: gather the guard's facts, ask it, create what it allows, store what it refuses.

Everything is decided against rows held by this transaction, in the order in which the spawns were asked for, so two
workers can never both see the last free place of a budget.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ramet.model.lineage.guard import Blocked, Facts, Holder, check_spawn, leaves_out
from ramet.model.lineage.lineage import Lineage, child_of
from ramet.model.task.ordering import class_of
from ramet.model.task.task import NewTask
from ramet.store.answers import SpawnAnswer
from ramet.store.requests import Settlement
from ramet.store.rows.blocks import Parent, Refusal, store_blocks
from ramet.store.rows.edges import keep_edges
from ramet.store.rows.left_out import take_back
from ramet.store.rows.lineages import add_tasks, tombstones_of
from ramet.store.rows.paths import hold_slots
from ramet.store.rows.turns import Turns
from ramet.store.session import Session
from ramet.store.verbs.screening import Screen
from ramet.store.verbs.submit import Birth, create

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
    *,
    record: bool = True,
) -> list[list[SpawnAnswer]]:
    """Decide and create spawns; ``lineages`` is brought up to date with what they took.

    Args:
        record: False leaves refusals unrecorded: a person who offers blocks again is no handler that asks again.

    Returns:
        One list of answers per parent, in the order asked.
    """
    batch = _Batch(session, wanted)
    answers = [batch.decide(parent, news, lineages) for parent, news in wanted]
    for tracking_id, taken in sorted(batch.taken.items()):
        turns = batch.turns.text(tracking_id)
        add_tasks(session, tracking_id, taken.tasks, taken.live, turns)
        lineages[tracking_id] = lineages[tracking_id]._replace(turns=turns)
    create(session, batch.births)
    batch.screen.save(session)
    _take_back(session, batch.births, lineages)
    if record:
        store_blocks(session, batch.refusals, lineages)
    keep_edges(session, batch.refusals)
    return answers


def _take_back(session: Session, births: Iterable[Birth], lineages: dict[str, Lineage]) -> None:
    """What was refused before and is granted now is left out no more."""
    granted: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for new, place, *_ in births:
        if lineages[place.tracking_id].left_out:
            granted[place.tracking_id].append((new.kind, new.key))
    for tracking_id, wanted in sorted(granted.items()):
        lineage = lineages[tracking_id]
        lineages[tracking_id] = lineage._replace(left_out=take_back(session, tracking_id, lineage.left_out, wanted))


def hold_paths(session: Session, batch: Sequence[Settlement], bound: Iterable[int]) -> None:
    """The paths that a batch of settlements can be about, before any row of it.

    Args:
        bound: numbers of the bound tasks that it names.
    """
    wanted = [(item.seq, new) for item in batch for new in item.spawns if new.path is not None]
    parents = load_parents(session, [seq for seq, _ in wanted]) if wanted else {}
    rules = [(new.path, new.queue, parents[seq][1]) for seq, new in wanted if new.path is not None and seq in parents]
    hold_slots(session, [*(item.seq for item in batch), *bound], rules)


class Taken(NamedTuple):
    """What granted spawns take of a lineage."""

    tasks: int = 0
    """Places of its budget."""
    live: int = 0


class _Batch:
    """The decisions of one transaction; each sees what those before it took."""

    def __init__(self, session: Session, wanted: Sequence[tuple[Parent, Sequence[NewTask]]]) -> None:
        self.births: list[Birth] = []
        self.refusals: list[Refusal] = []
        self.taken: dict[str, Taken] = defaultdict(Taken)
        """By lineage."""
        self.turns = Turns(session)
        self.screen = Screen(session, ((parent.tracking_id, new) for parent, news in wanted for new in news))
        self._holders = _load_holders(session, wanted)
        self._now = session.now

    def decide(self, parent: Parent, news: Sequence[NewTask], lineages: dict[str, Lineage]) -> list[SpawnAnswer]:
        """The guard's answers to one parent."""
        told, fan_out, screen = [], parent.fan_out, self.screen
        lineage = lineages[parent.tracking_id]
        tombstones = tombstones_of(lineage)
        place = child_of(parent.tracking_id, parent.id, parent.ancestry_chain, parent.spawn_depth)
        for new in news:
            there = self._holders[(parent.tracking_id, new.key)]
            facts = Facts(lineage, tombstones, parent.id, parent.ancestry_chain, parent.spawn_depth, fan_out,
                          parent.claim_current, new.kind, new.cycle_on, tuple(there), self._now,
                          max_attempts=new.max_attempts, base=new.base, places=new.places)  # fmt: skip
            verdict = check_spawn(facts if screen.idle else screen.look(facts, new))
            if isinstance(verdict, Blocked):
                self.refusals.append(Refusal(parent, new, verdict, leaves_out(facts, verdict)))
                told.append(SpawnAnswer(None, new.kind, new.key, *verdict))
                continue
            taken = self.taken[parent.tracking_id]
            self.taken[parent.tracking_id] = Taken(taken.tasks + new.places, taken.live + 1)
            lineage = lineage._replace(tasks=lineage.tasks + new.places, live=lineage.live + 1)
            where = place
            if new.places:
                fan_out += 1
            else:
                where = place._replace(spawn_depth=parent.spawn_depth)
            there.append(Holder(new.id, new.kind, "pending"))
            if not screen.idle:
                screen.granted(parent.tracking_id, new)
            kin = class_of(new, where.spawn_depth)
            self.births.append(Birth(new, where, self.turns.take(lineage, kin)))
            told.append(SpawnAnswer(new.id, new.kind, new.key))
        lineages[parent.tracking_id] = lineage
        return told


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
