"""A supervisor collects cyclic garbage seldom, and leaves the process as it found it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.engine.worker.pool import ALLOCATIONS, seldom_collected
from tests.engine.apps.endless_app import app
from tests.support.waiting import HANG_SECONDS, working


@pytest.fixture(autouse=True)
def as_found() -> Iterator[None]:
    found = gc.get_threshold()
    gc.set_threshold(700, 11, 12)
    yield
    gc.set_threshold(*found)


def test_it_lasts_until_the_last_of_several_has_ended() -> None:
    first, second = seldom_collected(), seldom_collected()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold() == (ALLOCATIONS, 11, 12)
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (ALLOCATIONS, 11, 12)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 11, 12)


def test_an_error_puts_it_back_too() -> None:
    with pytest.raises(LookupError), seldom_collected():
        raise LookupError
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("chosen", [0, ALLOCATIONS * 2])
def test_who_collects_less_or_never_goes_on_so(chosen: int) -> None:
    gc.set_threshold(chosen, 11, 12)
    with seldom_collected():
        assert gc.get_threshold() == (chosen, 11, 12)
    assert gc.get_threshold() == (chosen, 11, 12)


@pytest.mark.parametrize(("target", "while_it_runs"), [("tests.engine.apps.endless_app:app", ALLOCATIONS), (None, 700)])
async def test_a_worker_collects_seldom_only_where_its_handlers_run_elsewhere(
    tmp_path: Path, target: str | None, while_it_runs: int
) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("quick", 1)
        async with working(app, client, target=target):
            assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
            assert gc.get_threshold()[0] == while_it_runs
        assert gc.get_threshold()[0] == 700
