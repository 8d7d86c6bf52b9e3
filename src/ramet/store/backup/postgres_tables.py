"""PostgreSQL: rows of apps' own tables, from a snapshot to a backup and from a backup to an empty database."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import psycopg

from ramet.store.errors import StoreError
from ramet.store.postgres.errors import first_line
from ramet.store.postgres.session import PostgresSession
from ramet.store.rows.own_table_rows import (
    NATIVE,
    checker,
    columns_of_file,
    file_values,
    make_in_file,
    make_untyped,
    quoted,
    tables_to_carry,
)
from ramet.store.rows.own_tables import Definition, OwnTableChoice, check_harmless, declare, declared
from ramet.store.session import Row
from ramet.store.sqlite.session import SqliteSession

ROWS = 5_000
"""Read and written at a time: no table has to fit into memory."""

_OWN = (
    "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') "
    "AND NOT relispartition AND relname NOT LIKE 'ramet@_%' ESCAPE '@' ORDER BY relname"
)
_COLUMNS = (
    "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = to_regclass(?) "
    "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
)
# Of a serial or identity column, and of one whose default asks a sequence without an owner.
_SEQUENCES = (
    "SELECT s.oid::regclass::text, a.attname::text FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND "
    "s.relkind = 'S' JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid "
    "WHERE d.classid = 'pg_class'::regclass AND d.refobjid = to_regclass(?) AND d.deptype IN ('a', 'i') UNION "
    "SELECT s.oid::regclass::text, a.attname::text FROM pg_attrdef f JOIN pg_depend d ON d.objid = f.oid "
    "AND d.classid = 'pg_attrdef'::regclass JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S' "
    "JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum WHERE f.adrelid = to_regclass(?)"
)
_NEEDED = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:TYPE|DOMAIN|SEQUENCE|EXTENSION|FUNCTION)\b", re.IGNORECASE)
Tell = Callable[[int], None]
"""Called with how many rows were copied."""


class OwnTablesOfServer:
    """Plan for a server's tables that are not ours, decided before anything is written."""

    def __init__(self, session: PostgresSession, wanted: OwnTableChoice) -> None:
        """Look at what is there.

        Raises:
            StoreError: a table is declared by no app, or lies elsewhere, and is not to be left out.
        """
        self._session = session
        self._wanted = wanted
        self._known = wanted.known(declared(session))
        _need_this_schema(session, self._known, wanted)
        found = [name for (name,) in session.rows(_OWN)]
        self.carried, left = tables_to_carry(found, self._known, wanted)
        self.left = tuple(left)

    def count(self) -> dict[str, int]:
        """Rows of each table that is carried."""
        return {name: _count(self._session, name) for name in self.carried}

    def fill(self, copy: sqlite3.Connection, tell: Tell) -> None:
        """Make and fill the tables in a backup that has ours already."""
        declare(SqliteSession(copy, time.time), self._wanted.tables)
        copy.execute("UPDATE ramet_own_tables SET untyped = 0, next_number = NULL")
        for name in self.carried:
            columns = _columns(self._session, name)
            typed = make_in_file(copy, name, columns, self._known[name.lower()])
            try:
                self._fill_one(copy, name, columns, tell)
            except sqlite3.IntegrityError:  # The file sees a rule of the table otherwise than the server.
                typed = False
                make_untyped(copy, name, columns)
                self._fill_one(copy, name, columns, tell)
            copy.execute(
                "UPDATE ramet_own_tables SET untyped = ?, next_number = ? WHERE lower(name) = lower(?)",
                (not typed, _next_number(self._session, name), name),
            )
        self._make_indexes(copy)

    def _fill_one(self, copy: sqlite3.Connection, name: str, columns: Mapping[str, str], tell: Tell) -> None:
        listed = ", ".join(map(quoted, columns))
        insert = f"INSERT INTO {quoted(name)} ({listed}) VALUES ({', '.join('?' * len(columns))})"
        refused = None
        copy.execute("BEGIN")
        for rows in _read(self._session, name, columns):
            if refused is None:
                try:
                    copy.executemany(insert, file_values(rows))
                except sqlite3.IntegrityError as error:
                    refused = error  # Read to the end all the same: a COPY that is broken off ends the snapshot.
            tell(len(rows))
        if refused is not None:
            copy.execute("ROLLBACK")
            raise refused
        copy.execute("COMMIT")

    def _make_indexes(self, copy: sqlite3.Connection) -> None:
        """Those that a file has, too. One that is missing is made when its app opens the file."""
        for item in self._known.values():
            if item.is_table:
                continue
            try:
                if not item.trusted:
                    check_harmless(item)
                copy.execute(item.statement)
            except (StoreError, sqlite3.Error):
                continue


