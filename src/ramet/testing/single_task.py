"""One handler by itself, without a database: what it returns, and what it asks for."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ramet.engine.app.app import App
from ramet.engine.base.clock import Clock
from ramet.engine.base.work import Work
from ramet.engine.client.client import Client
from ramet.engine.kinds.registry import Handler
from ramet.engine.running.invocation import invoke
from ramet.engine.running.runner import Runner
from ramet.model.lineage.guard import Blocked, Holder, SpawnFacts, check_spawn
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import SettleResult, SpawnResult
from ramet.store.requests import Settlement, Write
from ramet.store.rows.blocks import Parent
from ramet.store.verbs.spawn import SPAWN_REFUSED, RequiredRefused, check_required
from ramet.testing.fixtures import FakeClock

_OUTCOMES: dict[type[Any], str] = {
    ev.Complete: "success",
    ev.Filter: "filtered",
    ev.Skip: "skipped",
    ev.Fail: "failed",
    ev.Error: "error",
    ev.Snooze: "snooze",
    ev.Join: "join",
    ev.Continue: "continue",
}


class NeedsDatabase(Exception):
    """The handler asked something that only a database can answer: use ``fresh_client`` and ``drain``."""


class Spawned(NamedTuple):
    """A child that the handler asked for."""

    kind: str
    key: str
    payload: Any
    delay_seconds: float = 0.0
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskRun:
    """Result of one handler call."""

    outcome: str
    """success, filtered, skipped, failed, error, snooze, join or continue."""
    result: Any
    reason: str | None
    error: str | None
    """Type and message of the exception, for ``error``."""
    error_class: str | None
    """transient, permanent or unclassified."""
    snooze_seconds: float | None
    spawns: Sequence[Spawned]
    """Spawns that would be committed: after an exception those up to the last checkpoint. Without the refused."""
    writes: Sequence[Write]
    checkpoints: Sequence[tuple[str | None, Any]]
    """(stage, state) of each; the state is None where it was kept."""
    progress: Sequence[Mapping[str, Any]]
    hold_seconds: float | None = None
    """Seconds of ``ctx.hold_key``; it counts with a good end only."""
    switched_off: str | None = None
    """Reason that ``ctx.switch_off`` gave; None when it was not called."""
    refused: Sequence[RefusedSpawn] = ()
    """Spawns that were asked for and refused."""
    traceback: str | None = None
    """Traceback of the error."""


class RefusedSpawn(NamedTuple):
    """A child that the handler asked for and did not get."""

    kind: str
    key: str
    reason: str
    """``cycle``, ``in_flight`` or ``done``: a :class:`ramet.BlockReason`."""
    detail: str


class _Recorder:
    """The desk of a handler that runs by itself: decides what can be decided without a database, and remembers it."""

    def __init__(self, client: Client | None, rules: SpawnRules) -> None:
        self._client = client
        self._rules = rules
        self.settled: list[Settlement] = []
        self.answers: list[SpawnResult] = []
        self.delivered: Settlement | None = None
        self.failure: NeedsDatabase | None = None
        self.arrived = asyncio.Event()

    def deliver(self, settlement: Settlement) -> None:
        self.delivered = self._decided(settlement)[0]
        self.arrived.set()

    def _decided(self, settlement: Settlement) -> tuple[Settlement, list[SpawnResult]]:
        decided, answers = self._rules.decide(settlement)
        self.answers += answers
        return decided, answers

    def stopped(self, claim: tuple[int, int]) -> None:
        raise AssertionError("a handler that runs by itself is never cancelled")

    async def call(self, settlement: Settlement) -> SettleResult:
        decided, answers = self._decided(settlement)
        if decided is not settlement:
            self.delivered = decided
            self.arrived.set()
            return SettleResult(settlement.seq, "failed", reason=SPAWN_REFUSED)
        self.settled.append(settlement)
        return SettleResult(settlement.seq, "processing", None, answers)

    async def ask(self, errand: str, *arguments: Any) -> Any:
        raise self._refusal(f"the errand {errand!r}")

    invoke = staticmethod(invoke)

    def client(self) -> Client:
        if self._client is None:
            raise self._refusal("ctx.client, ctx.read or ctx.read_blob")
        return self._client

    def _refusal(self, what: str) -> NeedsDatabase:
        self.failure = NeedsDatabase(f"the handler used {what}: run it with fresh_client and drain")
        return self.failure


async def run_task(
    app: App,
    kind: str | Handler,
    payload: Any = None,
    *,
    key: str | None = None,
    attempt: int = 1,
    stage: str | None = None,
    state: Mapping[str, Any] | None = None,
    spawn_depth: int = 0,
    chain_depth: int = 0,
    snoozes: int = 0,
    path: Sequence[str] | None = None,
    client: Client | None = None,
) -> TaskRun:
    """Call one handler as a worker would, and report the result; nothing is stored.

    Spawns are refused as cycles and as duplicates of each other or of the task, as in a database. Rules that need a
    database (its other tasks, limits, the deny list) refuse nothing here.

    Args:
        app: where the handler is registered.
        kind: its name, or the handler.
        payload: checked against the handler's type.
        key, attempt, stage, state, spawn_depth, chain_depth, snoozes, path: what the handler's context shows.
        client: what ``ctx.client`` gives, and reads from.

    Raises:
        UnknownKind: it is not registered.
        pydantic.ValidationError: the payload does not fit.
        NeedsDatabase: the handler asked something that only a database can answer.
    """
    registered = app.registry.get(kind)
    new = registered.new_task(payload, key=key, path=path)
    work = _work(
        new,
        attempt=attempt,
        stage=stage,
        state=state,
        spawn_depth=spawn_depth,
        chain_depth=chain_depth,
        snoozes=snoozes,
    )
    recorder = _Recorder(client, SpawnRules(work, json.loads(work.ancestry_chain)))
    last = await _called(app, work, recorder, FakeClock() if client is None else client.clock)
    return _outcome_text(recorder, last)


async def _called(app: App, work: Work, recorder: _Recorder, clock: Clock) -> Settlement:
    """Run the handler in a slot of the engine's own."""
    async with app.opened() as lifespan:
        runner = Runner(
            app.registry, recorder, concurrency=1, lease_seconds=LEASE_SECONDS, rng=random.Random(0), clock=clock,
            lifespan=lifespan,
        )  # fmt: skip
        runner.start()
        try:
            runner.add([work])
            runner.gather_no_more()
            await recorder.arrived.wait()
        finally:
            await runner.stop()
    if recorder.failure is not None:
        raise recorder.failure
    assert recorder.delivered is not None
    return recorder.delivered


