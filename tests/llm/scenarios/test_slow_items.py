"""Scenarios 1 to 3 of the safety design: items that fail, that are slow, that are stuck. Time ends each of them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet import Task, TaskState
from ramet.llm.errors import NotSent
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Answer, AnswerState, Mode
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request
from ramet.llm.settings import BATCH_SECONDS
from ramet.llm.status import JobStatus
from tests.llm.fake_provider import echo
from tests.llm.running.conftest import DEAR, question
from tests.llm.scenarios.world import SLOT_SECONDS, Set, World, on_both, play
from tests.simulation.database import SIMULATED

pytestmark = pytest.mark.proof

ITEM_SECONDS = 7_200.0
PRICE_OF_ONE = 10 * 1_000 + 5 * 2_000
FIRST_SLOT = 1_800_000_000.0 + SLOT_SECONDS

SEEDS = (0,)
MORE_SEEDS = range(1, 20)
WITH_ITEMS = (Mode.BACKGROUND, Mode.CHAT)


def seconds_of(mode: Mode) -> float:
    """From an item's first claim to its deadline."""
    return BATCH_SECONDS if mode is Mode.BATCH else ITEM_SECONDS


class End(NamedTuple):
    """What a story leaves."""

    status: JobStatus
    items: dict[str, Task]


async def end_of(world: World, name: str = "job") -> End:
    """After a job is over."""
    await world.over(name)
    return End(await world.status(name), await world.items(name))


def ended_in_time(task: Task, mode: Mode) -> bool:
    """Whether it failed at its deadline, to the schedule's interval: asked once more, then ended, with the reason."""
    assert task.finished_at is not None
    # All of these jobs' items were claimed by the first slot.
    late = task.finished_at - (FIRST_SLOT + seconds_of(mode))
    return task.state is TaskState.FAILED and (task.reason or "").startswith("task_deadline") and 0 <= late <= 600.0


# --- 1: an item that keeps failing quickly


def fails_quickly(request: Request) -> Answer | None:
    """Nobody can answer this one just now, and never will."""
    if request.messages[-1]["content"] == "bad":
        return Answer(request.key, AnswerState.FAILED, error="try again", code="server_error", meaning=Meaning.AGAIN)
    return echo(request)


@pytest.mark.parametrize(("on", "mode", "seed"), on_both(product(WITH_ITEMS, SEEDS), product(WITH_ITEMS, MORE_SEEDS)))
def test_1_an_item_that_keeps_failing_quickly_fails_by_time_and_not_by_count(
    on: str, mode: Mode, seed: int, tmp_path: Path
) -> None:
    async def story(world: World) -> End:
        world.provider.answer = fails_quickly
        await world.submit(["bad", "good"])
        end = await end_of(world)
        history = await world.client.history(end.items["bad"].id)
        assert history is not None
        # Four attempts is where the engine's default ends a task; the pauses between them double up to an hour.
        assert len([one for one in history.attempts if one.outcome == "error"]) > 4
        assert world.provider.journal[end.items["bad"].key] <= 40
        return end

    status, items = play(Set(on, mode, seed), tmp_path, story)
    assert ended_in_time(items["bad"], mode)
    assert items["good"].state is TaskState.SUCCESS
    assert status.state == "partly"
    assert (status.job.lineage.spent, status.job.lineage.reserved) == (PRICE_OF_ONE, 0)


@pytest.mark.parametrize(("on", "mode"), on_both(product(WITH_ITEMS), server=False))
def test_1_what_is_never_reached_costs_nothing_and_fails_by_the_time_of_its_job(
    on: str, mode: Mode, tmp_path: Path
) -> None:
    """A wait for the provider uses none of an item's own time: the deadline of the job, here 24 hours, bounds it."""

    async def story(world: World) -> End:
        world.provider.fault = lambda verb, what: NotSent("no route") if verb == "submit" else None
        await world.submit(["a"], preset="conservative")
        return await end_of(world)

    status, items = play(Set(on, mode), tmp_path, story)
    ends = {
        (task.state, task.reason, (task.finished_at or 0.0) >= status.job.lineage.deadline_at)
        for task in items.values()
    }
    assert ends == {(TaskState.FAILED, "lineage_deadline", True)}
    assert status.state == "failed"
    assert (status.job.lineage.spent, status.job.lineage.reserved) == (0, 0)


# --- 2: all items slow


