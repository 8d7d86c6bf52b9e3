"""Many new rows of one statement are those that were given, however they are written together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet.store.session import Insert
from ramet.store.sqlite.bulk import ROWS_AT_ONCE, statements
from ramet.store.sqlite.session import SqliteSession, connect

COLUMNS = ("a", "b", "c", "d")
MOST = ROWS_AT_ONCE[0]
COUNTS = (1, 2, 7, 8, 9, MOST - 1, MOST, MOST + 1, 3 * MOST + 2 * 8 + 5)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SqliteSession]:
    connection = connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c REAL, d TEXT)")
    session = SqliteSession(connection, lambda: 0.0)
    session.begin(write=True)
    yield session
    session.close()


def kept(session: SqliteSession) -> list[tuple[Any, ...]]:
    return session.rows("SELECT a, b, c, d FROM t ORDER BY rowid")


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    "row",
    [
        lambda n: (n, f"text {n}", n / 4, None),
        lambda n: (n, "same", 0.5, None),
        lambda n: (n, None, None, None),
        lambda n: (7, "same", 0.5, "same too"),
        lambda n: (None, None, None, None),
        lambda n: (n, None if n % 2 else "text", 0.5, 'it\'s "quoted"'),
    ],
    ids=["each", "some-same", "most-null", "all-same", "all-null", "gaps"],
)
def test_rows_are_kept_as_they_are_and_in_their_order(session: SqliteSession, count: int, row: Any) -> None:
    rows = [row(n) for n in range(count)]
    assert session.insert("t", COLUMNS, rows) == count
    assert kept(session) == rows
    session.run("DELETE FROM t")
    session.run("CREATE TABLE u (d, a INTEGER)")
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    session.insert_columns((("t", COLUMNS), ("u", ("d", "a"))), columns)
    assert kept(session) == rows
    assert session.rows("SELECT a, d FROM u ORDER BY rowid") == [(row[0], row[3]) for row in rows]


@pytest.mark.parametrize("count", [2, 9, MOST + 9])
def test_rows_that_meet_one_are_done_one_after_the_other(session: SqliteSession, count: int) -> None:
    session.run("CREATE UNIQUE INDEX of_a ON t (a)")
    rows = [(n % 2, "new", 1.0, None) for n in range(count)]
    assert session.insert("t", COLUMNS, rows, key=("a",)) == 2
    session.run("DELETE FROM t")
    assert session.insert("t", COLUMNS, rows, key=("a",), changes=("c = t.c + excluded.c",)) == count
    assert sum(row[2] for row in kept(session)) == count


def test_however_many_rows_the_texts_of_statements_are_few() -> None:
    write = Insert("t", COLUMNS)
    texts = {
        sql
        for count in range(1, 300)
        for sql, _ in statements(write, [range(count), ["x"] * count, [None] * count] * 2)
    }
    # Of one row alone every value is the same.
    assert len(texts) <= 2 * len(ROWS_AT_ONCE)
