"""The graph's file: one writer, readers beside it, models never mixed, other people's files left alone."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ramet.commands.extras import ExtraMissing
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.errors import GraphBusy, GraphError, GraphMismatch
from ramet.wiki.graphs import graph_file
from ramet.wiki.graphs.base import NO_MODEL, EmbeddedArticle, GraphCounts
from ramet.wiki.graphs.ladybug import LadybugGraph, index_path
from ramet.wiki.graphs.registry import (
    Graph,
    GraphInfo,
    default_graph,
    graph_info,
    graph_is_there,
    open_graph_reader,
    open_graph_writer,
)
from ramet.wiki.graphs.sqlite import SqliteGraph
from ramet.wiki.pages import Article

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]


def open_writer(path: Path, embedder: HashingEmbedder) -> Graph:
    return open_graph_writer(path, model_id=embedder.model_id, dimension=embedder.dimension)


def openings(path: Path, embedder: HashingEmbedder) -> list[Callable[[], Graph]]:
    """Both ways to open a graph."""
    return [lambda: open_writer(path, embedder), lambda: open_graph_reader(path)]


def test_a_graph_outlives_its_process_whole(
    graph_path: Path, embedder: HashingEmbedder, embedded: Embed, articles: list[Article]
) -> None:
    with open_writer(graph_path, embedder) as graph:
        graph.load_articles(embedded(articles, 0))
        dump = graph.dump()
    graph.close()
    with open_graph_reader(graph_path) as reader:
        assert reader.dump() == dump
        assert (reader.model_id, reader.dimension) == (embedder.model_id, embedder.dimension)
    with open_writer(graph_path, embedder) as graph:
        assert graph.dump() == dump


def test_vectors_of_two_models_are_never_mixed(graph_path: Path, embedder: HashingEmbedder) -> None:
    open_writer(graph_path, embedder).close()
    for model_id, dimension in (("other", embedder.dimension), (embedder.model_id, 17)):
        with pytest.raises(GraphMismatch, match="use that model or another graph file"):
            open_graph_writer(graph_path, model_id=model_id, dimension=dimension)
    open_writer(graph_path, embedder).close()


def test_a_graph_of_another_schema_is_refused(
    graph_path: Path, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_writer(graph_path, embedder).close()
    monkeypatch.setattr(graph_file, "SCHEMA_VERSION", 5)
    for opening in openings(graph_path, embedder):
        with pytest.raises(GraphMismatch, match="has graph schema 4, this release reads 5"):
            opening()


def test_a_second_writer_is_refused_at_once_and_told_by_whom(
    graph: Graph, graph_path: Path, embedder: HashingEmbedder
) -> None:
    with pytest.raises(GraphBusy, match=r"process \d+ is writing to .*; wait for it to end, or stop it"):
        open_writer(graph_path, embedder)
    # A reader that comes and goes within the process must not take the writer's lock along.
    open_graph_reader(graph_path).close()
    with pytest.raises(GraphBusy):
        open_writer(graph_path, embedder)
    graph.close()
    open_writer(graph_path, embedder).close()


def test_a_reader_keeps_its_snapshot_while_the_writer_goes_on(
    graph: Graph, graph_path: Path, embedded: Embed, articles: list[Article]
) -> None:
    graph.load_articles(embedded(articles[:1], 0))
    with open_graph_reader(graph_path) as reader:
        graph.load_articles(embedded(articles, 0))
        assert reader.counts().articles == 1
        with open_graph_reader(graph_path) as later:
            assert later.counts().articles == len(articles)
        graph.close()
        assert reader.counts().articles == 1


def test_opening_what_is_no_graph_says_so_in_one_line(graph_path: Path, embedder: HashingEmbedder) -> None:
    with pytest.raises(GraphError, match="make one with `ramet wiki expand`"):
        open_graph_reader(graph_path)
    graph_path.parent.mkdir()
    graph_path.write_text("not a database\n" * 1_000)
    for opening in openings(graph_path, embedder):
        with pytest.raises(GraphError, match="cannot open") as refused:
            opening()
        assert "\n" not in str(refused.value)
    with pytest.raises(GraphError, match="cannot write beside"):
        open_writer(graph_path / "below.lbug", embedder)


def test_another_programs_database_is_not_touched(graph_path: Path, embedder: HashingEmbedder) -> None:
    graph_path.parent.mkdir()
    if graph_path.suffix == ".sqlite":
        with closing(sqlite3.connect(graph_path)) as database, database:
            database.execute("CREATE TABLE person(name TEXT)")
    else:
        ladybug = pytest.importorskip("ladybug")
        database = ladybug.Database(str(graph_path), buffer_pool_size=64 * 1024 * 1024)
        connection = ladybug.Connection(database)
        connection.execute("CREATE NODE TABLE Person(name STRING PRIMARY KEY)").close()
        connection.close()
        database.close()
    before = graph_path.read_bytes()
    for opening in openings(graph_path, embedder):
        with pytest.raises(GraphError, match="is not a graph of `ramet wiki`"):
            opening()
    assert graph_path.read_bytes() == before


def test_a_graph_without_vectors_holds_everything_else(graph_path: Path, articles: list[Article]) -> None:
    with open_graph_writer(graph_path, model_id=NO_MODEL, dimension=0) as graph:
        graph.load_articles([EmbeddedArticle(article, 0, ()) for article in articles])
        assert (graph.model_id, graph.dimension) == (NO_MODEL, 0)
        assert graph.read_hits(graph.search_words("pier", limit=1))[0].heading == "Harbour"
        assert graph.counts().sections == 8
        assert (
            'Section ["Ollo Island#2", 2, "Harbour", 3, "Empty > Harbour", "A stone pier, rebuilt twice."]'
            in graph.dump()
        )
    with pytest.raises(GraphMismatch, match="holds no vectors, not vectors of other"):
        open_graph_writer(graph_path, model_id="other", dimension=3)


def test_what_a_graph_is_can_be_asked_beside_its_writer(graph: Graph, graph_path: Path) -> None:
    graph.load_articles([])
    assert graph_is_there(graph_path)
    empty = GraphCounts(articles=0, discovered=0, sections=0, categories=0, links=0, aliases=0)
    assert graph_info(graph_path) == GraphInfo(graph.model_id, graph.dimension, empty)


def test_a_file_is_what_it_says_and_a_new_one_what_it_is_named(tmp_path: Path, embedder: HashingEmbedder) -> None:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    for name, kind in {"a.lbug": LadybugGraph, "b.graph": LadybugGraph, "c.sqlite3": SqliteGraph}.items():
        with open_writer(tmp_path / name, embedder) as graph:
            assert type(graph) is kind
        renamed = (tmp_path / name).rename(tmp_path / f"{name}.{'sqlite' if kind is LadybugGraph else 'lbug'}")
        if kind is LadybugGraph:
            with pytest.raises(GraphError, match=r"passages is missing, .* put it back beside it"):
                open_graph_reader(renamed)
            index_path(tmp_path / name).rename(index_path(renamed))
        with open_graph_reader(renamed) as graph:
            assert type(graph) is kind
    assert default_graph() == Path("wiki.lbug")


def test_without_ladybug_graphs_are_kept_in_sqlite(
    tmp_path: Path, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ladybug", None)
    assert default_graph() == Path("wiki.sqlite")
    with open_writer(tmp_path / "b.graph", embedder) as graph:
        assert type(graph) is SqliteGraph
    with pytest.raises(ExtraMissing, match="needs the package 'ladybug'"):
        open_writer(tmp_path / "a.lbug", embedder)
