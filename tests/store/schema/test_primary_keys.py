"""What the tables must look like for the database's own checks to mean something."""

from __future__ import annotations

from pathlib import Path

from ramet.store.sqlite.store import SqliteStore


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
