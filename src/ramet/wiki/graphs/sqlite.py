"""The graph in SQLite: one file, and no package beyond the standard library.

It is slower at long walks than a graph database and quicker at everything small. The file is in the write-ahead
mode: readers go on beside the writer, each with the snapshot of its opening.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.base import DEPTH_UNKNOWN, ArticleRank, EmbeddedArticle, GraphAlias, GraphLink
from ramet.wiki.graphs.graph_file import check_model, check_schema, foreign_file, lock_alone, new_info, no_graph
from ramet.wiki.graphs.passage_index import definitions
from ramet.wiki.graphs.sqlite_reader import SqliteReading, columns_of
from ramet.wiki.graphs.traversal import nearer, resolved
from ramet.wiki.sqlite_file import SqliteFile

LINKS_PER_TRANSACTION = 2_000

CACHE_BYTES = 16 * 1024 * 1024
"""Memory for the writer's pages, in bytes; the system keeps the rest of the file."""

_SCHEMA = (
    "CREATE TABLE graph_info(name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE articles(
        id INTEGER PRIMARY KEY, title_key TEXT NOT NULL UNIQUE, title TEXT NOT NULL, expansion_depth INTEGER NOT NULL,
        description TEXT NOT NULL DEFAULT '', loaded INTEGER NOT NULL DEFAULT 0, revision TEXT NOT NULL DEFAULT '',
        url TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE sections(
        id INTEGER PRIMARY KEY, article INTEGER NOT NULL REFERENCES articles(id) ON DELETE CASCADE,
        position INTEGER NOT NULL, heading TEXT NOT NULL, level INTEGER NOT NULL, path TEXT NOT NULL,
        text TEXT NOT NULL, UNIQUE(article, position))""",
    "CREATE TABLE categories(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE memberships(
        article INTEGER NOT NULL REFERENCES articles(id) ON DELETE CASCADE,
        category INTEGER NOT NULL REFERENCES categories(id) ON DELETE CASCADE,
        PRIMARY KEY(article, category)) WITHOUT ROWID""",
    "CREATE INDEX memberships_by_category ON memberships(category)",
    """CREATE TABLE links(
        source INTEGER NOT NULL REFERENCES articles(id) ON DELETE CASCADE,
        target INTEGER NOT NULL REFERENCES articles(id) ON DELETE CASCADE,
        PRIMARY KEY(source, target)) WITHOUT ROWID""",
    "CREATE INDEX links_by_target ON links(target)",
    """CREATE TABLE aliases(
        alias_key TEXT PRIMARY KEY, title TEXT NOT NULL,
        article INTEGER NOT NULL REFERENCES articles(id) ON DELETE CASCADE)""",
    "CREATE INDEX aliases_by_article ON aliases(article)",
)
_ADD_FACTS = (
    "ALTER TABLE articles ADD COLUMN infobox TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE articles ADD COLUMN latitude REAL",
    "ALTER TABLE articles ADD COLUMN longitude REAL",
    "ALTER TABLE articles ADD COLUMN wikidata TEXT NOT NULL DEFAULT ''",
)
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_INFO = "SELECT name, value FROM graph_info"
_CREATE_INFO = "INSERT INTO graph_info(name, value) VALUES (?, ?)"

_MERGE_ARTICLES = """
    INSERT INTO articles(title_key, title, expansion_depth, description, loaded, revision, url,
        infobox, latitude, longitude, wikidata)
    VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(title_key) DO UPDATE SET title = excluded.title, description = excluded.description, loaded = 1,
        revision = excluded.revision, url = excluded.url, infobox = excluded.infobox, latitude = excluded.latitude,
        longitude = excluded.longitude, wikidata = excluded.wikidata, expansion_depth = CASE
            WHEN expansion_depth < 0 THEN excluded.expansion_depth
            ELSE min(expansion_depth, excluded.expansion_depth) END"""
_NUMBERS = "SELECT title_key, articles.id, loaded, expansion_depth FROM json_each(?) JOIN articles ON title_key = value"
_ADD_STUB = """
    INSERT INTO articles(title_key, title, expansion_depth) VALUES (?, ?, ?)
    ON CONFLICT(title_key) DO UPDATE SET expansion_depth = excluded.expansion_depth
    WHERE NOT loaded AND excluded.expansion_depth >= 0
        AND (expansion_depth < 0 OR excluded.expansion_depth < expansion_depth)"""
