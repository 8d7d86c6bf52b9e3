"""A graph asked from Python, on both stores: found, read, walked, and what it says of what it does not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ramet.wiki import Direction, GraphReader, Ranking, open_graph
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.errors import GraphError, GraphMismatch, NotInGraph
from ramet.wiki.graphs.base import EmbeddedArticle, GraphAlias, GraphLink
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.registry import open_graph_writer
from tests.wiki.article_texts import article_from_text

LAMP = "A lamp gives light.\n== Making ==\n=== Glass ===\nBlown by mouth.\n=== Oil ===\nPressed from olives."


@pytest.fixture(params=["lbug", "sqlite"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "lbug":
        pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    place = tmp_path / f"graph.{request.param}"
    model = HashingEmbedder()
    articles = [article_from_text("Lamp", LAMP), article_from_text("Olive", "A tree with fruit.")]
    with open_graph_writer(place, model_id=model.model_id, dimension=model.dimension) as graph:
        graph.load_articles([EmbeddedArticle(one, 0, tuple(model.embed(texts_of(one)))) for one in articles])
        graph.add_links([GraphLink("Lamp", "Olive", "Olive", 1), GraphLink("Olive", "Tree", "Tree", 2)])
        graph.add_aliases([GraphAlias("Lantern", "lantern", "Lamp")])
    return place


@pytest.fixture
def graph(path: Path) -> GraphReader:
    return open_graph(path)


def test_sections_are_found_by_words_and_meaning_with_their_passage(graph: GraphReader) -> None:
    for ranking in Ranking:
        [hit] = graph.search("pressed olives", limit=1, ranking=ranking)
        assert (hit.title, hit.path, hit.passage) == ("Lamp", "Making > Oil", "Pressed from olives.")
    assert {hit.title for hit in graph.search("a", limit=9, among=["olive"])} == {"Olive"}
    with pytest.raises(NotInGraph, match="no article 'Nothing'"):
        graph.search("a", among=["Nothing"])


def test_an_article_is_read_whole_or_by_heading_and_path(graph: GraphReader) -> None:
    assert [section.path for section in graph.read("lantern")] == ["", "Making > Glass", "Making > Oil"]
    assert [section.text for section in graph.read("Lamp", "")] == ["A lamp gives light."]
    assert [section.heading for section in graph.read("Lamp", "Making")] == ["Glass", "Oil"]
    [glass] = graph.read("Lamp", "Making > Glass")
    assert (glass.heading, glass.level, glass.text) == ("Glass", 3, "Blown by mouth.")
    with pytest.raises(NotInGraph, match="no section 'Colour'"):
        graph.read("Lamp", "Colour")
    with pytest.raises(NotInGraph, match="known from links only"):
        graph.read("Tree")


def test_neighbors_are_walked_from_title_or_alias(graph: GraphReader) -> None:
    assert [near.title for near in graph.neighbors("lantern", depth=2)] == ["Olive", "Tree"]
    assert [near.title for near in graph.neighbors("Olive", direction=Direction.IN)] == ["Lamp"]


def test_each_call_sees_what_was_loaded_meanwhile(path: Path, graph: GraphReader) -> None:
    assert graph.search("heron", ranking=Ranking.WORDS) == []
    model = HashingEmbedder()
    with open_graph_writer(path, model_id=model.model_id, dimension=model.dimension) as writer:
        heron = article_from_text("Heron", "A heron stands still.")
        writer.load_articles([EmbeddedArticle(heron, 1, tuple(model.embed(texts_of(heron))))])
        assert graph.search("heron")[0].title == "Heron"


def test_what_cannot_be_asked_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="there is no graph at"):
        open_graph(tmp_path / "none.sqlite")
    open_graph_writer(tmp_path / "words.sqlite", model_id="none", dimension=0).close()
    with pytest.raises(GraphError, match="has no vectors"):
        open_graph(tmp_path / "words.sqlite").search("a", ranking=Ranking.VECTORS)
    open_graph_writer(tmp_path / "other.sqlite", model_id="somebody's", dimension=3).close()
    with pytest.raises(GraphMismatch, match="name that model with --embed"):
        open_graph(tmp_path / "other.sqlite").search("a")
    with pytest.raises(GraphMismatch, match="are never mixed"):
        open_graph(tmp_path / "other.sqlite", embedder="hashing").search("a")


@pytest.mark.process
def test_the_package_alone_loads_no_graph() -> None:
    code = "import sys, ramet.wiki; print([name for name in sys.modules if name.startswith('ramet.wiki.')])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_what_is_not_published_is_no_attribute() -> None:
    import ramet.wiki

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ramet.wiki.nothing
