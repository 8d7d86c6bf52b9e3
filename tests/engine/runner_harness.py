"""A runner on a bench: no database and no worker, only handlers and what comes of them."""

from __future__ import annotations

import random
from typing import Any

from ramet import App, Client, InvokeResult, Limits
from ramet.engine.base.work import Work
from ramet.engine.running.runner import Runner
from ramet.model.task import events as ev
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement
from tests.support.waiting import until


class Noted(list[int]):
    """What a supervisor could see: the number of the task in each slot."""

    def note(self, slot: int, seq: int, fence: int) -> None:
        assert fence
        self[slot] = seq

    def free(self, slot: int) -> None:
        self[slot] = 0


class Desk:
    """Takes what a runner delivers, and answers its calls."""

    def __init__(self) -> None:
        self.delivered: list[Settlement] = []
        self.calls: list[Settlement] = []
        self.ended: list[tuple[int, int]] = []
        self.refuse: str | None = None

    def deliver(self, settlement: Settlement) -> None:
        self.delivered.append(settlement)

    def stopped(self, claim: tuple[int, int]) -> None:
        self.ended.append(claim)

    async def call(self, settlement: Settlement) -> SettleResult:
        self.calls.append(settlement)
        return SettleResult(settlement.seq, None if self.refuse else "processing", self.refuse)

    async def ask(self, errand: str, *arguments: Any) -> Any:
        raise AssertionError("no handler here has an errand")

    def client(self) -> Client:
        raise AssertionError("no handler here asks for a client")

    async def invoke(self, *arguments: Any) -> InvokeResult:
        raise AssertionError("no handler here invokes others")

    @property
    def events(self) -> list[ev.Event]:
        return [item.event for item in self.delivered]


class Bench(Desk):
    """An app, its runner and where its outcomes go."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.app = App(limits=limits)
        self.slots = Noted()
        self.runner: Runner | None = None

    def start(self, concurrency: int = 2, width: int = 1) -> Runner:
        self.slots = Noted([0] * concurrency * width)
        self.runner = Runner(
            self.app.registry,
            self,
            concurrency=concurrency,
            lease_seconds=300.0,
            rng=random.Random(1),
            started=self.slots,
            width=width,
        )
        self.runner.start()
        return self.runner

    async def run(self, kind: str, payload: str = "null") -> ev.Event:
        """The event of one task of this kind."""
        before = len(self.delivered)
        runner = self.runner or self.start()
        runner.add([work(before + 1, kind, payload)])
        await until(lambda: len(self.delivered) > before, f"the outcome of {kind}")
        [settlement] = self.delivered[before:]
        assert (settlement.seq, settlement.fence) == (before + 1, 5)
        return settlement.event


def work(seq: int, kind: str, payload: str = "null", fence: int = 5) -> Work:
    return Work(
        seq=seq,
        fence=fence,
        id=f"id-{seq}",
        tracking_id="lineage",
        kind=kind,
        key="key",
        parent_id=None,
        payload=payload,
        ancestry_chain="[]",
        spawn_depth=0,
        max_spawn_depth=10,
        path=None,
        attempts=1,
        max_attempts=4,
        losses=0,
        snoozes=0,
        chain_depth=0,
        stage=None,
        pipeline_state=None,
        created_at=0.0,
        deadline_at=None,
    )
