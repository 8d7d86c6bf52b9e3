"""Spawns inside a settling transaction: gather the guard's facts, ask it, create what it allows, store what it
refuses."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ramet.model.keys import display_key
from ramet.model.lineage.branches import Booking, book, deadline_of, new_branch
from ramet.model.lineage.guard import (
    Allowed,
    Blocked,
    BlockReason,
    GlobalHolder,
    Holder,
    SpawnFacts,
    Verdict,
    all_allowed,
    check_spawn,
    leaves_work_undone,
)
from ramet.model.lineage.lineage import Lineage, Placement, child_of, root_of
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.retry import ErrorClass, fingerprint
from ramet.model.task.task import NewTask
from ramet.model.values import REASON_CHARACTERS_MAX, NewBlob, storable
from ramet.store.answers import SettleResult, SpawnResult
from ramet.store.errors import StoreError
from ramet.store.requests import Settlement
from ramet.store.rows import keys as deny_list
from ramet.store.rows import keys as uniqueness
from ramet.store.rows import spawns, waits
from ramet.store.rows.blobs import keep as keep_blobs
from ramet.store.rows.blocks import NewBlock, Parent, store_blocks
from ramet.store.rows.branches import BranchBook, add_members, add_to_lineages, members_by_id
from ramet.store.rows.lineages import PRUNING, add_tasks, forget_refusals, lock_lineages, read_lineages, tombstones_of
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.spawns import keep_edges
from ramet.store.rows.turns import Turns
from ramet.store.session import Session
from ramet.store.verbs.after import Dependencies, Holders
from ramet.store.verbs.submit import Births, create, refuse_blocked

OUTSIDE = ""
"""Placeholder for the parent of a root that is added."""


class SpawnScreening:
    """Facts about one batch of wanted tasks, brought up to date with every one that is granted."""

    def __init__(self, session: Session, wanted: Iterable[tuple[str, NewTask]]) -> None:
        """Read what concerns the wanted tasks, each with the tracking_id of its parent."""
        wanted = list(wanted)
        self._stops = deny_list.matching_entries(session, (new for _, new in wanted))
        self._elsewhere: dict[tuple[str, str], GlobalHolder] = {}
        self._shapes: dict[spawns.Shape, int] = {}
        self._spawned: Counter[spawns.Shape] = Counter()
        unique = {(new.unique_kind, new.key) for _, new in wanted if new.unique_seconds is not None}
        if unique:
            self._elsewhere = uniqueness.holders(session, unique)
        trapped = {(of, new.kind, new.shape) for of, new in wanted if new.shape is not None}
        if trapped:
            self._shapes = spawns.counts(session, trapped)
        self.idle = not (unique or trapped or self._stops)
        """True when none of the wanted tasks is concerned: then nothing need be asked or stored."""

    def look(self, facts: SpawnFacts, new: NewTask) -> SpawnFacts:
        """Return the facts with what concerns this task added."""
        stop = self._stops.covers(new) if self._stops else None
        shape = (facts.lineage.tracking_id, new.kind, new.shape or "")
        return facts._replace(
            elsewhere=self._elsewhere.get((new.unique_kind, new.key)) if new.unique_seconds is not None else None,
            stopped_by=None if stop is None else str(stop),
            shape=new.shape,
            shape_count=self._shapes.get(shape, 0),
        )

    def granted(self, tracking_id: str, new: NewTask) -> None:
        """Record that a task of the batch will be created: those after it must see it."""
        if new.unique_seconds is not None:
            self._elsewhere[(new.unique_kind, new.key)] = GlobalHolder(new.id, tracking_id, None, None)
        if new.shape is not None:
            shape = (tracking_id, new.kind, new.shape)
            self._shapes[shape] = self._shapes.get(shape, 0) + 1
            self._spawned[shape] += 1

    def save(self, session: Session) -> None:
        """Count what was granted, in the transaction that creates it."""
        spawns.add(session, self._spawned)


SPAWN_REFUSED = "spawn_refused"
THERE = frozenset({BlockReason.IN_FLIGHT, BlockReason.DONE})
"""Refusals that a required spawn may meet: the work is done, or another task does it."""


class RequiredRefused(Exception):
    """Raised inside a batch of settlements: some required spawns were refused. By place in the batch, which."""

    def __init__(self, refusals: Mapping[int, Sequence[NewBlock]]) -> None:
        super().__init__(f"required spawns of {len(refusals)} settlements were refused")
        self.refusals = refusals

    def replaced(self, batch: Sequence[Settlement]) -> list[Settlement]:
        """Return the batch, with these settlements as the errors that they turned out to be."""
        return [_failed(item, self.refusals[at]) if at in self.refusals else item for at, item in enumerate(batch)]

    def record(self, session: Session, answers: Sequence[SettleResult]) -> None:
        """Store the refusals of those whose error was accepted, in the transaction that settles it."""
        found = [each for at, several in self.refusals.items() if answers[at].refused is None for each in several]
        if found:
            lineages = lock_lineages(session, {each.parent.tracking_id for each in found})
            store_blocks(session, found, lineages)


def check_required(
    places: Iterable[int], wanted: Iterable[tuple[Parent, Sequence[NewTask]]], results: Iterable[Sequence[SpawnResult]]
) -> None:
    """Look at the guard's answers to a batch.

    Args:
        places: places of the settlements that spawn, in the batch.
        wanted: who asked for what.
        results: the guard's answers.

    Raises:
        RequiredRefused: a required spawn is among the refused ones.
    """
    found: dict[int, list[NewBlock]] = defaultdict(list)
    for at, (parent, news), answers in zip(places, wanted, results, strict=True):
        for new, answer in zip(news, answers, strict=True):
            if new.required and answer.reason is not None and answer.reason not in THERE:
                found[at].append(NewBlock(parent, new, Blocked(answer.reason, answer.facts)))
    if found:
        raise RequiredRefused(found)


def _failed(item: Settlement, refusals: Sequence[NewBlock]) -> Settlement:
    _, new, blocked, _ = refusals[0]
    more = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
    text = f"required spawn of {new.kind} {display_key(new.key)!r} refused, {blocked.reason}: {blocked.detail}{more}"
    event = ev.Error(
        item.fence,
        storable(f"{SPAWN_REFUSED}: {text}", REASON_CHARACTERS_MAX),
        ErrorClass.PERMANENT.value,
        fingerprint(SPAWN_REFUSED, text),
        jitter=0.0,
        reason=Reason(SPAWN_REFUSED, refused=blocked.reason.value),
    )
    return Settlement(item.seq, item.fence, event)


def load_parents(session: Session, seqs: Sequence[int]) -> dict[int, tuple[str, str, tuple[str, ...], int]]:
    """Id, tracking_id, ancestry and depth of the given tasks, by number."""
    listed, values = session.members(seqs)
    found = session.rows(
        f"SELECT seq, id, tracking_id, ancestry_chain, spawn_depth FROM ramet_tasks WHERE seq {listed}", (values,)
    )
    return {row[0]: (row[1], row[2], tuple(json.loads(row[3])), row[4]) for row in found}


def spawn(
    session: Session,
    wanted: Sequence[tuple[Parent, Sequence[NewTask]]],
    lineages: dict[str, Lineage],
    *,
    record: bool = True,
) -> list[list[SpawnResult]]:
    """Decide and create spawns; ``lineages`` is brought up to date with what they took.

    Args:
        record: False leaves refusals unrecorded: a person who offers blocks again is not a handler that asks again.

    Returns:
        One list of answers per parent, in the order asked.
    """
    batch = _Batch(session, wanted, lineages)
    answers = [batch.decide(parent, news, lineages) for parent, news in wanted]
    texts = {tracking_id: batch.turns.text(tracking_id) for tracking_id in batch.taken}
    add_tasks(session, [(*taken, texts[tracking_id], tracking_id) for tracking_id, taken in batch.taken.items()])
    for tracking_id, turns in texts.items():
        lineages[tracking_id] = lineages[tracking_id]._replace(turns=turns)
    first = create(session, batch.births)
    batch.branches.save(first, batch.births.news)
    batch.dependencies.save(first, batch.births.news, batch.births.places)
    if any(row.waits for row in lineages.values()):
        _tell_waiting(session, first, batch.births, lineages)
    batch.screen.save(session)
    _take_back(session, batch.births, lineages)
    if record:
        store_blocks(session, _without_granted(batch.refusals, batch.births), lineages)
    keep_edges(session, batch.refusals)
    return answers


def add(
    session: Session, tracking_id: str, news: Sequence[NewTask], *, blobs: Sequence[NewBlob] = (), bytes_max: int = 0
) -> list[SpawnResult]:
    """Add roots to a lineage, under its limits and its guard; durable when it returns.

    Args:
        session: the transaction.
        tracking_id: of the lineage.
        news: the roots.
        blobs: that their payloads refer to.
        bytes_max: largest sum of the lineage's blobs.

    Returns:
        The guard's answer to each. Of one that is there already its reason names that task.

    Raises:
        StoreError: there is no such lineage, its blobs would be too large together, or a queue is blocked; nothing was
            written.
    """
    lineages = lock_lineages(session, [tracking_id])
    if tracking_id not in lineages:
        raise StoreError(f"no lineage {tracking_id}: submit one, or look it up with `ramet status`")
    if deny_list.matching_entries(session, news) is not None:  # It counts blocked queues, too.
        refuse_blocked(session, news)
    outside = Parent(OUTSIDE, tracking_id, (), -1, 0, claim_current=lineages[tracking_id].sweep != PRUNING)
    [answers] = spawn(session, [(outside, news)], lineages, record=False)
    keep_blobs(session, tracking_id, blobs, bytes_max)
    return answers


def _tell_waiting(session: Session, first: int, births: Births, lineages: Mapping[str, Lineage]) -> None:
    """Tasks that wait for a branch wait for what grows there, and those that wait for a stage for the next one."""
    born = [
        (seq, new, place)
        for seq, (new, place) in enumerate(zip(births.news, births.places, strict=True), first)
        if lineages[place.tracking_id].waits
    ]
    waits.handed_on(session, [(seq, place.parent_id) for seq, new, place in born if not new.places])
    waits.born(session, [(seq, place.tracking_id, place.ancestry_chain) for seq, new, place in born if new.places])


def _without_granted(refusals: Sequence[NewBlock], births: Births) -> Sequence[NewBlock]:
    """Drop what is refused to one parent and granted to another of the batch: it leaves nothing undone."""
    if not any(refused.left_out for refused in refusals):
        return refusals
    places = zip(births.news, births.places, strict=True)
    granted = {(place.tracking_id, new.kind, new.key) for new, place in places}
    return [
        refused._replace(left_out=False)
        if (refused.parent.tracking_id, refused.new.kind, refused.new.key) in granted
        else refused
        for refused in refusals
    ]


def _take_back(session: Session, births: Births, lineages: dict[str, Lineage]) -> None:
    """Remove a task that was refused before and is granted now from those left out."""
    if not any(row.left_out for row in lineages.values()):
        return
    granted: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for new, place in zip(births.news, births.places, strict=True):
        if lineages[place.tracking_id].left_out:
            granted[place.tracking_id].append((new.kind, new.key))
    for tracking_id, wanted in sorted(granted.items()):
        lineage = lineages[tracking_id]
        lineages[tracking_id] = lineage._replace(
            left_out=forget_refusals(session, tracking_id, lineage.left_out, wanted)
        )


def hold_paths(session: Session, batch: Sequence[Settlement], bound: Iterable[int]) -> None:
    """Lock the paths that a batch of settlements can be about, before any row of it.

    Args:
        bound: numbers of the bound tasks that it names.
    """
    wanted = [(item.seq, new) for item in batch for new in item.spawns if new.path is not None]
    parents = load_parents(session, [seq for seq, _ in wanted]) if wanted else {}
    rules = [(new.path, new.queue, parents[seq][1]) for seq, new in wanted if new.path is not None and seq in parents]
    lock_stripes(session, [*(item.seq for item in batch), *bound], rules)


class GrantedTotals(NamedTuple):
    """Sums that granted spawns take of a lineage."""

    tasks: int = 0
    """Places of its budget, those that branches set aside included."""
    live: int = 0


class _Branches:
    """The branches of the parents of one transaction, and those that its spawns begin."""

    def __init__(self, session: Session, parents: Iterable[Parent], lineages: Mapping[str, Lineage]) -> None:
        self._session = session
        ids = {parent.id for parent in parents if lineages[parent.tracking_id].branches}
        self._members = members_by_id(session, ids) if ids else {}
        self._book = BranchBook(session)
        self._book.load({member.branch for member in self._members.values()})
        self._of: dict[str, tuple[str, str, bool]] = {}
        """Tracking_id, branch and whether it is the first task, by id of a new task."""
        self._sums: dict[str, Booking] = {}
        self._begun: Counter[str] = Counter()

    def concern(self, parent: Parent) -> bool:
        """Return whether a parent is in a branch."""
        return parent.id in self._members

    def facts(self, facts: SpawnFacts, parent: Parent, new: NewTask) -> SpawnFacts:
        """Return the facts with the branches that a new task would be in."""
        member = self._members.get(parent.id)
        around = self._book.chain(member.branch) if member is not None else ()
        if not around and new.budget is None:
            return facts
        chain = around
        if new.budget is not None:
            own = new_branch(
                new.id, parent.tracking_id, around[0].id if around else None, new.budget,
                spawn_depth=parent.spawn_depth + 1, available_at=facts.now + new.delay_seconds,
            )  # fmt: skip
            chain = (own, *around)
        return facts._replace(around=around, booked=book(chain, Booking(tasks=new.places, live=1)))

    def granted(
        self, parent: Parent, new: NewTask, facts: SpawnFacts, place: Placement, lineages: dict[str, Lineage]
    ) -> tuple[Placement, int]:
        """Book a new task; return where it hangs, and the places that it takes of the lineage.

        The money that it takes of the lineage is booked in ``lineages``.
        """
        booked = facts.booked
        if booked is None:
            return place, new.places
        self._book.keep(booked)
        tracking_id, member = parent.tracking_id, self._members.get(parent.id)
        first = new.budget is not None or (not new.places and member is not None and member.first)
        self._of[new.id] = (tracking_id, booked.after[0].id, first)
        self._begun[tracking_id] += new.budget is not None
        row = lineages[tracking_id]
        lineages[tracking_id] = row._replace(
            reserved=row.reserved + booked.rest.reserved, branches=row.branches + (new.budget is not None)
        )
        self._sums[tracking_id] = self._sums.get(tracking_id, Booking()).plus(Booking(reserved=booked.rest.reserved))
        # The first task itself has the time of what is around its branch; so has a later stage of it.
        around = facts.around[1:] if first and new.budget is None else facts.around
        return place._replace(deadline_at=deadline_of(around)), booked.rest.tasks

    def save(self, first: int, news: Sequence[NewTask]) -> None:
        """Write what was booked.

        Args:
            first: number of the first of the tasks that were created.
            news: these tasks.
        """
        if not self._of:
            return
        self._book.save()
        rows = [(seq, *self._of[new.id]) for seq, new in enumerate(news, first) if new.id in self._of]
        add_members(self._session, [(seq, name, branch, int(is_first)) for seq, name, branch, is_first in rows])
        add_to_lineages(self._session, self._sums, self._begun)


class _Batch:
    """The decisions of one transaction; each sees what those before it took."""

    def __init__(
        self,
        session: Session,
        wanted: Sequence[tuple[Parent, Sequence[NewTask]]],
        lineages: Mapping[str, Lineage],
    ) -> None:
        self.births = Births()
        self.branches = _Branches(session, [parent for parent, _ in wanted], lineages)
        self.refusals: list[NewBlock] = []
        self.taken: dict[str, GrantedTotals] = defaultdict(GrantedTotals)
        """Amounts taken, by lineage."""
        self.turns = Turns(session)
        self.turns.expect((news, parent.spawn_depth + 1) for parent, news in wanted)
        self.screen = SpawnScreening(session, [(parent.tracking_id, new) for parent, news in wanted for new in news])
        names = [(parent.tracking_id, new.key) for parent, news in wanted for new in news]
        self.dependencies = Dependencies(
            session, [(parent.tracking_id, new) for parent, news in wanted for new in news]
        )
        self._holders = _load_holders(session, {*names, *self.dependencies.names})
        once = {name for name, times in Counter(names).items() if times == 1}
        self._open = once - self._holders.keys() - self.dependencies.names
        """Wanted once and not there yet: no spawn of the batch changes what the guard says of these."""
        self._now = session.now

    def decide(self, parent: Parent, news: Sequence[NewTask], lineages: dict[str, Lineage]) -> list[SpawnResult]:
        """Return the guard's answers to one parent."""
        lineage = lineages[parent.tracking_id]
        facts = SpawnFacts(
            lineage, tombstones_of(lineage), parent.id, parent.ancestry_chain, parent.spawn_depth, parent.fan_out,
            parent.claim_current, "", "", (), self._now,
        )  # fmt: skip
        place = root_of(parent.tracking_id)
        if parent.id != OUTSIDE:
            place = child_of(parent.tracking_id, parent.id, parent.ancestry_chain, parent.spawn_depth)
        results: list[SpawnResult] = []
        for alone, run in groupby(news, lambda new: self._alone(parent, new)):
            several = [*run]
            facts = facts._replace(lineage=lineages[parent.tracking_id])
            if alone and all_allowed(facts, several):
                results += self._grant(several, place, lineages)
                facts = facts._replace(parent_fan_out=facts.parent_fan_out + len(several))
                continue
            for new in several:
                answer = self._decide_one(parent, new, place, facts, lineages)
                results.append(answer)
                if answer.id is not None and new.places:
                    facts = facts._replace(parent_fan_out=facts.parent_fan_out + 1)
        return results

    def _alone(self, parent: Parent, new: NewTask) -> bool:
        if new.after is not None or new.budget is not None or self.branches.concern(parent):
            return False
        return self.screen.idle and (parent.tracking_id, new.key) in self._open

    def _decide_one(
        self, parent: Parent, new: NewTask, place: Placement, facts: SpawnFacts, lineages: dict[str, Lineage]
    ) -> SpawnResult:
        there = self._holders.setdefault((parent.tracking_id, new.key), [])
        facts = facts._replace(
            lineage=lineages[parent.tracking_id], kind=new.kind, cycle_on=new.cycle_on, holders=tuple(there),
            max_attempts=new.max_attempts, base=new.base, places=new.places,
        )  # fmt: skip
        on: Sequence[Holder] = ()
        if new.after is not None:
            on, missing = self.dependencies.find(parent.tracking_id, new.after, self._holders)
            circle = self.dependencies.waits_for_it(facts.lineage, on, place.ancestry_chain)
            facts = facts._replace(edges=len(on), missing=missing, waits_for_it=circle)
        facts = self.branches.facts(facts, parent, new)
        verdict = check_spawn(facts if self.screen.idle else self.screen.look(facts, new))
        if isinstance(verdict, Blocked):
            self.refusals.append(NewBlock(parent, new, verdict, leaves_work_undone(facts, verdict)))
            return SpawnResult(None, new.kind, new.key, *verdict)
        there.append(Holder(new.id, new.kind, "pending"))
        if new.after is not None:
            self.dependencies.granted(new, on)
            row = lineages[parent.tracking_id]
            lineages[parent.tracking_id] = row._replace(waits=row.waits + 1, edges=row.edges + len(on))
        if not self.screen.idle:
            self.screen.granted(parent.tracking_id, new)
        where = place if new.places else place._replace(spawn_depth=parent.spawn_depth)
        where, places = self.branches.granted(parent, new, facts, where, lineages)
        return self._grant([new], where, lineages, places)[0]

    def _grant(
        self, news: Sequence[NewTask], place: Placement, lineages: dict[str, Lineage], places: int | None = None
    ) -> list[SpawnResult]:
        lineage = lineages[place.tracking_id]
        places, live = sum(new.places for new in news) if places is None else places, len(news)
        taken = self.taken[place.tracking_id]
        self.taken[place.tracking_id] = GrantedTotals(taken.tasks + places, taken.live + live)
        lineages[place.tracking_id] = lineage._replace(tasks=lineage.tasks + places, live=lineage.live + live)
        self.births.add(news, place, self.turns.take(lineage, news, place.spawn_depth))
        return [SpawnResult(new.id, new.kind, new.key) for new in news]


