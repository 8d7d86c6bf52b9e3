"""Questions in Cypher, put to a copy of a graph that is made for them.

The copy is a LadybugDB file in a temporary folder, filled from the nodes and edges of any graph store, with the states
of a run on its nodes. So a graph of SQLite can be asked too, one that grows is asked as it is at that moment, and
nothing that a query does can reach the graph: the copy is opened read-only, and clauses that reach files or the network
are refused before. Copying a million links takes some seconds.
"""

from __future__ import annotations

import csv
import datetime
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.wiki.errors import WIKI_EXTRA, GraphError, WikiError
from ramet.wiki.graphs.base import GraphEdge, GraphStore
from ramet.wiki.node_states import NodeState

BUFFER_BYTES = 256 * 1024 * 1024
QUERY_CHARACTERS_MAX = 20_000

_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "Article": {
        "title_key": "STRING PRIMARY KEY", "title": "STRING", "expansion_state": "STRING", "expansion_depth": "INT64",
        "retry_count": "INT64", "claimed_at": "TIMESTAMP", "processed_at": "TIMESTAMP", "loaded": "BOOLEAN",
        "description": "STRING", "revision": "STRING", "url": "STRING", "category": "STRING", "word_count": "INT64",
        "infobox": "STRING", "latitude": "DOUBLE", "longitude": "DOUBLE", "wikidata": "STRING",
        "pagerank": "DOUBLE", "community": "INT64", "properties": "STRING",
    },
    "Section": {
        "section_key": "STRING PRIMARY KEY", "position": "INT64", "heading": "STRING", "level": "INT64",
        "path": "STRING", "text": "STRING", "word_count": "INT64", "properties": "STRING",
    },
    "Category": {"name": "STRING PRIMARY KEY"},
    "Alias": {"alias_key": "STRING PRIMARY KEY", "title": "STRING"},
    "Entity": {
        "entity_key": "STRING PRIMARY KEY", "name": "STRING", "kind": "STRING", "aliases": "STRING",
        "article": "STRING",
    },
}  # fmt: skip
_EDGES = {
    "HAS_SECTION": ("Article", "Section"),
    "IN_CATEGORY": ("Article", "Category"),
    "LINKS_TO": ("Article", "Article"),
    "ALIAS_OF": ("Alias", "Article"),
    "MENTIONS": ("Section", "Entity"),
    "RELATES": ("Entity", "Entity", "kind STRING", "section STRING"),
}
_DERIVED = (
    "MATCH (a:Article)-[:HAS_SECTION]->(s:Section) WITH a, sum(s.word_count) AS words SET a.word_count = words",
    "MATCH (a:Article)-[:IN_CATEGORY]->(c:Category) WITH a, min(c.name) AS first SET a.category = first",
)
_COPY = "COPY {table} FROM '{path}' (HEADER=false, PARALLEL=false, QUOTE='\"', ESCAPE='\"')"

_BEGINNINGS = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN")
_REFUSED = re.compile(r"(?<![.:\w])(LOAD|COPY|CALL|INSTALL|ATTACH|DETACH|EXPORT|IMPORT|USE)\b", re.IGNORECASE)
_NO_CODE = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|//[^\n]*|/\*.*?\*/""", re.DOTALL
)  # Strings, quoted names and comments; each begins with a character that nothing else does.


class CypherResult(NamedTuple):
    """The rows of a query, under their columns."""

    columns: tuple[str, ...]
    rows: list[list[Any]]
    """Rows of the result, at most `limit`."""
    more: bool
    """Whether there are further rows."""


def check_query(text: str) -> str:
    """Return one statement that only reads, without a semicolon at its end.

    Raises:
        WikiError: it is none; says what to change.
    """
    query = text.strip().removesuffix(";").strip()
    if len(query) > QUERY_CHARACTERS_MAX:
        raise WikiError(f"the query has {len(query):,} characters: at most {QUERY_CHARACTERS_MAX:,} are read")
    code = _NO_CODE.sub(" ", query)
    if not code.upper().split()[:1] or code.upper().split()[0].partition("(")[0] not in _BEGINNINGS:
        raise WikiError("a query begins with MATCH, OPTIONAL MATCH, UNWIND, WITH or RETURN; a graph is only read")
    if ";" in code:
        raise WikiError("give one query at a time: there is a ; in the middle")
    if refused := _REFUSED.search(code):
        raise WikiError(f"{refused[0].upper()} is not allowed in a query, which reads the graph and nothing else")
    return query


