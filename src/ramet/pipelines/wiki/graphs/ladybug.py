"""The graph in LadybugDB, an embedded database in one file that is asked in Cypher."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ramet.pipelines.wiki.embedding.base import Vector
from ramet.pipelines.wiki.errors import GraphError, GraphMismatch
from ramet.pipelines.wiki.graphs.base import EmbeddedArticle, GraphCounts, GraphLink, SearchHit, vector_digest
from ramet.pipelines.wiki.graphs.ladybug_file import LadybugFile

SCHEMA_VERSION = 1

LINKS_PER_TRANSACTION = 2_000

_SCHEMA = (
    "CREATE NODE TABLE GraphInfo(name STRING PRIMARY KEY, value STRING)",
    "CREATE NODE TABLE Article(title_key STRING PRIMARY KEY, title STRING, expansion_depth INT64, "
    "description STRING, loaded BOOLEAN)",
    "CREATE NODE TABLE Section(section_key STRING PRIMARY KEY, position INT64, heading STRING, level INT64, "
    "text STRING, embedding FLOAT[{dimension}])",
    "CREATE NODE TABLE Category(name STRING PRIMARY KEY)",
    "CREATE REL TABLE HAS_SECTION(FROM Article TO Section)",
    "CREATE REL TABLE IN_CATEGORY(FROM Article TO Category)",
    "CREATE REL TABLE LINKS_TO(FROM Article TO Article)",
)
_CREATE_INFO = "UNWIND $rows AS row CREATE (:GraphInfo {name: row.name, value: row.value})"
_TABLES = "CALL show_tables() RETURN name"
_INFO = "MATCH (i:GraphInfo) RETURN i.name, i.value"

_MERGE_ARTICLES = """
    UNWIND $rows AS row MERGE (a:Article {title_key: row.title_key})
    ON CREATE SET a.title = row.title, a.description = row.description, a.loaded = true,
        a.expansion_depth = row.depth
    ON MATCH SET a.title = row.title, a.description = row.description, a.loaded = true,
        a.expansion_depth = CASE WHEN row.depth < a.expansion_depth THEN row.depth
            ELSE a.expansion_depth END"""
_DELETE_SECTIONS = """
    UNWIND $rows AS row MATCH (:Article {title_key: row.title_key})-[:HAS_SECTION]->(s:Section)
    DETACH DELETE s"""
_DELETE_MEMBERSHIPS = """
    UNWIND $rows AS row MATCH (:Article {title_key: row.title_key})-[edge:IN_CATEGORY]->(:Category)
    DELETE edge"""
_CREATE_SECTIONS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key})
    CREATE (a)-[:HAS_SECTION]->(:Section {section_key: row.section_key, position: row.position,
        heading: row.heading, level: row.level, text: row.text, embedding: row.embedding})"""
_MERGE_CATEGORIES = "UNWIND $rows AS row MERGE (:Category {name: row.name})"
_MERGE_MEMBERSHIPS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key}), (c:Category {name: row.name})
    MERGE (a)-[:IN_CATEGORY]->(c)"""
_MERGE_TARGETS = """
    UNWIND $rows AS row MERGE (a:Article {title_key: row.target_key})
    ON CREATE SET a.title = row.target_title, a.expansion_depth = row.target_depth, a.description = '',
        a.loaded = false"""
_MERGE_LINKS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.source_key}), (b:Article {title_key: row.target_key})
    MERGE (a)-[:LINKS_TO]->(b)"""

_SEARCH = """
    MATCH (a:Article)-[:HAS_SECTION]->(s:Section)
    RETURN array_cosine_similarity(s.embedding, CAST($vector AS FLOAT[{dimension}])) AS score,
        a.title_key, a.title, a.expansion_depth, s.heading, s.text
    ORDER BY score DESC, a.title_key, s.position LIMIT $limit"""
_COUNTS = {
    "articles": "MATCH (a:Article) WHERE a.loaded RETURN count(*)",
    "discovered": "MATCH (a:Article) WHERE NOT a.loaded RETURN count(*)",
    "sections": "MATCH (s:Section) RETURN count(*)",
    "categories": "MATCH (c:Category) RETURN count(*)",
    "links": "MATCH (:Article)-[edge:LINKS_TO]->(:Article) RETURN count(*)",
}
_DUMPS = {
    "Article": "MATCH (a:Article) RETURN a.title_key, a.title, a.expansion_depth, a.description, a.loaded",
    "Category": "MATCH (c:Category) RETURN c.name",
    "HAS_SECTION": "MATCH (a:Article)-[:HAS_SECTION]->(s:Section) RETURN a.title_key, s.section_key",
    "IN_CATEGORY": "MATCH (a:Article)-[:IN_CATEGORY]->(c:Category) RETURN a.title_key, c.name",
    "LINKS_TO": "MATCH (a:Article)-[:LINKS_TO]->(b:Article) RETURN a.title_key, b.title_key",
}
_DUMP_SECTIONS = "MATCH (s:Section) RETURN s.section_key, s.position, s.heading, s.level, s.text, s.embedding"


