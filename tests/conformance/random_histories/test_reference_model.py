"""The store does what the plain model does, step by step, whatever people, workers and time do in whatever order."""

from __future__ import annotations

import copy
import tempfile
from collections import Counter
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ramet.model.lineage.guard import check_spawn
from ramet.model.task import events as ev
from ramet.model.task import lifecycle
from ramet.model.task.retry import Retry
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.errors import LineageExists, StoreError
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.state import lanes
from ramet.store.verbs import operate, spawn
from ramet.store.verbs import settle as settling
from tests.conformance.random_histories.reference_ends import Ask, Model
from tests.conformance.random_histories.reference_model import Line, Wish
from tests.invariants.check import violations
from tests.simulation.database import MemoryStore, SimulatedStore
from tests.support.world import KINDS, LEASE_SECONDS, SettableClock

Answer = TypeVar("Answer")

LINES, KEYS = 3, 5
HELD_MAX = 24
"""Claims that the workers remember, current or not."""
WHAT = (
    "success", "success", "success", "filtered", "skipped", "declared", "transient", "permanent", "unclassified",
    "snooze", "continue", "hand_back", "checkpoint", "checkpoint", "progress",
)  # fmt: skip

picks = st.integers(0, 10_000)
wanted = st.tuples(
    st.sampled_from(KINDS), st.integers(0, KEYS - 1), st.sampled_from((0.0, 0.0, 0.0, 40.0)), st.sampled_from((0, 0, 5))
)
spawns = st.lists(wanted, max_size=3)
Wanted = list[tuple[str, int, float, int]]


