"""Domain tables: every write can be repeated, and none takes back what is settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from ramet.wiki import tables
from ramet.wiki.tables import WikiState

Row = tuple[object, ...]


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for _ in range(2):
            for statement in tables.DEFINITIONS:
                connection.execute(statement)
        yield connection


def write(database: sqlite3.Connection, statement: str, *parameters: object) -> None:
    """Run it twice, as a crash between commit and acknowledgement would."""
    for _ in range(2):
        database.execute(statement, parameters)


def article(database: sqlite3.Connection, *columns: str, key: str = "Tarn") -> Row:
    query = f"SELECT {', '.join(columns)} FROM wiki_articles WHERE run_id = 'R' AND title_key = ?"
    (row,) = database.execute(query, (key,)).fetchall()
    assert isinstance(row, tuple)
    return row


def discover(database: sqlite3.Connection, depth: int, source: str | None, *, found_in: str = "R") -> None:
    write(database, tables.DISCOVER, "R", "Tarn", "Tarn", depth, source, found_in)


def find(database: sqlite3.Connection, depth: int, alias: str) -> None:
    write(database, tables.FIND, "R", "Tarn", "Tarn", depth, alias, "R")


def load(database: sqlite3.Connection, at: float, revision: str = "1") -> None:
    write(database, tables.LOAD, "Tarn", revision, 3, at, "R", "Tarn")


def process(database: sqlite3.Connection, at: float) -> None:
    write(database, tables.PROCESS, at, "R", "R", "Tarn")


def test_the_life_of_an_article(database: sqlite3.Connection) -> None:
    discover(database, 2, "Oil")
    assert article(database, "wiki_state", "expansion_depth") == (WikiState.DISCOVERED, 2)
    write(database, tables.CLAIM, "R", "Tarn")
    assert article(database, "wiki_state") == (WikiState.CLAIMED,)
    load(database, 10.5)
    assert article(database, "wiki_state", "links_count", "loaded_at") == (WikiState.LOADED, 3, 10.5)
    process(database, 11.5)
    process(database, 12.5)
    assert article(database, "wiki_state", "processed_at", "discovered_from") == ("processed", 11.5, "Oil")


def test_an_article_is_as_deep_as_its_nearest_discovery(database: sqlite3.Connection) -> None:
    for depth, source in ((3, "Oil"), (2, "Lamp"), (2, "Brae"), (5, "Far")):
        discover(database, depth, source)
    assert article(database, "expansion_depth", "discovered_from") == (2, "Lamp")


@pytest.mark.parametrize("first", ["link", "redirects"])
def test_who_found_an_article_is_the_same_in_whatever_order_its_finders_come(
    database: sqlite3.Connection, first: str
) -> None:
    if first == "link":
        discover(database, 2, "Oil")
    for alias in ("Village", "Hamlet"):
        find(database, 2, alias)
    if first == "redirects":
        assert article(database, "discovered_from", "own_task") == ("Hamlet", 0)
        discover(database, 2, "Oil")
    assert article(database, "discovered_from", "own_task", "expansion_depth") == ("Oil", 1, 2)


def test_loading_again_keeps_what_is_processed(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    load(database, 10.0)
    process(database, 11.0)
    load(database, 20.0, revision="2")
    assert article(database, "wiki_state", "loaded_at", "revision") == ("processed", 10.0, "2")


def test_an_article_is_not_processed_before_it_is_loaded(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    process(database, 11.0)
    assert article(database, "wiki_state") == (WikiState.DISCOVERED,)


def test_a_failure_is_kept_until_the_article_loads(database: sqlite3.Connection) -> None:
    discover(database, 1, "Oil")
    for reason in ("time-out", "not_found"):
        write(database, tables.FAIL, reason, "R", "Tarn")
    assert article(database, "wiki_state", "error", "discovered_from") == ("failed", "not_found", "Oil")
    load(database, 10.0)
    assert article(database, "wiki_state", "error") == (WikiState.LOADED, None)
    write(database, tables.FAIL, "late", "R", "Tarn")
    assert article(database, "wiki_state", "error") == (WikiState.LOADED, None)


def test_what_vanished_from_its_source_fails_although_it_was_loaded(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    load(database, 10.0)
    process(database, 11.0)
    write(database, tables.VANISH, "not_found: gone", "R", "Tarn")
    assert article(database, "wiki_state", "error") == ("failed", "not_found: gone")
    assert database.execute(tables.VANISHED, ("R",)).fetchall() == [("Tarn", "failed")]
    write(database, tables.DRAW, "R.2", "R", "Tarn")
    assert database.execute(tables.VANISHED, ("R",)).fetchall() == []


def test_what_a_person_took_out_stays_out(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    write(database, tables.EXCLUDE, "excluded", "pass", "R", "Tarn")
    for statement in (tables.CLAIM, tables.FAIL):
        database.execute(statement, ("late", "R", "Tarn")[-statement.count("?") :])
    write(database, tables.ALIAS, "Brae", "R", "Tarn")
    assert article(database, "wiki_state") == (WikiState.EXCLUDED,)
    write(database, tables.REDISCOVER, "R", "Tarn")
    assert article(database, "wiki_state", "error") == (WikiState.DISCOVERED, None)


def test_a_redirect_is_told_to_the_graph_once(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    write(database, tables.ALIAS, "Brae", "R", "Tarn")
    assert database.execute(tables.NEW_ALIASES, ("R",)).fetchall() == [("Tarn", "Tarn", "Brae")]
    process(database, 2.0)
    assert article(database, "wiki_state", "alias_of") == (WikiState.ALIAS, "Brae")
    assert database.execute(tables.NEW_ALIASES, ("R",)).fetchall() == []


def test_links_are_offered_once_a_pass_and_not_above_their_level(database: sqlite3.Connection) -> None:
    def waiting(level: int, tracking_id: str) -> int:
        return len(database.execute(tables.TO_OFFER, ("R", level, tracking_id)).fetchall())

    discover(database, 2, None)
    assert waiting(2, "R") == 0
    load(database, 1.0)
    assert (waiting(1, "R"), waiting(2, "R"), waiting(3, "R")) == (0, 1, 1)
    write(database, tables.OFFER, "R", "R", "Tarn")
    process(database, 2.0)
    assert (waiting(2, "R"), waiting(2, "R.2")) == (0, 1)


def test_the_rate_counts_what_was_loaded_since(database: sqlite3.Connection) -> None:
    for key, at in (("Tarn", 10.0), ("Brae", 20.0), ("Oil", 30.0)):
        write(database, tables.DISCOVER, "R", key, key, 0, None, "R")
        write(database, tables.LOAD, key, "1", 0, at, "R", key)
    assert database.execute(tables.LOADED_SINCE, ("R", 15.0)).fetchall() == [(2, 20.0, 30.0)]


def test_runs_do_not_see_each_other(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    write(database, tables.DISCOVER, "S", "Tarn", "Tarn", 0, None, "S")
    assert article(database, "expansion_depth") == (1,)
    assert database.execute(tables.DISTRIBUTION, ("S",)).fetchall() == [(0, "discovered", 1)]
    assert [row[:4] for row in database.execute(tables.ARTICLES, ("S",))] == [("Tarn", "Tarn", 0, "discovered")]


def test_the_states_are_those_of_the_state_machine_and_two_for_titles_that_are_no_articles() -> None:
    assert list(WikiState)[:5] == ["discovered", "claimed", "loaded", "processed", "failed"]
    assert list(WikiState)[5:] == ["alias", "excluded"]
