"""Whatever goes wrong at the provider, verb by verb, and whoever dies meanwhile: the same ends and right books."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from unittest.mock import patch

import pytest

from ramet.llm import items
from ramet.llm.errors import Ambiguous, NotSent, TooBusy
from ramet.llm.providers.base import Mode
from tests.llm.crashes.ledger_check import wrong
from tests.llm.crashes.process_restarts import World, live, season, world

MODES = list(Mode)
STORES = ["postgres", "sqlite"]
SEEDS = {"postgres": 1, "sqlite": 4}
SEEDS_FULL = 150
FAULTS_MAX = 15
AMBIGUOUS_MAX = 5
"""Of one run: an item that had more is given up, which is another end."""
DEATHS = 2
VERBS = {"submit", "accepted", "poll", "results", "find"}


class Trouble:
    """Faults by chance, at every verb, until there were enough."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._often = self._random.choice([0.1, 0.3, 0.6])
        self.happened: dict[str, int] = {}
        self._ambiguous = 0

    def __call__(self, verb: str, about: object) -> Exception | None:
        if sum(self.happened.values()) >= FAULTS_MAX or self._random.random() > self._often:
            return None
        fault = self._fault(verb)
        if fault is not None:
            self.happened[verb] = self.happened.get(verb, 0) + 1
        return fault

    def _fault(self, verb: str) -> Exception | None:
        uncertain = verb == "accepted" or (verb == "submit" and self._random.random() < 0.3)
        if uncertain:
            self._ambiguous += 1
            return Ambiguous("the line is dead") if self._ambiguous <= AMBIGUOUS_MAX else None
        return self._random.choice(
            [NotSent("refused"), TooBusy("later"), TooBusy("later", self._random.choice([0.0, 1.5, 90.0]))]
        )


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What a dying process says is of no use."""
    caplog.set_level(logging.CRITICAL)


async def bear(on: str, mode: Mode, folder: Path, seed: int) -> dict[str, int]:
    """A run with faults and deaths by chance; which verbs failed how often."""
    chance = random.Random(seed)
    with world(on, mode, folder) as made, patch.object(items, "_chance", random.Random(seed)):
        trouble = made.provider.fault = Trouble(seed)
        for _ in range(chance.randint(0, DEATHS)):
            await live(made, season, chance.randint(1, 8_000))
        await live(made, season)
        assert (found := await books_of(made)) == [], "\n".join([f"seed {seed}:", *found])
        return trouble.happened


async def books_of(made: World) -> list[str]:
    """What the checker says."""
    store = made.open()
    client = await made.client(store)
    try:
        return await wrong(client, made.provider)
    finally:
        await client.close()


async def bear_all(on: str, mode: Mode, folder: Path, seeds: range) -> dict[str, int]:
    """A run for each seed; which verbs failed how often."""
    happened: dict[str, int] = {}
    for seed in seeds:
        for verb, count in (await bear(on, mode, folder, seed)).items():
            happened[verb] = happened.get(verb, 0) + count
    return happened


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", STORES)
async def test_faults_of_the_provider_and_deaths_change_no_end_and_no_book(on: str, mode: Mode, tmp_path: Path) -> None:
    assert await bear_all(on, mode, tmp_path / "run", range(SEEDS[on]))


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", STORES)
async def test_many_faults_of_the_provider_and_deaths_change_no_end_and_no_book(
    on: str, mode: Mode, tmp_path: Path
) -> None:
    happened = await bear_all(on, mode, tmp_path / "run", range(SEEDS["sqlite"], SEEDS_FULL))
    never = {Mode.CHAT: {"poll", "results", "find"}, Mode.BACKGROUND: {"find"}, Mode.BATCH: set()}[mode]
    assert set(happened) == VERBS - never
