"""A process that dies at any statement of what people and the guard do leaves all of it, or nothing."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ramet.model import events as ev
from ramet.store.base import NewLineage, Settlement
from ramet.store.errors import StoreError
from ramet.store.sqlite import SqliteStore
from tests.invariants import violations
from tests.world import SettableClock, World

Verb = Callable[[World], Awaitable[object]]


class SimulatedCrash(BaseException):
    """The end of the process. Nothing may catch it."""


async def build(world: World) -> None:
    """Lineages in which every verb has something to do."""
    await world.submit(world.task("asks", id="asks"), max_fan_out=2, max_shape=1)
    await world.submit(world.task("a", id="held", unique_seconds=500.0), tracking_id="held")
    await world.submit(world.task("c", id="gone", unique_seconds=500.0), tracking_id="gone")
    await world.store.cancel("gone", tree=False, by="test")
    await world.submit(world.task("full", id="full"), tracking_id="full", max_fan_out=1)
    full = await world.claim_task("full")
    await world.settle(full, spawns=[world.task(f"child {n}", id=f"child {n}") for n in range(3)])
    for claimed in await world.claim(10):
        if claimed.id != "asks":
            await world.settle(claimed)
    await world.store.stop("host", "old.example", by="test")


async def spawn(world: World) -> None:
    """A unique key that is free and one that is held, a shape once too often, an edge, a child too many."""
    [(seq, fence)] = await world.store.read("SELECT seq, fence FROM ramet_live WHERE state = 'processing'")
    wanted = [
        world.task("b1", "image", id="b", unique_seconds=5.0, shape="b#"),
        world.task("a", id="a2", unique_seconds=5.0),
        world.task("b2", "image", id="d", shape="b#"),
        world.task("asks", id="x", kind="page", keep_edge=1),
        world.task("https://old.example/", id="y"),
        world.task("e", id="e"),
        world.task("f", id="f"),
    ]
    await world.store.settle([Settlement(seq, fence, ev.Complete(fence), spawns=wanted)])


VERBS: dict[str, Verb] = {
    "submit": lambda world: world.store.submit(
        [NewLineage("new", [world.task("n", id="n", unique_seconds=9.0), world.task("a", id="m", unique_seconds=9.0)])]
    ),
    "spawn": spawn,
    "revive": lambda world: world.store.revive(["gone"], by="test"),
    "exclude": lambda world: world.store.exclude(["gone"], by="test", reason="no"),
    "raise": lambda world: world.store.raise_limits("full", {"max_fan_out": 3}, by="test", extend_seconds=1e6),
    "reoffer": lambda world: world.store.reoffer("full", by="test"),
    "stop": lambda world: world.store.stop("domain", "example.com", by="test"),
    "unstop": lambda world: world.store.unstop("host", "old.example", by="test"),
}


def dump(path: Path) -> list[str]:
    """Every row of every table."""
    connection = sqlite3.connect(path)
    try:
        return [line for line in connection.iterdump() if line.startswith("INSERT INTO")]
    finally:
        connection.close()


async def run(path: Path, verb: Verb, crash_at: int | None = None) -> int:
    """Run a verb as a process that dies at its n-th moment (before or after a statement); how many there were."""
    heard = 0
    watching = False

    def hook(when: str, sql: str) -> None:
        nonlocal heard
        if watching:
            heard += 1
            if heard == crash_at:
                store._connection.close()
                raise SimulatedCrash(sql)

    store = SqliteStore(path, clock=SettableClock(), inline=True, hook=hook)
    world = World(store, SettableClock())
    watching = True
    try:
        await verb(world)
    except (SimulatedCrash, StoreError):
        assert crash_at is not None
    finally:
        watching = False
        if crash_at is None:
            await store.close()
        else:
            store._neighbours.leave()
    return heard


async def prepared(folder: Path, verb: str) -> Path:
    path = folder / "ramet.db"
    clock = SettableClock()
    store = SqliteStore(path, clock=clock, inline=True)
    await build(World(store, clock))
    if verb == "reoffer":
        await store.raise_limits("full", {"max_fan_out": 3}, by="test")
    await store.close()
    return path


@pytest.mark.parametrize("name", VERBS)
async def test_a_crash_at_any_statement_leaves_all_or_nothing(name: str, tmp_path: Path) -> None:
    path = await prepared(tmp_path, name)
    before = dump(path)
    whole = tmp_path / "whole.db"
    shutil.copy(path, whole)
    moments = await run(whole, VERBS[name])
    after = dump(whole)
    assert before != after
    assert moments > 6
    left = []
    for moment in range(1, moments + 1):
        crashed = tmp_path / f"{moment}.db"
        shutil.copy(path, crashed)
        await run(crashed, VERBS[name], moment)
        rows = dump(crashed)
        assert rows in (before, after), f"half of {name} is left after moment {moment}"
        left.append(rows == after)
        store = SqliteStore(crashed, inline=True)
        assert await violations(store) == []
        await store.close()
    assert left == sorted(left), "what was durable stays so"
    assert left[-1], "the last moment is after the commit"
