"""The log of a LadybugDB file: it waits for readers, and the next writer takes it over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs import ladybug_file
from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.ladybug import LadybugGraph
from ramet.wiki.pages import Article

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]


@pytest.fixture
def graph_path(tmp_path: Path) -> Path:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    return tmp_path / "graphs" / "archipelago.lbug"


@pytest.fixture
def graph(graph_path: Path, embedder: HashingEmbedder) -> Iterator[LadybugGraph]:
    with open_writer(graph_path, embedder) as graph:
        yield graph


def open_writer(path: Path, embedder: HashingEmbedder) -> LadybugGraph:
    return LadybugGraph.open_writer(path, model_id=embedder.model_id, dimension=embedder.dimension)


def test_the_log_is_folded_in_only_when_nobody_reads(
    graph: LadybugGraph,
    graph_path: Path,
    embedded: Embed,
    articles: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ladybug_file, "LOG_BYTES_MAX", 0)
    log = graph_path.with_name(graph_path.name + ".wal")
    graph.load_articles(embedded(articles[:1], 0))
    assert not log.exists()
    with LadybugGraph.open_reader(graph_path) as reader:
        graph.load_articles(embedded(articles, 0))
        assert reader.counts().articles == 1
        with LadybugGraph.open_reader(graph_path) as later:
            assert later.counts().articles == len(articles)
        # The log cannot be folded in under a reader's feet; it is when the reader has gone.
        assert log.exists()
    graph.load_articles(embedded(articles, 0))
    assert not log.exists()


def test_closing_beside_a_reader_leaves_the_log_to_the_next_writer(
    graph_path: Path, embedder: HashingEmbedder, embedded: Embed, articles: list[Article]
) -> None:
    with open_writer(graph_path, embedder) as graph:
        graph.load_articles(embedded(articles[:1], 0))
        reader = LadybugGraph.open_reader(graph_path)
    with reader:
        assert graph_path.with_name(graph_path.name + ".wal").exists()
        assert reader.counts().articles == 1
    with open_writer(graph_path, embedder) as graph:
        assert graph.counts().articles == 1