def _work(
    new: NewTask,
    *,
    attempt: int,
    stage: str | None,
    state: Mapping[str, Any] | None,
    spawn_depth: int,
    chain_depth: int,
    snoozes: int,
) -> Work:
    return Work(
        seq=1,
        fence=attempt + snoozes,
        id=new.id,
        tracking_id="test",
        kind=new.kind,
        key=new.key,
        parent_id="parent" if spawn_depth else None,
        payload=new.payload,
        ancestry_chain=json.dumps([f"ancestor {n}" for n in range(1, spawn_depth)] + ["parent"] * bool(spawn_depth)),
        spawn_depth=spawn_depth,
        max_spawn_depth=max(10, spawn_depth),
        path=None if new.path is None else json.dumps(new.path),
        attempts=attempt,
        max_attempts=new.max_attempts,
        losses=0,
        snoozes=snoozes,
        chain_depth=chain_depth,
        stage=stage,
        pipeline_state=None if state is None else json.dumps(dict(state)),
        created_at=0.0,
        deadline_at=None,
        unique_seconds=new.unique_seconds,
        resource=new.resource,
        payload_version=new.payload_version,
    )


def _outcome_text(recorder: _Recorder, last: Settlement) -> TaskRun:
    event: Any = last.event
    settled = recorder.settled
    everything = [*settled, last]
    granted = {answer.id for answer in recorder.answers}
    return TaskRun(
        outcome=_OUTCOMES[type(event)],
        result=None if last.result is None else json.loads(last.result),
        reason=getattr(event, "reason", None),
        error=getattr(event, "message", None),
        error_class=getattr(event, "error_class", None),
        snooze_seconds=getattr(event, "seconds", None),
        spawns=[_spawned(new) for item in everything for new in item.spawns if new.id in granted],
        refused=[
            RefusedSpawn(answer.kind, answer.key, answer.reason.value, answer.detail)
            for answer in recorder.answers
            if answer.reason is not None
        ],
        writes=[write for item in everything for write in item.writes],
        checkpoints=[
            (item.event.stage, None if item.pipeline_state is None else json.loads(item.pipeline_state))
            for item in settled
            if isinstance(item.event, ev.Checkpoint)
        ],
        progress=[json.loads(item.progress) for item in settled if item.progress is not None],
        hold_seconds=last.hold_seconds,
        traceback=getattr(event, "traceback", None),
        switched_off=next((item.switch_off for item in everything if item.switch_off is not None), None),
    )


def _spawned(new: NewTask) -> Spawned:
    path = () if new.path is None else new.path.elements
    return Spawned(new.kind, new.key, json.loads(new.payload), new.delay_seconds, path)


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

    def decide(self, item: Settlement) -> tuple[Settlement, list[SpawnResult]]:
        """Return the settlement as a store would take it, and the answers to what it spawns: none where it became an
        error.
        """
        answers = [self._answer(new) for new in item.spawns]
        try:
            check_required([0], [(self._parent, item.spawns)], [answers])
        except RequiredRefused as refused:
            [failed] = refused.replaced([item])
            return failed, []
        return item, answers

    def _answer(self, new: NewTask) -> SpawnResult:
        there, parent = self._holders[new.key], self._parent
        facts = SpawnFacts(
            _UNLIMITED, {}, parent.id, parent.ancestry_chain, parent.spawn_depth, 0, True, new.kind, new.cycle_on,
            tuple(there), 0.0, max_attempts=new.max_attempts, base=new.base, places=new.places,
        )  # fmt: skip
        verdict = check_spawn(facts)
        if isinstance(verdict, Blocked):
            return SpawnResult(None, new.kind, new.key, *verdict)
        there.append(Holder(new.id, new.kind, "pending"))
        return SpawnResult(new.id, new.kind, new.key)
