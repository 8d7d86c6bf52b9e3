"""Scenarios 6 and 7 of the safety design: a database that refuses an update, a crash in mid-run."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from ramet import TaskState
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Mode
from ramet.store.errors import StoreBusy
from tests.llm.running.conftest import DEAR, question
from tests.llm.scenarios.world import SLOT_SECONDS, Set, World, on_both, play

PRICE_OF_ONE = 10 * 1_000 + 5 * 2_000
TEXTS = [f"q{number}" for number in range(25)]
FEW = 5

each = pytest.mark.parametrize(("on", "mode", "seed"), on_both(product(Mode, (0,)), product(Mode, range(1, 40))))


async def all_is_well(world: World) -> None:
    """Nothing is lost, nothing was submitted twice unrecorded, and the books are the provider's bill."""
    await world.over()
    items, status = await world.items(), await world.status()
    assert {text: task.state for text, task in items.items()} == dict.fromkeys(TEXTS, TaskState.SUCCESS)
    assert {text: task.result["text"] for text, task in items.items()} == {text: text.upper() for text in TEXTS}
    assert status.state == "succeeded"
    again = sum(world.provider.journal.values()) - len(TEXTS)
    rows = await world.client.read("SELECT items, outcome FROM llm_ambiguous")
    uncertain = sum(int(count) for count, outcome in rows if outcome != "found")
    assert again <= uncertain
    amount = reserve_amount(question(TEXTS[0]), DEAR, 1.0)
    least = len(TEXTS) * PRICE_OF_ONE
    # What nobody knows of counts as all that it might have cost.
    assert least <= status.job.lineage.spent <= least + uncertain * (amount + 10 * 1_000)
    assert status.job.lineage.reserved == 0
    assert max((await world.claims_of_slots()).values()) <= 3 * FEW


# --- 6: a failing database update


@each
def test_6_updates_that_fail_lose_no_item(on: str, mode: Mode, seed: int, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.submit(TEXTS)

        def fault(when: str, sql: str) -> Exception | None:
            busy = when == "before" and sql.startswith(("INSERT", "UPDATE", "DELETE")) and world.rng.random() < 0.04
            return StoreBusy("the disk did not answer") if busy else None

        world.fault = fault
        await all_is_well(world)
        assert world.faults > 0

    play(Set(on, mode, seed, settings={"limits.invocation_items": FEW}), tmp_path, story)


@pytest.mark.parametrize("on", [pytest.param("postgres", marks=pytest.mark.nightly), "sqlite"])
def test_6_while_the_update_of_answers_fails_items_are_kept_and_the_others_wait(on: str, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        until = world.clock.now() + 3_600.0

        def fault(when: str, sql: str) -> Exception | None:
            failing = "INSERT INTO llm_answers" in sql and world.clock.now() < until
            return StoreBusy("the disk did not answer") if failing else None

        world.fault = fault
        await world.submit(TEXTS)
        await all_is_well(world)
        assert world.faults > 0
        assert world.clock.now() > until

    play(Set(on, Mode.BACKGROUND, settings={"limits.invocation_items": FEW}), tmp_path, story)


# --- 7: a crash in mid-run


@each
def test_7_what_a_crash_leaves_is_taken_up_again(on: str, mode: Mode, seed: int, tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.submit(TEXTS)
        await world.clock.sleep(SLOT_SECONDS - 1.0)
        for _ in range(4):
            # At a statement of what the process does in this slot, or in the middle of its calls.
            if world.rng.random() < 0.3:
                await world.clock.sleep(1.0 + world.rng.uniform(0.0, 0.6))
                world.kill()
            else:
                world.dies_in = world.rng.randrange(150)
            await world.clock.sleep(SLOT_SECONDS)
        await all_is_well(world)
        assert world.deaths >= 2

    play(Set(on, mode, seed, settings={"limits.invocation_items": FEW}), tmp_path, story)
