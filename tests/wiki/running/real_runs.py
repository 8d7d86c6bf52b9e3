"""Expansions of the tests' MediaWiki, and whether they ended as its texts say."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from ramet import Worker
from ramet.fetch.host_gate import SLOTS
from ramet.wiki.expansion import prepare, submit
from ramet.wiki.graphs.registry import open_graph_reader
from ramet.wiki.pipeline import app
from ramet.wiki.runs import RunSettings, find_run
from ramet.wiki.tasks.article import expansions
from tests.wiki.made_up_wikis import Impatient
from tests.wiki.mediawiki import Asked, MediaWiki
from tests.wiki.mediawiki_pages import ATLAS
from tests.wiki.mediawiki_truth import Truth

GRAPH = "wiki.lbug"
DATABASE = "wiki.db"
ARTICLES_MAX = 2_000
DEPTH_MAX = 50
CONTACT = "tests@example.org"

Trouble = Callable[[MediaWiki], None]
"""Switches faults; called in a thread of its own as soon as the work begins."""


def settings_of(folder: Path, wiki: MediaWiki, **more: Any) -> RunSettings:
    """Of a run of the whole wiki into a folder."""
    return RunSettings(
        source=wiki.api,
        data_dir=str(folder / "data"),
        graph=str(folder / GRAPH),
        embedder="none",
        private=True,
        user_agent=CONTACT,
        max_articles=ARTICLES_MAX,
        max_depth=DEPTH_MAX,
        **more,
    )


async def expand(folder: Path, wiki: MediaWiki, trouble: Trouble | None = None, **more: Any) -> str:
    """Expand all of the wiki into `folder`, in this process; the run's name."""
    prepared = await prepare([ATLAS], settings_of(folder, wiki, **more))
    async with app.client(folder / DATABASE) as client:
        await submit(client, prepared)
        newest = (await find_run(client, prepared.run_id)).newest.tracking_id
        worker = Worker(app, client, concurrency=16, until_ended=newest, rng=Impatient())
        async with _meanwhile(trouble, wiki):
            await worker.run()
    expansions.close()
    return prepared.run_id


@asynccontextmanager
async def _meanwhile(trouble: Trouble | None, wiki: MediaWiki) -> AsyncIterator[None]:
    making = asyncio.create_task(asyncio.to_thread(trouble, wiki)) if trouble else None
    yield
    if making is not None:
        await making


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The answer of a run's database in a file."""
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        return database.execute(sql).fetchall()


ARTICLES = "SELECT title_key, wiki_state, alias_of, error FROM wiki_articles"


def check_titles(found: list[tuple[Any, ...]], truth: Truth) -> None:
    """Every title has ended in its state, with its reason: `found` is the answer to `ARTICLES`."""
    states: dict[str, set[str]] = {}
    for key, state, _, _ in found:
        states.setdefault(state, set()).add(key)
    assert {key: alias_of for key, state, alias_of, _ in found if state == "alias"} == truth.aliases
    reasons = {key: error.partition(":")[0] for key, state, _, error in found if state == "failed"}
    assert reasons == truth.failed
    assert all("\n" not in error for _, state, _, error in found if state == "failed")
    assert states["processed"] == truth.articles
    assert set(states) == {"alias", "failed", "processed"}


def check_graph(path: Path, truth: Truth) -> None:
    """Every node and edge but the sections is there, and no other."""
    with closing(open_graph_reader(path)) as graph:
        edges = {(edge.label, _named(edge.source_id), _named(edge.target_id)) for edge in graph.edges()}
        nodes = {(node.label, _named(node.node_id), node.properties.get("loaded")) for node in graph.nodes()}
    assert _labelled("LINKS_TO", edges) == truth.links | truth.missed
    assert _labelled("IN_CATEGORY", edges) == truth.categories
    assert _labelled("ALIAS_OF", edges) == set(truth.aliases.items())
    assert {name for label, name, loaded in nodes if label == "Article" and loaded} == truth.articles
    stubs = {name for label, name, loaded in nodes if label == "Article" and not loaded}
    assert stubs == {target for _, target in truth.missed}


def _named(node_id: str) -> str:
    return node_id.partition(":")[2]


def _labelled(label: str, edges: set[tuple[str, str, str]]) -> set[tuple[str, str]]:
    return {(source, target) for found, source, target in edges if found == label}


def check(folder: Path, truth: Truth) -> None:
    """All of a run in a folder is as the texts say."""
    check_titles(rows(folder, ARTICLES), truth)
    check_graph(folder / GRAPH, truth)
    assert rows(folder, "SELECT COUNT(*) FROM wiki_pages") == [(0,)]


def check_manners(asked: list[Asked]) -> None:
    """Never more than three requests at once, fifty titles in one, and always the same caller."""
    assert max(len(call.titles) for call in asked) == 50
    [agent] = {call.agent for call in asked}
    assert agent.endswith(f" ({CONTACT})")
    moments = sorted([(call.began, 1) for call in asked] + [(call.ended, -1) for call in asked])
    at_once = most = 0
    for _, change in moments:
        at_once += change
        most = max(most, at_once)
    assert 1 <= most <= SLOTS
