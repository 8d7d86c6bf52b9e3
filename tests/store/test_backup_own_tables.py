"""Tables of apps in copies: every row comes along, in every direction, or the command refuses before it writes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramet import App
from ramet.store import open_store
from ramet.store.backup.copies import backup, restore
from ramet.store.errors import StoreError
from ramet.store.opening import migrate
from ramet.store.rows.own_tables import check_harmless, definitions
from ramet.testing.postgres_server.server import connect
from tests.support.backends import BACKENDS

AUTHORS = "CREATE TABLE IF NOT EXISTS authors (id BIGINT PRIMARY KEY, name TEXT NOT NULL, of_note INTEGER)"
BOOKS = (
    'CREATE TABLE IF NOT EXISTS "Books" (id BIGINT PRIMARY KEY, author BIGINT NOT NULL REFERENCES authors (id), '
    "title VARCHAR(60), cover BYTEA, price DOUBLE PRECISION, sold BIGINT, CHECK (length(title) > 0))"
)
BY_TITLE = 'CREATE UNIQUE INDEX IF NOT EXISTS books_by_title ON "Books" (title) WHERE title IS NOT NULL'
SHARED = (AUTHORS, BOOKS, BY_TITLE)
"""Definitions that both databases take."""
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "authors": [(2**62, "Ada, é, 漢", None), (-1, "", 2**31 - 1)],
    "Books": [
        (1, 2**62, "a; 'quoted' \\N \t\n", bytes(range(256)), 0.1 + 0.2, -(2**63)),
        (2, -1, None, b"", float("inf"), None),
        (3, -1, "x", None, -0.0, 2**63 - 1),
    ],
}


def filled(address: str) -> str:
    """A database with an app's tables and rows in them; its address."""
    store = open_store(address)

    async def fill() -> None:
        await store.ensure_tables(SHARED)
        await store.close()

    asyncio.run(fill())
    for table, rows in ROWS.items():
        put(address, table, rows)
    return address


