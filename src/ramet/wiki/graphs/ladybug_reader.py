"""Asking a graph in LadybugDB.

Statements name one key each where a graph may be large, or a range of keys: the database finds a key that a statement
names by its index, but walks through a whole table to join it with a list of keys along an edge.
"""

from __future__ import annotations

import json
from collections import defaultdict
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
from ramet.wiki.graphs.ladybug_file import LadybugFile
from ramet.wiki.graphs.passage_index import PassageIndex, PassageSearch
from ramet.wiki.graphs.traversal import ALL, ranked_first, walk
from ramet.wiki.sqlite_file import SqliteFile

PAGE_ROWS = 500
"""Rows that an export fetches together."""
ARTICLES_TOGETHER = 2_000
"""Articles whose sections or edges an export fetches together: each query walks over the keys of all articles."""

_SECTION = """
    MATCH (a:Article {title_key: $key})-[:HAS_SECTION]->(s:Section {section_key: $section})
    RETURN a.title, a.expansion_depth, s.heading, s.text, a.url, s.path"""
_COUNTS = {
    "articles": "MATCH (a:Article) WHERE a.loaded RETURN count(*)",
    "discovered": "MATCH (a:Article) WHERE NOT a.loaded RETURN count(*)",
    "sections": "MATCH (s:Section) RETURN count(*)",
    "categories": "MATCH (c:Category) RETURN count(*)",
    "links": "MATCH (:Article)-[edge:LINKS_TO]->(:Article) RETURN count(*)",
    "aliases": "MATCH (x:Alias) RETURN count(*)",
}
_DUMPS = {
    "Article": "MATCH (a:Article) RETURN a.title_key, a.title, a.expansion_depth, a.description, a.revision, "
    "a.url, a.loaded, %s",
    "Section": "MATCH (s:Section) RETURN s.section_key, s.position, s.heading, s.level, s.path, s.text",
    "Category": "MATCH (c:Category) RETURN c.name",
    "Alias": "MATCH (x:Alias) RETURN x.alias_key, x.title",
    "HAS_SECTION": "MATCH (a:Article)-[:HAS_SECTION]->(s:Section) RETURN a.title_key, s.section_key",
    "IN_CATEGORY": "MATCH (a:Article)-[:IN_CATEGORY]->(c:Category) RETURN a.title_key, c.name",
    "LINKS_TO": "MATCH (a:Article)-[:LINKS_TO]->(b:Article) RETURN a.title_key, b.title_key",
    "ALIAS_OF": "MATCH (x:Alias)-[:ALIAS_OF]->(a:Article) RETURN x.alias_key, a.title_key",
}

_REVISIONS = "UNWIND $keys AS key MATCH (a:Article {title_key: key}) WHERE a.loaded RETURN a.title_key, a.revision"
_COLUMNS = "CALL table_info('Article') RETURN name"
# A graph has the columns of `ADDED_PROPERTIES` from its first ranking or writing on. `%s` is what is read until then.
_NEIGHBOR = "a.title_key, a.title, a.expansion_depth, a.loaded, a.url, %s"
_ARTICLE = f"MATCH (a:Article {{title_key: $key}}) RETURN {_NEIGHBOR}"
_ARTICLE_OF_ALIAS = f"MATCH (:Alias {{alias_key: $key}})-[:ALIAS_OF]->(a:Article) RETURN {_NEIGHBOR}"
_RANKS = "UNWIND $keys AS key MATCH (a:Article {title_key: key}) RETURN a.title_key, %s"
_KEYS = "MATCH (a:Article) RETURN a.title_key"
_ADJACENT = {
    Direction.OUT: "MATCH (:Article {title_key: $key})-[:LINKS_TO]->(b:Article) RETURN b.title_key",
    Direction.IN: "MATCH (:Article {title_key: $key})<-[:LINKS_TO]-(b:Article) RETURN b.title_key",
}

_WHOLE_ARTICLE = "a.title_key, a.title, a.expansion_depth, a.description, a.loaded, a.revision, a.url, %s"
_PAGE_OF_ARTICLES = f"""
    MATCH (a:Article) WHERE a.title_key > $after RETURN {_WHOLE_ARTICLE} ORDER BY a.title_key LIMIT $limit"""
