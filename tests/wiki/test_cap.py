"""The cap counts articles in the graph: titles that turn out to be none, or that are not there, take nobody's place."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramet.wiki.runs import RunSettings, find_run, sizes_of
from ramet.wiki.status import status_of
from ramet.wiki.tables import WikiState
from ramet.wiki.tasks import level
from ramet.wiki.tasks.article import app
from tests.wiki.made_up_wikis import expand_in_process, graph_of, settings_for, what_is_left
from tests.wiki.test_expansion import break_once
from tests.wiki.test_refresh import refresh_in_process

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")

SEEDS = ("Start",)
GOOD = [f"Good {number:02}" for number in range(20)]


def world(path: Path, linked: list[str], others: dict[str, dict[str, Any]]) -> Path:
    """Write a file with a start that links to these titles, with the good articles, and with other pages."""
    pages = {"Start": {"text": "It begins.", "links": linked}} | {title: {"text": "Good."} for title in GOOD} | others
    path.write_text("\n".join(json.dumps({"title": title, **page}) for title, page in pages.items()), encoding="utf-8")
    return path


def settings(folder: Path, source: Path, articles: int, **more: Any) -> RunSettings:
    return settings_for(folder, source, max_articles=articles, graph="wiki.sqlite").model_copy(update=more)


async def loaded(folder: Path) -> tuple[int, dict[WikiState, int], list[str]]:
    """Articles of the newest run, its titles by state, and the keys of its levels."""
    async with app.client(folder / "wiki.db") as client:
        run = await find_run(client)
        status = await status_of(client, run)
        levels = [task.key async for task in client.all_tasks(tracking_id=run.run_id, kind="wiki.level")]
    return status.loaded, {state: count for state, count in status.states.items() if count}, sorted(levels)


async def test_titles_that_a_file_does_not_have_cost_nothing(tmp_path: Path) -> None:
    source = world(tmp_path / "world.jsonl", [*(f"Red {number}" for number in range(20)), *GOOD], {})
    await expand_in_process(tmp_path, settings(tmp_path, source, 20), seeds=SEEDS)
    assert await loaded(tmp_path) == (20, {WikiState.PROCESSED: 20}, ["level-0", "level-0.1", "level-1"])
    before = what_is_left(tmp_path)
    await expand_in_process(tmp_path, settings(tmp_path, source, 21), seeds=SEEDS)
    assert await loaded(tmp_path) == (21, {WikiState.PROCESSED: 21}, ["level-0", "level-0.1", "level-1"])
    await expand_in_process(tmp_path, settings(tmp_path, source, 40), seeds=SEEDS)
    assert len(what_is_left(tmp_path)["lineages"]) == len(before["lineages"]) + 1, "nothing is left to look up"


HOLES = {f"Hole {number:02}": {"redirect": "Nothing"} for number in range(20)}
HALF = [title for pair in zip(HOLES, GOOD, strict=True) for title in pair]


@pytest.mark.parametrize("linked", [[*HOLES, *GOOD], HALF], ids=["first", "between"])
async def test_titles_that_turn_out_to_be_no_articles_leave_their_room_to_the_next_ones(
    tmp_path: Path, linked: list[str]
) -> None:
    source = world(tmp_path / "world.jsonl", linked, HOLES)
    await expand_in_process(tmp_path, settings(tmp_path, source, 15), seeds=SEEDS)
    articles, states, levels = await loaded(tmp_path)
    assert (articles, states[WikiState.PROCESSED]) == (15, 15)
    assert levels[:2] == ["level-0", "level-0.1"]
    asked = [title for title in linked if title in {row[0] for row in what_is_left(tmp_path)["articles"]}]
    assert asked == linked[: len(asked)], "in the order of the links"
    assert [title for title in asked if title in GOOD] == GOOD[:14]
    refused = {row[1] for row in what_is_left(tmp_path)["blocks"] if row[2] == "budget"}
    assert refused == set(linked[len(asked) :])


async def test_rounds_that_fail_once_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level, "OFFERS_PER_ROUND_MAX", 3)
    left = []
    for name in ("whole", "before", "after"):
        folder = tmp_path / name
        folder.mkdir()
        source = world(folder / "world.jsonl", HALF, HOLES)
        with monkeypatch.context() as patched:
            steps = () if name == "whole" else ("_prepare", "_plan", "_open_next", "_offer_round", "_draw")
            called = [break_once(level, step, patched, after=name == "after") for step in steps]
            await expand_in_process(folder, settings(folder, source, 12), seeds=SEEDS)
            assert all(calls() > 1 for calls in called)
        left.append(what_is_left(folder))
    assert left[0] == left[1] == left[2]


async def test_going_on_ends_where_the_larger_cap_would_have_led_at_once(tmp_path: Path) -> None:
    graphs = []
    for name, caps in (("steps", (3, 7, 12)), ("once", (12,))):
        folder = tmp_path / name
        folder.mkdir()
        source = world(folder / "world.jsonl", HALF, HOLES)
        for cap in caps:
            await expand_in_process(folder, settings(folder, source, cap), seeds=SEEDS)
        graphs.append(graph_of(folder))
    assert graphs[0] == graphs[1]


async def test_redirects_are_no_articles(tmp_path: Path) -> None:
    ways = {f"Way {number}": {"redirect": title} for number, title in enumerate(GOOD[:6])}
    source = world(tmp_path / "world.jsonl", [title for pair in zip(ways, GOOD, strict=False) for title in pair], ways)
    await expand_in_process(tmp_path, settings(tmp_path, source, 4), seeds=SEEDS)
    articles, states, _ = await loaded(tmp_path)
    assert articles == states[WikiState.PROCESSED] == 4
    assert states[WikiState.ALIAS] >= 3


@pytest.mark.parametrize("depth", [1, 3, 4, 5, 12])
async def test_the_room_for_levels_is_none_for_articles(tmp_path: Path, depth: int) -> None:
    source = world(tmp_path / "world.jsonl", GOOD, {})
    for articles in (5, 6):
        await expand_in_process(tmp_path, settings(tmp_path, source, articles, max_depth=depth), seeds=SEEDS)
        assert (await loaded(tmp_path))[0] == articles


async def test_a_deep_run_that_goes_on_after_a_refresh_keeps_its_cap(tmp_path: Path) -> None:
    chain = {f"Deep {number}": {"text": "On.", "links": [f"Deep {number + 1}"]} for number in range(10)}
    source = world(tmp_path / "world.jsonl", ["Deep 0"], chain)
    wanted = settings(tmp_path, source, 11, max_depth=12)
    await expand_in_process(tmp_path, wanted, seeds=SEEDS)
    world(source, ["Deep 0", *GOOD], chain)
    await refresh_in_process(tmp_path)
    for articles in (11, 13):
        await expand_in_process(tmp_path, wanted.model_copy(update={"max_articles": articles}), seeds=SEEDS)
        assert (await loaded(tmp_path))[0] == articles
    refused = {(row[1], row[2]) for row in what_is_left(tmp_path)["blocks"] if row[2] in ("budget", "fan_out")}
    assert {title for title, _ in refused} == set(GOOD)


async def test_rounds_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level, "ROUNDS_MAX", 1)
    source = world(tmp_path / "world.jsonl", [*HOLES, *GOOD], HOLES)
    await expand_in_process(tmp_path, settings(tmp_path, source, 6), seeds=SEEDS)
    articles, states, levels = await loaded(tmp_path)
    assert (articles, states) == (1, {WikiState.PROCESSED: 1, WikiState.FAILED: 10})
    assert levels == ["level-0", "level-0.1", "level-1"]


async def test_skipped_titles_are_on_the_border_however_often_they_are_linked(tmp_path: Path) -> None:
    source = world(tmp_path / "world.jsonl", GOOD, {})
    await expand_in_process(tmp_path, settings(tmp_path, source, 40, skip=("Good 1*", "*07")), seeds=SEEDS)
    wanted = {title for title in GOOD if not title.startswith("Good 1") and not title.endswith("07")}
    with closing(sqlite3.connect(tmp_path / "wiki.sqlite")) as graph:
        rows = dict(graph.execute("SELECT title_key, loaded FROM articles"))
    assert {title for title, there in rows.items() if there} == wanted | {"Start"}
    assert {title for title, there in rows.items() if not there} == set(GOOD) - wanted
    before = what_is_left(tmp_path)
    await expand_in_process(tmp_path, settings(tmp_path, source, 40, skip=("Good 1*", "*07")), seeds=SEEDS)
    assert what_is_left(tmp_path) == before


def test_a_pass_has_room_for_its_articles_and_for_as_many_others_again() -> None:
    sizes = sizes_of(20, 2)
    assert sizes["max_tasks"] >= 4 * 20 + 4 * 20 + 3 + 30