@pytest.mark.parametrize(("on", "mode"), on_both([(Mode.BACKGROUND,)], [(Mode.BATCH,)], server=False))
def test_2_when_all_items_take_too_long_each_is_cancelled_at_the_provider_and_fails(
    on: str, mode: Mode, tmp_path: Path
) -> None:
    texts = [f"q{number}" for number in range(8)]

    async def story(world: World) -> tuple[End, float]:
        world.provider.seconds = float("inf")
        await world.submit(texts)
        end = await end_of(world)
        claims, polls = len(world.pulled), world.provider.polls
        # Nothing is left for the poller: it comes at every slot, takes nothing, asks nothing.
        await world.clock.sleep(10 * SLOT_SECONDS)
        assert (len(world.pulled), world.provider.polls) == (claims, polls)
        for remote_id in world.provider.taken:
            deadline = FIRST_SLOT + seconds_of(mode)
            assert len([at for at in world.provider.polled_at[remote_id] if at >= deadline]) >= 2
            assert world.provider.taken[remote_id].cancelled
        return end, world.clock.now()

    (status, items), _ = play(Set(on, mode), tmp_path, story)
    assert all(ended_in_time(task, mode) for task in items.values()), {t.reason for t in items.values()}
    assert status.state == "failed"
    # In background mode nobody tells what a cancelled call has cost, so it counts as all that it might have.
    most = sum(reserve_amount(question(text), DEAR, 1.0) for text in texts)
    assert status.job.lineage.spent == (most if mode is Mode.BACKGROUND else 0)
    assert status.job.lineage.reserved == 0


@pytest.mark.parametrize("on", sorted(SIMULATED))
def test_2_a_call_that_never_returns_is_uncertain_each_time_and_asked_no_more_than_seven_times(
    on: str, tmp_path: Path
) -> None:
    async def story(world: World) -> tuple[End, int]:
        world.provider.call_seconds = lambda: 1e6
        job = await world.submit(["hangs"])
        end = await end_of(world)
        assert set(world.provider.journal.values()) == {1 + job.settings.call_retries}
        return end, reserve_amount(question("hangs"), DEAR, 1.0)

    (status, items), amount = play(Set(on, Mode.CHAT), tmp_path, story)
    assert items["hangs"].state is TaskState.FAILED
    assert (items["hangs"].reason or "").startswith("unknown: ")
    assert (status.ambiguous, status.job.lineage.spent, status.job.lineage.reserved) == (7, 7 * amount, 0)


# --- 3: items stuck in processing


@pytest.mark.parametrize(("on", "seed"), on_both(product(SEEDS), product(MORE_SEEDS), server=False))
def test_3_stuck_items_fail_after_a_poll_past_their_deadline_and_the_others_go_on(
    on: str, seed: int, tmp_path: Path
) -> None:
    async def story(world: World) -> End:
        stuck = {f"stuck{number}" for number in range(3)}
        world.provider.answer = lambda one: None if one.messages[-1]["content"] in stuck else echo(one)
        world.provider.seconds = world.rng.uniform(0, 900)
        await world.submit([f"q{number}" for number in range(7)] + sorted(stuck))
        end = await end_of(world)
        for remote_id, polled_at in world.provider.polled_at.items():
            if world.provider.asks(remote_id) in stuck:
                # The last is the cancel's; the one before it was made for the outcome.
                assert len([at for at in polled_at if at >= FIRST_SLOT + ITEM_SECONDS]) >= 2
                assert remote_id in world.provider.cancels
        return end

    status, items = play(Set(on, Mode.BACKGROUND, seed), tmp_path, story)
    assert {text for text, task in items.items() if ended_in_time(task, Mode.BACKGROUND)} == {
        "stuck0",
        "stuck1",
        "stuck2",
    }
    assert status.state == "partly"
    assert sum(task.state is TaskState.SUCCESS for task in items.values()) == 7
    most = sum(reserve_amount(question(f"stuck{number}"), DEAR, 1.0) for number in range(3))
    assert (status.job.lineage.spent, status.job.lineage.reserved) == (7 * PRICE_OF_ONE + most, 0)


@pytest.mark.parametrize(
    ("on", "mode", "seed"),
    on_both(
        product([Mode.BACKGROUND], SEEDS),
        [*product([Mode.BATCH], SEEDS), *product([Mode.BACKGROUND, Mode.BATCH], MORE_SEEDS)],
        server=False,
    ),
)
def test_3_an_answer_of_the_last_minute_is_found_by_the_poll_after_the_deadline(
    on: str, mode: Mode, seed: int, tmp_path: Path
) -> None:
    async def story(world: World) -> End:
        # Done a second before its deadline: whoever looked at the clock first would throw a paid answer away.
        world.provider.seconds = seconds_of(mode) - 1.0
        await world.submit(["late"])
        return await end_of(world)

    status, items = play(Set(on, mode, seed), tmp_path, story)
    assert (items["late"].state, status.state) == (TaskState.SUCCESS, "succeeded")
    assert status.job.lineage.spent == PRICE_OF_ONE