_PAGE_OF_CATEGORIES = "MATCH (c:Category) WHERE c.name > $after RETURN c.name ORDER BY c.name LIMIT $limit"
_PAGE_OF_ALIASES = """
    MATCH (x:Alias)-[:ALIAS_OF]->(a:Article) WHERE x.alias_key > $after
    RETURN x.alias_key, x.title, a.title_key ORDER BY x.alias_key LIMIT $limit"""
_SECTIONS_OF = """
    MATCH (:Article {title_key: $key})-[:HAS_SECTION]->(s:Section)
    RETURN s.position, s.heading, s.level, s.path, s.text ORDER BY s.position"""
_PAGE_OF_KEYS = "MATCH (a:Article) WHERE a.title_key > $after RETURN a.title_key ORDER BY a.title_key LIMIT $limit"
_WITHIN = "WHERE a.title_key >= $first AND a.title_key <= $last RETURN a.title_key"
_SECTIONS_WITHIN = f"""
    MATCH (a:Article)-[:HAS_SECTION]->(s:Section) {_WITHIN}, s.position, s.heading, s.level, s.path, s.text
    ORDER BY a.title_key, s.position"""
_EDGES_WITHIN = {
    "HAS_SECTION": (f"MATCH (a:Article)-[:HAS_SECTION]->(s:Section) {_WITHIN}, s.position", "Section:{key}#{near}"),
    "IN_CATEGORY": (f"MATCH (a:Article)-[:IN_CATEGORY]->(c:Category) {_WITHIN}, c.name", "Category:{near}"),
    "LINKS_TO": (f"MATCH (a:Article)-[:LINKS_TO]->(b:Article) {_WITHIN}, b.title_key", "Article:{near}"),
}
"""Edges that leave articles, by label, and the id of the node at their other end."""


def columns_of(file: LadybugFile) -> frozenset[str]:
    """Return the properties that articles have in this graph."""
    return frozenset(name for (name,) in file.read(_COLUMNS))


