"""Asking a graph in SQLite."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ramet.wiki.graphs.base import (
    ADDED_PROPERTIES,
    Direction,
    GraphCounts,
    GraphEdge,
    GraphNode,
    GraphSection,
    Neighbor,
    added_properties,
)
from ramet.wiki.graphs.passage_index import PassageIndex, PassageSearch
from ramet.wiki.graphs.traversal import ALL, ranked_first, walk
from ramet.wiki.sqlite_file import Row, SqliteFile

_COUNTS = {
    "articles": "SELECT count(*) FROM articles WHERE loaded",
    "discovered": "SELECT count(*) FROM articles WHERE NOT loaded",
    "sections": "SELECT count(*) FROM sections",
    "categories": "SELECT count(*) FROM categories",
    "links": "SELECT count(*) FROM links",
    "aliases": "SELECT count(*) FROM aliases",
}
_REVISIONS = """
    SELECT title_key, revision FROM json_each(?) JOIN articles ON title_key = value WHERE loaded"""
_COLUMNS = "SELECT name FROM pragma_table_info('articles')"
# A graph has the columns of `ADDED_PROPERTIES` from its first ranking or writing on. `%s` is what is read until then.
_NEIGHBOR = "articles.title_key, articles.title, articles.expansion_depth, articles.loaded, articles.url, %s"
_ARTICLE = f"SELECT {_NEIGHBOR} FROM articles WHERE title_key = ?"  # noqa: S608 - of constants
_ARTICLE_OF_ALIAS = f"SELECT {_NEIGHBOR} FROM aliases JOIN articles ON articles.id = article WHERE alias_key = ?"  # noqa: S608
_RANKS = "SELECT title_key, %s FROM json_each(?) JOIN articles ON title_key = value"
_KEYS = "SELECT title_key FROM articles"
_ADJACENT = {
    Direction.OUT: """
        SELECT far.title_key FROM articles near JOIN links ON source = near.id JOIN articles far ON far.id = target
        WHERE near.title_key = ?""",
    Direction.IN: """
        SELECT far.title_key FROM articles near JOIN links ON target = near.id JOIN articles far ON far.id = source
        WHERE near.title_key = ?""",
}
_HIT = """
    SELECT title, expansion_depth, heading, text, url, path
    FROM articles JOIN sections ON article = articles.id WHERE title_key = ? AND position = ?"""

_ARTICLES = """
    SELECT title_key, title, expansion_depth, description, revision, url, loaded, %s FROM articles ORDER BY title_key"""
# The order of joining is given (CROSS JOIN), so that rows come sorted without being sorted.
_SECTIONS = """
    SELECT title_key, position, heading, level, path, text
    FROM articles CROSS JOIN sections ON article = articles.id ORDER BY title_key, position"""
_SECTIONS_OF = """
    SELECT heading, level, path, text FROM articles JOIN sections ON article = articles.id
    WHERE title_key = ? ORDER BY position"""
_CATEGORIES = "SELECT name FROM categories ORDER BY name"
_ALIASES = """
    SELECT alias_key, aliases.title, title_key FROM aliases JOIN articles ON articles.id = article
    ORDER BY alias_key"""
_MEMBERSHIPS = """
    SELECT title_key, name FROM articles CROSS JOIN memberships ON article = articles.id
    JOIN categories ON categories.id = category ORDER BY title_key, name"""
_UNORDERED_LINKS = """
    SELECT near.title_key, far.title_key FROM articles near CROSS JOIN links ON source = near.id
    JOIN articles far ON far.id = target"""
_LINKS = f"{_UNORDERED_LINKS} ORDER BY near.title_key, far.title_key"


def columns_of(file: SqliteFile) -> frozenset[str]:
    """Return the columns that articles have in this graph."""
    return frozenset(name for (name,) in file.rows(_COLUMNS))


class SqliteReading(PassageSearch):
    """The questions of a `GraphStore`, put to an open file."""

    def __init__(self, file: SqliteFile, info: Mapping[str, str]) -> None:
        """Wrap an open file whose graph_info is `info`."""
        super().__init__(PassageIndex(file))
        self._file = file
        self.model_id = info["embedding_model"]
        self.dimension = int(info["embedding_dimension"])
        self._columns = columns_of(file)

    def _with_added(self, query: str, *columns: str) -> str:
        """Return a query that reads these of `ADDED_PROPERTIES`, and nulls for those that the graph does not have."""
        return query % ", ".join(name if name in self._columns else "NULL" for name in columns)

    def revisions(self, keys: Collection[str]) -> dict[str, str]:
        """See `GraphStore.revisions`."""
        return dict(self._file.rows(_REVISIONS, [json.dumps(list(keys))]))

    def counts(self) -> GraphCounts:
        """See `GraphStore.counts`."""
        entities, relations = self._index.entities.counts()
        return GraphCounts(
            **{name: self._file.rows(query)[0][0] for name, query in _COUNTS.items()},
            entities=entities,
            relations=relations,
        )

    def find(self, title_key: str) -> Neighbor | None:
        """See `GraphStore.find`."""
        for query in (_ARTICLE, _ARTICLE_OF_ALIAS):
            if rows := self._file.rows(self._with_added(query, "pagerank"), [title_key]):
                return _neighbor(0, rows[0])
        return None

    def sections(self, title_key: str) -> list[GraphSection]:
        """See `GraphStore.sections`."""
        return [GraphSection(*row) for row in self._file.rows(_SECTIONS_OF, [title_key])]

    def article_keys(self) -> list[str]:
        """See `GraphStore.article_keys`."""
        return [key for (key,) in self._file.stream(_KEYS)]

    def links(self) -> Iterator[tuple[str, str]]:
        """See `GraphStore.links`."""
        return ((source, target) for source, target in self._file.stream(_UNORDERED_LINKS))

    def neighbors(
        self, title_key: str, *, direction: Direction, depth: int, limit: int, by_rank: bool = False
    ) -> list[Neighbor]:
        """See `GraphStore.neighbors`."""

        def adjacent(key: str, way: Direction) -> Iterator[str]:
            return (near for (near,) in self._file.rows(_ADJACENT[way], [key]))

        found = walk(title_key, adjacent, direction=direction, depth=depth, limit=ALL if by_rank else limit)
        if by_rank:
            keys = json.dumps([key for _, key in found])
            found = ranked_first(
                found, dict(self._file.rows(self._with_added(_RANKS, "pagerank"), [keys])), limit=limit
            )
        article = self._with_added(_ARTICLE, "pagerank")
        return [_neighbor(distance, self._file.rows(article, [key])[0]) for distance, key in found]

    def _section(self, title_key: str, position: int) -> Sequence[Any] | None:
        rows = self._file.rows(_HIT, [title_key, position])
        return rows[0] if rows else None

    def nodes(self) -> Iterator[GraphNode]:
        """See `GraphStore.nodes`."""
        articles = self._with_added(_ARTICLES, *ADDED_PROPERTIES)
        for key, title, depth, description, revision, url, loaded, *added in self._file.stream(articles):
            properties = {
                "title": title,
                "expansion_depth": depth,
                "description": description,
                "loaded": bool(loaded),
                "revision": revision,
                "url": url,
                **added_properties(added),
            }
            yield GraphNode("Article", f"Article:{key}", properties)
        for key, position, heading, level, path, text in self._file.stream(_SECTIONS):
            properties = {"position": position, "heading": heading, "level": level, "path": path, "text": text}
            yield GraphNode("Section", f"Section:{key}#{position}", properties)
        for (name,) in self._file.stream(_CATEGORIES):
            yield GraphNode("Category", f"Category:{name}", {"name": name})
        for key, title, _ in self._file.stream(_ALIASES):
            yield GraphNode("Alias", f"Alias:{key}", {"title": title})
        yield from self._entity_nodes()

    def edges(self) -> Iterator[GraphEdge]:
        """See `GraphStore.edges`."""
        for key, position, *_ in self._file.stream(_SECTIONS):
            yield GraphEdge("HAS_SECTION", f"Article:{key}", f"Section:{key}#{position}")
        for key, name in self._file.stream(_MEMBERSHIPS):
            yield GraphEdge("IN_CATEGORY", f"Article:{key}", f"Category:{name}")
        for source, target in self._file.stream(_LINKS):
            yield GraphEdge("LINKS_TO", f"Article:{source}", f"Article:{target}")
        for key, _, target in self._file.stream(_ALIASES):
            yield GraphEdge("ALIAS_OF", f"Alias:{key}", f"Article:{target}")
        yield from self._entity_edges()

    def dump(self) -> list[str]:
        """See `GraphStore.dump`."""
        return sorted(f"{label} {json.dumps(values, ensure_ascii=False)}" for label, values in self._dumped())

    def _dumped(self) -> Iterator[tuple[str, Sequence[object]]]:
        for row in self._file.stream(self._with_added(_ARTICLES, *ADDED_PROPERTIES)):
            *values, loaded = row[: -len(ADDED_PROPERTIES)]
            yield "Article", [*values, bool(loaded), *added_properties(row[-len(ADDED_PROPERTIES) :]).values()]
        for key, position, *values in self._file.stream(_SECTIONS):
            section = f"{key}#{position}"
            yield "Section", [section, position, *values]
            yield "HAS_SECTION", [key, section]
        yield from (("Passage", row) for row in self._index.dump())
        yield from self._index.entities.dump()
        yield from (("Category", row) for row in self._file.stream(_CATEGORIES))
        yield from (("IN_CATEGORY", row) for row in self._file.stream(_MEMBERSHIPS))
        yield from (("LINKS_TO", row) for row in self._file.stream(_LINKS))
        for key, title, target in self._file.stream(_ALIASES):
            yield "Alias", [key, title]
            yield "ALIAS_OF", [key, target]

    def close(self) -> None:
        """See `GraphStore.close`."""
        self._file.close()


def _neighbor(distance: int, row: Row) -> Neighbor:
    key, title, depth, loaded, url, pagerank = row
    return Neighbor(distance, key, title, depth, bool(loaded), url, pagerank)
