"""What `ramet bench` says about paths comes from runs in which paths did what they are for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.engine import paths as bench_paths
from benchmarks.engine.paths import Enqueued, Paths, Sizes
from benchmarks.engine.places import SqlitePlace
from ramet.model.paths import conflict

PLACE = SqlitePlace(None)
SIZES = Sizes(waiting=1_000_000, crowd=100_000, drained=100_000, drains=3, children=20_000)


def test_the_deep_paths_have_five_elements_and_nobody_waits() -> None:
    paths = [bench_paths.deep(number) for number in range(40)]
    assert {len(path) for path in paths} == {5}
    assert len({path[0] for path in paths}) == 4
    assert not any(conflict(one, other) for at, one in enumerate(paths) for other in paths[:at])


def test_what_waits_waits_and_what_is_free_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[int] = []
    settle = bench_paths.settle

    async def counted(client: object, claimed: list[object]) -> None:
        settled.append(len(claimed))
        await settle(client, claimed)  # type: ignore[arg-type]

    monkeypatch.setattr(bench_paths, "settle", counted)
    assert asyncio.run(bench_paths._blocked(PLACE, 60, 20)) > 0
    assert settled == [20] * 2 * (bench_paths.WINDOWS + 1) + [1]


def test_a_path_that_holds_nobody_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = bench_paths.submit
    monkeypatch.setattr(bench_paths, "submit", lambda client, tasks, *_, first=0: submit(client, tasks, first=first))
    with pytest.raises(RuntimeError, match="of one path could be claimed at once"):
        asyncio.run(bench_paths._blocked(PLACE, 60, 20))
    with pytest.raises(RuntimeError, match="of one path could be claimed at once"):
        asyncio.run(bench_paths._released(PLACE, 60))


def test_submits_are_timed_with_a_path_and_without_in_both_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []

    async def submit(client: object, tasks: int, path: bench_paths.PathOf, *, first: int = 0) -> float:
        asked.append((tasks, path(first) is not None))
        return {(10, False): 1.0, (10, True): 3.0}.get(asked[-1], 0.0)

    monkeypatch.setattr(bench_paths, "submit", submit)
    few, many = asyncio.run(bench_paths._enqueued(PLACE, 5_000, 10))
    assert asked[:2] == [(1_000, True), (5_000, True)]
    assert asked[2:] == [(10, False), (10, True)] * 2 * (bench_paths.WINDOWS + 1)
    assert (few.ratio, many.ratio) == (3.0, 3.0)


def test_no_transaction_lets_more_than_five_hundred_in() -> None:
    assert asyncio.run(bench_paths._released(PLACE, 1_200)) == [500, 500, 200]


def test_every_task_of_a_drain_runs(tmp_path: Path) -> None:
    assert asyncio.run(bench_paths._drained(SqlitePlace(str(tmp_path)), 100, 1)) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_report_says_what_is_divided_by_what() -> None:
    found = bench_paths.report(SIZES, Paths(0.97, Enqueued(2.0, 5.0), Enqueued(2.0, 6.0), 0.6, [500, 500, 100]))
    assert found["paths.enqueue_depth5_small_ratio"] == 2.5
    assert found["paths.enqueue_depth5_ratio"] == 3.0
    assert found["paths.enqueue_depth5_growth"] == 1.2
    assert (found["paths.wide_release_max"], found["paths.wide_release_transactions"]) == (500, 3)
    assert (found["paths.waiting_tasks"], found["paths.live_tasks"]) == (1_000_000, 100_000)
    assert "1,000,000 tasks behind one path others run 0.97 as fast" in bench_paths.told(found)
