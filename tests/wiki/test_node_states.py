"""The retries and times of a run's titles add up over its passes, and a title that waits is in nobody's hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ramet import Transient, Worker
from ramet.wiki.node_states import NodeState, node_states
from ramet.wiki.pages import Page, Refusal
from ramet.wiki.runs import find_run
from ramet.wiki.sources.page_source import PageFileSource
from ramet.wiki.tasks.article import app, expansions
from ramet.wiki.tasks.retry_exclude import RetryPayload, begin_retry
from tests.wiki.made_up_wikis import Impatient, expand_in_process, settings_for

Answers = Mapping[str, Page | Refusal | Exception]


def busy_once(patched: pytest.MonkeyPatch, title: str) -> None:
    """Let the source have no time for a title when it is first asked for it."""
    answer = PageFileSource.pages
    asked: list[str] = []

    async def pages(self: PageFileSource, titles: Sequence[str]) -> Answers:
        found: dict[str, Page | Refusal | Exception] = dict(await answer(self, titles))
        if title in titles and not asked:
            asked.append(title)
            found[title] = Transient("busy")
        return found

    patched.setattr(PageFileSource, "pages", pages)


async def test_retries_add_up_over_passes_and_a_title_that_waits_has_no_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = tmp_path / "world.jsonl"
    pages = [{"title": "Hub", "text": "The hub.", "links": ["Late"]}, {"title": "Late", "redirect": "Nothing"}]
    world.write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")
    settings = settings_for(tmp_path, world, graph="wiki.sqlite")
    with monkeypatch.context() as patched:
        busy_once(patched, "Late")
        await expand_in_process(tmp_path, settings, seeds=["Hub"])
    async with app.client(tmp_path / "wiki.db") as client:

        async def state_of(title: str) -> NodeState:
            return (await node_states(client, await find_run(client)))[title]

        failed = await state_of("Late")
        assert (failed.expansion_state, failed.retry_count) == ("failed", 1)
        assert failed.claimed_at == failed.processed_at is not None
        run = await find_run(client)
        assert await begin_retry(client, run, RetryPayload(by="someone", keys=("Late",)))
        newest = (await find_run(client)).newest.tracking_id
        await Worker(app, client, kinds=["wiki.retry"], until_idle=True).run()
        waiting = await state_of("Late")
        assert (waiting.expansion_state, waiting.claimed_at, waiting.processed_at) == ("discovered", None, None)
        with monkeypatch.context() as patched:
            busy_once(patched, "Late")
            await Worker(app, client, until_ended=newest, rng=Impatient()).run()
        again = await state_of("Late")
        assert (again.expansion_state, again.retry_count) == ("failed", 2)
        hub = await state_of("Hub")
        assert (hub.expansion_state, hub.retry_count) == ("processed", 0)
        assert hub.claimed_at is not None
        assert hub.processed_at is not None
        assert hub.claimed_at <= hub.processed_at
    expansions.close()
