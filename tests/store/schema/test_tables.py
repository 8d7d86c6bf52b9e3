"""What holds for every table of the schema, whoever adds the next one."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.store.maintenance.prune import PRUNED_BY_LINEAGE, PRUNED_BY_TASK
from ramet.store.sqlite.store import SqliteStore

KEPT: dict[str, str] = {
    "ramet_lineages": "goes last, by itself",
    "ramet_tasks": "goes by its numbers, a part at a time",
    "ramet_paths": "goes with its task's end, or when the worker of an ended one let go of it",
    "ramet_live": "a lineage with a live task is not pruned",
    "ramet_identities": "goes with its task, by its own key",
    "ramet_uniques": "a global identity is held for its window, whatever becomes of the holder",
    "ramet_shares": "goes a minute after its lineage last asked",
    "ramet_slots": "goes by its age, with the runs of its time",
}
"""Table with a tracking_id that pruning does not take by that -> the reason."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    SqliteStore(tmp_path / "ramet.db", inline=True).close_now()
    connection = sqlite3.connect(tmp_path / "ramet.db")
    yield connection
    connection.close()


def tables(database: sqlite3.Connection) -> dict[str, list[tuple[str, int]]]:
    """Columns of every table of ours, each with its place in the primary key (0: none)."""
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ramet_%'").fetchall()
    return {
        name: [(column, key) for _, column, _, _, _, key in database.execute(f"PRAGMA table_info({name})")]
        for (name,) in names
    }


def test_a_table_without_row_numbers_has_its_key_in_front(database: sqlite3.Connection) -> None:
    """SQLite 3.40 calls such a table damaged otherwise, which would fail every backup and every look of the doctor."""
    for name, columns in tables(database).items():
        [(sql,)] = database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,))
        keys = [key for _, key in columns]
        if "WITHOUT ROWID" in sql:
            assert all(keys[: sum(key > 0 for key in keys)]), f"{name}: put {columns} in another order"


def test_a_claimed_task_is_in_one_index_of_the_hot_table_beside_its_number(database: sqlite3.Connection) -> None:
    """Each more costs every claim an entry on PostgreSQL, whatever the claim writes (docs/decisions/0057)."""
    indexes = database.execute("SELECT name, partial FROM pragma_index_list('ramet_live')").fetchall()
    assert [name for name, partial in indexes if not partial] == ["ramet_live_by_depth"]
    for name in (name for name, partial in indexes if partial):
        [(sql,)] = database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,))
        _, where = sql.split(" WHERE ")
        assert re.search(r"state = 'pending'|wait = '|bound_to IS NOT NULL", where), (name, "has a plain claimed task")


def test_every_table_of_a_lineage_is_pruned_with_it_or_kept_for_a_reason(database: sqlite3.Connection) -> None:
    found = {
        name for name, columns in tables(database).items() if any(column == "tracking_id" for column, _ in columns)
    }
    taken = {*PRUNED_BY_TASK, *PRUNED_BY_LINEAGE}
    assert found - taken - KEPT.keys() == set(), "name them in store/maintenance/prune.py"
    assert taken <= found
    assert not taken & KEPT.keys()


def test_the_keys_by_which_rows_are_pruned_are_those_of_their_tables(database: sqlite3.Connection) -> None:
    known = tables(database)
    for name, text in PRUNED_BY_LINEAGE.items():
        key = [column for column, place in sorted(known[name], key=lambda item: item[1]) if place]
        assert text.split(", ") == key


async def test_the_key_of_a_table_without_row_numbers_is_its_first_columns(tmp_path: Path) -> None:
    """SQLite 3.40 takes other orders for damage: ``integrity_check`` finds NULL where there is none."""
    store = SqliteStore(tmp_path / "ramet.db", inline=True)
    tables = await store.read("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%WITHOUT ROWID%'")
    assert len(tables) > 5
    for (table,) in tables:
        columns = await store.read("SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", (table,))
        key = [position for _, position in columns if position]
        assert [position > 0 for _, position in columns] == [True] * len(key) + [False] * (len(columns) - len(key)), (
            table
        )
    await store.close()


ACROSS: dict[str, str] = {
    "ramet_settings": "settings are everybody's",
    "ramet_own_tables": "definitions of apps' tables, the same on every shard",
    "ramet_turns": "how far claims have come, class by class, of all that a shard has",
    "ramet_counters": "numbers and versions of a shard",
    "ramet_queues": "pauses and limits of queues",
    "ramet_kinds": "limits of kinds",
    "ramet_policies": "limits of resources",
    "ramet_resources": "hosts and providers, which all lineages share",
    "ramet_workers": "who works here",
    "ramet_commit_times": "how long commits took, whoever made them",
    "ramet_stop_list": "what nobody may ask for",
    "ramet_schedules": "a schedule begins lineages, and each is placed then",
    "ramet_spend": "ceilings of days and of everything",
    "ramet_alert_thresholds": "of kinds",
    "ramet_alert_channels": "which ways to people workers have",
    "ramet_monitor": "how far the monitor has looked",
    "ramet_path_tickets": "who stands in line, of all lineages of a queue",
    "ramet_path_holders": "who holds which path, of all lineages of a queue",
    "ramet_path_waves": "what an end on a path still has to do, to tasks of any lineage",
    "ramet_tallies": "counts of kinds, of all lineages",
    "ramet_tally_reasons": "reasons by kind, of all lineages",
    "ramet_imports": "a run of an import makes many lineages",
}
"""Table without a tracking_id -> what it is about. On many shards these live on the first."""


def test_every_table_says_whose_its_rows_are_or_crosses_lineages_for_a_reason(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "ramet.db", inline=True).close_now()
    connection = sqlite3.connect(tmp_path / "ramet.db")
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ramet_%'").fetchall()
    without = {
        name
        for (name,) in names
        if "tracking_id" not in {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
    }
    connection.close()
    assert without == ACROSS.keys()
