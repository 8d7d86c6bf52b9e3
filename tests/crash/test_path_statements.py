"""A process that dies at any statement about paths: order and exclusion hold afterwards, and nobody waits for ever.

Every verb runs as often as it has statements, and dies before and after each. Then the database is opened again, the
checker looks at every row, and a worker runs what is there to its end, with an eye on who comes after whom.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.maintenance import path_followup
from ramet.store.requests import Settlement
from ramet.store.state import path_changes, path_follow
from tests.crash.test_guard_statements import FileGarden, Garden, ServerGarden, run
from tests.postgres import database_pool
from tests.pullers.log import Run, wrong
from tests.support.world import LEASE_SECONDS, SettableClock, World

Step = Callable[[World], Awaitable[object]]
FEW = {"sqlite": 1, "postgres": 1}
"""So many moments of each verb an ordinary run takes."""
ROUNDS = 80


@pytest.fixture(autouse=True)
def _in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much for one transaction is soon reached."""
    monkeypatch.setattr(path_followup, "LOOKS_MAX", 2)
    for function in (path_follow.leave_line, path_follow.look_again, path_follow.end, path_follow.give_up,
                     path_changes.give_up_tickets):  # fmt: skip
        monkeypatch.setattr(function, "__defaults__", (2,))


def at(world: World, *elements: str, on_failure: str = "skip", reserved: bool = False, **fields: Any) -> NewTask:
    """A task on a path."""
    return world.task(path=PathRule(elements, "queue", on_failure, reserved), **fields)


async def build(world: World) -> None:
    """``d`` runs, and many wait for it in many ways."""
    await world.submit(at(world, "d", id="d"), tracking_id="first")
    waiting = [
        at(world, "d", "a", id="d/a"),
        at(world, "d", "b", id="d/b", on_failure="run"),
        at(world, "d", "a", "x", id="d/a/x"),
        at(world, "d", "c", id="d/c"),
        at(world, "d", id="d2"),
        at(world, "d", "a", id="d/a2"),
        at(world, "d", "e", id="late", delay_seconds=50.0),
        at(world, "d", "e", id="kept", delay_seconds=60.0, reserved=True),
    ]
    await world.submit(*waiting, tracking_id="second")
    assert [claimed.id for claimed in await world.claim(10)] == ["d"]


async def settle(world: World, event: Callable[[int], ev.Event], *spawns: NewTask) -> None:
    """What the worker of ``d`` says."""
    [(seq, fence)] = await world.store.read("SELECT seq, fence FROM ramet_live WHERE state = 'processing'")
    await world.store.settle([Settlement(seq, fence, event(fence), spawns=spawns)])


async def succeed(world: World) -> None:
    """And spawn below, beside and at the own path."""
    spawns = [at(world, "d", "z"), at(world, "e"), at(world, "d"), at(world, "d", "a", "y")]
    await settle(world, ev.Complete, *spawns)


async def fail(world: World) -> None:
    await settle(world, lambda fence: ev.Fail(fence, "broken"))


async def give_up(world: World) -> None:
    await settle(world, lambda fence: ev.Snooze(fence, 2_000.0))


async def let_go(world: World) -> None:
    await world.store.acknowledge(
        [tuple(pair) for pair in await world.store.read("SELECT seq, fence FROM ramet_holds")]
    )


async def tend(world: World) -> None:
    await world.store.tend_paths()


async def sweep(world: World) -> None:
    await world.store.sweep()


class Case(NamedTuple):
    """What happens before the verb, and the verb."""

    verb: Step
    before: tuple[Step, ...] = ()
    later: float = 0.0
    """Seconds that pass before the verb."""


def cancel(task_id: str) -> Step:
    return lambda world: world.store.cancel(task_id, tree=False, by="test")


async def submit(world: World) -> None:
    paths = (("d",), ("d", "a"), ("f",), ("f", "g"), ("f",))
    await world.submit(*(at(world, *path) for path in paths), tracking_id="new")


async def settle_down(world: World) -> None:
    await world.sweep()


async def revive(world: World) -> None:
    await world.store.revive(["d"], by="test")


async def cancel_second(world: World) -> None:
    await world.store.cancel_lineage("second", by="test")


