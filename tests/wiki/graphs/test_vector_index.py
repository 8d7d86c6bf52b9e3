"""An index of vectors finds what a comparison with all finds, and is never believed when the graph has changed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from ramet.cli import main
from ramet.wiki.commands.expand import index_vectors
from ramet.wiki.embedding.base import HashingEmbedder, Vector
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs import vector_index
from ramet.wiki.graphs.base import EmbeddedArticle, FoundPassage
from ramet.wiki.graphs.passage_index import PassageIndex
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.registry import Graph, open_graph_reader, open_graph_writer, reopen_writer
from ramet.wiki.graphs.vector_index import VectorIndex
from tests.wiki.article_texts import article_from_text

pytest.importorskip("usearch", reason="the extra [wiki-index] is not installed")

ARTICLES, WORDS_EACH, WORDS = 400, 12, 600
QUERIES = 50
WANTED = 10


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "INDEXED_FROM", 100)


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def queries(embedder: HashingEmbedder) -> list[Vector]:
    rng = random.Random(7)
    return [embedder.embed_query(sentence(rng)) for _ in range(QUERIES)]


@pytest.fixture
def indexed(graph_path: Path, embedder: HashingEmbedder) -> Path:
    with open_graph_writer(graph_path, model_id=embedder.model_id, dimension=embedder.dimension) as graph:
        rng = random.Random(1)
        load(graph, embedder, [f"Page {number}" for number in range(ARTICLES)], rng)
        graph.index_vectors()
    assert len(indexes(graph_path)) == 1
    return graph_path


def sentence(rng: random.Random) -> str:
    return " ".join(f"word{rng.randrange(WORDS)}" for _ in range(WORDS_EACH))


def load(graph: Graph, embedder: HashingEmbedder, titles: Sequence[str], rng: random.Random) -> None:
    articles = [article_from_text(title, sentence(rng)) for title in titles]
    graph.load_articles([EmbeddedArticle(one, 0, tuple(embedder.embed(texts_of(one)))) for one in articles])


def indexes(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.glob("*.vectors-*"))


def exactly(graph: Graph, vector: Vector) -> list[FoundPassage]:
    """As a comparison with all: articles that are named are always compared."""
    return graph.search(vector, limit=WANTED, among=graph.article_keys())


def test_what_an_index_finds_is_what_a_comparison_finds(
    indexed: Path, queries: list[Vector], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    nearest = VectorIndex.nearest

    def noted(self: VectorIndex, vector: Sequence[float], count: int) -> list[int]:
        asked.append(count)
        return nearest(self, vector, count)

    monkeypatch.setattr(VectorIndex, "nearest", noted)
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == 0
        same = sum(len(set(graph.search(vector, limit=WANTED)) & set(exactly(graph, vector))) for vector in queries)
        everything = graph.search(queries[0], limit=2 * ARTICLES)
    assert same >= 0.95 * QUERIES * WANTED
    assert len(asked) > QUERIES, "the index was asked"
    assert len(everything) >= 0.95 * ARTICLES


def test_what_is_excluded_is_found_no_more_and_takes_no_place(indexed: Path, queries: list[Vector]) -> None:
    gone: set[str] = set()
    for vector in queries[:3]:
        with open_graph_reader(indexed) as graph:
            nearest = {one.title_key for one in graph.search(vector, limit=90)}
        with reopen_writer(indexed) as graph:
            graph.exclude_articles(nearest)
        gone |= nearest
        with open_graph_reader(indexed) as graph:
            assert graph.unindexed_vectors() == 0, "the index is of use still"
            found = graph.search(vector, limit=WANTED)
            assert len(set(found) & set(exactly(graph, vector))) >= WANTED - 1
        assert len(found) == WANTED
        assert not {one.title_key for one in found} & gone
    assert len(gone) == 3 * 90


def test_passages_that_come_in_later_are_found_and_get_an_index_of_their_own(
    indexed: Path, embedder: HashingEmbedder
) -> None:
    before = indexes(indexed)
    with reopen_writer(indexed) as graph:
        new = article_from_text("Zebra", "Zebras graze where nothing else of this graph does.")
        graph.load_articles([EmbeddedArticle(new, 0, tuple(embedder.embed(texts_of(new))))])
    vector = embedder.embed_query(texts_of(new)[0])
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == ARTICLES + 1
        assert graph.search(vector, limit=1)[0].title_key == "Zebra"
    index_vectors(indexed)
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == 0
        assert graph.search(vector, limit=1)[0].title_key == "Zebra"
    after = indexes(indexed)
    assert len(after) == 1
    assert after != before


def test_a_number_that_is_used_again_stands_for_the_new_passage(indexed: Path, embedder: HashingEmbedder) -> None:
    """The last passage goes and another gets its number: it was never in the index."""
    with reopen_writer(indexed) as graph:
        graph.exclude_articles([f"Page {ARTICLES - 1}"])
        new = article_from_text("Zebra", "Zebras graze where nothing else of this graph does.")
        graph.load_articles([EmbeddedArticle(new, 0, tuple(embedder.embed(texts_of(new))))])
    with open_graph_reader(indexed) as graph:
        assert graph.search(embedder.embed_query(texts_of(new)[0]), limit=1)[0].title_key == "Zebra"


def test_of_few_vectors_no_index_is_made(indexed: Path, queries: list[Vector], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "INDEXED_FROM", ARTICLES + 1)
    with reopen_writer(indexed) as graph:
        graph.index_vectors()
        assert graph.unindexed_vectors() == 0
    assert indexes(indexed) == []
    with open_graph_reader(indexed) as graph:
        assert graph.search(queries[0], limit=WANTED) == exactly(graph, queries[0])


def test_a_graph_of_an_earlier_release_gets_an_index(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reopen_writer(indexed) as graph:
        file = graph._index._file
        file.rows("DROP TABLE vectors_version")
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == ARTICLES
    index_vectors(indexed)
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == 0
    made: list[str] = []
    monkeypatch.setattr(PassageIndex, "index_vectors", lambda *_: made.append("again"))
    index_vectors(indexed)
    assert made == [], "one that fits is left as it is"


@pytest.mark.parametrize("damage", [b"", b"not an index", None], ids=["empty", "another's", "cut short"])
def test_a_damaged_index_is_not_used_and_made_again(indexed: Path, queries: list[Vector], damage: bytes | None) -> None:
    [name] = indexes(indexed)
    place = indexed.with_name(name)
    whole = place.read_bytes()
    vector_index._opened.cache_clear()
    place.unlink()
    place.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == ARTICLES
        assert graph.search(queries[0], limit=WANTED) == exactly(graph, queries[0])
    index_vectors(indexed)
    with open_graph_reader(indexed) as graph:
        assert graph.unindexed_vectors() == 0


def test_without_the_package_all_are_compared_and_one_line_says_so(
    indexed: Path, queries: list[Vector], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vector_index, "MODULE", "package_that_is_not_there")
    with open_graph_reader(indexed) as graph:
        assert graph.search(queries[0], limit=WANTED) == exactly(graph, queries[0])
    told = CliRunner().invoke(main, ["wiki", "search", "word1", "--graph", str(indexed), "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout.splitlines()[0])["title"].startswith("Page")
    wanted = (
        f"ramet: {ARTICLES} passages are compared one by one at each search: for an index, "
        "`pip install 'ramet[wiki-index]'` and give the last `ramet wiki expand` again"
    )
    assert told.stderr.splitlines() == [wanted]
    index_vectors(indexed)
    assert capsys.readouterr().err.splitlines() == [wanted]
    words = CliRunner().invoke(main, ["wiki", "search", "word1", "--words", "--graph", str(indexed)])
    assert words.stderr == "", "no vector was compared"


def test_an_index_that_cannot_be_written_leaves_nothing_half_written(
    indexed: Path, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = indexes(indexed)
    with reopen_writer(indexed) as graph:
        load(graph, embedder, ["Late"], random.Random(2))

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vector_index, "_flush", full)
    with reopen_writer(indexed) as graph, pytest.raises(GraphError, match="cannot write"):
        graph.index_vectors()
    assert indexes(indexed) == before
    index_vectors(indexed)
    [_, line] = capsys.readouterr().err.splitlines()
    assert line.startswith("ramet: the passages were not indexed: cannot write")


def test_a_graph_that_another_writes_is_indexed_by_its_writer(
    indexed: Path, embedder: HashingEmbedder, capsys: pytest.CaptureFixture[str]
) -> None:
    with reopen_writer(indexed) as graph:
        load(graph, embedder, ["Late"], random.Random(2))
        index_vectors(indexed)
    assert "is writing to" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def opened_ones_are_closed() -> Iterator[None]:
    yield
    vector_index._opened.cache_clear()
