"""Databases as every released version left them: today's program takes them up, loses nothing and goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.store import open_store
from ramet.store.opening import migrate
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.schema import versions
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.upgrade.plans import NEXT
from tests.upgrade.recorded import (
    Recorded,
    decoded,
    make_postgres,
    make_sqlite,
    path_of,
    recorded,
    schema_now,
)

VERSIONS = range(1, versions.PLAN.version + 1)


def test_what_is_recorded_of_the_present_version_is_its_schema() -> None:
    now, held = schema_now(), recorded(versions.PLAN.version)
    assert {name: held[name] for name in now} == now, (
        f"the schema differs from {path_of(versions.PLAN.version).name}: where that version was released, add a step "
        "to MIGRATIONS instead; where it was not, write the file again: python -m tests.upgrade.recorded"
    )


def test_what_is_recorded_has_rows_in_every_table() -> None:
    empty = {table for table, held in recorded(1)["rows"].items() if not held["rows"]}
    assert empty == {"ramet_block_counts"}


@pytest.fixture(params=sorted(BACKENDS))
def made(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Any:
    """Makes a recorded database; its address."""

    def make(of: Recorded) -> str:
        if request.param == "sqlite":
            make_sqlite(tmp_path / "old.db", of)
            return str(tmp_path / "old.db")
        make_postgres(postgres_url, of)
        return postgres_url

    return make


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("to_tomorrow", [False, True])
def test_a_released_database_is_taken_up_whole_and_goes_on(
    made: Any, version: int, to_tomorrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = recorded(version)
    address = made(of)
    with monkeypatch.context() as tomorrow:
        if to_tomorrow:
            tomorrow.setattr(versions, "PLAN", NEXT)
        migrate(address)
    asyncio.run(_taken_up(address, of))


async def _taken_up(address: str, of: Recorded) -> None:
    clock = Later()
    store = open_store(address, create=False, clock=clock)
    try:
        for table, held in of["rows"].items():
            if table == "ramet_counters":
                continue
            columns = ", ".join(held["columns"])
            found = await store.read(f"SELECT {columns} FROM {table}")
            assert ordered(found) == ordered(decoded(row) for row in held["rows"]), table
        assert set(await violations(store)) <= set(of["violations"])
        assert await _drained(store, clock)
        assert set(await violations(store)) <= set(of["violations"])
    finally:
        await store.close()


def ordered(rows: Any) -> list[str]:
    """Rows as texts, whatever order a database gives them in."""
    return sorted(json.dumps([value.hex() if isinstance(value, bytes) else value for value in row]) for row in rows)


class Later:
    """A clock a little after the last thing in the database."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def _drained(store: Store, clock: Later) -> int:
    """Work on until nothing can be claimed; how many tasks that were."""
    done = 0
    kinds = tuple(sorted({kind for (kind,) in await store.read("SELECT DISTINCT kind FROM ramet_live")}))
    queues = tuple(sorted({queue for (queue,) in await store.read("SELECT DISTINCT queue FROM ramet_live")}))
    for _ in range(20):
        clock.now += 1_000.0
        await store.sweep()
        claimed = await store.claim(ClaimRequest("w", queues, kinds, 100, 300.0))
        found = [
            Settlement(each.standing.seq, each.standing.fence, ev.Complete(each.standing.fence)) for each in claimed
        ]
        done += sum(answer.state == "success" for answer in await store.settle(found))
    return done