class LadybugGraph:
    """A `GraphStore` in a LadybugDB file, from `open_writer` or `open_reader`; a context manager."""

    def __init__(self, file: LadybugFile, info: Mapping[str, str]) -> None:
        """Wrap an open file whose GraphInfo is `info`."""
        self._file = file
        self.model_id = info["embedding_model"]
        self.dimension = int(info["embedding_dimension"])

    @classmethod
    def open_writer(cls, path: Path, *, model_id: str, dimension: int) -> LadybugGraph:
        """Open the graph at `path` as its only writer, making it if it is not there.

        Raises:
            GraphBusy: another writer holds it.
            GraphMismatch: its vectors come from another model, or its schema from another version.
            GraphError: the file cannot be opened or is no such graph.
        """
        wanted = {
            "schema_version": str(SCHEMA_VERSION),
            "embedding_model": model_id,
            "embedding_dimension": str(dimension),
        }
        file = LadybugFile(path, read_only=False)
        try:
            if not file.read(_TABLES):
                _create_schema(file, wanted)
            info = _read_info(file)
            check_model(path, info, model_id=model_id, dimension=dimension)
            return cls(file, info)
        except BaseException:
            file.close()
            raise

    @classmethod
    def open_reader(cls, path: Path) -> LadybugGraph:
        """Open a snapshot of the graph at `path`, beside a writer or without one; close it soon.

        While a reader is open the writer's log grows, as it cannot be folded into the file.

        Raises:
            GraphError: there is no graph, or it cannot be read.
        """
        if not path.exists():
            raise GraphError(f"there is no graph at {path} yet; make one with `ramet wiki expand`")
        file = LadybugFile(path, read_only=True)
        try:
            return cls(file, _read_info(file))
        except BaseException:
            file.close()
            raise

    def load_articles(self, batch: Sequence[EmbeddedArticle]) -> None:
        """See `GraphStore.load_articles`."""
        articles = [_article_row(item) for item in batch]
        sections = [row for item in batch for row in _section_rows(item)]
        memberships = [
            {"title_key": item.article.key, "name": name} for item in batch for name in item.article.categories
        ]
        with self._file.transaction():
            self._file.write(_MERGE_ARTICLES, articles)
            self._file.write(_DELETE_SECTIONS, articles)
            self._file.write(_DELETE_MEMBERSHIPS, articles)
            self._file.write(_CREATE_SECTIONS, sections)
            self._file.write(_MERGE_CATEGORIES, memberships)
            self._file.write(_MERGE_MEMBERSHIPS, memberships)

    def add_links(self, links: Sequence[GraphLink]) -> None:
        """See `GraphStore.add_links`."""
        for start in range(0, len(links), LINKS_PER_TRANSACTION):
            rows = [_link_row(link) for link in links[start : start + LINKS_PER_TRANSACTION]]
            with self._file.transaction():
                self._file.write(_MERGE_TARGETS, rows)
                self._file.write(_MERGE_LINKS, rows)

    def counts(self) -> GraphCounts:
        """See `GraphStore.counts`."""
        return GraphCounts(**{name: self._file.read(query)[0][0] for name, query in _COUNTS.items()})

    def search(self, vector: Vector, *, limit: int) -> list[SearchHit]:
        """See `GraphStore.search`."""
        assert len(vector) == self.dimension
        query = _SEARCH.format(dimension=self.dimension)
        return [SearchHit(*row) for row in self._file.read(query, {"vector": vector, "limit": limit})]

    def dump(self) -> list[str]:
        """See `GraphStore.dump`."""
        lines = [_line(name, row) for name, query in _DUMPS.items() for row in self._file.read(query)]
        lines += [
            _line("Section", [*values, vector_digest(vector)]) for *values, vector in self._file.read(_DUMP_SECTIONS)
        ]
        return sorted(lines)

    def close(self) -> None:
        """See `GraphStore.close`."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def check_model(path: Path, info: Mapping[str, str], *, model_id: str, dimension: int) -> None:
    """Refuse vectors of one model in, or against, a graph of another.

    Raises:
        GraphMismatch: `info`, of the graph at `path`, names another model or another number of dimensions.
    """
    if (info["embedding_model"], info["embedding_dimension"]) != (model_id, str(dimension)):
        raise GraphMismatch(
            f"{path} holds vectors of {info['embedding_model']} ({info['embedding_dimension']} numbers), not "
            f"of {model_id} ({dimension}), and they cannot be compared; use that model or another graph file"
        )


def _create_schema(file: LadybugFile, info: Mapping[str, str]) -> None:
    # In one transaction: a graph has all of its tables and says whose vectors it holds, or is empty.
    with file.transaction():
        for statement in _SCHEMA:
            file.write(statement.format(dimension=info["embedding_dimension"]))
        file.write(_CREATE_INFO, [{"name": name, "value": value} for name, value in info.items()])


def _read_info(file: LadybugFile) -> dict[str, str]:
    if ["GraphInfo"] not in file.read(_TABLES):
        raise GraphError(f"{file.path} is not a graph of `ramet wiki`; give another file")
    info: dict[str, str] = dict(file.read(_INFO))
    if info.get("schema_version") != str(SCHEMA_VERSION):
        raise GraphMismatch(
            f"{file.path} has graph schema {info.get('schema_version')}, this release reads "
            f"{SCHEMA_VERSION}; use the release that made it, or another graph file"
        )
    return info


def _article_row(item: EmbeddedArticle) -> dict[str, Any]:
    return {
        "title_key": item.article.key,
        "title": item.article.title,
        "description": item.article.description,
        "depth": item.expansion_depth,
    }


def _section_rows(item: EmbeddedArticle) -> list[dict[str, Any]]:
    return [
        {
            "title_key": item.article.key,
            "section_key": f"{item.article.key}#{position}",
            "position": position,
            "heading": section.heading,
            "level": section.level,
            "text": section.text,
            "embedding": vector,
        }
        for position, (section, vector) in enumerate(zip(item.article.sections, item.vectors, strict=True))
    ]


def _link_row(link: GraphLink) -> dict[str, Any]:
    return {
        "source_key": link.source_key,
        "target_key": link.target_key,
        "target_title": link.target_title,
        "target_depth": link.target_depth,
    }


def _line(label: str, values: Sequence[object]) -> str:
    return f"{label} {json.dumps(list(values), ensure_ascii=False)}"
