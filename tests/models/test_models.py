"""The formal models hold, searched in whole, and each of their broken variants fails in the way that it should."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.models.spin import (
    ASSERTION,
    END_STATE,
    FOR_EVER,
    MODELS,
    Broken,
    Report,
    Run,
    check,
    coded_variants,
    described_variants,
    missing_programs,
    read_report,
)

ONE_GIVES_UP = ("GIVE_UPS=1", "CRASHES=0", "RETRIES=0", "SWEEPERS=1")

BROKEN = [
    Run("lease", broken=Broken("NO_FENCE", ASSERTION)),
    Run("lease", broken=Broken("UNGUARDED_CLAIM", ASSERTION)),
    Run("lease", broken=Broken("UNGUARDED_SWEEP", ASSERTION)),
    Run("lease", broken=Broken("LOSSES_UNCOUNTED", FOR_EVER), live=True),
    Run("lease", broken=Broken("NO_DEADLINE", FOR_EVER), live=True),
    Run("lease", broken=Broken("NO_SWEEP", END_STATE)),
    Run("spawn", broken=Broken("CHECK_THEN_INSERT", ASSERTION)),
    Run("spawn", broken=Broken("NO_FENCE", ASSERTION)),
    Run("spawn", broken=Broken("END_UNSEEN", ASSERTION)),
    Run("spawn", broken=Broken("LIVE_ONLY", FOR_EVER), live=True),
    Run("spawn", broken=Broken("FOLLOW_SKIPS", END_STATE)),
    Run("waits", broken=Broken("COUNTER_LOST", END_STATE)),
    Run("waits", broken=Broken("COUNTED_TWICE", ASSERTION)),
    Run("waits", broken=Broken("EDGE_FORGOTTEN", ASSERTION)),
    Run("waits", broken=Broken("CLAIMED_EARLY", ASSERTION)),
    Run("waits", broken=Broken("NOT_READ_AGAIN", ASSERTION)),
    Run("waits", broken=Broken("SKIP_UNLOCKED", ASSERTION)),
    Run("waits", broken=Broken("REVIVED_UNSEEN", ASSERTION)),
    Run("waits", broken=Broken("FAILURE_KEPT", ASSERTION)),
    Run("waits", broken=Broken("LEFT_SKIPPED", ASSERTION)),
    Run("paths", broken=Broken("NO_LOCK", ASSERTION)),
    Run("paths", broken=Broken("LOCK_WHEN_TICKETED", END_STATE)),
    Run("paths", broken=Broken("TICKET_BEFORE_LOCK", ASSERTION)),
    Run("paths", broken=Broken("WAKE_IN_MEMORY", END_STATE)),
    Run("paths", broken=Broken("NEXT_WITHOUT_LOOK", ASSERTION)),
    Run("paths", ONE_GIVES_UP, broken=Broken("AWAY_FORGOTTEN", ASSERTION)),
]

SAFE: dict[str, list[tuple[Run, int]]] = {
    "lease": [
        (Run("lease"), 1_000_000),
        (Run("lease", ("TASKS=2", "ATTEMPTS=1", "LOSSES=1", "SNOOZES=0")), 100_000),
    ],
    "spawn": [
        (Run("spawn"), 1_000_000),
        (Run("spawn", ("BUDGET=4", "DEPTH=2", "TRIES=1")), 100_000),
    ],
    "waits": [
        (Run("waits"), 300_000),
        (Run("waits", ("TOGETHER=2", "REVIVALS=1")), 30_000),
    ],
    "paths": [
        (Run("paths"), 100_000),
        (Run("paths", (*ONE_GIVES_UP, "TWINS=1")), 500_000),
    ],
}
"""A search, and how many states it has to see at least: fewer, and the model has lost some of what it should do."""

LIVE: list[tuple[Run, int]] = [
    (Run("lease", ("SNOOZES=0", "STOPS=0"), live=True), 100_000),
    (Run("spawn", ("TRIES=1",), live=True), 100_000),
    (Run("waits", ("REVIVALS=1",), live=True), 100_000),
    (Run("paths", ("RETRIES=0",), live=True), 30_000),
]

LARGE: list[tuple[Run, int]] = [
    (Run("lease", live=True), 2_000_000),
    (Run("lease", ("WORKERS=3", "ATTEMPTS=3", "STOPS=0", "SNOOZES=0")), 10_000_000),
    (Run("lease", ("TASKS=2", "ATTEMPTS=1", "STOPS=0", "SNOOZES=0")), 5_000_000),
    (Run("lease", ("TASKS=4", "WORKERS=3", "ATTEMPTS=3"), sampled=True), 1_000_000),
    (Run("spawn", ("ASKS=0",), live=True), 300_000),
    (Run("spawn", ("BUDGET=4", "DEPTH=2", "ASKS=0")), 1_000_000),
    (Run("spawn", ("WORKERS=3", "BUDGET=4", "DEPTH=2"), sampled=True), 1_000_000),
    (Run("waits", live=True), 300_000),
    (Run("waits", ("REVIVALS=3", "LOSSES=2")), 2_000_000),
    (Run("waits", ("WORKERS=3",)), 1_000_000),
    (Run("paths", live=True), 50_000),
    (Run("paths", ONE_GIVES_UP), 1_000_000),
    (Run("paths", ("GIVE_UPS=1", "CRASHES=0", "RETRIES=0")), 5_000_000),
    (Run("paths", (*ONE_GIVES_UP, "TWINS=1"), live=True), 500_000),
    (Run("paths", ("GIVE_UPS=1",), sampled=True), 1_000_000),
]


def name_of(value: object) -> str:
    if not isinstance(value, Run):
        return ""
    return "-".join(
        [
            value.model,
            *value.parameters,
            *(["live"] if value.live else []),
            *([value.broken.name] if value.broken else []),
        ]
    )


@pytest.fixture
def spin() -> None:
    missing = missing_programs()
    if missing:
        pytest.skip(missing)


def held(run: Run, states_min: int, folder: Path) -> Report:
    """The report on a model that has to hold."""
    folder.mkdir(exist_ok=True)
    report = check(run, folder)
    assert (report.errors, report.failure) == (0, None), report.text
    assert report.complete or run.sampled, report.text
    assert report.states >= states_min, report.text
    return report


@pytest.mark.usefixtures("spin")
@pytest.mark.parametrize("model", SAFE)
def test_nothing_happens_that_must_not_and_everything_else_does(model: str, tmp_path: Path) -> None:
    reports = [held(run, states_min, tmp_path / str(at)) for at, (run, states_min) in enumerate(SAFE[model])]
    unreached = set.intersection(*(set(report.unreached) for report in reports))
    assert unreached == set(), "what no run ever does proves nothing"


@pytest.mark.usefixtures("spin")
@pytest.mark.parametrize(("run", "states_min"), LIVE, ids=name_of)
def test_everything_ends(run: Run, states_min: int, tmp_path: Path) -> None:
    held(run, states_min, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.usefixtures("spin")
@pytest.mark.parametrize(("run", "states_min"), LARGE, ids=name_of)
def test_a_larger_model_holds(run: Run, states_min: int, tmp_path: Path) -> None:
    held(run, states_min, tmp_path)


@pytest.mark.usefixtures("spin")
@pytest.mark.nightly
@pytest.mark.parametrize("run", BROKEN, ids=name_of)
def test_a_broken_variant_fails_as_it_should(run: Run, tmp_path: Path) -> None:
    assert run.broken is not None
    report = check(run, tmp_path)
    assert report.errors >= 1, report.text
    assert report.failure == run.broken.failure, report.text


def variants(runs: Sequence[Run], model: str) -> list[str]:
    return sorted(run.broken.name for run in runs if run.broken and run.model == model)


@pytest.mark.parametrize("model", sorted(path.stem for path in MODELS.glob("*.pml")))
def test_every_model_and_variant_is_described_and_run(model: str) -> None:
    text = (MODELS / f"{model}.pml").read_text()
    assert variants(BROKEN, model) == sorted(described_variants(text)) == sorted(coded_variants(text))
    assert model in SAFE
    assert any(run.model == model for run, _ in LIVE)


def test_a_search_that_was_cut_short_is_not_taken_for_a_proof() -> None:
    whole = "State-vector 76 byte, depth reached 44, errors: 0\n  1782908 states, stored\n"
    assert read_report(whole)[1:] == (0, 1_782_908, True, None, ())
    for cut in (
        "error: max search depth too small\n",
        "pan: reached -DMEMLIM bound\n",
        "Warning: Search not completed\n",
    ):
        assert not read_report(cut + whole).complete
    assert (read_report("Segmentation fault").errors, read_report("").complete) == (1, False)


def test_the_way_in_which_a_search_failed_is_read() -> None:
    told = 'pan:1: assertion violated (mine==fence[task]) (at depth 25)\nerrors: 1\n\tlease.pml:9, state 3, "(1)"\n'
    report = read_report(told)
    assert (report.errors, report.failure, report.unreached) == (1, ASSERTION, ("9: (1)",))
