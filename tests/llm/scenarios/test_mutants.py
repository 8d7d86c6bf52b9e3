"""The scenarios notice when any one of the layers that end them is taken away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ramet.engine.context import task as time
from ramet.engine.running import invocation
from ramet.engine.running.invocation import ChainAllowance
from ramet.llm import calls, items
from ramet.llm.providers.base import Mode
from ramet.model.task import events as ev
from ramet.model.task import lifecycle
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change, Transition, TransitionRefused
from ramet.store.maintenance import sweep
from tests.llm.scenarios import test_bounds, test_slow_items, test_trouble, world

pytestmark = pytest.mark.proof

ON = "sqlite"
"""What is broken here is above the stores."""


@pytest.fixture(autouse=True)
def _seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ends what these break before its last deadline: time goes by in larger steps."""
    monkeypatch.setattr(world, "LOOK_SECONDS", test_bounds.SELDOM_SECONDS)


def test_a_chain_without_a_limit_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transition, rule = lifecycle._RULES[ev.Continue]

    def endless(row: Transition, task: Standing, event: ev.Event, now: float) -> Change | TransitionRefused:
        return rule(row, task._replace(max_chain_depth=1_000), event, now)

    monkeypatch.setitem(lifecycle._RULES, ev.Continue, (transition, endless))
    with pytest.raises(AssertionError):
        test_bounds.test_5_a_cycle_takes_exactly_three_times_what_one_invocation_may(ON, Mode.CHAT, tmp_path)


def test_progress_that_is_always_there_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invocation.InvocationRun, "changed", property(lambda self: 1))
    with pytest.raises(AssertionError):
        test_bounds.test_5_an_invocation_in_which_nothing_changed_never_continues_itself(ON, tmp_path)


@pytest.mark.nightly
def test_claims_that_are_not_noted_in_advance_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def take(self: Any, wanted: int) -> int:
        return wanted

    monkeypatch.setattr(ChainAllowance, "take", take)
    with pytest.raises(AssertionError):
        test_bounds.test_5_a_cycle_takes_exactly_three_times_what_one_invocation_may(ON, Mode.CHAT, tmp_path)


def test_a_last_poll_without_time_for_its_call_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = time.CallTime.begin

    def cut(self: Any, *arguments: Any) -> None:
        begin(self, *arguments)
        self._asked_once_more = False

    monkeypatch.setattr(time.CallTime, "begin", cut)
    with pytest.raises(AssertionError):
        test_slow_items.test_3_an_answer_of_the_last_minute_is_found_by_the_poll_after_the_deadline(
            ON, Mode.BACKGROUND, 0, tmp_path
        )


@pytest.mark.nightly
def test_items_that_nothing_ends_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "is_judged", lambda task, now, known=True: False)
    with pytest.raises((AssertionError, TimeoutError)):
        test_slow_items.test_2_when_all_items_take_too_long_each_is_cancelled_at_the_provider_and_fails(
            ON, Mode.BACKGROUND, tmp_path
        )


def test_an_end_that_is_not_told_to_the_provider_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = lifecycle._ended

    def at_once(row: Transition, task: Standing, state: str, now: float, *more: Any, **told: Any) -> Change:
        return ended(row, task, state, *more, **told)

    monkeypatch.setattr(lifecycle, "_ending", at_once)
    with pytest.raises(AssertionError):
        test_slow_items.test_2_when_all_items_take_too_long_each_is_cancelled_at_the_provider_and_fails(
            ON, Mode.BACKGROUND, tmp_path
        )


@pytest.mark.nightly
def test_a_job_that_time_does_not_end_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "end_overdue_lineages", lambda session, limit: 0)
    with pytest.raises((AssertionError, TimeoutError)):
        test_bounds.test_4_a_job_that_runs_for_days_ends_at_48_hours_and_takes_only_its_own_items_along(
            ON, test_bounds.SELDOM_SECONDS, tmp_path, monkeypatch
        )


def _crashes(folder: Path) -> None:
    for seed in range(12):
        place = folder / str(seed)
        place.mkdir()
        test_trouble.test_7_what_a_crash_leaves_is_taken_up_again(ON, Mode.CHAT, seed, place)


def test_a_submit_that_is_not_written_down_first_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = calls.save

    async def not_before(ctx: Any, stage: str, state: Any) -> None:
        if stage != items.SUBMITTING:
            await save(ctx, stage, state)

    monkeypatch.setattr(items, "save", not_before)
    with pytest.raises(AssertionError):
        _crashes(tmp_path)


@pytest.mark.nightly
def test_losing_what_a_crashed_run_held_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "reclaim", lambda session, limit, dead_workers=(): (0, 0))
    with pytest.raises((AssertionError, TimeoutError)):
        _crashes(tmp_path)
