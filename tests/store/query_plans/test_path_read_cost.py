"""Looking at a path costs a page, however many wait: counted in the steps of SQLite's machine, not in seconds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ramet.model.paths import PathRule
from ramet.store.reads import path_reach
from ramet.store.reads import paths as path_queries
from ramet.store.reads.path_reach import held_back
from ramet.store.reads.paths import blocked_by, paths
from ramet.store.session import Session
from ramet.store.sqlite.session import SqliteSession
from ramet.store.sqlite.store import SqliteStore
from tests.support.world import SettableClock, World

FEW, MANY = 300, 3_000
COUNTED = 20
"""So many are counted here, so that the few are more than that, too."""


async def waiting(path: Path, count: int) -> None:
    """A line of so many behind one path, and one behind a parent with so many children."""
    world = World(SqliteStore(path, clock=SettableClock(), inline=True), SettableClock())
    line = [world.task(path=PathRule(("line",))) for _ in range(count)]
    fan = [world.task(path=PathRule(("fan", *name))) for name in [(), *((f"{n}",) for n in range(count)), ()]]
    await world.submit(*line[:-1], tracking_id="line")
    await world.submit(line[-1]._replace(id="last"), tracking_id="last of the line")
    await world.submit(*fan[:-1], tracking_id="fan")
    await world.submit(fan[-1]._replace(id="over"), tracking_id="last of the fan")
    await world.claim(2)
    await world.store.close()


def steps(path: Path, question: Callable[[Session], object]) -> int:
    """How many instructions of the database answering took, in hundreds."""
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 1

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        session = SqliteSession(connection, SettableClock())
        session.begin(write=False)
        session.start_verb()
        connection.set_progress_handler(count, 100)
        question(session)
        connection.set_progress_handler(None, 0)
        session.rollback()
    return counted


QUESTIONS: dict[str, Callable[[Session], object]] = {
    "a line": lambda session: paths(session, ("line",), limit=10),
    "a parent and its children": lambda session: paths(session, ("fan",), limit=10),
    "one child": lambda session: paths(session, ("fan", "7"), limit=10),
    "holders": lambda session: paths(session, (), limit=10),
    "the end of a line": lambda session: blocked_by(session, "last", limit=10),
    "after all children": lambda session: blocked_by(session, "over", limit=10),
    "what one holds back": lambda session: held_back(session, "last of the line", limit=10),
    "what many hold back": lambda session: held_back(session, "fan", limit=1),
}


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One with few, and one with ten times as many."""
    import asyncio

    few, many = (tmp_path_factory.mktemp("lines") / f"{count}.db" for count in (FEW, MANY))
    asyncio.run(waiting(few, FEW))
    asyncio.run(waiting(many, MANY))
    return few, many


@pytest.mark.parametrize("question", QUESTIONS)
def test_ten_times_as_many_cost_no_more(
    databases: tuple[Path, Path], question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_queries, "BEHIND_MAX", COUNTED)
    monkeypatch.setattr(path_reach, "PAGE", COUNTED)
    monkeypatch.setattr(path_reach, "READS_MAX", 100)
    monkeypatch.setattr(path_reach, "LOOKS_MAX", 100)
    few, many = (steps(path, QUESTIONS[question]) for path in databases)
    assert many <= few * 1.2 + 2, (few, many)


def test_a_question_that_reads_everything_is_found(databases: tuple[Path, Path]) -> None:
    few, many = (steps(path, lambda session: session.rows("SELECT MAX(since) FROM ramet_paths")) for path in databases)
    assert many > few * 1.2 + 2
