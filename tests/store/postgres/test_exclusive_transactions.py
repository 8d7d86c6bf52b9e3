"""What runs alone is short, whatever it is about: the rest is done beside others before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ramet.model.task.task import NewTask
from ramet.store.postgres.session import Mode, PostgresSession
from ramet.store.postgres.store import FOLLOWED_AT_ONCE, PostgresStore
from ramet.store.requests import NewLineage
from ramet.store.verbs import lineage_followup
from tests.invariants.check import violations

TASKS = 3 * FOLLOWED_AT_ONCE


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mode, int]]:
    """In which mode how many tasks of an ended lineage were ended, a transaction after the other."""
    told: list[tuple[Mode, int]] = []
    mode: list[Mode] = []
    begin, follow = PostgresSession.begin, lineage_followup._follow_end

    def noted(self: PostgresSession, of: Mode, *more: Any) -> None:
        mode[:] = [of]
        begin(self, of, *more)

    def following(*args: Any) -> tuple[int, int]:
        found = follow(*args)
        told.append((mode[0], found[0]))
        return found

    monkeypatch.setattr(PostgresSession, "begin", noted)
    monkeypatch.setattr(lineage_followup, "_follow_end", following)
    return told


async def large(store: PostgresStore) -> None:
    roots = [NewTask(f"t{at}", "page", f"k{at}", "null") for at in range(TASKS)]
    await store.submit([NewLineage("line", roots)])
    await store.cancel_lineage("line", by="test")


async def test_reviving_a_task_of_a_large_cancelled_lineage_ends_the_others_beside_everybody(
    postgres_url: str, ended: list[tuple[Mode, int]]
) -> None:
    store = PostgresStore(postgres_url, inline=True)
    await large(store)
    assert await store.revive(["t7"], by="test") == ["t7"]
    assert sum(count for _, count in ended) == TASKS
    assert {mode for mode, _ in ended} == {"beside"}
    assert max(count for _, count in ended) == FOLLOWED_AT_ONCE
    assert await violations(store) == []
    await store.close()


async def test_a_sweep_that_finds_nothing_writes_nothing_and_none_stops_everybody(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(postgres_url, inline=True)
    await large(store)
    modes: list[Mode] = []
    begin: Callable[..., None] = PostgresSession.begin

    def noted(self: PostgresSession, of: Mode, *more: Any) -> None:
        modes.append(of)
        begin(self, of, *more)

    monkeypatch.setattr(PostgresSession, "begin", noted)
    while (await store.sweep()).changed:
        assert "alone" not in modes
    modes.clear()
    await store.sweep()
    assert modes == ["look"]
    await store.close()
