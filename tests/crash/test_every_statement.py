"""A process that dies at any statement loses nothing and does nothing twice (promises I1 and I2).

The run is real: app, client, worker and database, in one thread and virtual time, so that it repeats itself statement
by statement. It is crashed before and after a statement by closing the database under it; then everything in memory
is thrown away, the file opened again, and the run goes on to the end.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from ramet.store.errors import StoreError
from ramet.store.postgres.session import PostgresSession
from ramet.store.sqlite.session import SqliteSession
from tests.crash import limits_world, runs
from tests.crash.runs import Counts, Ended, Point, PostgresRun, Run, SqliteRun
from tests.postgres import database_pool

PARTS, PARTS_FULL = 2, 40
SHARE = {"postgres": 48, "sqlite": 6}
"""One in so many kinds is tried in the shorter run: a statement that goes to a server costs ten times as much."""
MADE_OR_READ = re.compile(r"CREATE (?:UNIQUE )?\w+|(?:SELECT|WITH)\b.*?\bFROM (\w+)", re.DOTALL)
RUNS: dict[str, type[Run]] = {"postgres": PostgresRun, "sqlite": SqliteRun}
STEPS = {"end", "attempt 3", "dug", "one", "two", "three"}
STEPS |= {"chain 0", "chain 1", "chain 2", "snooze 0", "snooze 1", "snooze 2"}
OWN_WRITES = {
    "postgres": (
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        "SELECT ramet_take_numbers",
        "UPDATE ramet_tasks_p0 SET state = ?",
    ),
    "sqlite": ("CREATE TABLE ramet_tasks", "BEGIN IMMEDIATE", "UPDATE ramet_tasks SET state = ?"),
}
WRITES = (
    "COMMIT", "SAVEPOINT", "RELEASE", "INSERT INTO ramet_lineages",
    "INSERT INTO ramet_tasks", "INSERT INTO ramet_live", "INSERT INTO ramet_identities", "INSERT INTO ramet_attempts",
    "INSERT INTO ramet_blocks", "INSERT INTO ramet_checkpoints", "INSERT INTO ramet_transitions", "INSERT INTO effects",
    "UPDATE ramet_live SET state", "UPDATE ramet_live SET wait",
    "UPDATE ramet_tasks SET state = NULL", "UPDATE ramet_counters", "UPDATE ramet_lineages SET tasks",
    "UPDATE ramet_lineages SET live", "UPDATE ramet_lineages SET state", "UPDATE ramet_lineages SET tombstones",
    "UPDATE ramet_lineages SET sweep", "UPDATE ramet_lineages SET max_fan_out", "UPDATE ramet_lineages SET blocks",
    "DELETE FROM ramet_live", "INSERT INTO ramet_monitor",
    "INSERT INTO ramet_blobs", "UPDATE ramet_lineages SET blob_bytes",
    "INSERT INTO ramet_reservations", "INSERT INTO ramet_spend",
    "UPDATE ramet_lineages SET reserved", "UPDATE ramet_lineages SET spent", "UPDATE ramet_spend SET reserved",
    "WITH RECURSIVE settlers", "UPDATE ramet_lineages SET end_wanted",
    "UPDATE ramet_spend SET spent", "UPDATE ramet_reservations SET actual", "UPDATE ramet_reservations SET closed_at",
    "INSERT INTO ramet_queues", "INSERT INTO ramet_kinds", "INSERT INTO ramet_policies", "INSERT INTO ramet_resources",
    "INSERT INTO ramet_holds", "DELETE FROM ramet_holds WHERE seq", "INSERT INTO ramet_acts",
    "UPDATE ramet_lineages SET state = 'paused'", "UPDATE ramet_queues SET paused_at = ?",
    "UPDATE ramet_queues SET paused_at = NULL", "UPDATE ramet_live SET deadline_at",
    "UPDATE ramet_resources SET ready_at",
)  # fmt: skip


@contextmanager
def database(on: str, folder: Path) -> Iterator[Path]:
    """A folder with an empty database in it, or with the address of one."""
    folder.mkdir()
    with database_pool.database(anew=True) if on == "postgres" else nullcontext("") as url:
        (folder / "address").write_text(url)
        yield folder
    shutil.rmtree(folder)


@contextmanager
def run(on: str, folder: Path, point: Point | None = None) -> Iterator[Run]:
    run = RUNS[on](folder, point)
    try:
        yield run
    finally:
        run.close()


@pytest.fixture(scope="module", params=sorted(RUNS))
def on(request: pytest.FixtureRequest) -> str:
    """Which database."""
    return str(request.param)


@pytest.fixture(scope="module")
def reference(on: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Counts, Ended]:
    """How often each statement runs when nothing crashes, and what that leaves."""
    with database(on, tmp_path_factory.mktemp("reference") / "whole") as folder, run(on, folder) as whole:
        whole.live()
        counts = Counter(whole.counts)
        return counts, whole.ended()


def every(counts: Counts) -> list[Point]:
    """Before and after every occurrence of every statement."""
    return [Point(sql, occurrence, when) for (sql, when), count in counts.items() for occurrence in range(1, count + 1)]


def one_of_each_kind(counts: Counts) -> list[Point]:
    """Each statement that writes is a kind, all that read first from one table are, and all that make an index.

    In turn before and after it, and its first, its middle and its last occurrence.
    """
    kinds: dict[str, list[str]] = {}
    for sql in dict.fromkeys(sql for sql, _ in counts):
        found = MADE_OR_READ.match(sql.strip())
        kinds.setdefault(found.expand(r"\1") or found[0] if found else sql, []).append(sql)
    points = []
    for number, alike in enumerate(kinds.values()):
        sql = alike[number % len(alike)]
        when = "after" if number % 2 and (sql, "after") in counts else "before"  # There is no after when it fails.
        count = counts[(sql, when)]
        points.append(Point(sql, (1, (count + 1) // 2, count)[number // 2 % 3], when))
    return points


def survive(on: str, folder: Path, point: Point, expected: Ended) -> None:
    """Crash there, open the database again, run to the end: the same ends, and every effect exactly once."""
    with database(on, folder):
        with run(on, folder, point) as first:
            first.live()
            assert first.dead, f"the run never came to {point}: it does not repeat itself"
        with run(on, folder) as second:
            second.live()
            assert second.ended() == expected, f"after a crash at {point}"


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="ramet")


def test_the_run_does_everything_that_is_worth_crashing(on: str, reference: tuple[Counts, Ended]) -> None:
    counts, ended = reference
    assert len(ended.states) >= 200
    assert set(ended.states.values()) == {"success", "filtered", "skipped", "failed", "cancelled"}
    assert set(ended.effects.values()) == {1}
    assert {step for _, step in ended.effects} == STEPS
    told = Counter((kind, state) for (lineage, kind, _), state in ended.states.items() if lineage == "office")
    assert told == limits_world.ENDS
    for beginning in (*WRITES, *OWN_WRITES[on]):
        assert any(sql.strip().startswith(beginning) for sql, _ in counts), f"no statement begins with {beginning}"


@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_at_any_kind_of_statement_loses_nothing_and_does_nothing_twice(
    on: str, part: int, reference: tuple[Counts, Ended], tmp_path: Path
) -> None:
    counts, ended = reference
    for number, point in enumerate(one_of_each_kind(counts)[part * SHARE[on] :: PARTS * SHARE[on]]):
        survive(on, tmp_path / str(number), point, ended)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS_FULL))
def test_a_crash_at_every_statement_loses_nothing_and_does_nothing_twice(
    on: str, part: int, reference: tuple[Counts, Ended], tmp_path: Path
) -> None:
    counts, ended = reference
    for number, point in enumerate(every(counts)[part::PARTS_FULL]):
        survive(on, tmp_path / str(number), point, ended)


def _without_transactions(on: str, patch: Callable[[type, str, Any], None]) -> None:
    @contextmanager
    def no_savepoint(self: object) -> Iterator[None]:
        yield

    if on == "sqlite":
        patch(SqliteSession, "begin", lambda self, write: None)
        patch(SqliteSession, "commit", lambda self: None)
        patch(SqliteSession, "savepoint", no_savepoint)
    else:
        patch(PostgresSession, "begin", lambda self, *how: self.begin_within())
        patch(PostgresSession, "commit", lambda self, *how: None)
        patch(PostgresSession, "savepoint", no_savepoint)


@pytest.mark.parametrize(
    "beginning", ["INSERT INTO ramet_tasks", pytest.param("UPDATE ramet_tasks SET state", marks=pytest.mark.nightly)]
)
def test_without_transactions_a_crash_does_harm_and_is_found(
    on: str, beginning: str, reference: tuple[Counts, Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, ended = reference
    [sql] = [sql for sql, when in counts if sql.startswith(beginning) and when == "before"][:1]
    _without_transactions(on, monkeypatch.setattr)
    monkeypatch.setattr(runs, "SEASON_SECONDS", runs.SEASON_SECONDS / 8)  # What is lost is not waited for as long.
    with pytest.raises((AssertionError, StoreError, TimeoutError)):
        survive(on, tmp_path / "harmed", Point(sql, 1, "before"), ended)
