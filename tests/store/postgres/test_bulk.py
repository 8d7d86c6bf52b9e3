"""Many rows of one statement leave what they leave one by one, in whatever way they are written together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from ramet.store.postgres import bulk
from ramet.store.postgres.session import PostgresSession, connect
from ramet.store.session import StatementFailed

TEXTS = ("plain", "", "\x1f", "a\x1fb", 'a "quoted" one', "a \\ and {braces}, NULL", "\t\n\r", "ä")
COLUMNS = ("id", "text", "number", "flag")


@pytest.fixture
def session(postgres_url: str) -> Iterator[PostgresSession]:
    with closing(PostgresSession(connect(postgres_url), None)) as session:
        session.run("CREATE TEMPORARY TABLE kept (id bigint, text text, number float8, flag boolean)")
        yield session


def rows_of(texts: tuple[Any, ...], count: int) -> list[tuple[Any, ...]]:
    return [(at, texts[at % len(texts)], at / 4, at % 2 == 0) for at in range(count)]


def kept(session: PostgresSession) -> list[tuple[Any, ...]]:
    return session.rows("SELECT id, text, number, flag FROM kept ORDER BY id")


@pytest.mark.parametrize("count", [1, 2, len(TEXTS), 80])
@pytest.mark.parametrize("texts", [TEXTS, (*TEXTS, None), ("plain", "other"), (None,)])
def test_rows_that_are_inserted_together_are_kept_as_they_are(
    session: PostgresSession, texts: tuple[Any, ...], count: int
) -> None:
    rows = rows_of(texts, count)
    assert session.insert("kept", COLUMNS, rows) == count
    assert kept(session) == rows


@pytest.mark.parametrize("count", [1, 2, len(TEXTS), 80])
@pytest.mark.parametrize("texts", [TEXTS, (*TEXTS, None), ("plain", "other"), ("same",), (None,)])
def test_rows_are_inserted_into_several_tables_as_they_are(
    session: PostgresSession, texts: tuple[Any, ...], count: int
) -> None:
    session.run("CREATE TEMPORARY TABLE others (id int, other float8, text text)")
    rows = [(at, text, number, None, None) for at, text, number, _ in rows_of(texts, count)]
    names = ("id", "text", "number", "nothing", "other")
    tables = (("kept", ("id", "text", "number")), ("others", ("text", "other", "id")))
    session.insert_columns(tables, dict(zip(names, zip(*rows, strict=True), strict=True)))
    assert [row[:3] for row in kept(session)] == [row[:3] for row in rows]
    assert session.rows("SELECT id, text, other FROM others ORDER BY id") == [(row[0], row[1], None) for row in rows]


def test_rows_of_several_tables_are_inserted_in_all_or_in_none(session: PostgresSession) -> None:
    session.run("CREATE TEMPORARY TABLE others (id bigint PRIMARY KEY)")
    session.begin("beside")
    with pytest.raises(StatementFailed, match="duplicate key"), session.savepoint():
        session.insert_columns((("others", ("id",)), ("kept", ("id",))), {"id": [1, 2, 1]})
    assert kept(session) == session.rows("SELECT id FROM others") == []
    session.rollback()


@pytest.mark.parametrize("most", [1, 100, 3_000])
def test_rows_that_are_too_long_for_one_parameter_are_inserted_in_parts(
    session: PostgresSession, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(bulk, "CHARACTERS_MAX", most)
    rows = [(at, f"{at} {'x' * 500}", at / 4) for at in range(21)]
    assert session.insert("kept", COLUMNS[:3], rows) == len(rows)
    assert [row[:3] for row in kept(session)] == rows
    session.run("DELETE FROM kept")
    session.insert_columns((("kept", COLUMNS[:3]),), dict(zip(COLUMNS, zip(*rows, strict=True), strict=False)))
    assert [row[:3] for row in kept(session)] == rows


@pytest.mark.parametrize("texts", [TEXTS, (*TEXTS, None), ("plain", "other"), (None,)])
def test_rows_that_are_changed_together_are_kept_as_they_are(session: PostgresSession, texts: tuple[Any, ...]) -> None:
    rows = rows_of(texts, 20)
    session.insert("kept", COLUMNS, [(number, "before", 0.0, None) for number, *_ in rows])
    for name, at in (("text", 1), ("number", 2), ("flag", 3)):
        assert session.update("kept", (name,), ("id",), [(row[at], row[0]) for row in rows]) == 20
    assert kept(session) == rows


def test_a_row_that_several_meet_is_changed_by_each_of_them(session: PostgresSession) -> None:
    session.insert("kept", COLUMNS, rows_of(TEXTS, 4))
    session.run("UPDATE kept SET number = 0")
    assert session.update("kept", ("number = number + ?",), ("id",), [(1.0, 1), (10.0, 2), (100.0, 1)]) == 3
    assert [number for _, _, number, _ in kept(session)] == [0.0, 101.0, 10.0, 0.0]
    assert session.update("kept", ("number = number * ?",), ("number >= ?",), [(2.0, 0.0), (3.0, 10.0)]) == 6
    assert [number for _, _, number, _ in kept(session)] == [0.0, 606.0, 60.0, 0.0]
    assert session.delete("kept", ("id",), [(0,), (0,), (1,)]) == 2
    assert [row[0] for row in kept(session)] == [2, 3]


def test_statements_that_are_run_for_each_row_follow_each_other(session: PostgresSession) -> None:
    session.insert("kept", COLUMNS, rows_of(TEXTS, 4))
    session.run("UPDATE kept SET number = 0")
    session.run_many("UPDATE kept SET number = number + ? WHERE id = ? OR id = ?", [(1.0, 1, 2), (10.0, 2, 1)])
    assert [number for _, _, number, _ in kept(session)] == [0.0, 11.0, 11.0, 0.0]


@pytest.mark.parametrize("count", [1, 3])
def test_a_taken_key_is_changed_or_left_alone(session: PostgresSession, count: int) -> None:
    session.run("CREATE UNIQUE INDEX ON kept (id)")
    rows = rows_of(TEXTS, count)
    session.insert("kept", COLUMNS, rows)
    again = [(number, "again", 1.0, None) for number, *_ in rows]
    assert session.insert("kept", COLUMNS, again, key=("id",)) == 0
    assert kept(session) == rows
    changes = ("text", "number = kept.number + excluded.number")
    assert session.insert("kept", COLUMNS, again, key=("id",), changes=changes, where="kept.id > 0") == count - 1
    assert kept(session) == rows[:1] + [(at, "again", number + 1.0, flag) for at, _, number, flag in rows[1:]]
