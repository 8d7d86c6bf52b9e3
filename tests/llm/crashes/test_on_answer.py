"""A handler of answers that dies anywhere: what it writes is there once for each row, and what was billed is booked."""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import patch

import pytest

from ramet import Client
from ramet.llm import items
from ramet.llm.inputs.prompt_file import Row
from ramet.llm.inputs.spool import questions_of
from ramet.llm.jobs import submit_job
from ramet.llm.providers.base import Mode
from ramet.llm.settings import JobSettings
from tests.llm.crashes.billing_provider import GOOD, WORDS
from tests.llm.crashes.ledger_check import wrong
from tests.llm.crashes.process_restarts import CHECK, DISCOUNT, Fuse, World, live, world
from tests.llm.running.answer_handlers import TABLE
from tests.llm.running.conftest import DEAR, MODEL, question

pytestmark = pytest.mark.proof
MODES = list(Mode)
STORES = ["postgres", "sqlite"]
FEW = {"postgres": 4, "sqlite": 12}
"""Moments of the shorter form in each mode: one on a server costs more."""
PARTS_FULL = 8


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


async def season(made: World, client: Client) -> None:
    """Submit the job, whose answers a handler takes, and work on it."""
    await client.store.ensure_tables([TABLE])
    mode = made.provider.mode
    settings = JobSettings(
        provider="fake", mode=mode, prices={MODEL: DEAR}, rows=0, items=0, check=CHECK, discount=DISCOUNT[mode],
        batch_items=4, on_answer="tests.llm.running.answer_handlers:keep",
    )  # fmt: skip
    rows = (Row(at, at + 1, word, question(word)) for at, word in enumerate(WORDS))
    await submit_job(client, "job", questions_of(rows, handed_on=True), settings, max_cost=10**12)
    await made.run(client)


async def labels(client: Client) -> AsyncIterator[str]:
    for row_id, label in await client.read("SELECT id, label FROM labels"):
        assert label == f"None:{GOOD}"
        yield row_id


async def survive(on: str, mode: Mode, folder: Path, moment: int | None = None) -> Fuse:
    """Die at that moment, begin again, and look at what is left; the first life's fuse."""
    with world(on, mode, folder) as made, patch.object(items, "_chance", random.Random(7)):
        first = await live(made, season, moment)
        if first.burnt.is_set():
            await live(made, season)
        client = await made.client(made.open())
        try:
            found = await wrong(client, made.provider)
            told = sorted([row_id async for row_id in labels(client)])
        finally:
            await client.close()
        assert not found, "\n".join([f"after a crash at moment {moment}, {first.heard[-1]}:", *found])
        assert told == sorted(word for word, end in WORDS.items() if end == "success"), (moment, first.heard[-1])
        return first


def commits(heard: list[tuple[str, str]]) -> list[int]:
    """The moments before and after each commit."""
    return [at for at, (_, sql) in enumerate(heard, 1) if sql.endswith("COMMIT")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", STORES)
async def test_each_rows_write_is_there_once_wherever_the_process_dies(on: str, mode: Mode, tmp_path: Path) -> None:
    heard = (await survive(on, mode, tmp_path / "whole")).heard
    chosen = random.Random(f"{mode}")
    writes = [at for at, (_, sql) in enumerate(heard, 1) if "labels" in sql]
    assert len(writes) >= 2 * sum(end == "success" for end in WORDS.values())
    moments = {*chosen.sample(commits(heard), FEW[on] // 2), *chosen.sample(writes, FEW[on] // 2)}
    for moment in sorted(moments):
        await survive(on, mode, tmp_path / "again", moment)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(PARTS_FULL))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", STORES)
async def test_each_rows_write_is_there_once_at_every_statement(on: str, mode: Mode, part: int, tmp_path: Path) -> None:
    """Around every commit, and at the first and the last of each statement: a life says thousands of them."""
    heard = (await survive(on, mode, tmp_path / "whole")).heard
    first = {what: moment for moment, what in reversed([*enumerate(heard, 1)])}
    last = {what: moment for moment, what in enumerate(heard, 1)}
    for moment in sorted({*commits(heard), *first.values(), *last.values()})[part::PARTS_FULL]:
        await survive(on, mode, tmp_path / "again", moment)
