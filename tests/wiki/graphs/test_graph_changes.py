"""What is taken away again, and titles that redirect: the graph ends as if it had been built so at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.base import DEPTH_UNKNOWN, EmbeddedArticle, GraphAlias, GraphLink
from ramet.wiki.graphs.registry import Graph, open_graph_writer
from ramet.wiki.pages import Article
from tests.wiki.article_texts import article_from_text

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]


def links(*pairs: str) -> list[GraphLink]:
    """`links("A>B")`: from A to B, at depth 2."""
    return [GraphLink(source, target, target, 2) for source, target in (pair.split(">") for pair in pairs)]


def drawn(graph: Graph) -> list[str]:
    return [line for line in graph.dump() if line.startswith(("LINKS_TO", "ALIAS_OF"))]


def titles(graph: Graph) -> list[str]:
    return [line.split('"')[1] for line in graph.dump() if line.startswith("Article")]


@pytest.fixture
def abc(graph: Graph, embedded: Embed) -> Graph:
    """A graph of the articles A, B and C."""
    graph.load_articles(embedded([article_from_text(key, key, categories=[f"of {key}", "all"]) for key in "ABC"], 1))
    return graph


def test_links_to_an_alias_lead_to_its_article_whichever_came_first(abc: Graph) -> None:
    abc.add_links(links("A>X", "B>X", "C>X"))
    abc.add_aliases([GraphAlias("X", "x", "C")])
    abc.add_links(links("A>X", "B>C"))
    assert drawn(abc) == ['ALIAS_OF ["X", "C"]', 'LINKS_TO ["A", "C"]', 'LINKS_TO ["B", "C"]']
    assert titles(abc) == ["A", "B", "C"]
    assert 'Alias ["X", "x"]' in abc.dump()
    assert abc.counts().aliases == 1


def test_an_alias_of_an_alias_leads_to_the_article(abc: Graph) -> None:
    abc.add_aliases([GraphAlias("X", "x", "Y")])
    assert [line for line in abc.dump() if line.startswith('Article ["Y"')] == [
        f'Article ["Y", "Y", {DEPTH_UNKNOWN}, "", "", "", false]'
    ]
    abc.add_aliases([GraphAlias("Y", "y", "C")])
    assert drawn(abc) == ['ALIAS_OF ["X", "C"]', 'ALIAS_OF ["Y", "C"]']
    abc.add_aliases([GraphAlias("V", "v", "W"), GraphAlias("W", "w", "B")])
    assert drawn(abc)[0:2] == ['ALIAS_OF ["V", "B"]', 'ALIAS_OF ["W", "B"]']
    assert titles(abc) == ["A", "B", "C"]


def test_an_alias_to_an_article_yet_to_come_keeps_the_depth_of_the_links_to_it(abc: Graph, embedded: Embed) -> None:
    abc.add_links(links("A>X"))
    abc.add_aliases([GraphAlias("X", "x", "D"), GraphAlias("Y", "y", "E")])
    assert 'Article ["D", "D", 2, "", "", "", false]' in abc.dump()
    abc.load_articles(embedded([article_from_text(key, key) for key in "DE"], 3))
    assert {'Article ["D", "D", 2, "", "", "", true]', 'Article ["E", "E", 3, "", "", "", true]'} <= set(abc.dump())


def test_an_alias_that_becomes_an_article_is_one_and_the_other_way_round(abc: Graph, embedded: Embed) -> None:
    abc.add_aliases([GraphAlias("X", "x", "C")])
    abc.load_articles(embedded([article_from_text("X", "now a page")], 1))
    assert drawn(abc) == []
    abc.add_aliases([GraphAlias("X", "x", "C")])
    assert drawn(abc) == [], "what is loaded must be taken away first"
    abc.add_links(links("A>X"))
    abc.remove_articles(["X"])
    abc.add_aliases([GraphAlias("X", "x", "C")])
    assert drawn(abc) == ['ALIAS_OF ["X", "C"]', 'LINKS_TO ["A", "C"]']


def test_an_alias_leads_where_it_was_last_said_to(abc: Graph) -> None:
    abc.add_aliases([GraphAlias("X", "x", "C"), GraphAlias("Loop", "loop", "Loop")])
    abc.add_aliases([GraphAlias("X", "X!", "B")])
    assert drawn(abc) == ['ALIAS_OF ["X", "B"]']
    abc.add_aliases([GraphAlias("B2", "b", "X")])
    assert drawn(abc) == ['ALIAS_OF ["B2", "X"]'], "X is an article now"


def test_replaced_links_leave_no_article_that_only_they_led_to(abc: Graph) -> None:
    abc.add_links(links("A>B", "A>Gone", "A>Shared", "B>Shared", "B>A"))
    abc.replace_links(["A", "unknown"], links("A>C", "A>New"))
    assert drawn(abc) == [
        f'LINKS_TO ["{source}", "{target}"]'
        for source, target in [("A", "C"), ("A", "New"), ("B", "A"), ("B", "Shared")]
    ]
    assert titles(abc) == ["A", "B", "C", "New", "Shared"]


def test_an_article_that_is_gone_stays_only_while_others_link_to_it(abc: Graph) -> None:
    abc.add_links(links("A>B", "B>A", "B>C", "B>Stub", "C>A"))
    abc.add_aliases([GraphAlias("X", "x", "B"), GraphAlias("Y", "y", "C")])
    abc.remove_articles(["B", "C", "Never"])
    assert titles(abc) == ["A", "B"]
    assert 'Article ["B", "B", 1, "", "", "", false]' in abc.dump()
    assert drawn(abc) == ['ALIAS_OF ["X", "B"]', 'LINKS_TO ["A", "B"]']
    assert [line for line in abc.dump() if "CATEGORY" in line.upper()] == [
        'Category ["all"]',
        'Category ["of A"]',
        'IN_CATEGORY ["A", "all"]',
        'IN_CATEGORY ["A", "of A"]',
    ]
    abc.remove_articles(["A"])
    assert abc.dump() == []


def test_an_excluded_article_leaves_no_trace(abc: Graph) -> None:
    before = abc.dump()
    abc.add_links(links("A>B", "B>C", "B>Stub", "C>B", "B>Shared", "C>Shared"))
    abc.add_aliases([GraphAlias("X", "x", "B")])
    abc.exclude_articles(["B", "Never"])
    left = [line for line in before if '"B' not in line and "of B" not in line]
    assert abc.dump() == sorted(
        [*left, 'Article ["Shared", "Shared", 2, "", "", "", false]', 'LINKS_TO ["C", "Shared"]']
    )
    abc.exclude_articles(["Shared"])
    assert abc.dump() == left


def test_an_article_known_from_links_has_the_least_of_their_depths(abc: Graph) -> None:
    for depth in (4, 2, 3):
        abc.add_links([GraphLink("A", "Far", "Far", depth), GraphLink("B", "Far", "Far", depth + 1)])
    assert 'Article ["Far", "Far", 2, "", "", "", false]' in abc.dump()


def test_no_article_links_to_itself(abc: Graph) -> None:
    abc.add_links(links("A>A", "A>X"))
    abc.add_aliases([GraphAlias("X", "x", "A")])
    abc.add_links(links("A>X"))
    assert drawn(abc) == ['ALIAS_OF ["X", "A"]']


def test_only_loaded_articles_have_a_revision(abc: Graph, embedded: Embed) -> None:
    page = Article(title="D", key="D", sections=(), revision="17", url="https://wiki.example/D")
    abc.load_articles(embedded([page], 1))
    abc.add_links(links("A>Stub"))
    assert abc.revisions(["D", "A", "Stub", "Never"]) == {"A": "", "D": "17"}
    assert abc.revisions([]) == {}
    assert 'Article ["D", "D", 1, "", "17", "https://wiki.example/D", true]' in abc.dump()


def test_a_change_that_fails_changes_nothing(abc: Graph) -> None:
    abc.add_links(links("A>B"))
    before = abc.dump()
    unwritable = "\ud800"
    with pytest.raises((GraphError, UnicodeError)):
        abc.replace_links(["A"], links(f"A>{unwritable}"))
    with pytest.raises((GraphError, UnicodeError)):
        abc.add_aliases([GraphAlias("X", "x", "C"), GraphAlias("Y", unwritable, "C")])
    assert abc.dump() == before


@pytest.mark.parametrize("seed", range(3))
def test_any_history_leaves_the_same_graph_in_both_databases(
    tmp_path: Path, embedded: Embed, embedder: HashingEmbedder, seed: int
) -> None:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    dumps = []
    for suffix in ("lbug", "sqlite"):
        chance = random.Random(seed)
        path = tmp_path / f"graph.{suffix}"
        with open_graph_writer(path, model_id=embedder.model_id, dimension=embedder.dimension) as graph:
            dumps.append([_live(graph, chance, embedded) for _ in range(60)][-1])
    assert dumps[0] == dumps[1]


def _live(graph: Graph, chance: random.Random, embedded: Embed) -> list[str]:
    """One random change of a graph of few titles; what it holds after."""
    keys = [f"K{number}" for number in range(12)]
    some = chance.sample(keys, k=3)
    loaded = sorted(graph.revisions(keys))
    picked = [
        GraphLink(source, target, f"{target}!", chance.randrange(4))
        for source in loaded
        for target in chance.sample(keys, k=2)
    ]
    match chance.randrange(6):
        case 0 | 1:
            pages = [
                article_from_text(key, chance.choice(["a", "a\n== H ==\nb"]), categories=chance.sample("xyz", k=2))
                for key in some
            ]
            graph.load_articles(embedded(pages, chance.randrange(4)))
        case 2:
            graph.add_links(picked)
        case 3:
            graph.replace_links(some, [link for link in picked if link.source_key in some])
        case 4:
            graph.add_aliases([GraphAlias(some[0], "title", some[1]), GraphAlias(some[2], "title", some[1])])
        case 5:
            graph.remove_articles(some)
    return graph.dump()
