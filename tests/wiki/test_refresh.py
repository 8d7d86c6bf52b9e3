"""Refreshing: only what changed is fetched again, and the graph is then that of a fresh expansion of the new world."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ramet import Worker
from ramet.wiki.pipeline import app
from ramet.wiki.runs import FETCH, LOAD, RunSettings, find_run
from ramet.wiki.status import status_of
from ramet.wiki.tables import WikiState
from ramet.wiki.tasks import refresh
from ramet.wiki.tasks.article import expansions
from ramet.wiki.tasks.refresh import COMPARE, Refreshed, begin_refresh, refreshed
from tests.wiki.made_up_wikis import Impatient, expand_in_process, graph_of, settings_for
from tests.wiki.test_expansion import break_once

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")

SEEDS = ("Hub",)
PAGES: dict[str, dict[str, Any]] = {
    "Hub": {"text": "The hub.", "links": ["Stays", "Changes", "Vanishes", "Moves", "Target"]},
    "Stays": {"text": "As it was.", "links": ["Hub", "Moves", "Vanishes"], "categories": ["Old", "Calm"]},
    "Changes": {"text": "Before.\n== Past ==\nLong.", "links": ["Stays"], "categories": ["Old"]},
    "Vanishes": {"text": "Soon gone.", "links": ["Stays"], "categories": ["Gone"]},
    "Moves": {"text": "Soon elsewhere.", "links": ["Hub"]},
    "Target": {"text": "Where it moves to.", "links": ["Hub"]},
}
AFTERWARDS: dict[str, dict[str, Any]] = {
    "Hub": PAGES["Hub"],
    "Stays": PAGES["Stays"],
    "Changes": {"text": "After.", "links": ["Hub", "Newcomer"], "categories": ["New"]},
    "Moves": {"redirect": "Target"},
    "Target": PAGES["Target"],
    "Newcomer": {"text": "Just come.", "links": ["Changes"]},
}


def write(path: Path, pages: dict[str, dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps({"title": title, **page}) for title, page in pages.items()), encoding="utf-8")
    return path


async def refresh_in_process(folder: Path) -> Refreshed | None:
    """Refresh the newest run of `folder`, handlers in this process."""
    async with app.client(folder / "wiki.db") as client:
        assert await begin_refresh(client, await find_run(client))
        newest = (await find_run(client)).newest.tracking_id
        await Worker(app, client, until_ended=newest, rng=Impatient()).run()
        found = await refreshed(client, newest)
    expansions.close()
    return found


async def tasks_of_newest(folder: Path, kind: str) -> list[str]:
    async with app.client(folder / "wiki.db") as client:
        newest = (await find_run(client)).newest.tracking_id
        return sorted(task.key for task in (await client.tasks(tracking_id=newest, kind=kind)).tasks)


@pytest.fixture
def settings(tmp_path: Path) -> RunSettings:
    return settings_for(tmp_path, write(tmp_path / "world.jsonl", PAGES))


async def fresh(folder: Path) -> list[str]:
    """The graph of an expansion that has only ever seen the new world."""
    await asyncio.to_thread(folder.mkdir)
    await expand_in_process(folder, settings_for(folder, write(folder / "world.jsonl", AFTERWARDS)), seeds=SEEDS)
    return graph_of(folder)


async def test_where_nothing_changed_nothing_is_fetched_and_the_graph_stays(
    tmp_path: Path, settings: RunSettings
) -> None:
    await expand_in_process(tmp_path, settings, seeds=SEEDS)
    before = graph_of(tmp_path)
    assert await refresh_in_process(tmp_path) == Refreshed(len(PAGES), 0, 0, 0)
    assert await tasks_of_newest(tmp_path, FETCH) == []
    assert len(await tasks_of_newest(tmp_path, COMPARE)) == 1
    assert graph_of(tmp_path) == before


async def test_only_what_changed_is_fetched_and_the_graph_is_that_of_the_new_world(
    tmp_path: Path, settings: RunSettings
) -> None:
    run_id = await expand_in_process(tmp_path, settings, seeds=SEEDS)
    write(tmp_path / "world.jsonl", AFTERWARDS)
    assert await refresh_in_process(tmp_path) == Refreshed(len(PAGES), 1, 1, 1)
    assert await tasks_of_newest(tmp_path, FETCH) == ["Changes", "Moves", "Vanishes"]
    assert await tasks_of_newest(tmp_path, LOAD) == ["Changes"]
    assert not any("Newcomer" in line and line.startswith("Section") for line in graph_of(tmp_path))
    assert await expand_in_process(tmp_path, settings, seeds=SEEDS) == run_id
    assert await tasks_of_newest(tmp_path, FETCH) == ["Newcomer"]
    assert graph_of(tmp_path) == await fresh(tmp_path / "fresh")
    async with app.client(tmp_path / "wiki.db") as client:
        status = await status_of(client, await find_run(client))
    assert {state: count for state, count in status.states.items() if count} == {
        WikiState.PROCESSED: 5,
        WikiState.ALIAS: 1,
        WikiState.FAILED: 1,
    }
    assert status.failures == {"not_found": 1}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_steps_of_a_refresh_that_fail_once_change_nothing(
    tmp_path: Path, settings: RunSettings, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    await expand_in_process(tmp_path, settings, seeds=SEEDS)
    write(tmp_path / "world.jsonl", AFTERWARDS)
    called = [break_once(refresh, step, monkeypatch, after=after) for step in ("_remove", "_draw")]
    await refresh_in_process(tmp_path)
    assert all(calls() > 1 for calls in called)
    await expand_in_process(tmp_path, settings, seeds=SEEDS)
    assert graph_of(tmp_path) == await fresh(tmp_path / "fresh")


async def test_a_second_refresh_finds_nothing_more(tmp_path: Path, settings: RunSettings) -> None:
    await expand_in_process(tmp_path, settings, seeds=SEEDS)
    write(tmp_path / "world.jsonl", AFTERWARDS)
    await refresh_in_process(tmp_path)
    before = graph_of(tmp_path)
    assert await refresh_in_process(tmp_path) == Refreshed(len(PAGES) - 2, 0, 0, 0)
    assert await tasks_of_newest(tmp_path, FETCH) == []
    assert graph_of(tmp_path) == before
