"""The formal models hold, each in whole, and each of their broken variants fails in the way that it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.spin import (
    MODELS,
    Run,
    check,
    coded_variants,
    described_variants,
    missing_programs,
    read_report,
)

ASSERTION, END_STATE, FOR_EVER = "assertion violated", "invalid end state", "acceptance cycle"

BROKEN: dict[str, dict[str, str]] = {
    "lease": {
        "NO_FENCE": ASSERTION,
        "UNGUARDED_CLAIM": ASSERTION,
        "UNGUARDED_SWEEP": ASSERTION,
        "LOSSES_UNCOUNTED": FOR_EVER,
        "NO_DEADLINE": FOR_EVER,
        "NO_SWEEP": END_STATE,
    },
    "spawn": {
        "CHECK_THEN_INSERT": ASSERTION,
        "NO_FENCE": ASSERTION,
        "END_UNSEEN": ASSERTION,
        "LIVE_ONLY": FOR_EVER,
        "FOLLOW_SKIPS": END_STATE,
    },
}
"""Model and variant to what its search has to find."""

HOLDING: list[tuple[Run, int]] = [
    (Run("lease"), 1_000_000),
    (Run("lease", ("TASKS=2", "ATTEMPTS=1", "LOSSES=1", "SNOOZES=0")), 100_000),
    (Run("lease", ("SNOOZES=0", "STOPS=0"), live=True), 100_000),
    (Run("spawn"), 1_000_000),
    (Run("spawn", ("BUDGET=4", "DEPTH=2", "TRIES=1")), 100_000),
    (Run("spawn", ("ASKS=0",), live=True), 100_000),
]
"""A search, and how many states it has to see at least: fewer, and the model has lost some of what it should do."""

LARGE: list[tuple[Run, int]] = [
    (Run("lease", live=True), 2_000_000),
    (Run("lease", ("WORKERS=3", "ATTEMPTS=3", "STOPS=0", "SNOOZES=0")), 1_000_000),
    (Run("lease", ("TASKS=2", "ATTEMPTS=1", "STOPS=0", "SNOOZES=0")), 1_000_000),
    (Run("lease", ("TASKS=4", "WORKERS=3", "ATTEMPTS=3"), sampled=True), 1_000_000),
    (Run("spawn", live=True), 1_000_000),
    (Run("spawn", ("BUDGET=4", "DEPTH=2")), 1_000_000),
    (Run("spawn", ("WORKERS=3", "BUDGET=4", "DEPTH=2"), sampled=True), 1_000_000),
]


def name_of(value: object) -> str | None:
    if not isinstance(value, Run):
        return None
    return "-".join([value.model, *value.parameters, *(["live"] if value.live else [])])


@pytest.fixture
def _spin() -> None:
    missing = missing_programs()
    if missing:
        pytest.skip(missing)


def assert_holds(run: Run, states_min: int, folder: Path) -> None:
    report = check(run, folder)
    assert report.complete or run.sampled, report.text
    assert (report.errors, report.failure) == (0, None), report.text
    assert report.states >= states_min, report.text
    if not (run.live or run.parameters):
        assert report.unreached == (), "what no run ever does proves nothing"


@pytest.mark.usefixtures("_spin")
@pytest.mark.parametrize(("run", "states_min"), HOLDING, ids=name_of)
def test_a_model_holds(run: Run, states_min: int, tmp_path: Path) -> None:
    assert_holds(run, states_min, tmp_path)


@pytest.mark.full
@pytest.mark.timeout(1_800)
@pytest.mark.usefixtures("_spin")
@pytest.mark.parametrize(("run", "states_min"), LARGE, ids=name_of)
def test_a_larger_model_holds(run: Run, states_min: int, tmp_path: Path) -> None:
    assert_holds(run, states_min, tmp_path)


@pytest.mark.usefixtures("_spin")
@pytest.mark.parametrize(
    ("run", "failure"),
    [
        (Run(model, broken=variant, live=failure == FOR_EVER), failure)
        for model, variants in BROKEN.items()
        for variant, failure in variants.items()
    ],
    ids=lambda value: f"{value.model}-{value.broken}" if isinstance(value, Run) else "",
)
def test_a_broken_variant_fails_as_it_should(run: Run, failure: str, tmp_path: Path) -> None:
    report = check(run, tmp_path)
    assert report.errors >= 1, report.text
    assert report.failure == failure, report.text


@pytest.mark.parametrize("model", sorted(path.stem for path in MODELS.glob("*.pml")))
def test_every_variant_is_described_and_run(model: str) -> None:
    text = (MODELS / f"{model}.pml").read_text()
    assert set(BROKEN[model]) == described_variants(text) == coded_variants(text)


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