_FORGET_ARTICLE = """
    UPDATE articles SET loaded = 0, description = '', revision = '', url = '', infobox = '', latitude = NULL,
        longitude = NULL, wikidata = '' WHERE id = ?"""
_DELETE_ARTICLE = "DELETE FROM articles WHERE id = ?"
_DELETE_UNLINKED = """
    DELETE FROM articles WHERE id = ? AND NOT loaded AND NOT EXISTS (SELECT 1 FROM links WHERE target = articles.id)"""

_DELETE_SECTIONS = "DELETE FROM sections WHERE article = ?"
_CREATE_SECTION = "INSERT INTO sections(article, position, heading, level, path, text) VALUES (?, ?, ?, ?, ?, ?)"

_LEAVE_CATEGORIES = "DELETE FROM memberships WHERE article = ? RETURNING category"
_ADD_CATEGORY = "INSERT INTO categories(name) VALUES (?) ON CONFLICT DO NOTHING"
_ADD_MEMBERSHIP = """
    INSERT INTO memberships(article, category) SELECT ?, id FROM categories WHERE name = ?"""
_DELETE_EMPTY = """
    DELETE FROM categories WHERE id = ? AND NOT EXISTS (SELECT 1 FROM memberships WHERE category = categories.id)"""

_DRAW = """
    INSERT INTO links(source, target)
    SELECT source.id, target.id FROM articles source, articles target
    WHERE source.title_key = ? AND target.title_key = ? ON CONFLICT DO NOTHING"""
_DELETE_LINKS = "DELETE FROM links WHERE source = ? RETURNING target"

_ALIAS_LEADS_TO = """
    SELECT alias_key, title_key FROM json_each(?) JOIN aliases ON alias_key = value
    JOIN articles ON articles.id = article"""
_DELETE_ALIAS = "DELETE FROM aliases WHERE alias_key = ?"
_NOTE_ALIAS = """
    INSERT INTO aliases(alias_key, title, article) SELECT ?, ?, id FROM articles WHERE title_key = ?"""
_ADD_RANKS = ("ALTER TABLE articles ADD COLUMN pagerank REAL", "ALTER TABLE articles ADD COLUMN community INTEGER")
_SET_RANK = "UPDATE articles SET pagerank = ?, community = ? WHERE title_key = ?"
_LEAD_ALIASES_ON = "UPDATE aliases SET article = ? WHERE article = ?"
_LEAD_LINKS_ON = "UPDATE OR IGNORE links SET target = ? WHERE target = ? AND source <> ?"


