"""Domain tables: every write can be repeated, and none takes back what is settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from ramet.pipelines.wiki import tables
from ramet.pipelines.wiki.tables import WikiState

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


def article(database: sqlite3.Connection, *columns: str) -> Row:
    query = f"SELECT {', '.join(columns)} FROM wiki_articles WHERE tracking_id = 'L' AND title_key = 'Tarn'"
    (row,) = database.execute(query).fetchall()
    assert isinstance(row, tuple)
    return row


def discover(database: sqlite3.Connection, depth: int, source: str | None) -> None:
    write(database, tables.DISCOVER, "L", "Tarn", "Tarn", depth, source)


def load(database: sqlite3.Connection, at: float) -> None:
    write(database, tables.LOAD, "L", "Tarn", "Tarn", 2, 3, at)


def test_the_life_of_an_article(database: sqlite3.Connection) -> None:
    discover(database, 2, "Oil")
    assert article(database, "wiki_state", "expansion_depth") == (WikiState.DISCOVERED, 2)
    load(database, 10.5)
    assert article(database, "wiki_state", "links_count", "loaded_at") == (WikiState.LOADED, 3, 10.5)
    write(database, tables.PROCESS, 11.5, "L", "Tarn")
    write(database, tables.PROCESS, 12.5, "L", "Tarn")
    assert article(database, "wiki_state", "processed_at", "discovered_from") == ("processed", 11.5, "Oil")


def test_an_article_is_as_deep_as_its_nearest_discovery(database: sqlite3.Connection) -> None:
    for depth, source in ((3, "Oil"), (2, "Lamp"), (2, "Brae"), (5, "Far")):
        discover(database, depth, source)
    assert article(database, "expansion_depth", "discovered_from") == (2, "Lamp")


def test_loading_again_keeps_what_is_processed(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    load(database, 10.0)
    write(database, tables.PROCESS, 11.0, "L", "Tarn")
    load(database, 20.0)
    assert article(database, "wiki_state", "loaded_at", "expansion_depth") == ("processed", 10.0, 1)


def test_an_article_is_not_processed_before_it_is_loaded(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    write(database, tables.PROCESS, 11.0, "L", "Tarn")
    assert article(database, "wiki_state") == (WikiState.DISCOVERED,)


def test_a_failure_is_kept_until_the_article_loads(database: sqlite3.Connection) -> None:
    discover(database, 1, "Oil")
    for reason in ("time-out", "not_found"):
        write(database, tables.FAIL, "L", "Tarn", "Tarn", 1, reason)
    assert article(database, "wiki_state", "error", "discovered_from") == ("failed", "not_found", "Oil")
    load(database, 10.0)
    assert article(database, "wiki_state", "error") == (WikiState.LOADED, None)
    write(database, tables.FAIL, "L", "Tarn", "Tarn", 1, "late")
    assert article(database, "wiki_state", "error") == (WikiState.LOADED, None)


def test_an_article_that_was_never_announced_can_fail(database: sqlite3.Connection) -> None:
    write(database, tables.FAIL, "L", "Tarn", "Tarn", 1, "not_found")
    assert article(database, "wiki_state", "expansion_depth") == (WikiState.FAILED, 1)


def test_links_are_recorded_by_place_and_the_rest_forgotten(database: sqlite3.Connection) -> None:
    load(database, 1.0)
    for position, target in enumerate(["Lamp", "Oil", "Brae"]):
        write(database, tables.RECORD_LINK, "L", "Tarn", position, target, target)
    write(database, tables.RECORD_LINK, "L", "Tarn", 0, "Ollo", "Ollo")
    write(database, tables.FORGET_LINKS, "L", "Tarn", 2)
    found = database.execute(tables.WAITING_LINKS, ("L", 2)).fetchall()
    assert sorted(found) == [(2, "Tarn", 0, "Ollo", "Ollo"), (2, "Tarn", 1, "Oil", "Oil")]


def test_articles_offer_their_links_from_loaded_to_processed_and_not_above_their_level(
    database: sqlite3.Connection,
) -> None:
    def waiting(level: int) -> tuple[int, int]:
        both = (tables.WAITING, tables.WAITING_LINKS)
        articles, links = (len(database.execute(query, ("L", level)).fetchall()) for query in both)
        return articles, links

    write(database, tables.RECORD_LINK, "L", "Tarn", 0, "Lamp", "Lamp")
    discover(database, 2, None)
    assert waiting(2) == (0, 0)
    load(database, 1.0)
    assert (waiting(1), waiting(2), waiting(3)) == ((0, 0), (1, 1), (1, 1))
    write(database, tables.PROCESS, 2.0, "L", "Tarn")
    assert waiting(2) == (0, 0)


def test_links_can_be_asked_for_from_both_ends(database: sqlite3.Connection) -> None:
    for source, position, target in (("Tarn", 0, "Lamp"), ("Tarn", 1, "Oil"), ("Brae", 0, "Lamp")):
        write(database, tables.RECORD_LINK, "L", source, position, target, target)
    assert sorted(database.execute(tables.LINKS_FROM, ("L", "Tarn")).fetchall()) == [("Lamp",), ("Oil",)]
    assert database.execute(tables.LINKS_TO, ("L", "Lamp", 9)).fetchall() == [("Brae",), ("Tarn",)]
    assert database.execute(tables.LINKS_TO, ("L", "Lamp", 1)).fetchall() == [("Brae",)]


def test_the_rate_counts_what_was_loaded_since(database: sqlite3.Connection) -> None:
    for key, at in (("Tarn", 10.0), ("Brae", 20.0), ("Oil", 30.0)):
        write(database, tables.LOAD, "L", key, key, 0, 0, at)
    assert database.execute(tables.LOADED_SINCE, ("L", 15.0)).fetchall() == [(2, 20.0, 30.0)]


def test_lineages_do_not_see_each_other(database: sqlite3.Connection) -> None:
    discover(database, 1, None)
    write(database, tables.DISCOVER, "M", "Tarn", "Tarn", 0, None)
    assert article(database, "expansion_depth") == (1,)
    assert database.execute(tables.DISTRIBUTION, ("M",)).fetchall() == [(0, "discovered", 1)]
    assert database.execute(tables.ARTICLES, ("M",)).fetchall() == [("Tarn", "Tarn", 0, "discovered", None, None)]


def test_the_states_are_those_of_the_state_machine() -> None:
    assert list(WikiState) == ["discovered", "claimed", "loaded", "processed", "failed"]