def now(verb: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer of a verb that never waits."""
    try:
        verb.send(None)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
    raise AssertionError("an inline store never waits")


class Held(NamedTuple):
    """A claim that a worker got once."""

    seq: int
    id: str
    fence: int


class StoreAndModel(RuleBasedStateMachine):
    """Every rule does one thing to both and compares the answers; after every rule all rows are compared."""

    made_store: ClassVar[type[SimulatedStore]] = MemoryStore
    follows_before_revive: ClassVar[bool] = False
    """True where the follow-up of ended lineages commits before a revive, which may then be refused."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = SettableClock()
        self.store = self.made_store(Path(tempfile.gettempdir()), self.clock)
        self.model = Model(self.clock.now)
        self.held: list[Held] = []
        self.known: list[str] = []
        self.numbers = 0
        self.sound = True

    def teardown(self) -> None:
        try:
            if self.sound:
                found = now(violations(self.store, place_kinds=Model.places, clock_set_back=True))
                assert found == [], "\n".join(found)
                self._everything_ends()
        finally:
            self.store.close_now()

    def _everything_ends(self) -> None:
        """Nobody claims any more: time alone ends what is left."""
        for _ in range(14):
            self.advance(2_500.0)
            self.sweep()
        assert now(self.store.idle(KINDS))
        self.same_rows()

    # --- wishes, as both sides take them

    def wishes(self, asked: Wanted) -> tuple[list[Wish], list[NewTask]]:
        told = []
        for kind, key, delay_seconds, priority in asked:
            self.numbers += 1
            told.append(Wish(f"t{self.numbers}", kind, f"k{key}", delay_seconds, priority))
        self.known += [wish.id for wish in told]
        model = self.model
        return told, [
            NewTask(
                wish.id, wish.kind, wish.key, "{}", delay_seconds=wish.delay_seconds, priority=wish.priority,
                max_attempts=model.max_attempts, task_seconds=model.task_seconds,
                max_chain_depth=model.max_chain_depth, cycle_on="key" if wish.kind in Model.places else "kind+key",
            )
            for wish in told
        ]  # fmt: skip

    def some(self, chosen: Sequence[int]) -> list[Held]:
        """Different tasks: of several settlements of one task in a batch each would be decided after the other."""
        found = {held.id: held for held in (self.held[pick % len(self.held)] for pick in chosen)} if self.held else {}
        return list(found.values())

    def anybody(self, pick: int) -> str:
        return self.known[pick % len(self.known)] if self.known else "nobody"

    # --- rules

    @initialize(roots=st.lists(wanted, min_size=1, max_size=3))
    def begin(self, roots: Wanted) -> None:
        self.submit(0, roots, (12, 3, 3, 3_000.0))

    @rule(
        line=st.integers(0, LINES - 1),
        roots=st.lists(wanted, min_size=1, max_size=3),
        limits=st.tuples(st.sampled_from((2, 6, 30)), st.sampled_from((1, 3)), st.sampled_from((2, 5)),
                         st.sampled_from((600.0, 9_000.0))),
    )  # fmt: skip
    def submit(self, line: int, roots: Wanted, limits: tuple[int, int, int, float]) -> None:
        tasks, depth, fan_out, seconds = limits
        wishes, news = self.wishes(roots)
        name = f"line{line}"
        asked = NewLineage(name, news, depth, tasks, fan_out, seconds)
        told: list[tuple[str, bool]] | str
        try:
            told = [(answer.id, answer.created) for answer in now(self.store.submit([asked]))]
        except LineageExists:
            told = "LineageExists"
        except StoreError:
            told = "StoreError"
        assert told == self.model.submit(Line(name, self.model.now + seconds, tasks, depth, fan_out), wishes)

    @rule(limit=st.integers(1, 6), kinds=st.sets(st.sampled_from(KINDS), min_size=1))
    def claim(self, limit: int, kinds: set[str]) -> None:
        free = self.model.claimable(kinds)
        taken: list[ClaimedTask] = now(
            self.store.claim(ClaimRequest("w", ("default",), sorted(kinds), limit, LEASE_SECONDS))
        )
        names = [claimed.id for claimed in taken]
        assert len(set(names)) == len(names) == min(limit, len(free))
        assert set(names) <= {job.id for job in free}
        priorities = [self.model.jobs[name].priority for name in names]
        assert priorities == sorted(priorities, reverse=True)
        for job in free:
            assert job.id in names or job.priority <= priorities[-1], f"{job.id} was passed over"
            for name in names if not job.fence and job.id not in names else ():
                other = self.model.jobs[name]
                same = (other.line, other.kind, other.priority) == (job.line, job.kind, job.priority)
                assert not same or other.number < job.number, f"{name} is younger than {job.id}, which still waits"
        self.model.claim(names)
        self.held += [Held(claimed.standing.seq, claimed.id, claimed.standing.fence) for claimed in taken]
        del self.held[:-HELD_MAX]

    @rule(chosen=st.lists(st.tuples(picks, st.sampled_from(WHAT), spawns), min_size=1, max_size=3))
    def settle(self, chosen: list[tuple[int, str, Wanted]]) -> None:
        """Under claims that may be over."""
        held = self.some([pick for pick, _, _ in chosen])
        self._settle([(item, what, asked) for item, (_, what, asked) in zip(held, chosen, strict=False)])

    @rule(chosen=st.lists(st.tuples(st.sampled_from(WHAT), spawns), min_size=1, max_size=4))
    def work(self, chosen: list[tuple[str, Wanted]]) -> None:
        """Claim and settle at once, as a quick handler does."""
        before = len(self.held)
        self.claim(len(chosen), set(KINDS))
        self._settle([(item, *told) for item, told in zip(self.held[before:], chosen, strict=False)])

    def _settle(self, chosen: list[tuple[Held, str, Wanted]]) -> None:
        asks, batch = [], []
        for held, what, asked in chosen:
            failing = what in ("transient", "permanent", "unclassified")
            wishes, news = self.wishes([] if failing or what == "hand_back" else asked)
            asks.append(Ask(held.id, held.fence, what, wishes, what if failing else ""))
            batch.append(Settlement(held.seq, held.fence, event_of(what, held.fence), spawns=news))
        answers = now(self.store.settle(batch))
        expected = self.model.settle(asks)
        assert [(a.state, a.refused) for a in answers] == [(told.state, told.refused) for told in expected]
        for answer, told in zip(answers, expected, strict=True):
            said = [(None if s.reason is None else s.reason.value, s.winner) for s in answer.spawns]
            assert said == [(s.reason, s.winner) for s in told.spawns]

    @rule(chosen=st.lists(picks, min_size=1, max_size=8))
    def heartbeat(self, chosen: list[int]) -> None:
        held = self.some(chosen)
        lost = now(self.store.heartbeat([(item.seq, item.fence) for item in held], LEASE_SECONDS))
        expected = self.model.heartbeat([(item.id, item.fence) for item in held])
        assert {item.id for item in held if item.seq in lost} == expected

    @rule(seconds=st.sampled_from((1.0, 45.0, 45.0, 301.0, 301.0, 700.0, -20.0)))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.model.now = self.clock.now

    @rule()
    def sweep(self) -> None:
        while now(self.store.sweep()).changed:
            pass
        self.model.sweep()

    @rule(deed=st.sampled_from(("cancel", "tree", "lineage", "prune")), pick=picks)
    def interfere(self, deed: str, pick: int) -> None:
        name, line, store, model = self.anybody(pick), f"line{pick % LINES}", self.store, self.model
        match deed:
            case "cancel" | "tree":
                tree = deed == "tree"
                assert now(store.cancel(name, tree=tree, by="ann")) == model.cancel(name, tree)
            case "lineage" if pick % 2:
                assert now(store.cancel_lineage(line, by="ann")) == model.cancel_lineage(line)
            case "prune":
                before = self.clock.now - 1_000.0
                assert now(store.prune(before)) == model.prune(before)

    @rule(chosen=st.lists(picks, min_size=1, max_size=4), extend=st.sampled_from((None, None, 5_000.0)))
    def revive(self, chosen: list[int], extend: float | None) -> None:
        names = list(dict.fromkeys(self.anybody(pick) for pick in chosen))
        before = copy.deepcopy(self.model)
        expected = self.model.revive(names, extend)
        try:
            assert now(self.store.revive(names, by="ann", extend_seconds=extend)) == expected
        except StoreError:
            assert expected is None
            self.model = before
            for job in [before.jobs[name] for name in names if name in before.jobs and self.follows_before_revive]:
                before.follow_end(job.line)

    # --- the comparison

    @invariant()
    def same_rows(self) -> None:
        self.sound = False
        self._adopt_overdue()
        tasks = {
            row[0]: row[1:]
            for row in self.store.rows(
                "SELECT t.id, COALESCE(l.state, t.state), COALESCE(l.fence, t.fence), "
                "COALESCE(l.attempts, t.attempts), "
                "COALESCE(l.losses, t.losses), COALESCE(l.snoozes, t.snoozes), COALESCE(l.chain_depth, t.chain_depth), "
                "COALESCE(l.fan_out, t.fan_out), COALESCE(l.stage, t.stage), t.parent_id, t.spawn_depth, "
                "COALESCE(l.lease_until, 0.0), CASE WHEN l.state = 'pending' THEN l.available_at END, l.deadline_at "
                "FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq"
            )
        }
        assert tasks == {
            job.id: (
                job.state, job.fence, job.attempts, job.losses, job.snoozes, job.chain_depth, job.fan_out, job.stage,
                job.parent, job.depth, job.lease_until, job.available_at if job.state == "pending" else None,
                job.deadline_at if job.state in ("pending", "processing") else None,
            )
            for job in self.model.jobs.values()
        }  # fmt: skip
        self._same_lineages()
        self._same_history()
        self.sound = True

    def _adopt_overdue(self) -> None:
        """A lineage ends when its deadline passed: at the next claim that comes to it, or at the next sweep."""
        for name, state, ended_at in self.store.rows("SELECT tracking_id, state, ended_at FROM ramet_lineages"):
            line = self.model.lines.get(name)
            if line and line.state == "running" and state == "failed" and line.deadline_at <= self.model.now:
                line.state, line.ended_at, line.follow = "failed", ended_at, True

    def _same_lineages(self) -> None:
        rows = self.store.rows(
            "SELECT tracking_id, state, deadline_at, ended_at, tasks, live, success, filtered, skipped, failed, "
            "cancelled FROM ramet_lineages"
        )
        expected = set()
        for line in self.model.lines.values():
            states = Counter(job.state for job in self.model.of(line))
            live = states["pending"] + states["processing"]
            counts = [states[name] for name in ("success", "filtered", "skipped", "failed", "cancelled")]
            expected.add((line.name, line.state, line.deadline_at, line.ended_at, states.total(), live, *counts))
        assert set(rows) == expected

    def _same_history(self) -> None:
        outcomes: dict[str, list[str]] = {job.id: [] for job in self.model.jobs.values()}
        for task_id, outcome in self.store.rows(
            "SELECT t.id, a.outcome FROM ramet_attempts a JOIN ramet_tasks t ON t.seq = a.seq ORDER BY a.seq, a.fence"
        ):
            outcomes[task_id].append(outcome)
        assert outcomes == {job.id: job.outcomes for job in self.model.jobs.values()}
        blocks = {
            (line, *name): count
            for line, *name, count in self.store.rows("SELECT tracking_id, kind, key, reason, count FROM ramet_blocks")
        }
        assert blocks == {
            (line.name, *name): n for line in self.model.lines.values() for name, n in line.blocks.items()
        }
        counted = {
            (line, *name): count
            for line, *name, count in self.store.rows(
                "SELECT tracking_id, parent_id, kind, reason, count FROM ramet_block_counts"
            )
        }
        assert counted == {
            (line.name, *name): n for line in self.model.lines.values() for name, n in line.uncounted.items()
        }


def event_of(what: str, fence: int) -> ev.Event:
    match what:
        case "success":
            return ev.Complete(fence)
        case "filtered":
            return ev.Filter(fence, "x")
        case "skipped":
            return ev.Skip(fence, "x")
        case "declared":
            return ev.Fail(fence, "x")
        case "snooze":
            return ev.Snooze(fence, 30.0)
        case "continue":
            return ev.Continue(fence, False)
        case "hand_back":
            return ev.HandBack(fence)
        case "checkpoint":
            return ev.Checkpoint(fence, LEASE_SECONDS, "half")
        case "progress":
            return ev.Progress(fence, LEASE_SECONDS)
        case _:
            return ev.Error(fence, what, what, fingerprint=what, jitter=1.0, waits=Retry.SEED.waits)


SOME = settings(
    max_examples=30, stateful_step_count=50, derandomize=True, deadline=None, database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def test_the_store_does_what_the_plain_model_does() -> None:
    run_state_machine_as_test(StoreAndModel, settings=SOME)


@pytest.mark.nightly
@pytest.mark.timeout(3_000)
def test_the_store_does_what_the_plain_model_does_in_many_more_histories() -> None:
    run_state_machine_as_test(StoreAndModel, settings=settings(SOME, max_examples=3_000, stateful_step_count=80))


def _is_found() -> bool:
    """Whether the comparison fails. The same histories each time, without shrinking: the first difference will do."""
    quick = settings(SOME, max_examples=300, phases=(Phase.generate,), derandomize=True, database=None)
    try:
        run_state_machine_as_test(StoreAndModel, settings=quick)
    except Exception:
        return True
    return False


def test_a_settlement_under_a_dead_claim_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_current", lambda standing, fence, now: standing.state == "processing")
    assert _is_found()


def test_a_spawn_over_the_budget_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = check_spawn
    monkeypatch.setattr(
        spawn,
        "check_spawn",
        lambda facts: blind(facts._replace(lineage=facts.lineage._replace(max_fan_out=facts.lineage.max_fan_out + 1))),
    )
    assert _is_found()


def test_a_lane_that_ignores_leases_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "PLAIN_ROW", [condition for condition in lanes.PLAIN_ROW if "lease" not in condition])
    assert _is_found()


@pytest.mark.nightly
def test_a_continuation_without_progress_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    transition, rule_ = lifecycle._RULES[ev.Continue]
    always = (transition, lambda row, task, event, now: rule_(row, task._replace(progressed=1), event, now))
    monkeypatch.setitem(lifecycle._RULES, ev.Continue, always)
    assert _is_found()


@pytest.mark.nightly
def test_a_lost_claim_that_costs_an_attempt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_given_back", lambda task: task.attempts)
    assert _is_found()


@pytest.mark.nightly
def test_a_revive_that_leaves_the_tombstone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operate, "tombstone_over", lambda marks, task_id, chain: None)
    assert _is_found()
