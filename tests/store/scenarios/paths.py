"""A run through everything that happens to tasks with paths, in every way that leads to a statement of its own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.maintenance import path_followup
from ramet.store.requests import NewLineage
from ramet.store.rows import paths
from ramet.store.session import Delete, Insert, Update
from ramet.store.state import path_changes, path_enter, path_follow
from tests.support.world import LEASE_SECONDS, World, failing, settlement

LATER_SECONDS = 2_000.0
"""Longer than a path is held for a task that comes back."""
MODULES = (path_followup, paths, path_changes, path_enter, path_follow)
VERBS = ("SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ")


def on(world: World, *elements: str, **rule: object) -> NewTask:
    """A task on a path of this scenario."""
    fields = {name: rule.pop(name) for name in ("delay_seconds", "resource") if name in rule}
    return world.task(path=PathRule(tuple(elements), **rule), **fields)  # type: ignore[arg-type]


async def crowd(world: World, tasks: int) -> None:
    """Somebody holds a path, and so many wait for it."""
    everybody = [on(world, "crowd", str(number % 50)) for number in range(tasks)]
    await world.store.submit([NewLineage("crowd", [on(world, "crowd"), *everybody])])
    await world.claim_one()


async def run_paths(world: World) -> None:
    """On a database where a crowd waits already."""
    await come_back_late(world)
    await fail_and_revive(world)
    await end_in_hand(world)
    await wait_for_a_breaker(world)
    await release_many(world)
    await lose_a_wake_up(world)


async def come_back_late(world: World) -> None:
    """Tickets are given up, those below come after, and one of those fails before it is its turn."""
    roots = [on(world, "late"), on(world, "late", "a"), on(world, "late", "a", "b"), on(world, "late", "c")]
    await world.submit(*roots, on(world, "late", "d", delay_seconds=5.0), tracking_id="late")
    first = await world.claim_task(roots[0].id)
    await world.settle(first, ev.Snooze(first.standing.fence, LATER_SECONDS))
    await world.sweep()
    await world.store.cancel(roots[1].id, tree=False, by="test")
    await world.sweep()
    world.clock.advance(LATER_SECONDS)
    await world.sweep()
    await world.run_all()
    await world.sweep()


async def fail_and_revive(world: World) -> None:
    """Those below one that fails are skipped, and come back with it."""
    roots = [on(world, "fails"), on(world, "fails", "a"), on(world, "fails", "b", on_dependency_failure="run")]
    await world.submit(*roots, *(on(world, "fails", str(number)) for number in range(4)), tracking_id="fails")
    first = await world.claim_task(roots[0].id)
    await world.settle(first, failing(first))
    await world.sweep()
    assert await world.states(roots[0].id, roots[1].id) == ["failed", "skipped"]
    await world.store.revive([roots[0].id], by="test")
    await world.sweep()
    assert await world.states(roots[0].id, roots[1].id) == ["pending", "pending"]
    await world.run_all()


async def end_in_hand(world: World) -> None:
    """A task is cancelled while its worker runs it, and revived before that lets go."""
    roots = [on(world, "held"), on(world, "held", "a")]
    await world.submit(*roots, tracking_id="held")
    claimed = await world.claim_task(roots[0].id)
    await world.store.cancel(claimed.id, tree=False, by="test")
    await world.store.revive([claimed.id], by="test")
    world.clock.advance(2.0)
    await world.sweep()
    await world.store.acknowledge([(claimed.standing.seq, claimed.standing.fence)])
    await world.sweep()
    await world.run_all()


async def wait_for_a_breaker(world: World) -> None:
    """Nobody is held back by a task whose resource is switched off."""
    roots = [on(world, "off", resource="host:off"), on(world, "off", "a")]
    await world.submit(*roots, on(world, "off", "b", delay_seconds=5.0, resource="host:off"), tracking_id="off")
    await world.store.open_breaker("host:off", by="test")
    for _ in range(3):
        world.clock.advance(40.0)
        await world.sweep()
    await world.store.close_breaker("host:off", by="test")
    world.clock.advance(40.0)
    await world.sweep()
    await world.run_all()


async def lose_a_wake_up(world: World) -> None:
    """A fault of ours: somebody waits on a ticket that is gone."""
    roots = [on(world, "lost"), on(world, "lost", "a")]
    await world.submit(*roots, tracking_id="lost")
    claimed = await world.claim_task(roots[0].id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "waiting_on", lambda *_: ([], set()))
        await world.settle(claimed)
    for _ in range(300):
        await world.store.sweep()
        world.clock.advance(1.0)
    assert (await world.claim_task(roots[1].id)).id == roots[1].id


async def release_many(world: World) -> None:
    """What is too much for one transaction is left to waves."""
    roots = [on(world, "wide"), *(on(world, "wide", str(number)) for number in range(600))]
    await world.submit(*roots, tracking_id="wide")
    claimed = await world.claim_task(roots[0].id)
    await world.settle(claimed)
    while await world.store.tend_paths():
        pass
    taken = await world.claim(1_000, kinds=("page",), lease_seconds=LEASE_SECONDS)
    await world.store.settle([settlement(one) for one in taken])


def written() -> Iterator[tuple[str, str]]:
    """File and beginning of every statement that the modules of paths write out, up to what is put in at run time."""
    for module in MODULES:
        file = Path(str(module.__file__))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            first = parts[0] if parts else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith(VERBS):
                yield file.name, first.value
            match node:
                case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(table)), *terms, _]):
                    if method in WRITES:
                        yield file.name, beginning(method, table, terms)


WRITES: dict[str, tuple[Callable[..., Insert | Update | Delete], str]] = {
    "insert": (Insert, "INSERT INTO {} ("),
    "update": (Update, "UPDATE {} SET "),
    "delete": (Delete, "DELETE FROM {} "),
}
"""Methods of a session -> what they write, and how its SQL begins."""


def beginning(method: str, table: str, terms: Sequence[ast.expr]) -> str:
    """What a call of the session writes, up to what is put in at run time."""
    write, begins = WRITES[method]
    try:
        return write(table, *map(ast.literal_eval, terms)).one_row
    except ValueError:
        return begins.format(table)
