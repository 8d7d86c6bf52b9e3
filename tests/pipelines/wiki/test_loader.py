"""The loader: many callers, one writer, whole batches; an error reaches the one who caused it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import cast

import pytest

from ramet.pipelines.wiki.articles import Article, article_from_text
from ramet.pipelines.wiki.embedding.base import Vector
from ramet.pipelines.wiki.embedding.hashing import HashingEmbedder
from ramet.pipelines.wiki.errors import GraphError
from ramet.pipelines.wiki.graphs.base import EmbeddedArticle, GraphCounts, GraphLink, GraphStore, SearchHit
from ramet.pipelines.wiki.loader import Loader, LoaderClosed


class RecordingGraph:
    """A graph store that records batches, waits when told to, and refuses articles titled Bad."""

    def __init__(self, embedder: HashingEmbedder) -> None:
        self.model_id, self.dimension = embedder.model_id, embedder.dimension
        self.batches: list[list[EmbeddedArticle]] = []
        self.threads: set[int] = set()
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def load_articles(self, batch: Sequence[EmbeddedArticle]) -> None:
        self.entered.set()
        self.go_on.wait()
        self.threads.add(threading.get_ident())
        if any(item.article.title == "Bad" for item in batch):
            raise GraphError("cannot load Bad")
        self.batches.append(list(batch))

    def titles(self) -> list[list[str]]:
        return [[item.article.title for item in batch] for batch in self.batches]

    def add_links(self, links: Sequence[GraphLink]) -> None:
        raise NotImplementedError

    def counts(self) -> GraphCounts:
        raise NotImplementedError

    def search(self, vector: Vector, *, limit: int) -> list[SearchHit]:
        raise NotImplementedError

    def dump(self) -> list[str]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


@pytest.fixture
def graph(embedder: HashingEmbedder) -> RecordingGraph:
    return RecordingGraph(embedder)


@pytest.fixture
def loader(graph: RecordingGraph, embedder: HashingEmbedder) -> Iterator[Loader]:
    with Loader(cast(GraphStore, graph), embedder, batch_size_max=3) as loader:
        yield loader
        graph.go_on.set()


def named(title: str, text: str = "text") -> Article:
    return article_from_text(title, text)


async def held(graph: RecordingGraph, loader: Loader) -> asyncio.Task[None]:
    """The loader busy with an article called First, until `graph.go_on` is set."""
    graph.go_on.clear()
    first = asyncio.create_task(loader.load(named("First"), 0))
    await asyncio.to_thread(graph.entered.wait)
    return first


async def test_what_waits_is_loaded_together_up_to_a_limit_and_in_order(graph: RecordingGraph, loader: Loader) -> None:
    first = await held(graph, loader)
    waiting = [asyncio.wrap_future(loader.submit(named(f"A{number}"), 1)) for number in range(5)]
    graph.go_on.set()
    await asyncio.gather(first, *waiting)
    assert graph.titles() == [["First"], ["A0", "A1", "A2"], ["A3", "A4"]]
    assert len(graph.threads) == 1
    assert graph.threads != {threading.get_ident()}


async def test_every_section_gets_its_own_vector(
    graph: RecordingGraph, loader: Loader, embedder: HashingEmbedder, articles: list[Article]
) -> None:
    await asyncio.gather(*(loader.load(article, 0) for article in [*articles, named("Blank", "")]))
    items = {item.article.title: item for batch in graph.batches for item in batch}
    assert items["Blank"].vectors == ()
    expected = embedder.embed(
        [
            "Ollo Island\n" * 3 + articles[0].lead,
            "Ollo Island: Climate\n" * 3 + "Windy, with fog in spring.",
            "Ollo Island: Harbour\n" * 3 + "A stone pier, rebuilt twice.",
        ]
    )
    assert list(items["Ollo Island"].vectors) == expected


async def test_an_error_reaches_the_one_who_caused_it(graph: RecordingGraph, loader: Loader) -> None:
    first = await held(graph, loader)
    waiting = [asyncio.wrap_future(loader.submit(named(title), 1)) for title in ("Good", "Bad", "Fine")]
    graph.go_on.set()
    await first
    good, bad, fine = await asyncio.gather(*waiting, return_exceptions=True)
    assert (good, str(bad), fine) == (None, "cannot load Bad", None)
    assert graph.titles() == [["First"], ["Good"], ["Fine"]]
    await loader.load(named("After"), 1)


async def test_an_article_handed_in_twice_is_written_once_at_its_smaller_depth(
    graph: RecordingGraph, loader: Loader
) -> None:
    first = await held(graph, loader)
    waiting = [asyncio.wrap_future(loader.submit(named("Twice"), depth)) for depth in (3, 2)]
    graph.go_on.set()
    await asyncio.gather(first, *waiting)
    assert [(item.article.title, item.expansion_depth) for item in graph.batches[1]] == [("Twice", 2)]


async def test_an_article_nobody_waits_for_any_more_is_not_loaded(graph: RecordingGraph, loader: Loader) -> None:
    first = await held(graph, loader)
    given_up, kept = (loader.submit(named(title), 1) for title in ("Given up", "Kept"))
    assert given_up.cancel()
    graph.go_on.set()
    await asyncio.gather(first, asyncio.wrap_future(kept))
    assert graph.titles() == [["First"], ["Kept"]]


async def test_closing_loads_what_was_handed_over_and_takes_no_more(graph: RecordingGraph, loader: Loader) -> None:
    first = await held(graph, loader)
    waiting = [loader.submit(named(f"A{number}"), 1) for number in range(7)]
    closing = asyncio.create_task(asyncio.to_thread(loader.close))
    graph.go_on.set()
    await asyncio.gather(first, closing)
    assert all(future.done() and future.exception() is None for future in waiting)
    loader.close()
    with pytest.raises(LoaderClosed):
        await loader.load(named("Late"), 1)


def test_a_loader_refuses_a_model_that_is_not_the_graphs(graph: RecordingGraph) -> None:
    with pytest.raises(AssertionError):
        Loader(cast(GraphStore, graph), HashingEmbedder(17))