async def first_back(world: World) -> None:
    """``d`` takes its new ticket when its time has come."""
    world.clock.advance(2_001.0)
    await world.store.tend_paths()
    world.clock.advance(-2_001.0)


CASES = {
    "submit": Case(submit),
    "release": Case(succeed),
    "release-on": Case(tend, (succeed,)),
    "fail": Case(fail),
    "skip": Case(tend, (fail,)),
    "skip-on": Case(tend, (fail, tend)),
    "due": Case(tend, later=55.0),
    "give-up": Case(give_up),
    "back": Case(tend, (give_up,), 2_001.0),
    "back-on": Case(tend, (give_up, first_back), 2_001.0),
    "revive": Case(revive, (fail, settle_down)),
    "revive-on": Case(tend, (fail, settle_down, revive)),
    "cancel": Case(cancel("d")),
    "cancel-waiting": Case(cancel("d/a")),
    "exclude": Case(lambda world: world.store.exclude(["d2"], by="test")),
    "let-go": Case(let_go, (cancel("d"),)),
    "lapse": Case(sweep, (cancel("d"),), LEASE_SECONDS + 1),
    "reclaim": Case(sweep, (), LEASE_SECONDS + 1),
    "follow": Case(sweep, (succeed, cancel_second)),
}


def built(case: Case) -> Callable[[World], Awaitable[None]]:
    async def everything(world: World) -> None:
        await build(world)
        for step in case.before:
            await step(world)

    return everything


async def finish(world: World) -> None:
    """Run everything to its end; nobody overlaps, nobody overtakes."""
    runs: list[Run] = []
    places = itertools.count()
    for _ in range(ROUNDS):
        await world.sweep()
        claimed = await world.claim(10)
        tickets = dict(await world.store.read("SELECT seq, ticket FROM ramet_paths"))
        begun = [
            Run(each.standing.seq, each.standing.fence, tickets[each.standing.seq], tuple(json.loads(each.path)[0]),
                next(places), -1)
            for each in claimed
            if each.path is not None
        ]  # fmt: skip
        runs += [one._replace(end=next(places)) for one in begun]
        for each in claimed:
            await world.settle(each)
        if not claimed:
            world.clock.advance(100.0)
        if not await world.store.read("SELECT 1 FROM ramet_live LIMIT 1"):
            break
    assert [*wrong(runs)] == []
    assert await world.store.read("SELECT id FROM ramet_tasks WHERE state IS NULL") == []
    await world.sweep()
    for table in ("ramet_paths", "ramet_path_tickets", "ramet_path_holders", "ramet_path_waves"):
        assert await world.store.read(f"SELECT * FROM {table}") == []
    await world.check()


async def look_and_finish(garden: Garden, case: Case) -> None:
    clock = SettableClock()
    clock.advance(case.later)
    store = garden.open(None, clock)
    world = World(store, clock)
    await world.check()
    await finish(world)
    await store.close()


async def die_everywhere(garden: Garden, case: Case, times: int | None = None) -> None:
    """Once without a crash, then with one at every moment, or at so many of them."""
    await garden.renew()
    moments = await run(garden, case.verb, None, case.later)
    assert moments > 10
    await look_and_finish(garden, case)
    step = 1 if times is None else moments // (times + 1)
    for moment in range(step, moments + 1, step)[:times]:
        await garden.renew()
        await run(garden, case.verb, moment, case.later)
        await look_and_finish(garden, case)


@pytest.fixture(params=["postgres", "sqlite"])
def on(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def garden(on: str, name: str, tmp_path: Path) -> Iterator[Garden]:
    if on == "sqlite":
        yield FileGarden(tmp_path, built(CASES[name]))
        return
    garden = ServerGarden(built(CASES[name]))
    yield garden
    database_pool.give_back(garden.url, anew=True)


@pytest.mark.parametrize("name", CASES)
async def test_a_crash_at_a_statement_about_paths_leaves_order_and_nobody_behind(
    name: str, on: str, garden: Garden
) -> None:
    await die_everywhere(garden, CASES[name], FEW[on])


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", CASES)
async def test_a_crash_at_any_statement_about_paths_leaves_order_and_nobody_behind(
    name: str, on: str, garden: Garden
) -> None:
    await die_everywhere(garden, CASES[name])
