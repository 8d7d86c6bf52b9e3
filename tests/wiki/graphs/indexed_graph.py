"""What holds for a graph with an index of vectors, each told by a function; `python -m` runs the one that is named.

LadybugDB's extension is a download, so its forerunner `kuzu`, which speaks the same Cypher and has the extension
linked in, stands in for it. One process cannot hold both, hence a program.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kuzu
import pytest

from ramet.wiki.embedding.base import Vector
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs import ladybug_file, ladybug_reader
from ramet.wiki.graphs.base import EmbeddedArticle, SearchHit
from ramet.wiki.graphs.ladybug import LadybugGraph
from ramet.wiki.pages import Article, Section

DIMENSION = 8
LIMIT = 7
QUERIES = 10


def database(path: str, *, throw_on_wal_replay_failure: bool = True, **options: Any) -> Any:
    """What LadybugDB's own takes and the forerunner's does not, is left out."""
    return kuzu.Database(path, **options)


def articles(numbers: range, seed: int = 1) -> list[EmbeddedArticle]:
    """Articles of two sections with random vectors."""
    chance = random.Random(seed)
    return [
        EmbeddedArticle(
            Article(f"A{number}", f"A{number}", (Section("", 1, f"lead {seed}"), Section("H", 2, "body"))),
            0,
            tuple([chance.gauss(0, 1) for _ in range(DIMENSION)] for _ in range(2)),
        )
        for number in numbers
    ]


def open_graph(path: Path) -> LadybugGraph:
    return LadybugGraph.open_writer(path, model_id="m", dimension=DIMENSION)


def indexed(path: Path) -> LadybugGraph:
    graph = open_graph(path)
    graph.load_articles(articles(range(100)))
    assert graph.vector_index == "exact"
    graph.build_vector_index()
    assert graph.vector_index == "hnsw"
    return graph


def exactly(graph: LadybugGraph, query: Vector) -> list[SearchHit]:
    """What looking at every vector finds."""
    graph._indexed = False
    try:
        return graph.search(query, limit=LIMIT)
    finally:
        graph._indexed = True


def recall(graph: LadybugGraph) -> float:
    """The share of the nearest sections that the index finds; their order is checked."""
    chance = random.Random(9)
    shared = 0
    for _ in range(QUERIES):
        query = [chance.gauss(0, 1) for _ in range(DIMENSION)]
        found, exact = graph.search(query, limit=LIMIT), exactly(graph, query)
        assert len(found) == LIMIT
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        shared += sum(hit in exact for hit in found)
    return shared / (QUERIES * LIMIT)


def ranked_exactly(path: Path) -> None:
    with indexed(path) as graph:
        assert recall(graph) == 1.0


def kept_up(path: Path) -> None:
    """Replacing half of a graph costs the index some of its recall; what is gone is not found, what is new is."""
    with indexed(path) as graph:
        graph.load_articles(articles(range(50, 150), seed=2))
        graph.remove_articles([f"A{number}" for number in range(20)])
        graph.build_vector_index()
    with open_graph(path) as graph:
        assert graph.vector_index == "hnsw"
        assert graph.counts().sections == 260
        assert recall(graph) > 0.75
        [hit] = graph.search(articles(range(50, 150), seed=2)[-1].vectors[0], limit=1)
        assert (hit.title_key, hit.text) == ("A149", "lead 2")
        [hit] = graph.search(articles(range(100))[0].vectors[0], limit=1)
        assert hit.title_key != "A0"


def not_written_without_the_extension(path: Path) -> None:
    indexed(path).close()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ladybug_reader, "load_extension", lambda file: False)
        with pytest.raises(GraphError, match="install its extension VECTOR, or name its file in RAMET_LADYBUG_VECTOR"):
            open_graph(path)
        with LadybugGraph.open_reader(path) as reader:
            assert reader.vector_index == "exact"
            assert len(reader.search([1.0] * DIMENSION, limit=3)) == 3


def left_out_where_small(path: Path) -> None:
    ladybug_file.INDEXED_FROM_SECTIONS = 21
    with open_graph(path) as graph:
        graph.load_articles(articles(range(10)))
        graph.build_vector_index()
        assert graph.vector_index == "exact"


SCENARIOS = {
    told.__name__: told for told in (ranked_exactly, kept_up, not_written_without_the_extension, left_out_where_small)
}

if __name__ == "__main__":
    sys.modules["ladybug"] = SimpleNamespace(Database=database, Connection=kuzu.Connection)  # type: ignore[assignment]
    ladybug_file.INDEXED_FROM_SECTIONS = 1
    SCENARIOS[sys.argv[1]](Path(sys.argv[2]))
