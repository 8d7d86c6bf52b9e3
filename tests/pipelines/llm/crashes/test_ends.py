"""A job that a person or a limit ends, at any moment and with whatever fails then.

What was at the provider is cancelled there, what it answered all the same is kept as late, and what nobody knows is
written down and counts as spent.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from ramet import Client
from ramet.pipelines.llm import items
from ramet.pipelines.llm.errors import NotSent
from ramet.pipelines.llm.providers.base import Mode
from tests.pipelines.llm.crashes.books import wrong
from tests.pipelines.llm.crashes.lives import ROWS, Season, World, live, world
from tests.pipelines.llm.running.conftest import SLOT_SECONDS

MODES = list(Mode)
STORES = ["postgres", "sqlite"]
SEEDS = {"postgres": 1, "sqlite": 4}
SLOTS_BEFORE = 8
NEVER_SECONDS = 1e9


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What a dying process says is of no use."""
    caplog.set_level(logging.CRITICAL)


def cancelled_after(slots: int, broken: set[str]) -> Season:
    """A person cancels the job after so many slots, and these verbs fail from then on."""

    async def season(world: World, client: Client) -> None:
        await world.submit(client, ROWS)
        for _ in range(slots):
            await world.slot(client)
            world.clock.advance(SLOT_SECONDS)
        world.provider.fault = faults_at(broken)
        await client.cancel_lineage("llm-job", by="test")
        await world.run(client)

    return season


def faults_at(verbs: set[str]) -> Callable[[str, object], Exception | None]:
    """These verbs fail, always."""
    return lambda verb, about: NotSent("the line is dead") if verb in verbs else None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", STORES)
async def test_a_cancelled_job_leaves_nothing_open_and_its_books_right(on: str, mode: Mode, tmp_path: Path) -> None:
    late = 0
    for seed in range(SEEDS[on]):
        chance = random.Random(f"{seed} {mode}")
        with world(on, mode, tmp_path / "run") as made, patch.object(items, "_chance", random.Random(seed)):
            broken = chance.choice([set(), {"cancel"}, {"results"}, {"poll"}, {"find"}])
            await live(made, cancelled_after(chance.randint(1, SLOTS_BEFORE), broken))
            found, kept = await looked_at(made)
            assert not found, "\n".join([f"seed {seed}, {broken} broken:", *found])
            late += kept
    assert mode is Mode.CHAT or late, "no answer was late"


async def looked_at(made: World) -> tuple[list[str], int]:
    """What is wrong, and how many answers are kept as late."""
    store = made.open()
    client = await made.client(store)
    try:
        [(late,)] = await client.read("SELECT COUNT(*) FROM llm_answers WHERE late = 1")
        return await wrong(client, made.provider, cut_short=True), int(late)
    finally:
        await client.close()


async def test_what_a_provider_never_ends_is_cancelled_there_at_the_deadline(tmp_path: Path) -> None:
    async def season(world: World, client: Client) -> None:
        await world.submit(client, ROWS, item_seconds=3_600.0)
        await world.run(client)

    with world("sqlite", Mode.BACKGROUND, tmp_path / "run") as made, patch.object(items, "_chance", random.Random(7)):
        made.provider.seconds = NEVER_SECONDS
        await live(made, season)
        found, _ = await looked_at(made)
        assert not found, "\n".join(found)
        assert sum(taken.cancelled for taken in made.provider.taken.values()) >= len(ROWS) - 3
