"""A process that dies at any statement of a job loses nothing, asks nothing again unrecorded, and the books are right.

A whole job is lived through, from its submission to its end, by a process that dies before or after one statement; the
next process submits the same job again, which finds it, and works on to the end.
"""

from __future__ import annotations

import logging
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest

from ramet.llm import items
from ramet.llm.providers.base import Mode
from tests.llm.crashes.ledger_check import wrong
from tests.llm.crashes.process_restarts import Fuse, live, season, world

pytestmark = pytest.mark.proof

MODES = list(Mode)
STORES = ["postgres", "sqlite"]
SLOW = {("postgres", Mode.BACKGROUND), ("postgres", Mode.BATCH)}
FEW = {"postgres": 2, "sqlite": 6}
"""Moments of the shorter form in each mode: one on a server costs more."""
PARTS_FULL = 8


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What a dying process says is of no use."""
    caplog.set_level(logging.CRITICAL)


async def survive(on: str, mode: Mode, folder: Path, moment: int | None = None) -> Fuse:
    """Die at that moment, begin again, and look at what is left; the first life's fuse."""
    with world(on, mode, folder) as made, patch.object(items, "_chance", random.Random(7)):
        first = await live(made, season, moment)
        if first.burnt.is_set():
            await live(made, season)
        store = made.open()
        client = await made.client(store)
        try:
            found = await wrong(client, made.provider)
        finally:
            await client.close()
        assert not found, "\n".join([f"after a crash at moment {moment}, {first.heard[-1]}:", *found])
        return first


async def survive_all(on: str, mode: Mode, folder: Path, moments: list[int]) -> None:
    """Die at each of them. A run may be some statements shorter than the one in which moments were counted."""
    fuses = [await survive(on, mode, folder, moment) for moment in moments]
    assert sum(fuse.burnt.is_set() for fuse in fuses) >= len(moments) * 0.9


def around_commits(heard: list[tuple[str, str]]) -> list[int]:
    """The moments that differ in what they leave: before a commit it is not there, after it nobody was told."""
    return [
        moment for moment, (_, sql) in enumerate(heard, 1) if sql.startswith(("COMMIT", "INSERT INTO ramet_writers"))
    ]


@pytest.mark.parametrize(
    ("on", "mode"),
    [
        pytest.param(on, mode, marks=[pytest.mark.nightly] if (on, mode) in SLOW else [])
        for on in STORES
        for mode in MODES
    ],
)
async def test_a_crash_loses_nothing_asks_nothing_twice_and_leaves_the_books_right(
    on: str, mode: Mode, tmp_path: Path
) -> None:
    heard = (await survive(on, mode, tmp_path / "whole")).heard
    chosen = random.Random(f"{on} {mode}")
    moments = chosen.sample(around_commits(heard), FEW[on]) + chosen.sample(range(1, len(heard) + 1), FEW[on] // 2)
    await survive_all(on, mode, tmp_path / "again", moments)


HARM = {
    "DELETE FROM llm_answers WHERE state = 'succeeded'": "is lost",
    "UPDATE llm_answers SET cost = cost + 1": "is kept as",
    "DELETE FROM llm_ambiguous WHERE outcome = 'unknown'": "nobody wrote it down",
    "UPDATE ramet_lineages SET spent = spent + 1 WHERE tracking_id = 'llm-job'": "its submits are booked with",
    "UPDATE llm_answers SET late = 1 WHERE state = 'succeeded'": "is late",
    "UPDATE ramet_reservations SET actual = amount WHERE id IN (SELECT id FROM ramet_reservations LIMIT 1)": "booked",
}
"""What would be wrong, and what the checker calls it."""


async def test_what_would_be_wrong_is_found(tmp_path: Path) -> None:
    with world("sqlite", Mode.CHAT, tmp_path / "whole") as made:
        await live(made, season)
        path = tmp_path / "whole" / "ramet.db"
        sound = path.read_bytes()
        for harm, told in HARM.items():
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(harm)
            store = made.open()
            client = await made.client(store)
            found = await wrong(client, made.provider)
            await client.close()
            assert any(told in line for line in found), (harm, found)
            path.write_bytes(sound)


@pytest.mark.parametrize("mode", MODES)
async def test_the_job_meets_everything_that_words_can_say(mode: Mode, tmp_path: Path) -> None:
    with world("sqlite", mode, tmp_path / "whole") as made:
        await live(made, season)
        provider = made.provider
        assert min(provider.submits[word] for word in ("second", "never", "flaky", "busy", "unsure", "unsent")) > 1
        store = made.open()
        client = await made.client(store)
        outcomes = {row[0] for row in await client.read("SELECT outcome FROM llm_ambiguous")}
        answers = {row[0] for row in await client.read("SELECT DISTINCT state FROM llm_answers")}
        await client.close()
    assert outcomes == ({"found", "not_found"} if mode is Mode.BATCH else {"unknown"})
    assert answers == {"succeeded", "invalid", "failed", "incomplete"}
    if mode is Mode.BATCH:
        assert sum(len(one.answers) > 1 for one in provider.taken.values()) >= 2


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("part", range(PARTS_FULL))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", STORES)
async def test_a_crash_at_every_commit_and_every_statement_does_no_harm(
    on: str, mode: Mode, part: int, tmp_path: Path
) -> None:
    """Around every commit, and at the first and the last of each statement."""
    heard = (await survive(on, mode, tmp_path / "whole")).heard
    first = {what: moment for moment, what in reversed([*enumerate(heard, 1)])}
    last = {what: moment for moment, what in enumerate(heard, 1)}
    moments = sorted({*around_commits(heard), *first.values(), *last.values()})
    await survive_all(on, mode, tmp_path / "again", moments[part::PARTS_FULL])
