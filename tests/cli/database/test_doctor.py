"""The doctor finds damage and neglect of each kind, says what to do, writes nothing, and is quiet about the sound."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.tools.doctor import doctor
from ramet.model.lineage.limits import Limits
from ramet.store.errors import StoreError
from ramet.store.schema.versions import PLAN, SchemaPlan
from ramet.store.sqlite.store import SqliteStore
from tests.cli.conftest import Cli
from tests.store.scenarios.every_verb import end_from_outside, submit_and_settle
from tests.support.world import EFFECTS, SettableClock, World


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A sound database in which much has happened and nothing waits."""
    path = tmp_path / "tasks.db"
    clock = SettableClock(time.time() - 200_000.0)
    world = World(SqliteStore(path, clock=clock, inline=True), clock)
    await world.store.ensure_tables([EFFECTS])
    await submit_and_settle(world)
    await end_from_outside(world)
    await Schedules(Registry(Limits()), world.store, Limits()).add("page", cron="@yearly")
    clock.now = time.time()
    await world.sweep()
    await world.run_all()
    await world.sweep()
    await world.store.close()
    return path


def damage(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.close()


def found(path: Path) -> dict[str, str]:
    return {finding.check: finding.what for finding in doctor(path)}


def test_a_sound_database_is_in_order_and_is_not_touched(path: Path) -> None:
    before = path.read_bytes()
    assert doctor(path) == []
    assert path.read_bytes() == before


async def test_the_places_of_stages_to_come_are_counted(path: Path) -> None:
    clock = SettableClock(time.time())
    world = World(SqliteStore(path, clock=clock, inline=True), clock)
    await world.submit(world.task(id="staged", base="listing", places=3), tracking_id="staged")
    await world.run_all()
    await world.store.close()
    assert doctor(path) == []


DAMAGE = [
    ("counters", "UPDATE ramet_lineages SET success = success + 1 WHERE tracking_id = 'line'"),
    ("counters", "UPDATE ramet_lineages SET tasks = tasks - 1 WHERE tracking_id = 'line'"),
    ("tallies", "UPDATE ramet_tallies SET ended_success = ended_success + 1"),
    ("places", "UPDATE ramet_tasks SET state = NULL WHERE seq = (SELECT MAX(seq) FROM ramet_tasks)"),
    ("identities", "DELETE FROM ramet_identities WHERE seq = (SELECT MAX(seq) FROM ramet_tasks)"),
    (
        "identities",
        "INSERT INTO ramet_identities VALUES ('ghost', 'line', 'page', 99999)",
    ),
    ("lineages", "UPDATE ramet_lineages SET state = 'running' WHERE tracking_id = 'cancelled'"),
    ("lineages", "UPDATE ramet_lineages SET ended_at = NULL WHERE tracking_id = 'cancelled'"),
    ("lineages", "DELETE FROM ramet_lineages WHERE tracking_id = 'cancelled'"),
    (
        "orphans",
        "UPDATE ramet_attempts SET seq = 99999 WHERE seq = (SELECT MIN(seq) FROM ramet_tasks)",
    ),
    ("orphans", "INSERT INTO ramet_block_counts VALUES ('nobody', 'p', 'k', 'depth', 1, 0)"),
    ("settings", "INSERT INTO ramet_settings VALUES ('limits.max_task', '5', 'int', 'misspelt', 1.0)"),
    ("settings", "INSERT INTO ramet_settings VALUES ('limits.max_tasks', '-5', 'int', 'negative', 1.0)"),
    ("schedules", "UPDATE ramet_schedules SET timezone = 'Nowhere'"),
    ("schedules", "UPDATE ramet_schedules SET next_at = 1.0"),
    ("clock", "UPDATE ramet_lineages SET created_at = created_at + 1e9 WHERE tracking_id = 'line'"),
    ("journal", "PRAGMA journal_mode = DELETE"),
    (
        "integrity",
        "CREATE TABLE extra (a); INSERT INTO extra VALUES (1); CREATE INDEX extra_a ON extra (a) WHERE a > 5;"
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = replace(sql, ' WHERE a > 5', '') WHERE name = 'extra_a'",
    ),
]


@pytest.mark.parametrize(("check", "sql"), DAMAGE, ids=[f"{check}-{n}" for n, (check, _) in enumerate(DAMAGE)])
def test_each_kind_of_damage_is_found_and_told_with_what_to_do(path: Path, check: str, sql: str) -> None:
    damage(path, sql)
    told = doctor(path)
    assert check in {finding.check for finding in told}
    assert all(finding.do and "\n" not in finding.what + finding.do for finding in told)


async def test_what_nobody_sees_to_is_a_warning(path: Path) -> None:
    clock = SettableClock(time.time() - 1_000.0)
    world = World(SqliteStore(path, clock=clock, inline=True), clock)
    await world.submit(world.task(id="w1"), world.task(id="w2"), tracking_id="waiting")
    await world.claim_one()
    world.store.close_now()
    told = {finding.check: finding for finding in doctor(path)}
    assert set(told) == {"leases", "workers"}
    assert {finding.severity for finding in told.values()} == {"warning"}
    assert "1 claims are stale" in told["leases"].what
    assert "ramet worker APP" in told["workers"].do


async def test_a_kind_that_no_living_worker_serves_is_told(path: Path) -> None:
    clock = SettableClock(time.time())
    world = World(SqliteStore(path, clock=clock, inline=True), clock)
    await world.submit(world.task(id="w1"), world.task(id="w2", kind="image"), tracking_id="waiting")
    world.store.close_now()
    alive = f"INSERT INTO ramet_workers VALUES ('w', 'h', 1, '[\"page\"]', '[\"default\"]', 4, 1.0, {time.time()})"
    damage(path, alive)
    assert "1 tasks can be claimed and no worker serves them (first: kind image" in found(path)["workers"]
    damage(path, "UPDATE ramet_workers SET seen_at = 1.0")
    assert "2 tasks can be claimed" in found(path)["workers"]


def test_a_damaged_file_is_told_by_its_parts(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:20_000] + b"\xff" * 4_096 + whole[24_096:])
    told = doctor(path)
    assert {finding.check for finding in told} & {"integrity", "file"}
    assert "restore" in told[0].do


