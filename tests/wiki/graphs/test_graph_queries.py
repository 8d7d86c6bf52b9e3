"""Walks, words and exports: the same answers from both databases, in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs import ladybug_reader
from ramet.wiki.graphs.base import Direction, EmbeddedArticle, FoundPassage, GraphAlias, GraphLink, Neighbor
from ramet.wiki.graphs.registry import Graph
from ramet.wiki.pages import Article
from tests.wiki.article_texts import article_from_text

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]
LINKS = ["Ollo Island>Tarn", "Ollo Island>Sound of Brae", "Tarn>Lighthouse", "Lighthouse>Lamp", "Lamp>Oil", "Oil>Tarn"]


@pytest.fixture
def linked(graph: Graph, embedded: Embed, articles: list[Article]) -> Graph:
    """The archipelago without the page of Oil, which is only linked to."""
    graph.load_articles(embedded(articles, 1))
    graph.add_links([GraphLink(source, target, target, 2) for source, target in (pair.split(">") for pair in LINKS)])
    graph.remove_articles(["Oil"])
    graph.add_aliases([GraphAlias("The island", "the island", "Ollo Island")])
    return graph


def test_an_article_is_found_by_its_title_and_by_its_aliases(linked: Graph) -> None:
    island = Neighbor(0, "Ollo Island", "Ollo Island", 1, True, "")
    assert linked.find("Ollo Island") == linked.find("The island") == island
    assert linked.find("Oil") == Neighbor(0, "Oil", "Oil", 1, False, "")
    assert linked.find("Nowhere") is None


@pytest.mark.parametrize(
    ("direction", "depth", "limit", "expected"),
    [
        (Direction.OUT, 1, 10, {"Sound of Brae": 1, "Tarn": 1}),
        (Direction.OUT, 3, 10, {"Sound of Brae": 1, "Tarn": 1, "Lighthouse": 2, "Lamp": 3}),
        (Direction.OUT, 9, 3, {"Sound of Brae": 1, "Tarn": 1, "Lighthouse": 2}),
        (Direction.OUT, 9, 1, {"Sound of Brae": 1}),
        (Direction.IN, 5, 10, {}),
        (Direction.BOTH, 9, 10, {"Sound of Brae": 1, "Tarn": 1, "Lighthouse": 2, "Lamp": 3, "Oil": 4}),
    ],
)
def test_neighbors_are_walked_to_level_by_level(
    linked: Graph, direction: Direction, depth: int, limit: int, expected: dict[str, int]
) -> None:
    found = linked.neighbors("Ollo Island", direction=direction, depth=depth, limit=limit)
    assert [(neighbor.title_key, neighbor.distance) for neighbor in found] == list(expected.items())


def test_links_are_followed_backwards(linked: Graph) -> None:
    found = linked.neighbors("Lamp", direction=Direction.IN, depth=2, limit=10)
    assert [(neighbor.title_key, neighbor.distance) for neighbor in found] == [("Lighthouse", 1), ("Tarn", 2)]


def test_words_are_found_whole_in_title_heading_and_text(linked: Graph, embedded: Embed) -> None:
    linked.load_articles(embedded([article_from_text("Straße", "Ölfarbe\n== Été ==\nLAMP")], 1))
    hits = linked.read_hits(linked.search_words("Lamp, oil lamp ISLAND", limit=9))
    assert (hits[0].title_key, hits[0].heading) == ("Lamp", "")
    assert {hit.title_key for hit in hits} == {"Lamp", "Ollo Island", "Sound of Brae", "Tarn", "Lighthouse", "Straße"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    [fog] = linked.read_hits(linked.search_words("ollo fog", limit=1))
    assert (fog.heading, fog.passage) == ("Climate", "Windy, with fog in spring.")
    assert [hit.heading for hit in linked.read_hits(linked.search_words("STRASSE ete", limit=5))] == ["Été", ""]
    assert linked.search_words("amp", limit=5) == []
    assert linked.search_words("lamps burn", limit=1)[0].title_key == "Lamp", "words are stemmed"


@pytest.mark.parametrize(
    "text",
    ["", "   ", "?!", '"', "'; DROP TABLE words; --", "lamp AND NOT", 'title:lamp* OR "', "NEAR(a b)", "-", "^lamp",
     "\0", "(" * 500, "w " * 5_000, "\ud800"],
)  # fmt: skip
def test_no_character_of_a_query_is_an_operator(linked: Graph, text: str) -> None:
    assert len(linked.search_words(text, limit=3)) <= 3
    assert linked.search_words("lamp", limit=1)[0].title_key == "Lamp"


def test_scripts_without_spaces_are_found_by_pairs_of_letters(linked: Graph, embedded: Embed) -> None:
    pages = [
        ("東京", "東京都は日本の首都である。人口は多い。"),
        ("京都", "京都市は古い都である。"),
        ("ไทย", "ประเทศไทยอยู่ในเอเชีย"),
    ]
    linked.load_articles(embedded([article_from_text(*page) for page in pages], 1))
    assert [hit.title_key for hit in linked.search_words("日本の首都", limit=1)] == ["東京"]
    assert [hit.title_key for hit in linked.search_words("古い都", limit=1)] == ["京都"]
    assert [hit.title_key for hit in linked.search_words("เอเชีย", limit=1)] == ["ไทย"]
    assert linked.read_hits(linked.search_words("日本", limit=1))[0].passage == pages[0][1]


def test_of_a_long_section_the_passage_that_fits_is_found_and_shown(linked: Graph, embedded: Embed) -> None:
    filler = " ".join(f"Sentence number {number} says nothing of use at all here." for number in range(100))
    long = f"{filler} The heron nests in the old mill. {filler}"
    linked.load_articles(embedded([article_from_text("Long", f"== Birds ==\n{long}\n== See also ==\nThe heron")], 1))
    found = linked.read_hits(linked.search_words("a nest of herons", limit=5))
    assert [(hit.heading, hit.text) for hit in found if hit.title_key == "Long"] == [("Birds", long)]
    assert "heron" in found[0].passage
    assert len(found[0].passage) < len(long) / 5


def test_only_the_sections_that_are_shown_are_read_and_what_the_graph_lacks_is_left_out(linked: Graph) -> None:
    found = linked.search_words("lamp light island", limit=9)
    gone = FoundPassage(99.0, "Gone", 0, 0, 4)
    hits = linked.read_hits(iter([gone, *found]), 2)
    assert [(hit.title_key, hit.score) for hit in hits] == [(one.title_key, one.score) for one in found[:2]]
    rest = iter(found)
    linked.read_hits(rest, 2)
    assert list(rest) == found[2:]


def test_only_the_articles_that_are_named_are_looked_into(linked: Graph, embedder: HashingEmbedder) -> None:
    [vector] = embedder.embed(["lamp"])
    for found in (linked.search_words("lamp light", limit=9, among=["Lighthouse"]),
                  linked.search(vector, limit=9, among=["Lighthouse"])):  # fmt: skip
        assert {hit.title_key for hit in found} == {"Lighthouse"}
    assert linked.search_words("lamp", limit=9, among=[]) == []


def test_an_export_has_every_node_and_edge_once_in_a_fixed_order(
    linked: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladybug_reader, "PAGE_ROWS", 2)
    monkeypatch.setattr(ladybug_reader, "ARTICLES_TOGETHER", 2)
    nodes, edges = list(linked.nodes()), list(linked.edges())
    labels = [node.label for node in nodes]
    assert labels == sorted(labels, key=["Article", "Section", "Category", "Alias"].index)
    counts = linked.counts()
    assert (labels.count("Article"), labels.count("Alias")) == (counts.articles + counts.discovered, 1)
    assert (labels.count("Section"), labels.count("Category")) == (counts.sections, counts.categories)
    for label in set(labels):
        ids = [node.node_id for node in nodes if node.label == label]
        assert ids == sorted(set(ids))
    told = {f'{edge.label} ["{edge.source_id.split(":")[1]}", "{edge.target_id.split(":")[1]}"]' for edge in edges}
    dumped = {line for line in linked.dump() if line.split()[0] in {edge.label for edge in edges}}
    assert told == dumped
    assert len(told) == len(edges)
    assert {edge.source_id for edge in edges} | {edge.target_id for edge in edges} <= {node.node_id for node in nodes}


def test_a_node_has_what_was_loaded_and_no_vector(linked: Graph) -> None:
    by_id = {node.node_id: node for node in linked.nodes()}
    assert by_id["Section:Ollo Island#2"].properties == {
        "position": 2,
        "heading": "Harbour",
        "level": 3,
        "path": "Empty > Harbour",
        "text": "A stone pier, rebuilt twice.",
    }
    assert by_id["Article:Oil"].properties["loaded"] is False
    assert by_id["Alias:The island"].properties == {"title": "the island"}
    first = min((edge for edge in linked.edges() if edge.label == "ALIAS_OF"), key=attrgetter("source_id"))
    assert (first.source_id, first.target_id) == ("Alias:The island", "Article:Ollo Island")
