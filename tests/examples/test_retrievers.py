"""The retrievers for other libraries find passages in a graph; each is run where its library is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.registry import open_graph_writer
from tests.examples.test_loops import run
from tests.wiki.article_texts import article_from_text

pytestmark = pytest.mark.process

TEXT = "A lamp gives light.\n== Making ==\n=== Oil ===\nPressed from olives."


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "lamps.sqlite"
    model = HashingEmbedder()
    lamp = article_from_text("Lamp", TEXT)
    with open_graph_writer(path, model_id=model.model_id, dimension=model.dimension) as writer:
        writer.load_articles([EmbeddedArticle(lamp, 0, tuple(model.embed(texts_of(lamp))))])
    return path


def check_finds(name: str, library: str, graph: Path, folder: Path) -> None:
    """Run an example on a graph: the passage that fits comes first, with its section."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: it is an example's, and no part of ramet")
    done = run(name, folder, str(graph), "what is pressed from olives")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "Lamp > Making > Oil: Pressed from olives."


def test_langchain_finds_passages_with_their_sections(graph: Path, tmp_path: Path) -> None:
    check_finds("wiki_langchain.py", "langchain_core", graph, tmp_path)


def test_llamaindex_finds_passages_with_their_sections(graph: Path, tmp_path: Path) -> None:
    check_finds("wiki_llamaindex.py", "llama_index", graph, tmp_path)
