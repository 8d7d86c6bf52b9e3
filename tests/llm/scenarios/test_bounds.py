"""Scenarios 4 and 5 of the safety design: a job that runs for days, an invocation that keeps re-triggering."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet import TaskState
from ramet.llm.providers.base import Answer, AnswerState, Mode
from ramet.llm.requests import Request
from tests.llm.fake_provider import echo
from tests.llm.scenarios import world as world_module
from tests.llm.scenarios.world import LOOK_SECONDS, SLOT_SECONDS, Set, World, on_both, play

pytestmark = pytest.mark.proof

JOB_SECONDS = 172_800.0
DEPTH = 2
FEW = 10


# --- 4: a job that runs for days


ITEM_SECONDS = 26 * 3_600.0
HOURLY = {"limits.schedule_seconds": 3_600.0, "limits.invocation_items": 1}
"""So little at a time that a job of a hundred items takes days."""
SELDOM_SECONDS = 600.0
"""How often loops look that find nothing: days are long."""


def _answer(request: Request) -> Answer | None:
    if request.messages[-1]["content"] == "bad":
        return Answer(request.key, AnswerState.FAILED, error="no", code="no")
    return echo(request) if request.messages[-1]["content"] == "good" else None


@pytest.mark.parametrize(
    ("on", "every"),
    [
        ("sqlite", SELDOM_SECONDS),
        *(pytest.param(on, LOOK_SECONDS, marks=pytest.mark.nightly) for on in ("postgres", "sqlite")),
    ],
)
def test_4_a_job_that_runs_for_days_ends_at_48_hours_and_takes_only_its_own_items_along(
    on: str, every: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "LOOK_SECONDS", every)

    async def story(world: World) -> None:
        world.provider.answer = _answer
        await world.submit(["bad"], name="failed-long-ago")
        await world.submit(["good"], name="deleted")
        await world.over("failed-long-ago", "deleted")
        # What deleting a job leaves (`ramet llm`).
        world.store.execute(f"UPDATE llm_jobs SET deleted_at = {world.clock.now()} WHERE job_id = 'llm-deleted'")
        before = await world.client.read("SELECT * FROM llm_jobs ORDER BY job_id")
        job = await world.submit([f"stuck{number}" for number in range(170)], name="long", item_seconds=ITEM_SECONDS)
        deadline = job.lineage.deadline_at
        assert deadline == job.lineage.created_at + JOB_SECONDS
        await world.clock.sleep(5 * 3_600.0)
        await world.submit(["younger"], name="younger", item_seconds=ITEM_SECONDS)
        await world.over("long")
        long, younger = await world.status("long"), await world.status("younger")
        assert (long.state, younger.done) == ("failed", 0)
        assert long.job.lineage.ended_at is not None
        assert 0.0 <= long.job.lineage.ended_at - deadline <= every
        await _all_ended_at(world, deadline, every)
        assert long.job.lineage.reserved == 0
        after = await world.client.read("SELECT * FROM llm_jobs WHERE job_id <> 'llm-long' ORDER BY job_id")
        assert after == before
        claims = len(world.pulled)
        await world.over("younger")
        assert len(world.pulled) > claims

    play(Set(on, Mode.BACKGROUND, settings=HOURLY), tmp_path, story)


async def _all_ended_at(world: World, deadline: float, every: float) -> None:
    items = list((await world.items("long")).values())
    # New items are due before those that wait for a poll, so nobody has asked past a deadline: the job's ends them all.
    assert {(task.reason or "").split(":")[0] for task in items} == {"lineage_deadline"}
    for task in items:
        assert task.state is TaskState.FAILED
        assert task.finished_at is not None
        assert 0.0 <= task.finished_at - deadline <= 2 * every
    begun = {key for one in world.provider.taken.values() for key in [one.requests[0].key]} & {one.key for one in items}
    # Those that were at the provider were cancelled there, those that nobody had begun were never sent.
    assert 0 < len(begun) < len(items)
    sent = {name for name, one in world.provider.taken.items() if one.requests[0].key in begun}
    assert sent == set(world.provider.cancels)


# --- 5: an invocation that keeps re-triggering


class Cycles(NamedTuple):
    """What each run of the schedule did."""

    claims: list[int]
    links: list[list[str]]
    reasons: set[str | None]


async def cycles_of(world: World) -> Cycles:
    """Until the job is over, and a few slots more."""
    await world.over()
    await world.clock.sleep(2 * SLOT_SECONDS)
    claims, links = await world.claims_of_slots(), await world.links_of_slots()
    roots = [task async for task in world.client.all_tasks(kind="llm.poll")]
    return Cycles(
        [claims[at] for at in sorted(claims)],
        [links[at] for at in sorted(links)],
        {task.reason for task in roots},
    )


@pytest.mark.parametrize(("on", "mode"), on_both([(Mode.CHAT,), (Mode.BACKGROUND,)]))
def test_5_a_cycle_takes_exactly_three_times_what_one_invocation_may(on: str, mode: Mode, tmp_path: Path) -> None:
    async def story(world: World) -> Cycles:
        await world.submit([f"q{number}" for number in range(65)])
        return await cycles_of(world)

    cycles = play(Set(on, mode, settings={"limits.invocation_items": FEW}), tmp_path, story)
    most = (DEPTH + 1) * FEW
    assert max(cycles.claims) == most
    assert cycles.claims[:2] == [most, most]
    assert cycles.links[0] == ["continue", "continue", "success"]
    assert cycles.claims[-1] == 0
    assert cycles.links[-1] == ["success"]
    assert "chain_depth: 2" in cycles.reasons


@pytest.mark.nightly
@pytest.mark.parametrize("on", ["postgres", "sqlite"])
def test_5_with_the_numbers_of_the_design_a_cycle_takes_3000_items(on: str, tmp_path: Path) -> None:
    async def story(world: World) -> Cycles:
        await world.submit([f"q{number}" for number in range(3_500)])
        return await cycles_of(world)

    cycles = play(Set(on, Mode.CHAT), tmp_path, story)
    assert cycles.claims[:2] == [3_000, 500]
    assert cycles.links[0] == ["continue", "continue", "success"]


@pytest.mark.parametrize("on", ["postgres", "sqlite"])
def test_5_an_invocation_in_which_nothing_changed_never_continues_itself(on: str, tmp_path: Path) -> None:
    async def story(world: World) -> Cycles:
        world.provider.seconds = float("inf")
        await world.submit(["q"])
        return await cycles_of(world)

    cycles = play(Set(on, Mode.BACKGROUND), tmp_path, story)
    # The first submits it, which is a change; the last ends it. In between there are two hours of polls.
    assert sum(len(links) > 1 for links in cycles.links) <= 2
    assert all(links == ["success"] for links in cycles.links[1:-4])
    assert len(cycles.links) > 10


@pytest.mark.parametrize("on", [pytest.param("postgres", marks=pytest.mark.nightly), "sqlite"])
def test_5_a_slot_is_skipped_while_the_last_run_goes_on_and_no_storm_follows(on: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        # Each call takes a minute: what an invocation takes on in its 480 s is not all that it may.
        world.provider.call_seconds = lambda: 50.0
        await world.submit([f"q{number}" for number in range(400)])
        await cycles_of(world)
        slots = await world.client.schedules.slots("llm", limit=1_000)
        ran = sorted(slot.slot_at for slot in slots if slot.outcome == "run")
        skipped = [slot for slot in slots if slot.outcome == "skipped"]
        assert skipped
        assert len({slot.slot_at for slot in slots}) == len(slots)
        assert min(after - before for before, after in pairwise(ran)) >= SLOT_SECONDS

    play(Set(on, Mode.CHAT), tmp_path, story)
