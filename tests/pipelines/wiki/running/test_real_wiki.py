"""A whole expansion of a real MediaWiki: every title ends as it should, however ill the server is meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from ramet import Worker
from ramet.pipelines.wiki.expanding import prepare, submit
from ramet.pipelines.wiki.graphs.base import Direction
from ramet.pipelines.wiki.graphs.opening import open_graph_reader
from ramet.pipelines.wiki.pipeline import app
from ramet.pipelines.wiki.runs import RunSettings, find_run
from ramet.pipelines.wiki.tasks import expansions
from tests.pipelines.wiki.mediawiki import MediaWiki
from tests.pipelines.wiki.mediawiki_pages import ATLAS
from tests.pipelines.wiki.mediawiki_truth import Truth
from tests.pipelines.wiki.worlds import Impatient

for module in ("httpcore2", "ladybug"):
    pytest.importorskip(module, reason="the extra [wiki] is not installed")

Trouble = Callable[[MediaWiki], Awaitable[None]]


async def expand(folder: Path, wiki: MediaWiki, trouble: Trouble | None = None) -> None:
    """Expand all of the wiki into `folder`, with trouble from the moment that the work begins."""
    settings = RunSettings(
        source=wiki.api,
        data_dir=str(folder / "data"),
        graph=str(folder / "wiki.lbug"),
        embedder="none",
        private=True,
        max_articles=2_000,
        max_depth=50,
    )
    prepared = await prepare([ATLAS], settings)
    async with app.client(folder / "wiki.db") as client:
        await submit(client, prepared)
        newest = (await find_run(client, prepared.run_id)).newest.tracking_id
        worker = Worker(app, client, concurrency=16, until_ended=newest, rng=Impatient())
        async with meanwhile(trouble, wiki):
            await worker.run()
    expansions.close()


@asynccontextmanager
async def meanwhile(trouble: Trouble | None, wiki: MediaWiki) -> AsyncIterator[None]:
    making = asyncio.ensure_future(trouble(wiki)) if trouble else None
    yield
    if making is not None:
        await making


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "wiki.db")) as database:
        return database.execute(sql).fetchall()


def judge(folder: Path) -> None:
    """What is left is what the texts say, title by title, link by link."""
    truth = Truth()
    found = rows(folder, "SELECT title_key, wiki_state, alias_of, error FROM wiki_articles")
    states: dict[str, set[str]] = {}
    for key, state, _, _ in found:
        states.setdefault(state, set()).add(key)
    assert states["alias"] == set(truth.aliases)
    assert {key: alias_of for key, state, alias_of, _ in found if state == "alias"} == truth.aliases
    reasons = {key: error.partition(":")[0] for key, state, _, error in found if state == "failed"}
    assert reasons == truth.failed
    assert states["processed"] == truth.articles
    assert set(states) == {"alias", "failed", "processed"}
    with closing(open_graph_reader(folder / "wiki.lbug")) as graph:
        drawn = {
            (article, found.title)
            for article in truth.articles
            for found in graph.neighbors(article, direction=Direction.OUT, depth=1, limit=1_000)
            if found.loaded
        }
    assert drawn == truth.links


async def test_every_title_of_a_wiki_ends_with_the_right_reason(tmp_path: Path, mediawiki: MediaWiki) -> None:
    await expand(tmp_path, mediawiki)
    judge(tmp_path)
    assert max(len(call.titles) for call in mediawiki.asked()) == 50


async def refuses_and_breaks(wiki: MediaWiki) -> None:
    wiki.faults(**{"429": 2, "503": 2, "503_without_time": 2, "500": 3, "slow_ms": 300})


async def lags(wiki: MediaWiki) -> None:
    wiki.forget()
    wiki.faults(lag=True)
    while not wiki.asked():
        await asyncio.sleep(0.05)
    wiki.faults()


@pytest.mark.parametrize("trouble", [refuses_and_breaks, lags])
async def test_trouble_that_passes_costs_no_article(
    tmp_path: Path, mediawiki_to_edit: MediaWiki, trouble: Trouble
) -> None:
    mediawiki_to_edit.edit("Template:Foot", "Another foot.")  # Leaves a job behind, which is what lag is counted by.
    await expand(tmp_path, mediawiki_to_edit, trouble)
    judge(tmp_path)
    paused = rows(tmp_path, "SELECT DISTINCT reason FROM ramet_attempts WHERE outcome = 'snooze'")
    assert any(reason.startswith("retry after") for (reason,) in paused)