class LadybugReading(PassageSearch):
    """The questions of a `GraphStore`, put to an open file."""

    def __init__(self, file: LadybugFile, info: Mapping[str, str], index: SqliteFile) -> None:
        """Wrap an open file whose GraphInfo is `info`, and the open file of its index."""
        super().__init__(PassageIndex(index))
        self._file = file
        self._index_file = index
        self.model_id = info["embedding_model"]
        self.dimension = int(info["embedding_dimension"])
        self._columns = columns_of(file)

    def _with_added(self, query: str, *columns: str) -> str:
        """Return a query that reads these of `ADDED_PROPERTIES`, and nulls for those that the graph does not have."""
        return query % ", ".join(f"a.{name}" if name in self._columns else "NULL" for name in columns)

    def revisions(self, keys: Collection[str]) -> dict[str, str]:
        """See `GraphStore.revisions`."""
        return dict(self._file.read(_REVISIONS, {"keys": list(keys)})) if keys else {}

    def counts(self) -> GraphCounts:
        """See `GraphStore.counts`."""
        entities, relations = self._index.entities.counts()
        return GraphCounts(
            **{name: self._file.read(query)[0][0] for name, query in _COUNTS.items()},
            entities=entities,
            relations=relations,
        )

    def find(self, title_key: str) -> Neighbor | None:
        """See `GraphStore.find`."""
        for query in (_ARTICLE, _ARTICLE_OF_ALIAS):
            if rows := self._file.read(self._with_added(query, "pagerank"), {"key": title_key}):
                return Neighbor(0, *rows[0])
        return None

    def sections(self, title_key: str) -> list[GraphSection]:
        """See `GraphStore.sections`."""
        return [GraphSection(*row[1:]) for row in self._file.read(_SECTIONS_OF, {"key": title_key})]

    def article_keys(self) -> list[str]:
        """See `GraphStore.article_keys`."""
        return [key for (key,) in self._file.stream(_KEYS)]

    def links(self) -> Iterator[tuple[str, str]]:
        """See `GraphStore.links`."""
        return ((source, target) for source, target in self._file.stream(_DUMPS["LINKS_TO"]))

    def neighbors(
        self, title_key: str, *, direction: Direction, depth: int, limit: int, by_rank: bool = False
    ) -> list[Neighbor]:
        """See `GraphStore.neighbors`."""

        def adjacent(key: str, way: Direction) -> Iterator[str]:
            return (near for (near,) in self._file.read(_ADJACENT[way], {"key": key}))

        found = walk(title_key, adjacent, direction=direction, depth=depth, limit=ALL if by_rank else limit)
        if by_rank and found:
            keys = {"keys": [key for _, key in found]}
            found = ranked_first(found, dict(self._file.read(self._with_added(_RANKS, "pagerank"), keys)), limit=limit)
        article = self._with_added(_ARTICLE, "pagerank")
        return [Neighbor(distance, *self._file.read(article, {"key": key})[0]) for distance, key in found]

    def _section(self, title_key: str, position: int) -> Sequence[Any] | None:
        rows = self._file.read(_SECTION, {"key": title_key, "section": f"{title_key}#{position}"})
        return rows[0] if rows else None

    def nodes(self) -> Iterator[GraphNode]:
        """See `GraphStore.nodes`."""
        articles = self._with_added(_PAGE_OF_ARTICLES, *ADDED_PROPERTIES)
        for key, title, depth, description, loaded, revision, url, *added in self._pages(articles):
            properties = {
                "title": title,
                "expansion_depth": depth,
                "description": description,
                "loaded": loaded,
                "revision": revision,
                "url": url,
                **added_properties(added),
            }
            yield GraphNode("Article", f"Article:{key}", properties)
        for part in self._ranges():
            for key, position, heading, level, path, text in self._file.read(_SECTIONS_WITHIN, part):
                properties = {"position": position, "heading": heading, "level": level, "path": path, "text": text}
                yield GraphNode("Section", f"Section:{key}#{position}", properties)
        for (name,) in self._pages(_PAGE_OF_CATEGORIES):
            yield GraphNode("Category", f"Category:{name}", {"name": name})
        for key, title, _ in self._pages(_PAGE_OF_ALIASES):
            yield GraphNode("Alias", f"Alias:{key}", {"title": title})
        yield from self._entity_nodes()

    def edges(self) -> Iterator[GraphEdge]:
        """See `GraphStore.edges`."""
        for part in self._ranges():
            edges: dict[str, list[GraphEdge]] = defaultdict(list)
            for label, (query, target) in _EDGES_WITHIN.items():
                for key, near in sorted(self._file.read(query, part)):
                    edges[key].append(GraphEdge(label, f"Article:{key}", target.format(key=key, near=near)))
            for key in sorted(edges):
                yield from edges[key]
        for key, _, target in self._pages(_PAGE_OF_ALIASES):
            yield GraphEdge("ALIAS_OF", f"Alias:{key}", f"Article:{target}")
        yield from self._entity_edges()

    def _ranges(self) -> Iterator[dict[str, str]]:
        """Yield the first and the last key of `ARTICLES_TOGETHER` articles at a time, as parameters."""
        after = ""
        while rows := self._file.read(_PAGE_OF_KEYS, {"after": after, "limit": ARTICLES_TOGETHER}):
            after = rows[-1][0]
            yield {"first": rows[0][0], "last": after}

    def _pages(self, query: str) -> Iterator[Any]:
        """Yield the rows of a query that goes on `$after` a key, which is the first column."""
        after = ""
        while rows := self._file.read(query, {"after": after, "limit": PAGE_ROWS}):
            yield from rows
            after = rows[-1][0]

    def dump(self) -> list[str]:
        """See `GraphStore.dump`."""
        lines = []
        for name, query in _DUMPS.items():
            if name == "Article":
                rows = self._file.read(self._with_added(query, *ADDED_PROPERTIES))
                count = len(ADDED_PROPERTIES)
                lines += [_line(name, [*row[:-count], *added_properties(row[-count:]).values()]) for row in rows]
            else:
                lines += [_line(name, row) for row in self._file.read(query)]
        lines += [_line(*row) for row in self._index.entities.dump()]
        return sorted([*lines, *(_line("Passage", row) for row in self._index.dump())])

    def close(self) -> None:
        """See `GraphStore.close`."""
        try:
            self._index_file.close()
        finally:
            self._file.close()


def _line(label: str, values: Sequence[object]) -> str:
    return f"{label} {json.dumps(list(values), ensure_ascii=False)}"
