"""The texts that the bare embedder is given are those of the expansion; ratios are of medians."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.wiki_embedding import Spent, report, texts_of
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs import passages
from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.registry import open_graph_writer
from tests.wiki.article_texts import article_from_text


@pytest.mark.parametrize("suffix", ["lbug", "sqlite"])
def test_the_bare_embedder_gets_the_texts_of_the_graph(suffix: str, tmp_path: Path) -> None:
    if suffix == "lbug":
        pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    articles = [article_from_text("Tarn", "lead\n== Pier #1 ==\nstone"), article_from_text("C#", "a language")]
    texts = [passages.texts_of(article) for article in articles]
    model = HashingEmbedder(8)
    path = tmp_path / f"graph.{suffix}"
    with open_graph_writer(path, model_id=model.model_id, dimension=model.dimension) as graph:
        loaded = [EmbeddedArticle(a, 0, tuple(model.embed(own))) for a, own in zip(articles, texts, strict=True)]
        graph.load_articles(loaded)
    assert sorted(texts_of(path)) == sorted(text for own in texts for text in own)


def test_ratios_are_of_medians_and_starting_is_taken_off() -> None:
    starts = [Spent(2, seconds, 1.0) for seconds in (2.0, 2.0, 9.0)]
    whole = [Spent(102, seconds, 5.1) for seconds in (12.0, 12.0, 99.0)]
    alone = [Spent(102, seconds, 2.04) for seconds in (10.2, 5.1, 10.2)]
    found = report(starts, whole, alone)
    assert (found["sections_per_s"], found["bare_sections_per_s"]) == (8.5, 10.0)
    assert (found["ratio"], found["ratio_without_start"]) == (0.85, 1.0)
    assert (found["cpu_ms_per_section"], found["bare_cpu_ms_per_section"]) == (50.0, 20.0)
