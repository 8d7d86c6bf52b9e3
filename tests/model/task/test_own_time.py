"""A task's own time stands still while it waits for money, a server or a rate; its lineage's bounds it (DESIGN §4)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.lifecycle import put_off
from tests.model.samples import FENCE, LINEAGE_DEADLINE_AT, NOW, changed, claim, refused, standing

DAY = 86_400.0
AT_RESOURCE: dict[str, Any] = {"state": "pending", "wait": "resource", "resource": "api"}
BOUND: dict[str, Any] = {"state": "pending", "wait": "bound", "bound_to": "settler", "started_at": None}


def later(seconds: float, **more: Any) -> ev.Snooze:
    return ev.Snooze(FENCE, seconds, **{"uses_time": False, "bound_at": LINEAGE_DEADLINE_AT, **more})


@pytest.mark.parametrize("seconds", [30.0, DAY])
@pytest.mark.parametrize("max_attempts", [4, None])
def test_what_a_task_waits_for_uses_none_of_its_time(seconds: float, max_attempts: int | None) -> None:
    task = standing(max_attempts=max_attempts)
    after = changed(task, later(seconds)).after
    assert (after.state, after.available_at) == ("pending", NOW + seconds)
    assert after.deadline_at == NOW + 3_600.0 + seconds
    assert after.started_at == NOW - 3_600.0 + seconds
    again = changed(after._replace(wait=None), claim(), NOW + seconds).after
    assert again.deadline_at == NOW + seconds + 3_600.0


def test_a_snooze_of_its_own_uses_its_time() -> None:
    task = standing(max_attempts=None)
    after = changed(task, ev.Snooze(FENCE, DAY)).after
    assert (after.deadline_at, after.started_at) == (task.deadline_at, task.started_at)
    assert after.available_at == task.deadline_at


def test_the_lineages_deadline_bounds_it() -> None:
    after = changed(standing(max_attempts=None), later(30 * DAY)).after
    assert after.deadline_at == after.available_at == LINEAGE_DEADLINE_AT
    # A branch, or a pause, may have given it an earlier or a later one: neither comes nearer by a wait.
    assert put_off(standing(deadline_at=NOW + 9.0), 5.0, NOW + 3.0).deadline_at == NOW + 9.0


@pytest.mark.parametrize("changes", [{"task_seconds": None}, {"deadline_at": None}])
def test_a_task_without_a_time_of_its_own_gets_none(changes: dict[str, Any]) -> None:
    task = standing(**changes)
    assert put_off(task, 60.0, LINEAGE_DEADLINE_AT) is task


def test_one_whose_time_is_over_fails_all_the_same() -> None:
    change = changed(standing(deadline_at=NOW), later(60.0))
    assert (change.after.state, change.after.deadline_at) == ("failed", NOW)


def test_one_that_is_ending_gets_no_more_time() -> None:
    change = changed(standing(ending="failed", ending_reason="limit"), later(60.0))
    assert (change.after.state, change.after.deadline_at) == ("failed", NOW + 3_600.0)


@pytest.mark.parametrize("uses_time", [True, False])
def test_a_bound_task_is_let_go_with_the_time_that_it_had(uses_time: bool) -> None:
    event = ev.SettledBy("settler", FENCE, "pending", delay_seconds=60.0, uses_time=uses_time, bound_at=NOW + DAY)
    after = changed(standing(**BOUND), event).after
    assert after.deadline_at == NOW + 3_600.0 + (0.0 if uses_time else 60.0)
    assert (after.bound_to, after.started_at) == (None, None)


def test_the_turn_at_a_resource_uses_no_time() -> None:
    task = standing(**AT_RESOURCE, available_at=NOW - 7_000.0, deadline_at=NOW - 10.0)
    assert refused(task, ev.DeadlinePassed()) == "at_resource"
    change = changed(task, claim())
    assert change.after.deadline_at == NOW + 6_990.0
    assert change.after.started_at == NOW + 3_400.0
    bounded = changed(task, claim(lineage_deadline_at=NOW + 60.0)).after
    assert bounded.deadline_at == NOW + 60.0


def test_the_first_claim_begins_its_time() -> None:
    task = standing(**AT_RESOURCE, available_at=NOW - 7_000.0, started_at=None, deadline_at=None)
    after = changed(task, claim()).after
    assert (after.started_at, after.deadline_at) == (NOW, NOW + 7_200.0)


def test_the_last_claim_of_one_that_is_ending_has_the_hour_that_it_was_given() -> None:
    task = standing(**AT_RESOURCE, ending="failed", ending_reason="limit", available_at=NOW - 7_000.0)
    assert changed(task, claim()).after.deadline_at == NOW + 3_600.0
    overdue = task._replace(deadline_at=NOW)
    assert changed(overdue, ev.DeadlinePassed()).after.state == "failed"
