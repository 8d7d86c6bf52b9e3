"""Workers of today run through a migration that a later ramet makes, beside programs of the later version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ramet.store import open_store
from ramet.store.opening import migrate
from ramet.store.schema import versions
from tests.cli.conftest import APP, Cli, Process, cli, start
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.upgrade.plans import NEXT, NOW

__all__ = ["cli", "start"]

TREE = 1 + 3 + 9 + 27


@pytest.fixture(params=sorted(BACKENDS))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    backend = BACKENDS[request.param](tmp_path)
    yield backend.address
    backend.close()


def test_workers_of_today_go_on_through_a_migration_and_nothing_is_lost(
    cli: Cli, start: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = tmp_path / "release"
    for number in range(2):  # Each keeps a worker from finding nothing to do.
        cli.submit(
            "wait", {"started": str(tmp_path / f"started{number}"), "release": str(release)}, "--key", f"w{number}"
        )
    for number in range(6):
        cli.submit("node", {"name": f"a{number}", "depth": 3, "width": 3})
    workers = [start("worker", APP, "--until-idle", "--concurrency", "4") for _ in range(2)]
    for worker in workers:
        worker.wait_for("serves")
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(versions, "PLAN", NEXT)
        made = migrate(cli.address)
        for number in range(6):  # By a program of tomorrow.
            cli.submit("node", {"name": f"b{number}", "depth": 3, "width": 3})
    assert (made.before, made.after) == (NOW, NOW + 1)
    release.touch()
    assert [worker.end() for worker in workers] == [0, 0]

    asyncio.run(_check(cli.address))


async def _check(address: str) -> None:
    store = open_store(address)
    states = await store.read("SELECT kind, state, COUNT(*) FROM ramet_tasks GROUP BY kind, state")
    assert sorted(states) == [("node", "success", 12 * TREE), ("wait", "success", 2)]
    assert await store.read("SELECT COUNT(*) FROM ramet_attempts WHERE outcome <> 'success'") == [(0,)]
    assert await violations(store) == []
    await store.close()
