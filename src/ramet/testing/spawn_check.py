"""The part of the guard that needs no database: what a handler that runs by itself may spawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ramet.engine.base.work import Work
from ramet.model.lineage.guard import Blocked, Facts, Holder, check_spawn
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.task.task import NewTask
from ramet.store.answers import SpawnAnswer
from ramet.store.requests import Settlement
from ramet.store.rows.blocks import Parent
from ramet.store.verbs.spawn import RequiredRefused, check_required

_MOST = 1 << 53
_UNLIMITED = Lineage(
    tracking_id="test", state=LineageState.RUNNING, reason=None, created_at=0.0, deadline_at=float(_MOST),
    ended_at=None, max_spawn_depth=_MOST, max_tasks=_MOST, max_fan_out=_MOST, tasks=0, live=0, success=0, filtered=0,
    skipped=0, failed=0, cancelled=0, blocks=0, tombstones="", sweep=0, max_shape=_MOST, max_cost=_MOST,
)  # fmt: skip
"""No limit refuses anything: those are for the database to say."""


class SpawnRules:
    """Cycles and duplicates among one task and what it asked for so far, by the guard's own checks (I3, I4)."""

    def __init__(self, work: Work, ancestry_chain: Sequence[str]) -> None:
        self._parent = Parent(work.id, "test", tuple(ancestry_chain), work.spawn_depth, 0, claim_current=True)
        self._holders: dict[str, list[Holder]] = defaultdict(list)
        self._holders[work.key].append(Holder(work.id, work.kind, "processing"))

    def decide(self, item: Settlement) -> tuple[Settlement, list[SpawnAnswer]]:
        """The settlement as a store would take it, and the answers to what it spawns: none where it became an error."""
        answers = [self._answer(new) for new in item.spawns]
        try:
            check_required([0], [(self._parent, item.spawns)], [answers])
        except RequiredRefused as refused:
            [failed] = refused.replaced([item])
            return failed, []
        return item, answers

    def _answer(self, new: NewTask) -> SpawnAnswer:
        there, parent = self._holders[new.key], self._parent
        facts = Facts(
            _UNLIMITED, {}, parent.id, parent.ancestry_chain, parent.spawn_depth, 0, True, new.kind, new.cycle_on,
            tuple(there), 0.0, max_attempts=new.max_attempts, base=new.base, places=new.places,
        )  # fmt: skip
        verdict = check_spawn(facts)
        if isinstance(verdict, Blocked):
            return SpawnAnswer(None, new.kind, new.key, *verdict)
        there.append(Holder(new.id, new.kind, "pending"))
        return SpawnAnswer(new.id, new.kind, new.key)
