"""Seeded runs of the whole engine keep every promise. What breaks when a guard is taken away is in test_mutants."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.simulation.faults import Faults
from tests.simulation.simulate import Plan, Run, simulate

PROJECT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), *filter(None, sys.path)])}
FEW, ALL = 1_000, 10_000


def _python(*arguments: object, hash_seed: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.simulation", *map(str, arguments)],
        cwd=PROJECT, env={**ENVIRONMENT, "PYTHONHASHSEED": str(hash_seed)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def _told(processes: list[subprocess.Popen[str]]) -> Iterator[str]:
    with ExitStack() as stack:
        for process in processes:
            stack.callback(process.kill)
        for process in processes:
            yield process.communicate()[0]


def _survey(first: int, stop: int) -> None:
    """All seeds from ``first`` up to ``stop``, in as many processes as there are processors."""
    step = os.cpu_count() or 1
    told = "".join(_told([_python(first + number, stop, step) for number in range(step)]))
    passed = [int(line.split()[1]) for line in told.splitlines() if line.startswith("passed ")]
    assert (sum(passed), len(passed)) == (stop - first, step), told


@pytest.mark.timeout(1_800)
def test_every_promise_holds_in_a_thousand_seeded_runs() -> None:
    _survey(0, FEW)


@pytest.mark.full
@pytest.mark.timeout(10_000)
def test_every_promise_holds_in_ten_thousand_seeded_runs() -> None:
    _survey(FEW, ALL)


def test_a_seed_tells_the_whole_run_in_any_process() -> None:
    """Byte for byte, although the two hash their strings differently."""
    once, again = _told([_python(20, hash_seed=1), _python(20, hash_seed=2)])
    assert once == again
    assert once.endswith("every promise holds\n"), once[-1_000:]
    assert len(once.splitlines()) > 300


def test_a_seed_leaves_the_same_rows_when_it_is_run_again(tmp_path: Path) -> None:
    once, again = (simulate(Plan(20, trace=True), tmp_path) for _ in range(2))
    assert once.dump == again.dump
    assert len(once.dump) > 100


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """A few runs in which much goes wrong."""
    folder = tmp_path_factory.mktemp("stormy")
    return [simulate(Plan(seed, crashes=6, faults=Faults(stall=0.03), trace=True), folder) for seed in range(16)]


@pytest.mark.parametrize(
    "outcome", ["success", "filtered", "skipped", "error", "snooze", "continue", "lost", "returned", "ended"]
)
def test_every_outcome_of_an_attempt_happens_in_a_few_runs(stormy: list[Run], outcome: str) -> None:
    assert any(run.outcomes.get(outcome) for run in stormy)


@pytest.mark.parametrize(
    "event",
    [
        "lost on its way",
        "answered, and nobody heard",
        "died in settle before",
        "died in settle after",
        "died in claim",
        "dies",
        "the clock is -",
        "the clock is +",
        "people cancel ",
        "'tree': True",
        "people cancel_lineage",
        "people revive",
        "refused='stale'",
        "lineages_ended=1",
        "'budget'",
        "'depth'",
        "'cycle'",
        "'fan_out'",
        "'in_flight'",
        "'done'",
        "'cancelled'",
        "'elsewhere'",
        "'trap'",
        "'stop_list'",
        "people pause_lineage",
        "people resume_queue",
        "people exclude",
        "people raise_limits",
        "people reoffer",
        "reserve ",
        "settle_reserved ",
        "ending='",
        "people open_breaker",
        "is told to drain",
        "is told to stop",
    ],
)
def test_every_kind_of_trouble_happens_in_a_few_runs(stormy: list[Run], event: str) -> None:
    assert any(event in line for run in stormy for line in run.trace)


def test_stormy_runs_keep_every_promise_too(stormy: list[Run]) -> None:
    assert [run.violations for run in stormy] == [[]] * len(stormy)
    assert sum(run.deaths for run in stormy) >= len(stormy)
