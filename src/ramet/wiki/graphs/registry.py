"""Databases of graphs, by the file."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ramet.commands.errors import one_line
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.base import GraphCounts
from ramet.wiki.graphs.ladybug import LadybugGraph
from ramet.wiki.graphs.sqlite import SqliteGraph
from ramet.wiki.sqlite_file import looks_like_sqlite

LADYBUG_SUFFIX = ".lbug"
SQLITE_SUFFIXES = (".sqlite", ".sqlite3")

Graph = LadybugGraph | SqliteGraph
"""An open graph: a `GraphStore` that is a context manager."""


@dataclass(frozen=True, slots=True)
class GraphInfo:
    """The model of a graph's vectors, their numbers each, and how much the graph holds."""

    model_id: str
    dimension: int
    counts: GraphCounts


def default_graph() -> Path:
    """Return the default graph: of LadybugDB if that is installed, else of SQLite."""
    return Path(f"wiki{LADYBUG_SUFFIX if _ladybug_installed() else SQLITE_SUFFIXES[0]}")


def open_graph_writer(path: Path, *, model_id: str, dimension: int, language: str = "") -> Graph:
    """Open the graph at `path` as its only writer, making it if it is not there.

    A file that exists is what its first bytes say. A new one is of SQLite if it is named so (`.sqlite`, `.sqlite3`),
    or if LadybugDB is not installed and it is not named as its own (`.lbug`); else of LadybugDB. `language` is the code
    of its texts' language, by which words are stemmed; empty if it is not known.

    Raises:
        GraphBusy: another writer holds it.
        GraphMismatch: its vectors come from another model, or its schema from another version.
        GraphError: the file cannot be opened or is not such a graph.
        ExtraMissing: it is a LadybugDB graph, and that is not installed.
    """
    return _kind(path).open_writer(path, model_id=model_id, dimension=dimension, language=language)


def open_graph_reader(path: Path) -> Graph:
    """Open a snapshot of the graph at `path`, beside a writer or without one; close it soon.

    Raises:
        GraphError: there is no graph, or it cannot be read.
        ExtraMissing: it is a LadybugDB graph, and that is not installed.
    """
    return _kind(path).open_reader(path)


def reopen_writer(path: Path) -> Graph:
    """Open the graph at `path`, which has to be there, as its only writer, for the model whose vectors it has.

    Raises:
        GraphBusy, GraphError, ExtraMissing: as :func:`open_graph_writer`.
    """
    with open_graph_reader(path) as reader:  # Makes no graph where there is none.
        model_id, dimension = reader.model_id, reader.dimension
    return open_graph_writer(path, model_id=model_id, dimension=dimension)


def graph_is_there(path: Path) -> bool:
    """Return whether there is a file at `path`; only opening it shows whether it is a graph."""
    return path.exists()


def graph_info(path: Path) -> GraphInfo:
    """Return the model and the counts of the graph at `path`, as of now.

    Raises:
        GraphError, ExtraMissing: as `open_graph_reader`.
    """
    with open_graph_reader(path) as graph:
        return GraphInfo(graph.model_id, graph.dimension, graph.counts())


def _kind(path: Path) -> type[LadybugGraph] | type[SqliteGraph]:
    try:
        if path.exists() and path.stat().st_size:
            return SqliteGraph if looks_like_sqlite(path) else LadybugGraph
    except OSError as error:
        raise GraphError(f"cannot open {path} as a graph: {one_line(error.strerror or error)}") from error
    if path.suffix in SQLITE_SUFFIXES:
        return SqliteGraph
    return LadybugGraph if _ladybug_installed() or path.suffix == LADYBUG_SUFFIX else SqliteGraph


def _ladybug_installed() -> bool:
    return importlib.util.find_spec("ladybug") is not None