def can_spawn(session: Session, parent_id: str, new: NewTask) -> Verdict | None:
    """Return what the guard would say to a spawn of this task now, None without such a parent. Writes nothing.

    The parent's claim counts as current: the question is what its handler would be answered.
    """
    found = session.rows(
        "SELECT t.tracking_id, t.ancestry_chain, t.spawn_depth, COALESCE(l.fan_out, t.fan_out) FROM ramet_tasks t "
        "LEFT JOIN ramet_live l ON l.seq = t.seq WHERE t.id = ?",
        (parent_id,),
    )
    if not found:
        return None
    tracking_id, chain, spawn_depth, fan_out = found[0]
    parent = Parent(parent_id, tracking_id, tuple(json.loads(chain)), spawn_depth, fan_out, claim_current=True)
    lineages = read_lineages(session, [tracking_id])
    [answer] = _Batch(session, [(parent, [new])], lineages).decide(parent, [new], lineages)
    return Allowed() if answer.reason is None else Blocked(answer.reason, answer.facts)


def _load_holders(session: Session, names: Collection[tuple[str, str]]) -> Holders:
    """Load the holders of the wanted keys, by (tracking_id, key): one probe of the identity index per key."""
    holders: Holders = {}
    if not names:
        return holders
    pairs, values = session.pairs(sorted(names))
    for tracking_id, key, kind, task_id, state, seq in session.rows(
        # In this order: the probes, then what little they found.
        f"SELECT i.tracking_id, i.key, i.kind, t.id, COALESCE(t.state, l.state), i.seq FROM {pairs} "
        "CROSS JOIN ramet_identities i JOIN ramet_tasks t ON t.seq = i.seq LEFT JOIN ramet_live l ON l.seq = i.seq "
        "WHERE i.key = v.b AND i.tracking_id = v.a ORDER BY i.seq",
        values,
    ):
        holders.setdefault((tracking_id, key), []).append(Holder(task_id, kind, state, seq))
    return holders
