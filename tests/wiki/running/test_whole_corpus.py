"""A whole small Wikipedia, expanded: every article, alias, link and category that a simple reader counts, no other."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ramet.wiki.graphs.registry import open_graph_reader
from ramet.wiki.runs import RunSettings
from tests.wiki.made_up_wikis import expand_in_process, settings_for
from tests.wiki.small_wikipedia import CORPUS, MAIN_PAGE, Reached, as_export, reached, records, texts

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not CORPUS.is_file(), reason="the shared wiki corpus is not beside this repository"),
]

NO_END = 100


def settings(folder: Path, form: str) -> RunSettings:
    source = CORPUS if form == "JSON Lines" else as_export(folder / "wiki.xml")
    whole = settings_for(folder, source, max_articles=10_000, max_depth=NO_END)
    return whole.model_copy(update={"embedder": "none"})


async def expanded(folder: Path, form: str, seeds: Sequence[str]) -> Reached:
    """What the graph and the tables have of a run."""
    await expand_in_process(folder, settings(folder, form), seeds=seeds)
    with closing(sqlite3.connect(folder / "wiki.db")) as database:
        rows = database.execute("SELECT title_key, wiki_state, alias_of, error FROM wiki_articles").fetchall()
    graph = open_graph_reader(folder / "wiki.lbug")
    try:
        nodes = [node for node in graph.nodes() if node.label == "Article" and node.properties["loaded"]]
        edges: dict[str, set[tuple[str, str]]] = {"LINKS_TO": set(), "IN_CATEGORY": set(), "ALIAS_OF": set()}
        for edge in graph.edges():
            ends = (edge.source_id.partition(":")[2], edge.target_id.partition(":")[2])
            edges.setdefault(edge.label, set()).add(ends)
    finally:
        graph.close()
    articles = {node.node_id.partition(":")[2] for node in nodes}
    assert articles == {key for key, state, *_ in rows if state == "processed"}
    aliases = {key: alias_of for key, state, alias_of, _ in rows if state == "alias"}
    assert edges["ALIAS_OF"] == set(aliases.items())
    errors = {key: error for key, state, _, error in rows if state == "failed"}
    assert len(articles) + len(aliases) + len(errors) == len(rows)
    told = Reached(
        articles=articles,
        aliases=aliases,
        meanings={key for key, error in errors.items() if error.startswith("disambiguation: ")},
        missing={key for key, error in errors.items() if error.startswith(("not_found: ", "not_an_article: "))},
        links={(source, target) for source, target in edges["LINKS_TO"] if target in articles},
        categories=edges["IN_CATEGORY"],
    )
    assert len(told.meanings) + len(told.missing) == len(errors)
    return told


def of_another_namespace(titles: set[str]) -> set[str]:
    """A file with a page on each line does not say which namespaces there are besides those of its pages."""
    return {title for title in titles if title.startswith(("Vikipedeja:", "Seviškuo:", "Lītuotuojs:"))}


def looked_up(counted: Reached) -> Reached:
    """A file knows its titles: of what is missing, only what it has (a redirect to nowhere) is looked up."""
    there = {record["title"] for record in records()}
    return counted._replace(missing={title for title in counted.missing if title in there})


@pytest.mark.parametrize("form", [pytest.param("JSON Lines", marks=pytest.mark.nightly), "dump"])
async def test_from_the_main_page_everything_is_as_counted(tmp_path: Path, form: str) -> None:
    told = await expanded(tmp_path, form, [MAIN_PAGE])
    counted = reached([MAIN_PAGE])
    assert told._replace(missing=told.missing - of_another_namespace(told.missing)) == looked_up(counted)
    assert len(counted.articles) > 400
    assert len(counted.aliases) > 20
    assert len(counted.links) > 1_000


@pytest.mark.nightly
async def test_from_all_articles_at_once_the_whole_wikipedia_is_as_counted(tmp_path: Path) -> None:
    seeds = sorted(reached(texts()).articles)
    told = await expanded(tmp_path, "dump", seeds)
    counted = reached(seeds)
    assert told._replace(missing=told.missing - of_another_namespace(told.missing)) == looked_up(counted)
    assert len(counted.articles) > 880
    assert len(counted.links) > 2_500
