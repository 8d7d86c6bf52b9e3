"""What holds for every table of the schema, whoever adds the next one."""

from __future__ import annotations

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