def as_parameter(text: str) -> Any:
    """Return the value that a person typed: JSON, a point in time (ISO 8601; UTC where it names no zone), or text."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


class GraphCopy:
    """A copy of a graph that can be asked in Cypher, from :func:`copy_of`."""

    def __init__(self, path: Path) -> None:
        """Open the finished copy at `path`, read-only."""
        ladybug = import_extra("ladybug", WIKI_EXTRA)
        self._database = ladybug.Database(str(path), read_only=True, buffer_pool_size=BUFFER_BYTES)
        self._connection = ladybug.Connection(self._database)

    def ask(self, text: str, parameters: Mapping[str, Any], *, limit: int, seconds: float) -> CypherResult:
        """Return the first rows of what a query finds.

        Args:
            text: one query that only reads.
            parameters: values of its `$names`.
            limit: rows, at most.
            seconds: after which it is stopped.

        Raises:
            WikiError: it is not such a query, is wrong, lacks a parameter, or takes longer.
        """
        query = check_query(text)
        self._connection.set_query_timeout(max(1, int(seconds * 1_000)))
        try:
            result = self._connection.execute(query, dict(parameters))
            columns = tuple(result.get_column_names())
            rows: list[list[Any]] = []
            while result.has_next() and len(rows) < limit:
                rows.append(result.get_next())
            found = CypherResult(columns, rows, result.has_next())
            result.close()
        except RuntimeError as error:
            if "Interrupted" in str(error):
                raise WikiError(f"the query takes longer than {seconds:g} s: narrow it, or give --timeout") from error
            raise WikiError(f"the query cannot be run: {one_line(error)}") from error
        return found

    def close(self) -> None:
        """Close the copy."""
        self._connection.close()
        self._database.close()


@contextmanager
def copy_of(graph: GraphStore, states: Mapping[str, NodeState]) -> Iterator[GraphCopy]:
    """Copy a graph, with the states of a run on its articles; the copy is deleted in the end.

    Args:
        graph: open for reading.
        states: by canonical title. An article that none is of is processed if it is loaded, else discovered; a title
            that the graph does not have is an article without links.

    Raises:
        GraphError: the graph cannot be read, or there is no room for the copy.
        ExtraMissing: the extra `[wiki]` is not installed.
    """
    ladybug = import_extra("ladybug", WIKI_EXTRA)
    with tempfile.TemporaryDirectory(prefix="ramet-query-") as folder:
        path = Path(folder) / "copy.lbug"
        try:
            files = _write_nodes(graph, states, Path(folder)) | _write_edges(graph.edges(), Path(folder))
            database = ladybug.Database(str(path), buffer_pool_size=BUFFER_BYTES)
            connection = ladybug.Connection(database)
            for label, columns in _COLUMNS.items():
                listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
                connection.execute(f"CREATE NODE TABLE {label}({listed})")
            for label, (source, target, *properties) in _EDGES.items():
                listed = "".join(f", {one}" for one in properties)
                connection.execute(f"CREATE REL TABLE {label}(FROM {source} TO {target}{listed})")
            for label in (*_COLUMNS, *_EDGES):
                if files[label].stat().st_size:
                    connection.execute(_COPY.format(table=label, path=files[label]))
            for statement in _DERIVED:
                connection.execute(statement)
            connection.close()
            database.close()
        except (RuntimeError, OSError) as error:
            raise GraphError(f"the graph could not be copied for the query: {one_line(error)}") from error
        with closing(GraphCopy(path)) as copy:
            yield copy


def _write_nodes(graph: GraphStore, states: Mapping[str, NodeState], folder: Path) -> dict[str, Path]:
    left = dict(states)
    with _Tables(folder, _COLUMNS) as rows:
        for node in graph.nodes():
            key = node.node_id.partition(":")[2]
            if node.label == "Article":
                rows.add("Article", _article(key, node.properties, left.pop(key, None)))
            elif node.label == "Section":
                words = len(str(node.properties["text"]).split())
                rows.add("Section", {"section_key": key, "word_count": words, **node.properties})
            elif node.label in _COLUMNS:
                rows.add(node.label, {"alias_key": key, "entity_key": key, "name": key, **node.properties})
        for key, state in left.items():
            rows.add("Article", _article(key, {"title": state.title, "loaded": False}, state))
        return rows.paths


def _article(key: str, properties: Mapping[str, Any], state: NodeState | None) -> dict[str, Any]:
    row = {"title_key": key, "retry_count": 0, **properties}
    if state is None:
        return row | {"expansion_state": "processed" if properties["loaded"] else "discovered"}
    return row | {
        "expansion_state": state.expansion_state,
        "expansion_depth": state.expansion_depth,
        "retry_count": state.retry_count,
        "claimed_at": _moment(state.claimed_at),
        "processed_at": _moment(state.processed_at),
    }


def _write_edges(edges: Iterator[GraphEdge], folder: Path) -> dict[str, Path]:
    with _Tables(folder, {label: _edge_columns(label) for label in _EDGES}) as rows:
        for edge in edges:
            if edge.label in _EDGES:
                ends = {"source": edge.source_id.partition(":")[2], "target": edge.target_id.partition(":")[2]}
                rows.add(edge.label, {**ends, **edge.properties})
        return rows.paths


def _edge_columns(label: str) -> dict[str, str]:
    return dict.fromkeys(("source", "target", *(one.split()[0] for one in _EDGES[label][2:])), "")


class _Tables:
    """A file of comma-separated values for each table, in the order of its columns."""

    def __init__(self, folder: Path, columns: Mapping[str, Mapping[str, str]]) -> None:
        self.paths = {name: folder / f"{name}.csv" for name in columns}
        self._columns = columns
        self._files = {name: path.open("w", newline="", encoding="utf-8") for name, path in self.paths.items()}
        self._writers = {name: csv.writer(file) for name, file in self._files.items()}

    def add(self, table: str, values: Mapping[str, Any]) -> None:
        """Write a row; values that have no column of their own are in `properties`, as JSON."""
        columns = self._columns[table]
        if "properties" in columns:
            more = {name: value for name, value in values.items() if name not in columns}
            values = {**values, "properties": json.dumps(more, ensure_ascii=False) if more else ""}
        self._writers[table].writerow([_cell(values.get(name)) for name in columns])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.replace("\0", "") if isinstance(value, str) else value


def _moment(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
