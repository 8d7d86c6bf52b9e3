"""With one hold less, a crowd on conflicting paths does wrong; and what the claim overlooks, the database refuses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ramet.model.paths import STRIPES, PathRule
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change, TransitionRefused
from ramet.store.errors import StoreError
from ramet.store.maintenance import path_followup
from ramet.store.postgres.session import PostgresSession
from ramet.store.rows import paths, tasks
from ramet.store.rows.paths import PathRow
from ramet.store.session import Session
from ramet.store.state import path_changes
from ramet.store.verbs import bound, claim, lineage_followup, spawn
from tests.postgres import database_pool
from tests.pullers.log import Log
from tests.pullers.pullers import judged, opened, pull
from tests.support.backends import BACKENDS
from tests.support.world import SettableClock, World

ACTORS, TASKS = 6, 12
TIMES = 12
"""A crowd that held nothing was found out in four of five rounds."""
Patch = pytest.MonkeyPatch


def nobody_decides_alone(patch: Patch) -> None:
    """No lock of a slot at all."""

    def beside(self: PostgresSession, slots: Collection[int]) -> None:
        """Everybody decides at once."""

    patch.setattr(PostgresSession, "lock_stripes", beside)


def locked_only_when_ticketed(patch: Patch) -> None:
    """Whoever ends looks for waiting tasks beside somebody who is about to wait: a lost wake-up."""
    hold, follow = paths.lock_stripes, path_changes.follow

    def at_birth(session: Session, seqs: Iterable[int], rules: Any = ()) -> None:
        hold(session, (), rules)

    def as_if_held(session: PostgresSession, changes: Sequence[Change]) -> None:
        held = session._slots
        session._slots = {*range(STRIPES)}
        follow(session, changes)
        session._slots = held

    patch.setattr(path_changes, "follow", as_if_held)
    for module in (paths, spawn, tasks, lineage_followup, bound):
        patch.setattr(module, "lock_stripes", at_birth)
    patch.setattr(path_followup, "repair", lambda session, limit: 0)


@pytest.mark.parametrize("mutant", [nobody_decides_alone, locked_only_when_ticketed])
async def test_without_the_lock_of_a_slot_a_crowd_does_wrong(
    monkeypatch: Patch, mutant: Callable[[Patch], None]
) -> None:
    mutant(monkeypatch)
    found: list[str] = []
    for turn in range(TIMES):
        with database_pool.database(anew=True) as url, tempfile.TemporaryDirectory() as folder:
            log = Log(Path(folder) / "log")
            async with opened(url, ACTORS) as stores:
                try:
                    await pull(stores, f"turn{turn}-", log, TASKS)
                    found = await judged(stores[0], log)
                except (AssertionError, KeyError, StoreError) as error:
                    found = [repr(error)]  # A KeyError, of a row that somebody else took away meanwhile.
        if found:
            return
    pytest.fail(f"nobody noticed that {mutant.__name__}")


@pytest.mark.parametrize("on", sorted(BACKENDS))
async def test_the_database_refuses_a_claim_of_a_task_that_does_not_hold_its_path(
    on: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    backend = BACKENDS[on](tmp_path)
    clock = SettableClock()
    world = World(backend.open(clock=clock, inline=True), clock)
    await world.submit(*(world.task(path=PathRule(("doc",))) for _ in range(2)))

    def blind(standing: Standing, event: ev.Event, now: float) -> Change | TransitionRefused:
        return decide(standing._replace(wait=None, holds_path=1), event, now)

    with monkeypatch.context() as patch:
        patch.setattr(claim, "_WAITING", claim._WAITING.replace("wait IS NULL", "(wait IS NULL OR wait = 'path')"))
        patch.setattr(claim, "decide", blind)
        with pytest.raises(StoreError, match=r"(?i)check constraint"):
            await world.claim(2)
    assert len(await world.claim(2)) == 1
    await world.store.close()
    backend.close()


@pytest.mark.parametrize("on", sorted(BACKENDS))
async def test_the_database_refuses_a_second_holder_of_a_path(on: str, tmp_path: Path, monkeypatch: Patch) -> None:
    """A look for earlier tickets that finds nobody: what is at, above and below a path that is held is refused."""
    backend = BACKENDS[on](tmp_path)
    clock = SettableClock()
    world = World(backend.open(clock=clock, inline=True), clock)
    await world.submit(world.task(path=PathRule(("doc", "a"))))

    def nobody(session: Session, lines: Sequence[PathRow]) -> list[int | None]:
        return [None for _ in lines]

    monkeypatch.setattr(paths, "blockers", nobody)
    for number, path in enumerate((("doc", "a"), ("doc",), ("doc", "a", "x"))):
        with pytest.raises(StoreError, match=r"(?i)check constraint"):
            await world.submit(world.task(path=PathRule(path)), tracking_id=f"line{number}")
    await world.submit(world.task(path=PathRule(("doc", "b"))), tracking_id="beside")
    await world.store.close()
    backend.close()
