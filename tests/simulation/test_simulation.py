"""Seeded runs of the whole engine keep every promise. What breaks when a guard is taken away is in test_mutants."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.postgres.servers import NAMED, NamedDatabase, databases
from tests.simulation.broken_engines import NO_PARTS
from tests.simulation.database import SIMULATED
from tests.simulation.event_counts import REQUIRED
from tests.simulation.faults import Faults
from tests.simulation.simulate import Plan, Run, simulate
from tests.simulation.workload_parts import ALL_PARTS, parts_of

PROJECT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), *filter(None, sys.path)])}
FIRST = {"postgres": 31, "sqlite": 4}
"""Where the few begin: with seeds that have all parts; on a server with one that has many and takes little."""
FEW = {"postgres": 1, "sqlite": 8}
"""A statement that goes to a server costs ten times as much as one that does not."""
ALL = {"postgres": 1_000, "sqlite": 10_000}
CENSUS = 200
"""Seeds in which everything has to happen."""
STORMY = {"postgres": [14], "sqlite": [2, 5, 11, 13]}
"""Seeds in which, together, everything happens that can."""
MANY_EVENTS = 21
"""A seed with many events, which takes long on a server."""
SOME_EVENTS = 5
PLAIN = 4
"""A seed without parts, which takes little on a server, too."""

on_each = pytest.mark.parametrize("on", sorted(SIMULATED))
on_a_seed = pytest.mark.parametrize(
    ("on", "seed"),
    [
        ("sqlite", SOME_EVENTS),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in [("sqlite", MANY_EVENTS), ("postgres", SOME_EVENTS), ("postgres", MANY_EVENTS)]
        ),
    ],
)


def _python(on: str, *arguments: object, hash_seed: int = 0) -> subprocess.Popen[str]:
    server = {NAMED: databases().url} if on == "postgres" else {}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.simulation", on, *map(str, arguments)],
        cwd=PROJECT, env={**ENVIRONMENT, **server, "PYTHONHASHSEED": str(hash_seed)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def _told(processes: list[subprocess.Popen[str]]) -> Iterator[str]:
    with ExitStack() as stack:
        for process in processes:
            stack.callback(process.kill)
        for process in processes:
            yield process.communicate()[0]


def _survey(on: str, first: int, stop: int) -> None:
    """All seeds from ``first`` up to ``stop``, in as many processes as there are processors."""
    step = _processes(on)
    told = "".join(_told([_python(on, first + number, stop, step) for number in range(step)]))
    passed = [int(line.split()[1]) for line in told.splitlines() if line.startswith("passed ")]
    assert (sum(passed), len(passed)) == (stop - first, step), told


def _processes(on: str) -> int:
    """Where the server gives only one database there is one process at a time."""
    return 1 if on == "postgres" and isinstance(databases(), NamedDatabase) else os.cpu_count() or 1


@pytest.mark.proof
@pytest.mark.timeout(1_800)
@on_each
def test_every_promise_holds_in_many_seeded_runs(on: str) -> None:
    _survey(on, FIRST[on], FIRST[on] + FEW[on])


def test_the_few_seeds_have_all_parts() -> None:
    """Each of them at least twice, beside others."""
    drawn = Counter(part for seed in range(FIRST["sqlite"], FIRST["sqlite"] + FEW["sqlite"]) for part in parts_of(seed))
    assert drawn.keys() == ALL_PARTS
    assert min(drawn.values()) >= 2


@pytest.mark.nightly
@pytest.mark.timeout(6_000)
def test_everything_happens_that_can(tmp_path: Path) -> None:
    """Until it has, one seed after the other; what a run is for may be lost by a small change to the workload."""
    missing = set(REQUIRED)
    for seed in range(CENSUS):
        missing -= simulate(Plan(seed), tmp_path).events.keys()
        if not missing:
            return
    raise AssertionError(f"never happened in {CENSUS} seeds: {sorted(missing)}")


@pytest.mark.nightly
@pytest.mark.timeout(20_000)
@on_each
def test_every_promise_holds_in_thousands_of_seeded_runs(on: str) -> None:
    _survey(on, 0, ALL[on])


@on_a_seed
def test_a_seed_tells_the_whole_run_in_any_process(on: str, seed: int) -> None:
    """Byte for byte, although the two hash their strings differently."""
    if _processes(on) > 1:
        once, again = _told([_python(on, seed, hash_seed=1), _python(on, seed, hash_seed=2)])
    else:
        [once], [again] = _told([_python(on, seed, hash_seed=1)]), _told([_python(on, seed, hash_seed=2)])
    assert once == again
    assert once.endswith("every promise holds\n"), once[-1_000:]
    assert len(once.splitlines()) > 100


@pytest.mark.parametrize(
    ("on", "seed"),
    [("sqlite", PLAIN), *(pytest.param(on, MANY_EVENTS, marks=pytest.mark.nightly) for on in ("postgres", "sqlite"))],
)
def test_a_seed_leaves_the_same_rows_when_it_is_run_again(on: str, seed: int, tmp_path: Path) -> None:
    once, again = (simulate(Plan(seed, on, trace=True), tmp_path) for _ in range(2))
    assert once.dump == again.dump
    assert len(once.dump) > 100


@pytest.mark.server
@pytest.mark.parametrize(
    "seed", [PLAIN, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (SOME_EVENTS, MANY_EVENTS))]
)
def test_a_seed_gives_the_same_run_on_every_database(seed: int, tmp_path: Path) -> None:
    first, second = (simulate(Plan(seed, on, trace=True), tmp_path) for on in sorted(SIMULATED))
    assert (first.outcomes, first.deaths, first.seconds) == (second.outcomes, second.deaths, second.seconds)
    assert sum(first.outcomes.values()) > 10


def in_storm(on: str, folder: Path) -> list[Run]:
    """A few runs in which much goes wrong."""
    plans = [Plan(seed, on, crashes=6, faults=Faults(stall=0.03), trace=True, parts=NO_PARTS) for seed in STORMY[on]]
    return [simulate(plan, folder) for plan in plans]


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return in_storm("sqlite", tmp_path_factory.mktemp("stormy"))


OUTCOMES = ("success", "filtered", "skipped", "error", "snooze", "continue", "lost", "returned", "ended")
TROUBLE = (
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
)


# One test for all of them: each process that ran one of many would make the runs for itself.
def test_every_outcome_of_an_attempt_happens_in_a_few_runs(stormy: list[Run]) -> None:
    assert [outcome for outcome in OUTCOMES if not any(run.outcomes.get(outcome) for run in stormy)] == []


def test_every_kind_of_trouble_happens_in_a_few_runs(stormy: list[Run]) -> None:
    assert [event for event in TROUBLE if not any(event in line for run in stormy for line in run.trace)] == []


@pytest.mark.parametrize("on", [pytest.param("postgres", marks=pytest.mark.nightly), "sqlite"])
def test_stormy_runs_keep_every_promise_too(on: str, stormy: list[Run], tmp_path: Path) -> None:
    runs = stormy if on == "sqlite" else in_storm(on, tmp_path)
    assert [run.violations for run in runs] == [[]] * len(runs)
    assert sum(run.deaths for run in runs) >= len(runs)
