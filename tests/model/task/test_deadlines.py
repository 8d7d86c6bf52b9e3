"""Whose deadline it was that ended a task, and when a task that only time ends is judged (DESIGN §8)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import (
    OF_TASK,
    TOLERANCE_SECONDS,
    as_lineage_end,
    cut_by_lineage,
    fails_by_time,
    is_judged,
    not_after_deadline,
)
from ramet.model.task.transitions import CANCEL, LINEAGE_ENDED, TASK_DEADLINE
from tests.model.samples import NOW, changed, standing

POLLS: dict[str, Any] = {"max_attempts": None}


def test_only_a_task_without_max_attempts_that_is_not_ending_is_ended_by_nothing_but_time() -> None:
    assert fails_by_time(standing(**POLLS))
    assert not fails_by_time(standing())
    assert not fails_by_time(standing(**POLLS, ending="failed"))


@pytest.mark.parametrize(
    ("changes", "known", "judged"),
    [
        ({"deadline_at": None}, True, False),
        ({"deadline_at": NOW + 0.1}, True, False),
        ({"deadline_at": NOW}, True, True),
        ({"deadline_at": NOW}, False, True),
        ({"deadline_at": NOW, "claimed_at": NOW - 0.1, **POLLS}, True, False),
        ({"deadline_at": NOW, "claimed_at": NOW, **POLLS}, True, True),
        ({"deadline_at": NOW, "claimed_at": NOW, **POLLS}, False, False),
        ({"deadline_at": NOW, "claimed_at": NOW - 9.0, "bound_to": "settler", **POLLS}, True, True),
        ({"deadline_at": NOW, "claimed_at": NOW - 9.0, "bound_to": "settler", **POLLS}, False, False),
    ],
)
def test_a_deadline_judges_a_poll_by_the_outcome_of_a_claim_after_it(
    changes: dict[str, Any], known: bool, judged: bool
) -> None:
    assert is_judged(standing(**changes), NOW, known=known) is judged
    if known:
        assert is_judged(standing(**changes), NOW) is judged


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"deadline_at": NOW + 5.0}, NOW + 60.0),
        ({"deadline_at": None, **POLLS}, NOW + 60.0),
        ({"deadline_at": NOW + 5.0, "claimed_at": NOW, **POLLS}, NOW + 5.0),
        ({"deadline_at": NOW + 90.0, "claimed_at": NOW, **POLLS}, NOW + 60.0),
        ({"deadline_at": NOW - 5.0, "claimed_at": NOW - 9.0, **POLLS}, NOW),
        ({"deadline_at": NOW - 5.0, "claimed_at": NOW - 5.0, **POLLS}, NOW + 60.0),
    ],
)
def test_a_poll_is_claimed_once_more_at_its_deadline(changes: dict[str, Any], at: float) -> None:
    assert not_after_deadline(standing(**changes), NOW + 60.0, NOW) == at


@pytest.mark.parametrize(
    ("deadline_at", "lineage_at", "cut"),
    [
        (NOW, NOW, True),
        (NOW - 0.0005, NOW, True),
        (NOW - TOLERANCE_SECONDS, NOW, True),
        (NOW - 0.01, NOW, False),
        (NOW, NOW - 1.0, True),
    ],
)
def test_a_deadline_that_is_the_lineages_was_cut_by_it(deadline_at: float, lineage_at: float, cut: bool) -> None:
    end = changed(standing("pending", deadline_at=deadline_at), ev.DeadlinePassed(), NOW)
    assert end.reason == "task_deadline"
    assert cut_by_lineage(end, lineage_at) is cut


def test_what_did_not_end_by_its_own_deadline_was_not_cut_by_the_lineages() -> None:
    end = changed(standing("pending", deadline_at=NOW), ev.DeadlinePassed(), NOW)
    assert not cut_by_lineage(end._replace(reason="other"), NOW)
    assert not cut_by_lineage(end._replace(reason=Reason(OF_TASK, own="not yet")), NOW)
    assert not cut_by_lineage(end._replace(before=end.before._replace(ending="failed")), NOW)
    assert not cut_by_lineage(end._replace(before=end.before._replace(deadline_at=None)), NOW)


def test_an_end_by_the_lineages_deadline_is_told_as_that() -> None:
    end = changed(standing("pending", deadline_at=NOW), ev.DeadlinePassed(), NOW)
    assert end.transition is TASK_DEADLINE
    told = as_lineage_end(end)
    assert (told.transition, told.reason) == (LINEAGE_ENDED, "lineage_deadline")
    assert told.after == end.after
    assert told.before is end.before


def test_a_last_handler_is_told_of_the_lineages_deadline_too_and_other_reasons_stay() -> None:
    end = changed(standing("pending", deadline_at=NOW, started_at=NOW - 60.0, on_end=1), ev.DeadlinePassed(), NOW)
    assert end.after.ending_reason == "task_deadline"
    assert as_lineage_end(end).after == end.after._replace(ending_reason="lineage_deadline")
    other = end._replace(after=end.after._replace(ending_reason="limit"), transition=CANCEL)
    assert as_lineage_end(other) == other._replace(reason="lineage_deadline")