def test_a_place_that_cannot_be_written_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.store.sqlite.doctor.os.access", lambda *_: False)
    monkeypatch.setattr("ramet.store.sqlite.doctor.network_file_system", lambda _: "nfs4")
    monkeypatch.setattr("ramet.store.sqlite.doctor.FREE_BYTES_MIN", 2**62)
    assert set(found(path)) == {"place", "permissions", "room"}


async def test_a_log_that_grew_large_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.store.sqlite.doctor.LOG_BYTES_MAX", 0)
    store = SqliteStore(path, inline=True)
    await store.put_setting("limits.max_tasks", 5, "int", "")
    assert found(path)["room"].startswith("the write-ahead log has")
    await store.close()


def test_an_older_schema_and_an_older_sqlite_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = SchemaPlan((*PLAN.steps, ("CREATE TABLE ramet_new (id INTEGER)",)), (*PLAN.compatible_from, 1))
    monkeypatch.setattr("ramet.store.schema.versions.PLAN", newer)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    told = {finding.check: finding for finding in doctor(path)}
    assert {check: finding.severity for check, finding in told.items()} == {"schema": "warning", "sqlite": "error"}
    assert told["schema"].do == "run `ramet migrate`"
    assert "is older than 3.37" in told["sqlite"].what


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.unlink(), "no database at"),
    (lambda path: path.write_text("not a database, and long enough to be looked at" * 100), "not a readable SQLite"),
    (lambda path: damage(path, "DROP TABLE ramet_counters"), "is not a ramet database"),
    (
        lambda path: damage(path, "UPDATE ramet_counters SET value = 99 WHERE name IN ('schema', 'compatible_from')"),
        "upgrade ramet",
    ),
]


@pytest.mark.parametrize(("spoil", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_is_no_database_of_ours_is_refused(path: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(path)
    with pytest.raises(StoreError, match=said):
        doctor(path)


@pytest.mark.usefixtures("all_extras")
def test_the_command_says_what_to_do_and_ends_with_1(path: Path, cli: Cli) -> None:
    assert path == cli.database
    assert cli.good("doctor") == "all is in order\n"
    assert cli.documents("doctor") == []
    damage(cli.database, "INSERT INTO ramet_settings VALUES ('limits.max_task', '5', 'int', 'misspelt', 1.0)")
    result = cli.run("doctor")
    assert (result.exit_code, result.stderr) == (1, "")
    [line] = result.stdout.splitlines()
    assert line.startswith("warning: no setting 'limits.max_task': did you mean limits.max_tasks")
    assert line.endswith(": ramet settings unset limits.max_task")
    cli.database.unlink()
    assert "no database at" in cli.bad("doctor")
