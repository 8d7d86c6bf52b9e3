"""Recorded links: what an article links to is a row, and runs of earlier releases go on with a row a link."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.wiki import tables
from ramet.wiki.recorded_links import (
    SOURCES_PER_READ,
    RecordedLink,
    frontier,
    linking_to,
    links_of,
    pack_targets,
    unpack_targets,
)

TITLES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


class Database:
    """The tables, read as a handler reads them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        for statement in tables.DEFINITIONS:
            connection.execute(statement)

    async def read(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        return self.connection.execute(sql, parameters).fetchall()

    def article(self, key: str, depth: int = 0, *, loaded: bool = True, alias_of: str | None = None) -> None:
        self.connection.execute(tables.DISCOVER, ("R", key, key, depth, None, "R"))
        if loaded:
            self.connection.execute(tables.LOAD, (key, "1", 0, 1.0, "R", key))
        if alias_of is not None:
            self.connection.execute(tables.ALIAS, (alias_of, "R", key))

    def record(self, source: str, *targets: str) -> None:
        for _ in range(2):  # As after a crash between commit and answer.
            packed = pack_targets((target.upper(), target) for target in targets)
            self.connection.execute(tables.PUT_LINKS, ("R", source, packed))

    def record_as_before(self, source: str, *targets: str) -> None:
        rows = [("R", source, place, target.upper(), target) for place, target in enumerate(targets)]
        self.connection.executemany("INSERT INTO wiki_links VALUES (?, ?, ?, ?, ?)", rows)

    def links(self, *sources: str) -> list[RecordedLink]:
        return sorted(asyncio.run(links_of(self.read, "R", sources)))

    def frontier(self, depth: int) -> set[str]:
        async def collect() -> set[str]:
            return {key async for some in frontier(self.read, "R", depth) for key in some}

        return asyncio.run(collect())


@pytest.fixture
def database() -> Iterator[Database]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield Database(connection)


@given(st.lists(st.tuples(TITLES, TITLES)), st.lists(TITLES))
def test_targets_are_unpacked_as_they_were_packed(pairs: list[tuple[str, str]], plain: list[str]) -> None:
    targets = [*pairs, *((one, one) for one in plain)]
    assert unpack_targets(pack_targets(targets)) == targets


def test_an_article_that_is_loaded_again_links_to_what_it_links_to_now(database: Database) -> None:
    database.record("A", "Lamp", "OIL", "Brae")
    database.record("A", "Ollo", "OIL")
    assert database.links("A", "B") == [("A", 0, "OLLO", "Ollo"), ("A", 1, "OIL", "OIL")]
    for statement in tables.FORGET_LINKS:
        database.connection.execute(statement, ("R", "A"))
    assert database.links("A") == []


def test_links_of_an_earlier_release_count_until_the_article_is_loaded_again(database: Database) -> None:
    database.record_as_before("A", "Lamp", "OIL")
    database.record("B", "Brae")
    assert database.links("A", "B") == [("A", 0, "LAMP", "Lamp"), ("A", 1, "OIL", "OIL"), ("B", 0, "BRAE", "Brae")]
    database.record("A")
    assert database.links("A") == []
    for statement in tables.FORGET_LINKS:
        database.connection.execute(statement, ("R", "A"))
    assert database.links("A") == [], "the rows of before do not come back"


def test_articles_are_read_in_parts(database: Database) -> None:
    sources = [f"A{number}" for number in range(2 * SOURCES_PER_READ + 1)]
    for source in sources:
        database.record(source, "Lamp")
    assert [link.source_key for link in database.links(*sources)] == sorted(sources)


def test_the_frontier_is_what_is_linked_and_not_seen(database: Database) -> None:
    for key, depth in (("A", 1), ("B", 2)):
        database.article(key, depth)
    database.article("C", 1, loaded=False)
    database.record("A", "a", "Lamp")
    database.record_as_before("B", "Oil")
    database.record("C", "Brae")
    assert [database.frontier(depth) for depth in (1, 2, 3)] == [set(), {"LAMP"}, {"LAMP", "OIL"}]
    database.article("LAMP", 2, loaded=False)
    assert database.frontier(2) == set()


def test_articles_that_link_to_a_title(database: Database) -> None:
    for key in "DAB":
        database.article(key)
        database.record(key, "Lamp" if key != "B" else "Oil", "Brae")
    database.article("C", loaded=False)
    database.record("C", "Lamp")
    found = {title: asyncio.run(linking_to(database.read, "R", [title])) for title in ("LAMP", "OIL", "NONE")}
    assert found == {"LAMP": ["A", "D"], "OIL": ["B"], "NONE": []}
