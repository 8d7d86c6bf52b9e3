"""PageRank and communities: the same from both databases, written as properties, and read wherever articles are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import ArticleRank, Direction, EmbeddedArticle, GraphLink
from ramet.wiki.graphs.cypher import copy_of
from ramet.wiki.graphs.export import ExportFormat, export_file, export_stream
from ramet.wiki.graphs.rank import rank_articles
from ramet.wiki.graphs.registry import Graph, open_graph_reader, open_graph_writer
from ramet.wiki.pages import Article
from tests.wiki.article_texts import article_from_text

pytest.importorskip("igraph", reason="the extra [wiki-rank] is not installed")

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]
LINKS = ["A1>A2", "A2>A3", "A3>A1", "A1>A3", "B1>B2", "B2>B3", "B3>B1", "B1>B4", "B4>B2", "A1>B1", "B3>Far"]
"""Two groups with one link between them, and an article known only from a link."""


def fill(graph: Graph, embedded: Embed, links: list[str]) -> None:
    keys = sorted({key for link in links for key in link.split(">")} - {"Far"})
    graph.load_articles(embedded([article_from_text(key, "Some text.") for key in keys], 0))
    graph.add_links([GraphLink(source, target, target, 1) for source, target in (link.split(">") for link in links)])


@pytest.fixture
def linked(graph: Graph, embedded: Embed) -> Graph:
    fill(graph, embedded, LINKS)
    return graph


def run(path: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["wiki", *words, "--graph", str(path)], env={"COLUMNS": "100"})


def test_the_groups_are_communities_and_what_is_linked_most_ranks_highest(linked: Graph) -> None:
    ranks = {one.title_key: one for one in rank_articles(linked)}
    assert {key: one.community for key, one in ranks.items()} == {
        "A1": 2, "A2": 2, "A3": 2, "B1": 1, "B2": 1, "B3": 1, "B4": 1, "Far": 1,
    }  # fmt: skip
    assert sum(one.pagerank for one in ranks.values()) == pytest.approx(1)
    assert max(ranks.values(), key=lambda one: one.pagerank).title_key == "B3"


def test_the_order_in_which_articles_and_links_came_changes_nothing(
    tmp_path: Path, embedder: HashingEmbedder, embedded: Embed
) -> None:
    chance = random.Random(7)
    links = [f"P{chance.randrange(200)}>P{chance.randrange(200)}" for _ in range(900)]
    found = []
    for number in range(3):
        path = tmp_path / f"{number}.sqlite"
        with open_graph_writer(path, model_id=embedder.model_id, dimension=embedder.dimension) as graph:
            fill(graph, embedded, links)
            found.append(rank_articles(graph))
        chance.shuffle(links)
    assert found[0] == found[1] == found[2]


def test_ranks_are_properties_in_dump_export_neighbors_and_cypher(linked: Graph, graph_path: Path) -> None:
    before = linked.dump()
    ranks = {one.title_key: one for one in rank_articles(linked)}
    linked.set_ranks([ArticleRank("Nowhere", 0.5, 1)])
    assert linked.dump() == before
    linked.set_ranks(list(ranks.values()))
    linked.set_ranks(list(ranks.values()))
    out = StringIO()
    with open_graph_reader(graph_path) as reader:
        export_stream(reader, out, ExportFormat.GRAPHML)
        nodes = {node.node_id: node.properties for node in reader.nodes() if node.label == "Article"}
        assert f"{ranks['B2'].pagerank}, 1]" in "\n".join(reader.dump())
        found = reader.neighbors("B3", direction=Direction.OUT, depth=2, limit=2, by_rank=True)
        with copy_of(reader, {}) as copy:
            asked = copy.ask(
                "MATCH (a:Article) RETURN a.title, a.community ORDER BY a.pagerank DESC LIMIT 1",
                {},
                limit=9,
                seconds=30,
            )
    assert nodes["Article:Far"]["pagerank"] == ranks["Far"].pagerank
    assert f'<data key="pagerank">{ranks["A1"].pagerank}</data><data key="community">2</data>' in out.getvalue()
    best = sorted((key for key in ("B1", "B2", "B4", "Far")), key=lambda key: -ranks[key].pagerank)[:2]
    assert [(one.title_key, one.pagerank) for one in found] == [(key, ranks[key].pagerank) for key in best]
    assert asked.rows == [["B3", 1]]


def test_an_article_that_comes_later_has_no_rank_until_the_next_ranking(linked: Graph, embedded: Embed) -> None:
    linked.set_ranks(rank_articles(linked))
    linked.load_articles(embedded([article_from_text("New", "Text.")], 1))
    linked.add_links([GraphLink("B1", "New", "New", 1)])
    found = linked.neighbors("B1", direction=Direction.OUT, depth=1, limit=9, by_rank=True)
    assert found[-1].title_key == "New"
    assert found[-1].pagerank is None
    assert "pagerank" not in next(dict(node.properties) for node in linked.nodes() if node.node_id == "Article:New")


def test_the_command_ranks_a_graph_and_neighbors_sort_by_it(
    graph_path: Path, embedder: HashingEmbedder, embedded: Embed
) -> None:
    with open_graph_writer(graph_path, model_id=embedder.model_id, dimension=embedder.dimension) as graph:
        fill(graph, embedded, LINKS)
    refused = run(graph_path, "neighbors", "B3", "--sort", "rank")
    assert (refused.exit_code, refused.stderr) == (
        2, "ramet: this graph was not ranked yet: give the command `ramet wiki rank` first\n",
    )  # fmt: skip
    ranked = run(graph_path, "rank")
    assert ranked.exit_code == 0, ranked.output
    assert "8 articles in 2 communities" in ranked.output
    assert json.loads(run(graph_path, "rank", "--json").stdout) == {"articles": 8, "communities": 2}
    found = run(graph_path, "neighbors", "B3", "--depth", "2", "--sort", "rank", "--json")
    shares = [json.loads(line)["pagerank"] for line in found.stdout.splitlines()]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 4


def test_a_graph_that_is_being_written_and_one_that_is_not_there_are_refused(linked: Graph, graph_path: Path) -> None:
    busy = run(graph_path, "rank")
    assert busy.exit_code == 2
    assert "is writing to" in busy.stderr
    assert busy.stdout == ""
    nowhere = run(graph_path.with_name("nowhere.sqlite"), "rank")
    assert nowhere.exit_code == 2
    assert "there is no graph" in nowhere.stderr
    assert not graph_path.with_name("nowhere.sqlite").exists()
    both = CliRunner().invoke(main, ["wiki", "rank", "RUN", "--graph", str(graph_path)])
    assert both.exit_code == 2
    assert "not both" in both.stderr
    assert linked.counts().articles == 7


def test_ranks_are_columns_of_a_parquet_export(linked: Graph, graph_path: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra [parquet] is not installed")
    linked.set_ranks(rank_articles(linked))
    with open_graph_reader(graph_path) as reader:
        export_file(reader, tmp_path / "tables", ExportFormat.PARQUET)
    rows = parquet.read_table(tmp_path / "tables" / "nodes.parquet").to_pylist()
    assert sum(row["pagerank"] for row in rows if row["label"] == "Article") == pytest.approx(1)
    assert {row["community"] for row in rows if row["label"] == "Article"} == {1, 2}