def _read(session: PostgresSession, name: str, columns: Mapping[str, str]) -> Iterator[list[Row]]:
    listed = ", ".join(quoted(name) if kind in NATIVE else f"{quoted(name)}::text" for name, kind in columns.items())
    sql = f"COPY (SELECT {listed} FROM {quoted(name)}) TO STDOUT (FORMAT BINARY)"
    return copied_out(session, sql, [kind if kind in NATIVE else "text" for kind in columns.values()])


def copied_out(session: PostgresSession, sql: str, types: Sequence[str]) -> Iterator[list[Row]]:
    """Yield the rows of a binary COPY in lists of at most ``ROWS``; ``types`` are those of its columns."""
    with session.connection.cursor().copy(sql.encode()) as copy:
        copy.set_types(types)
        rows = []
        for row in copy.rows():
            rows.append(row)
            if len(rows) == ROWS:
                yield rows
                rows = []
        if rows:
            yield rows


class OwnTablesOfFile:
    """Plan for a file's tables that a server is to take and that are not ours, decided before anything is written."""

    def __init__(
        self, source: sqlite3.Connection, session: PostgresSession, wanted: OwnTableChoice, *, new: bool
    ) -> None:
        """Look at what is in the file; ``new``: the server's database has no tables of ours yet.

        Raises:
            StoreError: a table is declared by no app, or by a definition that is not run, and is not to be left out.
        """
        self._source, self._session, self._wanted = source, session, wanted
        there = [] if new else declared(session)
        known = wanted.known(declared(SqliteSession(source, time.time)), there)
        names = source.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'ramet@_%' ESCAPE '@' "
            "AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
        ).fetchall()
        self.carried, left = tables_to_carry([name for (name,) in names], known, wanted)
        self.left = tuple(left)
        left_out = {name.lower() for name in (*left, *wanted.leave)}
        self._known = {name: item for name, item in known.items() if name not in left_out}
        self._declared = [*wanted.tables, *(item.statement for item in there)]
        _need_this_schema(session, self._known, wanted)
        for item in self._known.values():
            if not item.trusted:
                check_harmless(item)

    def count(self) -> dict[str, int]:
        """Rows of each table that is carried."""
        return {
            name: self._source.execute(f"SELECT COUNT(*) FROM {quoted(name)}").fetchone()[0] for name in self.carried
        }

    def fill(self, expected: Mapping[str, int], tell: Tell) -> tuple[tuple[str, int], ...]:
        """Make the tables where they are missing, and fill them; rows by table."""
        self._make_first()
        self._make([item for item in self._known.values() if item.is_table])
        carried = [(name, self._fill_one(name, expected[name], tell)) for name in self.carried]
        self._make([item for item in self._known.values() if not item.is_table])
        declare(self._session, self._declared)
        self._session.run("UPDATE ramet_own_tables SET untyped = 0, next_number = NULL")
        return tuple(carried)

    def _make_first(self) -> None:
        """Make what the tables of the given app may need: types, sequences, functions."""
        for statement in self._wanted.tables:
            if _NEEDED.match(statement):
                self._session.connection.execute(statement.encode())

    def _make(self, items: list[Definition]) -> None:
        self._session.connection.execute(b"SET LOCAL standard_conforming_strings = on")
        for item in items:
            try:
                self._session.connection.execute(item.statement.encode())
            except psycopg.Error as error:
                raise StoreError(
                    f"the server does not take the definition of {item.name} ({first_line(error)}): give --app "
                    f"MODULE:ATTRIBUTE with one for this server, or leave it out with --leave {item.name}"
                ) from error

    def _fill_one(self, name: str, expected: int, tell: Tell) -> int:
        table = self._server_name(name)
        there = _columns(self._session, table)
        names = {column.lower(): column for column in there}
        here = list(columns_of_file(self._source, name))
        unknown = [column for column in here if column.lower() not in names]
        if unknown:
            raise StoreError(
                f"the definition of {name} has no {', '.join(unknown)}: give --app MODULE:ATTRIBUTE with the one of "
                f"today, or leave the table out with --leave {name}"
            )
        if self._session.rows(f"SELECT 1 FROM {quoted(table)} LIMIT 1"):
            raise StoreError(
                f"{table} has rows there, and they are not replaced: give the address of an empty database"
            )
        columns = {names[column.lower()]: there[names[column.lower()]] for column in here}
        check, done = checker(name, columns), 0
        rows = self._source.execute(f"SELECT {', '.join(map(quoted, here))} FROM {quoted(name)}")
        sql = f"COPY {quoted(table)} ({', '.join(map(quoted, columns))}) FROM STDIN"
        try:
            with self._session.connection.cursor().copy(sql.encode()) as copy:
                while found := rows.fetchmany(ROWS):
                    for row in found:
                        check(row)
                        copy.write_row(row)
                    tell(len(found))
            done = _count(self._session, table)
        except psycopg.Error as error:
            raise StoreError(f"a row of {name} cannot be kept there: {first_line(error)}") from error
        if done != expected:
            raise StoreError(f"{name} has {expected} rows and its copy {done}: nothing was restored; try again")
        self._advance_sequences(name, table)
        return done

    def _server_name(self, name: str) -> str:
        found = [there for (there,) in self._session.rows(_OWN) if there.lower() == name.lower()]
        if len(found) != 1:
            raise StoreError(
                f"{name} is not among the tables that its definition makes: leave it out with --leave {name}"
            )
        return str(found[0])

    def _advance_sequences(self, name: str, table: str) -> None:
        """Advance the sequences to where they were, and never below a row that is there."""
        number = self._known[name.lower()].next_number or _autoincrement(self._source, name) or 1
        for sequence, column in self._session.rows(_SEQUENCES, (quoted(table), quoted(table))):
            self._session.rows(
                f"SELECT setval(?::regclass, GREATEST(?, (SELECT COALESCE(MAX({quoted(column)}), 0) + 1 "
                f"FROM {quoted(table)})), false)",
                (sequence, number),
            )


