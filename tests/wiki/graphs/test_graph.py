"""The graph: writes can be repeated, a batch is written whole or not at all, search is exact."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs import ladybug, sqlite
from ramet.wiki.graphs.base import EmbeddedArticle, GraphCounts, GraphLink, vector_digest
from ramet.wiki.graphs.registry import Graph
from ramet.wiki.pages import Article
from tests.wiki.article_texts import article_from_text

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]


def test_a_loaded_article_has_its_sections_and_categories(
    graph: Graph, embedded: Embed, articles: list[Article]
) -> None:
    graph.load_articles(embedded(articles[:1], 0))
    assert graph.counts() == GraphCounts(articles=1, discovered=0, sections=3, categories=2, links=0, aliases=0)
    lines = graph.dump()
    assert 'Article ["Ollo Island", "Ollo Island", 0, "", "", "", true]' in lines
    assert 'IN_CATEGORY ["Ollo Island", "Places"]' in lines
    assert 'Section ["Ollo Island#2", 2, "Harbour", 3, "Empty > Harbour", "A stone pier, rebuilt twice."]' in lines
    digest = vector_digest(embedded(articles[:1], 0)[0].vectors[2])
    assert f'Passage ["Ollo Island", 2, 0, 28, "{digest}"]' in lines


def test_writing_again_changes_nothing_in_whatever_order_and_batches(
    graph: Graph, embedded: Embed, articles: list[Article]
) -> None:
    links = [GraphLink("Ollo Island", "Tarn", "Tarn", 1), GraphLink("Tarn", "Oil", "Oil", 1)]
    graph.load_articles(embedded(articles, 1))
    graph.add_links(links)
    once = graph.dump()
    chance = random.Random(7)
    for _ in range(5):
        chance.shuffle(articles)
        for cut in (articles[:2], articles[1:]):
            graph.load_articles(embedded(cut, 1))
        graph.add_links([*reversed(links), *links])
    assert graph.dump() == once


def test_an_article_that_changed_replaces_what_it_had(graph: Graph, embedded: Embed) -> None:
    graph.load_articles(embedded([article_from_text("Tarn", "a\n== H ==\nb", categories=["Old", "Both"])], 1))
    graph.load_articles(embedded([article_from_text("tarn", "c", categories=["Both"])], 1))
    lines = graph.dump()
    assert [line for line in lines if line.startswith("HAS_SECTION")] == ['HAS_SECTION ["Tarn", "Tarn#0"]']
    assert [line for line in lines if line.startswith("IN_CATEGORY")] == ['IN_CATEGORY ["Tarn", "Both"]']
    assert 'Article ["Tarn", "tarn", 1, "", "", "", true]' in lines


def test_a_link_adds_its_target_until_that_is_loaded(graph: Graph, embedded: Embed, articles: list[Article]) -> None:
    island, tarn = articles[0], articles[2]
    graph.load_articles(embedded([island], 0))
    graph.add_links([GraphLink(island.key, tarn.key, "tarn?", 1)])
    assert 'Article ["Tarn", "tarn?", 1, "", "", "", false]' in graph.dump()
    graph.load_articles(embedded([tarn], 1))
    # A link to an article that exists adds only itself.
    graph.add_links([GraphLink(tarn.key, island.key, "other title", 9)])
    assert graph.counts() == GraphCounts(articles=2, discovered=0, sections=4, categories=2, links=2, aliases=0)
    assert 'Article ["Ollo Island", "Ollo Island", 0, "", "", "", true]' in graph.dump()


def test_depth_never_grows(graph: Graph, embedded: Embed, articles: list[Article]) -> None:
    for depth in (3, 1, 2):
        graph.load_articles(embedded(articles[:1], depth))
    assert 'Article ["Ollo Island", "Ollo Island", 1, "", "", "", true]' in graph.dump()


def test_links_are_drawn_in_transactions_of_bounded_size(
    graph: Graph, embedded: Embed, articles: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (ladybug, sqlite):
        monkeypatch.setattr(module, "LINKS_PER_TRANSACTION", 4)
    graph.load_articles(embedded(articles, 0))
    pairs = [(a.key, b) for a in articles for b in articles if a is not b]
    graph.add_links([GraphLink(source, target.key, target.title, 1) for source, target in pairs])
    assert graph.counts().links == len(pairs) == 30


def test_a_batch_that_fails_leaves_nothing(graph: Graph, embedded: Embed, articles: list[Article]) -> None:
    before = graph.dump()
    good, bad = embedded(articles[:2], 0)
    short = EmbeddedArticle(bad.article, 0, tuple(vector[:-1] for vector in bad.vectors))
    with pytest.raises(GraphError, match="could not be written") as refused:
        graph.load_articles([good, short])
    assert "\n" not in str(refused.value)
    assert graph.dump() == before
    graph.load_articles([good, bad])
    assert graph.counts().articles == 2


def test_articles_of_any_size_are_loaded_in_bounded_memory(
    graph: Graph, embedded: Embed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladybug, "BYTES_PER_TRANSACTION", 100)
    monkeypatch.setattr(ladybug, "BYTES_PER_STATEMENT", 50)
    pages = [article_from_text(key, "\n".join(f"== H{n} ==\n{'text ' * n}" for n in range(1, 9))) for key in "ABC"]
    graph.load_articles(embedded(pages, 0))
    graph.load_articles(embedded(pages[1:], 0))
    assert (graph.counts().articles, graph.counts().sections) == (3, 24)
    found = graph.read_hits(graph.search_words("text", limit=30))
    assert {(hit.title_key, hit.heading) for hit in found} == {(key, f"H{n}") for key in "ABC" for n in range(1, 9)}


def test_search_ranks_by_exact_cosine(
    graph: Graph, embedded: Embed, articles: list[Article], embedder: HashingEmbedder
) -> None:
    items = embedded(articles, 2)
    graph.load_articles(items)
    (query,) = embedder.embed(["oil for the lamp"])
    expected = sorted(
        (-sum(a * b for a, b in zip(query, vector, strict=True)), item.article.key, position)
        for item in items
        for position, vector in enumerate(item.vectors)
    )
    hits = graph.read_hits(graph.search(query, limit=4))
    assert [hit.title_key for hit in hits] == [key for _, key, _ in expected[:4]]
    assert all(
        math.isclose(hit.score, -score, abs_tol=1e-5) for hit, (score, *_) in zip(hits, expected[:4], strict=True)
    )
    assert (hits[0].expansion_depth, hits[0].heading) == (2, "")


def test_text_of_any_kind_comes_back_as_it_went_in(graph: Graph, embedded: Embed) -> None:
    title = 'O\'Brien "x" \\ $rows {a: 1} ünï 漢字 🏝'
    graph.load_articles(embedded([article_from_text(title, title, categories=[title])], 0))
    (hit,) = graph.read_hits(graph.search([1.0] + [0.0] * 15, limit=10))
    assert (hit.title, hit.text) == (title, title)


def test_equal_vectors_have_equal_digests_and_noise_does_not_count() -> None:
    assert vector_digest([0.5, -0.0]) == vector_digest([0.5000001, 0.0]) == vector_digest([0.5, -1e-9])
    assert vector_digest([0.5, 0.0]) != vector_digest([0.5, 0.001])