class SqliteGraph(SqliteReading):
    """A `GraphStore` in a SQLite file, from `open_writer` or `open_reader`; a context manager."""

    def __init__(self, file: SqliteFile, info: Mapping[str, str], lock: int | None = None) -> None:
        """Wrap an open file whose graph_info is `info`; a writer brings its `lock`, to be freed at the end."""
        super().__init__(file, info)
        self._lock = lock

    @classmethod
    def open_writer(cls, path: Path, *, model_id: str, dimension: int, language: str = "") -> SqliteGraph:
        """Open the graph at `path` as its only writer, making it if it is not there.

        Raises:
            GraphBusy: another writer holds it.
            GraphMismatch: its vectors come from another model, or its schema from another version.
            GraphError: the file cannot be opened or is not such a graph.
        """
        lock = lock_alone(path, "writer")
        try:
            file = SqliteFile(path, failure=GraphError)
            try:
                info = _prepare(file, new_info(model_id=model_id, dimension=dimension, language=language))
                check_model(path, info, model_id=model_id, dimension=dimension)
                return cls(file, info, lock)
            except BaseException:
                file.close()
                raise
        except BaseException:
            os.close(lock)
            raise

    @classmethod
    def open_reader(cls, path: Path) -> SqliteGraph:
        """Open a snapshot of the graph at `path`, beside a writer or without one; close it soon.

        While a reader is open the writer's log grows, as it cannot be folded into the file.

        Raises:
            GraphError: there is no graph, or it cannot be read.
        """
        if not path.exists():
            raise no_graph(path)
        file = SqliteFile.snapshot(path, failure=GraphError)
        try:
            return cls(file, _read_info(file))
        except BaseException:
            file.close()
            raise

    def load_articles(self, batch: Sequence[EmbeddedArticle]) -> None:
        """See `GraphStore.load_articles`."""
        for item in batch:
            if any(len(vector) != self.dimension for vector in item.vectors):
                raise GraphError(
                    f"{self._file.path} could not be written: {item.article.title!r} has another dimension"
                )
        with self._file.transaction():
            self._file.run_many(_MERGE_ARTICLES, [_article_row(item) for item in batch])
            self._file.run_many(_DELETE_ALIAS, [(item.article.key,) for item in batch])
            numbers = {key: number for key, number, *_ in self._numbers(item.article.key for item in batch)}
            left = self._delete_contents(numbers.values())
            for item in batch:
                self._create_contents(numbers[item.article.key], item)
            self._index.load(batch)
            self._file.run_many(_DELETE_EMPTY, left)

    def add_links(self, links: Sequence[GraphLink]) -> None:
        """See `GraphStore.add_links`."""
        for start in range(0, len(links), LINKS_PER_TRANSACTION):
            with self._file.transaction():
                self._draw(links[start : start + LINKS_PER_TRANSACTION])

    def replace_links(self, source_keys: Collection[str], links: Sequence[GraphLink]) -> None:
        """See `GraphStore.replace_links`."""
        with self._file.transaction():
            targets = self._delete_links(number for _, number, *_ in self._numbers(source_keys))
            self._draw(links)
            self._file.run_many(_DELETE_UNLINKED, targets)

    def add_aliases(self, aliases: Sequence[GraphAlias]) -> None:
        """See `GraphStore.add_aliases`."""
        leads = resolved(aliases)
        with self._file.transaction():
            known = {key: tuple(state) for key, *state in self._numbers(leads)}
            leads = {key: lead for key, lead in leads.items() if not (key in known and known[key][1])}
            targets = dict.fromkeys(target for _, target in leads.values())
            self._file.run_many(_DELETE_ALIAS, [(key,) for key in [*leads, *targets]])
            depths: dict[str, int] = {}
            for key, (_, target) in leads.items():
                depth = known[key][2] if key in known else DEPTH_UNKNOWN
                depths[target] = nearer(depths.get(target, DEPTH_UNKNOWN), depth)
            self._file.run_many(_ADD_STUB, [(target, target, depth) for target, depth in depths.items()])
            self._file.run_many(_NOTE_ALIAS, [(key, title, target) for key, (title, target) in leads.items()])
            numbers = {key: number for key, number, *_ in self._numbers(targets)}
            for key, (_, target) in leads.items():
                if key in known:
                    self._merge(known[key][0], numbers[target])

    def remove_articles(self, keys: Collection[str]) -> None:
        """See `GraphStore.remove_articles`."""
        with self._file.transaction():
            numbers, left = self._empty(keys)
            self._file.run_many(_FORGET_ARTICLE, numbers)
            self._file.run_many(_DELETE_UNLINKED, [*numbers, *left])

    def exclude_articles(self, keys: Collection[str]) -> None:
        """See `GraphStore.exclude_articles`."""
        with self._file.transaction():
            numbers, left = self._empty(keys)
            self._file.run_many(_DELETE_ARTICLE, numbers)
            self._file.run_many(_DELETE_UNLINKED, left)

    def set_ranks(self, ranks: Sequence[ArticleRank]) -> None:
        """See `GraphStore.set_ranks`."""
        with self._file.transaction():
            for statement in () if "pagerank" in self._columns else _ADD_RANKS:
                self._file.rows(statement)
            self._file.run_many(_SET_RANK, ((one.pagerank, one.community, one.title_key) for one in ranks))
        self._columns = columns_of(self._file)

    def close(self) -> None:
        """See `GraphStore.close`."""
        super().close()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _numbers(self, keys: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return (key, number, loaded, depth) of those of these articles that the graph has."""
        return self._file.rows(_NUMBERS, [json.dumps(list(dict.fromkeys(keys)))])

    def _draw(self, links: Sequence[GraphLink]) -> None:
        leads: dict[str, str] = dict(
            self._file.rows(_ALIAS_LEADS_TO, [json.dumps([link.target_key for link in links])])
        )
        drawn = {(link.source_key, leads.get(link.target_key, link.target_key)): link for link in reversed(links)}
        stubs = [(target, link.target_title, link.target_depth) for (_, target), link in reversed(drawn.items())]
        self._file.run_many(_ADD_STUB, stubs)
        self._file.run_many(_DRAW, [(source, target) for source, target in drawn if source != target])

    def _merge(self, number: int, target: int) -> None:
        """Let what leads to an article that was never loaded lead to `target`; then forget it."""
        self._file.rows(_LEAD_LINKS_ON, [target, number, target])
        self._file.rows(_LEAD_ALIASES_ON, [target, number])
        self._file.rows(_DELETE_ARTICLE, [number])

    def _create_contents(self, number: int, item: EmbeddedArticle) -> None:
        article = item.article
        sections = [
            (number, position, section.heading, section.level, section.path, section.text)
            for position, section in enumerate(article.sections)
        ]
        self._file.run_many(_CREATE_SECTION, sections)
        names = list(dict.fromkeys(article.categories))
        self._file.run_many(_ADD_CATEGORY, [(name,) for name in names])
        self._file.run_many(_ADD_MEMBERSHIP, [(number, name) for name in names])

    def _delete_contents(self, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
        """Take away the sections and categories of these articles; the categories that they were in."""
        left: set[tuple[Any, ...]] = set()
        for number in numbers:
            self._file.rows(_DELETE_SECTIONS, [number])
            left.update(self._file.rows(_LEAVE_CATEGORIES, [number]))
        return sorted(left)

    def _empty(self, keys: Collection[str]) -> tuple[list[tuple[int]], list[tuple[Any, ...]]]:
        """Take away what these articles hold and their links; the numbers of those there were, and where they led."""
        numbers = [number for _, number, *_ in self._numbers(keys)]
        self._index.remove(keys)
        self._file.run_many(_DELETE_EMPTY, self._delete_contents(numbers))
        return [(number,) for number in numbers], self._delete_links(numbers)

    def _delete_links(self, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
        """Take away the links that leave these articles; where they led."""
        return sorted({row for number in numbers for row in self._file.rows(_DELETE_LINKS, [number])})


def _prepare(file: SqliteFile, wanted: Mapping[str, str]) -> dict[str, str]:
    """Make the tables where there are none, and set the connection up for writing; what the graph says of itself."""
    # Nothing is changed, not even a mode, in a file that turns out to be another program's.
    if file.rows(_TABLES):
        _read_info(file)
    file.rows("PRAGMA journal_mode = WAL")
    file.rows("PRAGMA foreign_keys = ON")
    file.rows("PRAGMA synchronous = FULL")
    file.rows(f"PRAGMA cache_size = -{CACHE_BYTES // 1024}")
    if not file.rows(_TABLES):
        with file.transaction():
            for statement in (*_SCHEMA, *definitions(wanted["language"])):
                file.rows(statement)
            file.run_many(_CREATE_INFO, list(wanted.items()))
    if "infobox" not in columns_of(file):  # New, or of a release that did not know them.
        with file.transaction():
            for statement in _ADD_FACTS:
                file.rows(statement)
    return _read_info(file)


def _read_info(file: SqliteFile) -> dict[str, str]:
    if ("graph_info",) not in file.rows(_TABLES):
        raise foreign_file(file.path)
    info: dict[str, str] = dict(file.rows(_INFO))
    check_schema(file.path, info)
    return info


def _article_row(item: EmbeddedArticle) -> tuple[Any, ...]:
    article = item.article
    facts = (article.infobox, article.latitude, article.longitude, article.wikidata)
    return (
        article.key, article.title, item.expansion_depth, article.description, article.revision, article.url, *facts
    )  # fmt: skip