def _autoincrement(source: sqlite3.Connection, name: str) -> int | None:
    if not source.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").fetchone():
        return None
    found = source.execute("SELECT seq + 1 FROM sqlite_sequence WHERE name = ?", (name,)).fetchone()
    return None if found is None else int(found[0])


def _need_this_schema(session: PostgresSession, known: Mapping[str, Definition], wanted: OwnTableChoice) -> None:
    """Refuse a table in another schema, of which a file knows nothing."""
    for name in known:
        if (
            "." in name
            and name not in wanted.leave
            and session.rows("SELECT 1 WHERE to_regclass(?) IS NOT NULL", (name,))
        ):
            raise StoreError(f"{name} is in another schema, which is not carried: leave it out with --leave {name}")


def _columns(session: PostgresSession, table: str) -> dict[str, str]:
    return dict(session.rows(_COLUMNS, (quoted(table),)))


def _count(session: PostgresSession, table: str) -> int:
    [(rows,)] = session.rows(f"SELECT COUNT(*) FROM {quoted(table)}")
    return int(rows)


def _next_number(session: PostgresSession, table: str) -> int | None:
    numbers = [
        session.rows(f"SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END FROM {sequence}")[0][0]
        for sequence, _ in session.rows(_SEQUENCES, (quoted(table), quoted(table)))
    ]
    return max(numbers, default=None)
