"""The judges of joins, edges and branches notice when one guard of the engine is taken away, within a few seeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ramet.model.lineage import guard
from ramet.model.lineage.branches import Booked, Booking, Branch, BranchLimit, book, over_limit
from ramet.store.rows import branches, waits
from ramet.store.session import Row, Session
from ramet.store.verbs import fenced
from tests.simulation.broken_engines import must_be_found_with
from tests.simulation.database import SimulatedStore

EARLY = "before its set had ended"


def no_checks(store: SimulatedStore) -> None:
    """What the tables refuse by themselves would end the run before the judge sees it."""
    store.execute("PRAGMA ignore_check_constraints = ON")


def test_a_count_that_is_lost_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task ended, and one that waited for it is not told: it would wait until its lineage's deadline."""
    take_off = waits._take_off

    def lost(session: Session, waited: str, values: object, fewer: Sequence[Row], failed: Collection[int]) -> None:
        take_off(session, waited, values, fewer[1:], failed)

    monkeypatch.setattr(waits, "_take_off", lost)
    must_be_found_with({"joins"}, tmp_path, "still waits in round", first=4)


def test_a_count_that_is_taken_off_twice_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_off = waits._take_off

    def twice(session: Session, waited: str, values: object, fewer: Sequence[Row], failed: Collection[int]) -> None:
        take_off(session, waited, values, [(2 * count, *rest) for count, *rest in fewer], failed)

    monkeypatch.setattr(waits, "_take_off", twice)
    must_be_found_with({"joins"}, tmp_path, EARLY, prepare=no_checks, first=8)


def test_an_edge_that_is_forgotten_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task comes after others, and the last of them is left out."""
    begin_after = waits.begin_after

    def forgetful(session: Session, born: Sequence[tuple[int, str, bool, Sequence[int]]]) -> None:
        begin_after(session, [(*rest, on[:-1]) for *rest, on in born])  # type: ignore[misc]

    monkeypatch.setattr(waits, "begin_after", forgetful)
    must_be_found_with({"after"}, tmp_path, EARLY, first=6)


def test_a_task_that_is_claimed_early_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim lets a task go on of whose set one has not ended."""
    monkeypatch.setattr(waits, "OVER", waits.OVER.replace("remaining = 0", "remaining <= 1"))
    monkeypatch.setattr(waits.WaitRow, "over", property(lambda row: row.remaining <= 1 or row.failed is not None))
    must_be_found_with({"joins"}, tmp_path, EARLY)


def test_what_grows_in_a_branch_and_is_not_waited_for_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "born", lambda session, births: None)
    must_be_found_with({"joins"}, tmp_path, EARLY, first=6)


@pytest.mark.nightly
def test_a_revived_task_that_is_not_waited_for_again_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "live_again", lambda session, revived: None)
    must_be_found_with({"joins", "after"}, tmp_path, EARLY, first=13)


@pytest.mark.nightly
def test_a_wake_that_is_left_and_never_followed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_leave", lambda session, waited, values, failed: None)
    must_be_found_with({"after"}, tmp_path, "still waits in round", first=14)


def test_a_branch_that_passes_its_budget_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what is decided nor the table holds it."""
    for module in (guard, fenced):
        monkeypatch.setattr(module, "over_limit", lambda booked, first=False: None)
    must_be_found_with({"branches"}, tmp_path, "the branch of task", prepare=no_checks, first=11)


def test_money_that_is_kept_aside_and_spent_below_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def for_all(booked: Booked, *, first: bool = False) -> BranchLimit | None:
        return over_limit(booked, first=True)

    for module in (guard, fenced):
        monkeypatch.setattr(module, "over_limit", for_all)
    must_be_found_with({"branches"}, tmp_path, "below it, and keeps", first=11)


def test_a_part_that_is_taken_and_never_booked_around_it_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inside(chain: Sequence[Branch], wanted: Booking) -> Booked:
        return book(chain, wanted)._replace(rest=wanted)

    for module in (fenced, branches):
        monkeypatch.setattr(module, "book", inside)
    must_be_found_with({"branches"}, tmp_path, "counts", first=6)


@pytest.mark.nightly
def test_a_branch_that_gives_nothing_back_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(session: Session, changes: Mapping[int, int], lineages: Mapping[str, Any]) -> None:
        """Nobody counts the live tasks of branches."""

    monkeypatch.setattr(branches, "count_live", never)
    must_be_found_with({"branches"}, tmp_path, "counts", first=6)
