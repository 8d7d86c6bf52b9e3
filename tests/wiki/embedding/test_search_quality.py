"""What searching is worth: how far up a graph of real English sections the right one is found."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ramet import title_key
from ramet.wiki.embedding.minilm import MiniLmEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle, SearchHit
from ramet.wiki.graphs.passages import is_navigation, texts_of
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from ramet.wiki.graphs.search import fused
from ramet.wiki.pages import Article, Markup, Page, Section
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from ramet.wiki.wikitext.site import Site

CORPUS = Path(__file__).parents[3].parent / "shared" / "wiki-corpus" / "enwiki-a.jsonl"
SECTIONS = 80
RANK_WANTED = 0.88
"""Mean reciprocal rank: 1 if every section is found first, 0.5 if every section is found second."""

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not CORPUS.is_file(), reason="the shared wiki corpus is not beside this repository"),
]

Place = tuple[Article, Section]


@pytest.fixture(scope="module")
def places() -> list[Place]:
    """Every section with a heading of every English article of the corpus."""
    return [
        (article, section)
        for article in english_articles()
        for section in article.sections
        if section.heading and not is_navigation(section)
    ]


def english_articles() -> Iterator[Article]:
    options = ParseOptions(links="body", disambiguation="links", links_max=1_000)
    with CORPUS.open(encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            if raw["redirect"] is not None or raw["ns"] != 0:
                continue
            title = raw["title"]
            page = Page(title, title_key(title), Markup.WIKITEXT, raw["wikitext"], str(raw["revid"]))
            article = parse_page(page, Site("English"), options)
            assert isinstance(article, Article), article
            yield article


def mean_reciprocal_rank(path: Path, model: MiniLmEmbedder, sample: Sequence[Place], queries: Sequence[str]) -> float:
    """Load these sections and no others into a graph, and search it for each by its query."""
    by_title: dict[str, list[Section]] = {}
    articles = {article.title: article for article, _ in sample}
    for article, section in sample:
        by_title.setdefault(article.title, []).append(section)
    batch = []
    for title, sections in by_title.items():
        article = replace(articles[title], sections=tuple(sections))
        batch.append(EmbeddedArticle(article, 0, tuple(model.embed(texts_of(article)))))
    with open_graph_writer(path, model_id=model.model_id, dimension=model.dimension) as graph:
        graph.load_articles(batch)
    with open_graph_reader(path) as graph:
        hits = [
            graph.read_hits(
                fused([graph.search_words(query, limit=len(sample)), graph.search(vector, limit=len(sample))])
            )
            for query, vector in zip(queries, model.embed(queries), strict=True)
        ]
    ranks = [rank_of(place, found) for place, found in zip(sample, hits, strict=True)]
    return sum(1.0 / rank for rank in ranks) / len(ranks)


def rank_of(place: Place, hits: Iterable[SearchHit]) -> int:
    article, section = place
    return next(
        rank
        for rank, hit in enumerate(hits, start=1)
        if (hit.title, hit.heading, hit.text) == (article.title, section.heading, section.text)
    )


@pytest.mark.parametrize(
    ("seed", "suffix"),
    [
        (1, "lbug"),
        pytest.param(2, "sqlite", marks=pytest.mark.nightly),
        pytest.param(3, "sqlite", marks=pytest.mark.nightly),
    ],
)
def test_a_section_is_found_by_its_title_and_heading(
    seed: int, suffix: str, places: list[Place], minilm: MiniLmEmbedder, tmp_path: Path
) -> None:
    sample = random.Random(seed).sample(places, SECTIONS)
    queries = [f"{article.title}: {section.heading}" for article, section in sample]
    assert mean_reciprocal_rank(tmp_path / f"graph.{suffix}", minilm, sample, queries) >= RANK_WANTED


@pytest.mark.nightly
def test_a_section_is_found_by_what_it_says(places: list[Place], minilm: MiniLmEmbedder, tmp_path: Path) -> None:
    """Saying a section's place several times over must not drown its text."""
    chance = random.Random(1)
    sample: list[Place] = []
    queries: list[str] = []
    for article, section in chance.sample(places, len(places)):
        sentences = [said for said in re.split(r"(?<=[.!?])\s+", section.text[:1_000])[:-1] if len(said) > 60]
        if len(sentences) >= 3 and len(sample) < SECTIONS:
            said = chance.choice(sentences)
            sample.append((article, replace(section, text=section.text.replace(said, ""))))
            queries.append(said)
    assert mean_reciprocal_rank(tmp_path / "graph.sqlite", minilm, sample, queries) >= RANK_WANTED