def put(address: str, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows as they are."""
    marks = ["?" if "://" not in address else "%s"] * len(rows[0])
    sql = f'INSERT INTO "{table}" VALUES ({", ".join(marks)})'
    if "://" in address:
        with connect(address) as server:
            server.cursor().executemany(sql.encode(), rows)
    else:
        with closing(sqlite3.connect(address)) as file:
            file.executemany(sql, rows)
            file.commit()


def held(address: str, table: str) -> list[tuple[Any, ...]]:
    """All rows of a table, in the order of their first column."""
    sql = f'SELECT * FROM "{table}" ORDER BY 1'
    if "://" in address:
        with connect(address) as server:
            return server.execute(sql.encode()).fetchall()
    with closing(sqlite3.connect(address)) as file:
        return file.execute(sql).fetchall()


def has_all(address: str) -> bool:
    return all(held(address, table) == sorted(rows) for table, rows in ROWS.items())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture(params=sorted(BACKENDS))
def first(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    yield from address_on(request.param, folder / "from")


@pytest.fixture(params=sorted(BACKENDS))
def second(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    yield from address_on(request.param, folder / "to")


def address_on(backend: str, folder: Path) -> Iterator[str]:
    """Of an empty database."""
    folder.mkdir()
    if backend == "sqlite":
        yield str(folder / "tasks.db")
        return
    made = BACKENDS[backend](folder)
    yield made.address
    made.close()


def test_every_row_of_an_apps_tables_comes_along_in_every_direction(first: str, second: str, folder: Path) -> None:
    made = backup(filled(first), folder / "copy.db")
    assert dict(made.carried) == {"authors": 2, "Books": 3}
    told = restore(folder / "copy.db", second)
    assert (dict(told.carried), told.left_out) == ({"authors": 2, "Books": 3}, ())
    assert has_all(second)
    with pytest.raises(Exception, match=r"(?i)unique"):
        put(second, "Books", [(9, -1, "x", None, None, None)])  # The index is there, too.
    # And on from there, though no app has opened it.
    backup(second, folder / "again.db")
    restore(folder / "again.db", str(folder / "last.db"))
    assert has_all(str(folder / "last.db"))


def test_a_table_that_no_app_declares_is_refused_before_anything_is_written(folder: Path, postgres_url: str) -> None:
    filled(str(folder / "first.db"))
    with closing(sqlite3.connect(folder / "first.db")) as file:
        file.execute("CREATE TABLE diary (page TEXT)")
    backup(folder / "first.db", folder / "copy.db")  # A file is copied whole.
    with pytest.raises(StoreError, match=r"no app declares diary, so a copy would lose the rows: declare them \(--app"):
        restore(folder / "copy.db", postgres_url)
    with connect(postgres_url) as server:
        assert server.execute("SELECT to_regclass('ramet_tasks')").fetchone() == (None,)
    assert restore(folder / "copy.db", postgres_url, leave=["*"]).left_out == ("diary",)
    assert has_all(postgres_url)
    with connect(postgres_url) as server:
        server.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(StoreError, match="no app declares mine"):
        backup(postgres_url, folder / "back.db")
    assert not (folder / "back.db").exists()
    assert backup(postgres_url, folder / "back.db", leave=["mine", "authors"]).left_out == ("authors", "mine")
    made = backup(postgres_url, folder / "all.db", tables=["CREATE TABLE IF NOT EXISTS mine (a INTEGER)"])
    assert dict(made.carried)["mine"] == 0


def test_a_file_without_what_is_to_be_left_out_has_nothing_of_it(folder: Path) -> None:
    filled(str(folder / "first.db"))
    put(str(folder / "first.db"), "authors", [(5, "a secret name", None)])
    made = backup(folder / "first.db", folder / "copy.db", leave=["authors"])
    assert made.left_out == ("authors",)
    assert b"a secret name" not in (folder / "copy.db").read_bytes()
    told = restore(folder / "copy.db", folder / "second.db", leave=["Books"])
    assert (told.left_out, told.carried) == (("Books",), ())


ON_A_SERVER = (
    "CREATE TABLE IF NOT EXISTS orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, total NUMERIC(20, 2), "
    "at TIMESTAMPTZ, words TEXT[], facts JSONB, paid BOOLEAN, share REAL, "
    "twice BIGINT GENERATED ALWAYS AS (id * 2) STORED)",
    "CREATE SEQUENCE IF NOT EXISTS receipts",
    "CREATE TABLE IF NOT EXISTS receipts_given (number BIGINT PRIMARY KEY DEFAULT nextval('receipts'))",
)


def test_what_only_a_server_knows_comes_back_to_a_server_exactly(folder: Path, postgres_url: str) -> None:
    async def fill() -> None:
        store = open_store(postgres_url)
        await store.ensure_tables(ON_A_SERVER)
        await store.close()

    asyncio.run(fill())
    with connect(postgres_url) as server:
        server.execute(
            "INSERT INTO orders (total, at, words, facts, paid, share) VALUES "
            "('123456789012345678.10', '2026-11-26 12:00:00.000001+00', '{a,NULL,\"b c\"}', '{\"a\": 1.10}', true, 1), "
            "('NaN', 'infinity', NULL, 'null', false, 'NaN'), (NULL, NULL, '{}', NULL, NULL, '-Infinity')"
        )
        server.execute("DELETE FROM orders WHERE id = 3")
        server.execute("INSERT INTO receipts_given SELECT FROM generate_series(1, 3)")
        before = server.execute("SELECT orders::text FROM orders ORDER BY id").fetchall()
    backup(postgres_url, folder / "copy.db")
    with pytest.raises(StoreError, match="a file cannot be made of orders, receipts_given as the server has them"):
        restore(folder / "copy.db", folder / "file.db")
    assert not (folder / "file.db").exists()
    assert restore(folder / "copy.db", folder / "file.db", leave=["orders", "receipts_given"]).carried == ()
    from tests.postgres.servers import databases

    other = databases().create()
    try:
        with pytest.raises(StoreError, match="receipts_given in the backup is not run, for it calls nextval"):
            restore(folder / "copy.db", other)
        told = restore(folder / "copy.db", other, tables=ON_A_SERVER)
        assert dict(told.carried) == {"orders": 2, "receipts_given": 3}
        with connect(other) as server:
            assert server.execute("SELECT orders::text FROM orders ORDER BY id").fetchall() == before
            # Numbers go on where they were, those of deleted rows are not given again.
            assert server.execute("INSERT INTO orders DEFAULT VALUES RETURNING id").fetchone() == (4,)
            assert server.execute("INSERT INTO receipts_given DEFAULT VALUES RETURNING number").fetchone() == (4,)
    finally:
        databases().drop(other)


def test_numbers_that_a_file_gave_are_not_given_again_by_a_server(folder: Path, postgres_url: str) -> None:
    here = "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY AUTOINCREMENT, said TEXT)"
    there = "CREATE TABLE IF NOT EXISTS notes (id BIGSERIAL PRIMARY KEY, said TEXT)"
    with closing(sqlite3.connect(folder / "first.db")) as file:
        App(tables=[here]).sync_client(folder / "first.db").__enter__().close()
        file.executescript("INSERT INTO notes (said) VALUES ('a'), ('b'); DELETE FROM notes WHERE id = 2")
    backup(folder / "first.db", folder / "copy.db")
    with pytest.raises(StoreError, match=r"the server does not take the definition of notes \(.*AUTOINCREMENT.*--app"):
        restore(folder / "copy.db", postgres_url)
    migrate(postgres_url, tables=[there])  # Whose tables are there already, by its own definitions, needs no more.
    restore(folder / "copy.db", postgres_url)
    with connect(postgres_url) as server:
        assert server.execute("INSERT INTO notes (said) VALUES ('c') RETURNING id").fetchone() == (3,)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((1, b"bytes", None), "its name holds bytes, the column there is text"),
        ((1, 7, None), "its name holds a whole number"),
        ((1, "a\0b", None), "a row of authors cannot be kept there"),
        ((2**40, "a", 2**40), "out of range"),
        ((1, "a", "many"), "its of_note holds text, the column there is integer"),
    ],
)
def test_what_a_server_would_keep_as_something_else_is_refused(
    folder: Path, postgres_url: str, row: tuple[Any, ...], said: str
) -> None:
    free = "CREATE TABLE IF NOT EXISTS authors (id, name, of_note)"
    App(tables=[free]).sync_client(folder / "first.db").__enter__().close()
    put(str(folder / "first.db"), "authors", [row])
    backup(folder / "first.db", folder / "copy.db")
    with pytest.raises(StoreError, match=said):
        restore(folder / "copy.db", postgres_url, tables=[AUTHORS])
    with connect(postgres_url) as server:
        assert server.execute("SELECT to_regclass('authors')").fetchone() == (None,)


def test_a_table_that_has_rows_or_lacks_a_column_there_is_left_as_it_is(folder: Path, postgres_url: str) -> None:
    filled(str(folder / "first.db"))
    with closing(sqlite3.connect(folder / "first.db")) as file:
        file.execute("ALTER TABLE authors ADD COLUMN born INTEGER")
    backup(folder / "first.db", folder / "copy.db")
    with pytest.raises(StoreError, match="the definition of authors has no born: give --app"):
        restore(folder / "copy.db", postgres_url)
    migrate(postgres_url, tables=[AUTHORS.replace("of_note", "born INTEGER, of_note")])
    put(postgres_url, "authors", [(1, "a", None, None)])
    with pytest.raises(StoreError, match="authors has rows there, and they are not replaced"):
        restore(folder / "copy.db", postgres_url)
    with connect(postgres_url) as server:
        server.execute("DELETE FROM authors")
    restore(folder / "copy.db", postgres_url)


def test_rows_that_do_not_agree_are_never_put_in_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(str(folder / "first.db"))
    from ramet.store.backup import sqlite_file

    count, asked = sqlite_file.rows_by_table, list[int]()

    def miscount(connection: sqlite3.Connection) -> dict[str, int]:
        asked.append(1)
        return {name: rows + (len(asked) == 1 and name == "authors") for name, rows in count(connection).items()}

    monkeypatch.setattr(sqlite_file, "rows_by_table", miscount)
    with pytest.raises(StoreError, match="authors has 3 rows and its copy 2: nothing was put in place"):
        backup(folder / "first.db", folder / "copy.db")
    assert not (folder / "copy.db").exists()


def test_definitions_are_kept_by_whoever_opens_a_database_with_an_app(first: str) -> None:
    seen = "SELECT name, statement FROM ramet_own_tables ORDER BY position"
    newer = AUTHORS.replace("of_note INTEGER", "of_note BIGINT")

    async def look() -> None:
        app = App(tables=SHARED)
        async with app.client(first):
            pass
        async with app.client(first) as client:
            found = await client.store.read(seen)
        assert found == [("authors", AUTHORS), ("Books", BOOKS), ("books_by_title", BY_TITLE)]
        async with App(tables=[newer]).client(first) as client:
            assert (await client.store.read(seen))[0] == ("authors", newer)

    asyncio.run(look())


HARMLESS = (
    *SHARED,
    "CREATE TABLE IF NOT EXISTS a (b TEXT NOT NULL DEFAULT 'it''s', c NUMERIC(10, 2), d TIMESTAMP(3) WITH TIME ZONE "
    'DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (b), FOREIGN KEY (c) REFERENCES "x y" (id) ON DELETE CASCADE);',
    "CREATE TABLE IF NOT EXISTS a (b TEXT COLLATE \"C\" CHECK (b LIKE 'x%' AND b IN ('xa')) -- a comment; here\n)",
    "CREATE TABLE IF NOT EXISTS a (b INTEGER PRIMARY KEY) WITHOUT ROWID, STRICT",
    "CREATE INDEX IF NOT EXISTS i ON a (lower(b), c DESC)",
)
HARMFUL = (
    "CREATE TABLE IF NOT EXISTS a (b TEXT DEFAULT pg_read_file('/etc/passwd'))",
    "CREATE TABLE IF NOT EXISTS a (b TEXT CHECK (lo_import('/etc/passwd') > 0))",
    "CREATE TABLE IF NOT EXISTS a (b TEXT CHECK (\"lo_import\"('/etc/passwd') > 0))",
    "CREATE TABLE IF NOT EXISTS a (b TEXT CHECK (EXISTS lo_import('x')))",
    "CREATE TABLE IF NOT EXISTS a AS SELECT 1",
    "CREATE TABLE IF NOT EXISTS a (b) ; DROP TABLE ramet_tasks",
    "CREATE TABLE IF NOT EXISTS a (b TEXT DEFAULT E'\\'); DROP TABLE x; --')",
    "CREATE TABLE IF NOT EXISTS a (b TEXT DEFAULT $$x$$)",
    "CREATE TABLE IF NOT EXISTS a (b TEXT /* c */)",
    "CREATE TABLE IF NOT EXISTS a (b REGCLASS DEFAULT 'x'::regclass)",
    "CREATE TABLE IF NOT EXISTS ramet_mine (a TEXT)",
    "CREATE TABLE IF NOT EXISTS a (b BIGINT REFERENCES ramet_tasks (seq) ON DELETE CASCADE)",
    "CREATE TABLE IF NOT EXISTS a (LIKE other)",
    "CREATE TABLE IF NOT EXISTS a (b TEXT) INHERITS (other)",
    "CREATE TABLE IF NOT EXISTS a (b TEXT) TABLESPACE there",
    "CREATE TABLE IF NOT EXISTS a",
    "CREATE TABLE IF NOT EXISTS other.a (b TEXT)",
    "CREATE TABLE IF NOT EXISTS a (b TEXT))",
    "CREATE INDEX IF NOT EXISTS i ON a USING gist (b)",
    "CREATE INDEX IF NOT EXISTS i ON a (evil(b))",
    "CREATE INDEX IF NOT EXISTS i ON a (b) INCLUDE (c)",
)


@pytest.mark.parametrize("statement", HARMLESS)
def test_definitions_of_columns_and_keys_are_run(statement: str) -> None:
    [found] = definitions([statement])
    check_harmless(found)


@pytest.mark.parametrize("statement", HARMFUL)
def test_a_definition_from_a_backup_that_could_do_more_is_not_run(statement: str) -> None:
    [found] = definitions([statement])
    with pytest.raises(StoreError, match=r"in the backup is not run, for it .*: give --app"):
        check_harmless(found)


def test_a_backup_with_a_harmful_definition_does_nothing_to_a_server(folder: Path, postgres_url: str) -> None:
    App(tables=["CREATE TABLE IF NOT EXISTS a (b TEXT)"]).sync_client(folder / "first.db").__enter__().close()
    with closing(sqlite3.connect(folder / "first.db")) as file:
        file.execute("UPDATE ramet_own_tables SET statement = statement || '; CREATE TABLE seen (a TEXT)'")
        file.commit()
    backup(folder / "first.db", folder / "copy.db")
    with pytest.raises(StoreError, match="has several statements"):
        restore(folder / "copy.db", postgres_url)
    with connect(postgres_url) as server:
        assert server.execute("SELECT to_regclass('seen'), to_regclass('ramet_tasks')").fetchone() == (None, None)
