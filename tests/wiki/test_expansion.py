"""An expansion in this process: its result is a function of the articles, the seeds and the settings alone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramet import Client, Permanent, TaskState, Worker
from ramet.wiki.expansion import prepare, submit
from ramet.wiki.graphs.base import EmbeddedArticle, GraphStore
from ramet.wiki.pipeline import app
from ramet.wiki.recorded_links import unpack_targets
from ramet.wiki.runs import ARTICLE, FETCH, LEVEL, find_run
from ramet.wiki.status import status_of
from ramet.wiki.tables import WikiState
from ramet.wiki.tasks import article, level
from tests.wiki.made_up_wikis import SEEDS, expand_in_process, settings_for, what_is_left, write_world

pytestmark = pytest.mark.proof

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world.jsonl", articles=60)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The world's expansion, one article at a time."""
    folder = tmp_path_factory.mktemp("undisturbed")
    world = write_world(folder / "world.jsonl", articles=60)
    asyncio.run(expand_in_process(folder, settings_for(folder, world), concurrency=1))
    return what_is_left(folder)


async def test_the_result_does_not_depend_on_how_many_work_at_once(
    tmp_path: Path, world: Path, undisturbed: dict[str, list[Any]]
) -> None:
    await expand_in_process(tmp_path, settings_for(tmp_path, world), concurrency=16)
    assert what_is_left(tmp_path) == undisturbed


def recorded(left: dict[str, list[Any]]) -> Iterator[tuple[str, str]]:
    """The links that the run recorded: source and target."""
    for source, targets in left["links"]:
        for key, _ in unpack_targets(targets):
            yield source, key


def test_the_cap_is_reached_exactly_and_every_link_is_accounted_for(undisturbed: dict[str, list[Any]]) -> None:
    articles = [row for row in undisturbed["tasks"] if row[0] == FETCH]
    assert len(articles) == len(undisturbed["articles"]) == 41
    assert len([row for row in undisturbed["articles"] if row[3] == WikiState.PROCESSED]) == 40
    refused = sum(row[3] for row in undisturbed["blocks"] if row[0] in (ARTICLE, FETCH))
    refused += sum(row[3] for row in undisturbed["block counts"] if row[1] in (ARTICLE, FETCH))
    # A file knows its titles: those that it has not are no spawns at all.
    links = list(recorded(undisturbed))
    there = [target for _, target in links if not target.startswith("Missing")]
    assert len(there) < len(links)
    assert refused + len(articles) - len(SEEDS) == len(there)
    reasons = {row[2] for row in undisturbed["blocks"]}
    assert {"budget", "done", "in_flight"} <= reasons


def test_every_article_has_the_depth_of_its_shortest_way_from_a_seed(undisturbed: dict[str, list[Any]]) -> None:
    depth = {row[0]: row[2] for row in undisturbed["articles"]}
    assert {key for key, found in depth.items() if found == 0} == set(SEEDS)
    for source, target in recorded(undisturbed):
        assert target not in depth or depth[target] <= depth[source] + 1
    for key, _, found, _, source, *_ in undisturbed["articles"]:
        assert found == 0 or depth[source] == found - 1, key


def drawn(graph: list[str]) -> list[tuple[str, str]]:
    return sorted(tuple(json.loads(line.removeprefix("LINKS_TO "))) for line in graph if line.startswith("LINKS_TO"))


def border(graph: list[str]) -> dict[str, int]:
    """Depths of the articles that are known only from links."""
    rows = [json.loads(line.removeprefix("Article ")) for line in graph if line.startswith("Article")]
    return {key: depth for key, _, depth, *_, loaded in rows if not loaded}


def test_the_graph_has_every_link_and_the_border_that_they_lead_to(undisturbed: dict[str, list[Any]]) -> None:
    links = set(recorded(undisturbed))
    assert drawn(undisturbed["graph"]) == sorted(links)
    depth = {row[0]: row[2] for row in undisturbed["articles"]}
    nearest: dict[str, int] = {}
    for source, target in links:
        if target not in depth:
            nearest[target] = min(nearest.get(target, 99), depth[source] + 1)
    assert nearest
    assert border(undisturbed["graph"]) == nearest | {"Hole 0": depth["Hole 0"]}


async def test_a_closed_graph_has_links_between_titles_of_the_run_only(
    tmp_path: Path, world: Path, undisturbed: dict[str, list[Any]]
) -> None:
    for articles in (12, 40):
        settings = settings_for(tmp_path, world, max_articles=articles).model_copy(update={"closed": True})
        await expand_in_process(tmp_path, settings)
    left = what_is_left(tmp_path)
    keys = {row[0] for row in left["articles"]}
    assert drawn(left["graph"]) == [link for link in drawn(undisturbed["graph"]) if link[1] in keys]
    assert set(border(left["graph"])) == {"Hole 0"}


def test_titles_without_an_article_fail_and_say_so(undisturbed: dict[str, list[Any]]) -> None:
    failed = {row[0]: row[6] for row in undisturbed["articles"] if row[3] == WikiState.FAILED}
    assert set(failed) == {"Hole 0"}
    assert failed["Hole 0"].startswith("not_found: ")
    assert {row[3] for row in undisturbed["articles"]} == {WikiState.PROCESSED, WikiState.FAILED}


async def test_links_beyond_the_last_level_are_refused_by_depth(tmp_path: Path, world: Path) -> None:
    await expand_in_process(tmp_path, settings_for(tmp_path, world, max_depth=1, max_articles=60))
    left = what_is_left(tmp_path)
    assert max(row[2] for row in left["articles"]) == 1
    assert [row[1] for row in left["tasks"] if row[0] == LEVEL] == ["level-0", "level-1"]
    assert {row[2] for row in left["blocks"] if row[4] == "level-1"} == {"depth", "done"}


async def test_seeds_alone_can_be_loaded(tmp_path: Path, world: Path) -> None:
    await expand_in_process(tmp_path, settings_for(tmp_path, world, max_depth=0))
    assert {row[3] for row in what_is_left(tmp_path)["articles"]} == {WikiState.PROCESSED}


def break_once(owner: Any, step: str, monkeypatch: pytest.MonkeyPatch, *, after: bool) -> Callable[[], int]:
    """Make an async function raise at its first call, before or after doing its work; tells how often it was called."""
    real, calls = getattr(owner, step), 0

    async def stumbling(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1 and not after:
            raise OSError(f"{step} stumbled")
        answer = await real(*arguments, **named)
        if calls == 1:
            raise OSError(f"{step} stumbled")
        return answer

    monkeypatch.setattr(owner, step, stumbling)
    return lambda: calls


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_steps_that_fail_once_change_nothing(
    tmp_path: Path, undisturbed: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    steps: list[tuple[Any, str]] = [(article, name) for name in ("_fetched", "_articles", "_load", "_record")]
    steps += [(level, name) for name in ("_prepare", "_open_next", "_offer_round", "_settle_failures", "_draw")]
    called = [break_once(owner, step, monkeypatch, after=after) for owner, step in steps]
    world = write_world(tmp_path / "world.jsonl", articles=60)
    await expand_in_process(tmp_path, settings_for(tmp_path, world))
    assert all(calls() > 1 for calls in called)
    assert what_is_left(tmp_path) == undisturbed


async def test_rules_that_were_dropped_with_the_first_attempt_are_stored_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later stages, in processes of their own, read them."""
    called = break_once(article, "_fetched", monkeypatch, after=True)
    world = write_world(tmp_path / "world.jsonl", articles=60)
    await expand_in_process(tmp_path, settings_for(tmp_path, world, max_depth=0))
    assert called() > 1
    with closing(sqlite3.connect(tmp_path / "wiki.db")) as database:
        assert database.execute("SELECT COUNT(*) FROM wiki_rules").fetchone() == (1,)


def left_pages(folder: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(folder / "wiki.db")) as database:
        return database.execute("SELECT title_key FROM wiki_pages").fetchall()


async def test_a_title_that_failed_in_the_middle_goes_on_from_there_when_it_is_revived(
    tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_all = article._load_all

    def all_but_one(graph: GraphStore, articles: Sequence[EmbeddedArticle]) -> list[Exception | None]:
        taken = [item for item in articles if item.article.title != "Place 001"]
        results = iter(load_all(graph, taken) if taken else [])
        return [next(results) if item in taken else Permanent("this graph does not take it") for item in articles]

    monkeypatch.setattr(article, "_load_all", all_but_one)
    run_id = await expand_in_process(tmp_path, settings_for(tmp_path, world))
    assert left_pages(tmp_path) == [("Place 001",)]
    async with app.client(tmp_path / "wiki.db") as client:
        assert (await status_of(client, await find_run(client))).failures == {"Permanent": 1, "not_found": 1}
        [one] = (await client.tasks(tracking_id=run_id, states=[TaskState.FAILED], key="Place 001")).tasks
        monkeypatch.setattr(article, "_load_all", load_all)
        assert await client.revive([one.id], by="test") == [one.id]
        await Worker(app, client, until_ended=run_id).run()
        assert (await status_of(client, await find_run(client))).states[WikiState.LOADED] == 1
    assert left_pages(tmp_path) == []


def fill_hole(world: Path) -> None:
    """Put an article in the place of the redirect to nowhere."""
    lines = [line for line in world.read_text(encoding="utf-8").splitlines() if '"title": "Hole 0"' not in line]
    lines.append(json.dumps({"title": "Hole 0", "text": "A well.", "links": ["Place 000", "Nowhere"]}))
    world.write_text("\n".join(lines), encoding="utf-8")


async def test_an_article_that_a_person_revives_later_is_loaded_and_drawn_by_the_next_pass(
    tmp_path: Path, world: Path
) -> None:
    settings = settings_for(tmp_path, world)
    run_id = await expand_in_process(tmp_path, settings)
    fill_hole(world)
    async with app.client(tmp_path / "wiki.db") as client:
        [hole] = (await client.tasks(tracking_id=run_id, states=[TaskState.FAILED])).tasks
        assert await client.revive([hole.id], by="test") == [hole.id]
        await Worker(app, client, until_ended=run_id).run()
        assert (await status_of(client, await find_run(client))).states[WikiState.LOADED] == 1
    await expand_in_process(tmp_path, settings)
    async with app.client(tmp_path / "wiki.db") as client:
        status = await status_of(client, await find_run(client))
    assert status.states[WikiState.PROCESSED] == status.titles == 41
    assert status.failures == {}
    graph = what_is_left(tmp_path)["graph"]
    assert [link for link in drawn(graph) if link[0] == "Hole 0"] == [("Hole 0", "Nowhere"), ("Hole 0", "Place 000")]


@pytest.mark.parametrize("steps", [[(10, 3)], [(12, 1), (12, 3)], [(5, 1), (20, 2), (33, 3)]])
async def test_going_on_with_larger_limits_ends_where_they_would_have_led_at_once(
    tmp_path: Path, world: Path, undisturbed: dict[str, list[Any]], steps: list[tuple[int, int]]
) -> None:
    for max_articles, max_depth in [*steps, (40, 3)]:
        await expand_in_process(tmp_path, settings_for(tmp_path, world, max_articles=max_articles, max_depth=max_depth))
    left = what_is_left(tmp_path)
    assert {name: left[name] for name in ("graph", "articles", "links")} == {
        name: undisturbed[name] for name in ("graph", "articles", "links")
    }


async def test_a_run_with_nothing_left_to_do_is_left_alone(tmp_path: Path, world: Path) -> None:
    settings = settings_for(tmp_path, world)
    await expand_in_process(tmp_path, settings)
    before = what_is_left(tmp_path)
    await expand_in_process(tmp_path, settings)
    assert what_is_left(tmp_path) == before


async def test_two_runs_can_share_a_graph(tmp_path: Path, world: Path) -> None:
    await expand_in_process(tmp_path, settings_for(tmp_path, world, max_articles=10))
    await expand_in_process(tmp_path, settings_for(tmp_path, world, max_articles=20))
    async with app.client(tmp_path / "wiki.db") as client:
        newest = await status_of(client, await find_run(client))
    assert newest.loaded == 20
    loaded = [line for line in what_is_left(tmp_path)["graph"] if line.startswith("Article") and line.endswith("true]")]
    assert len(loaded) == newest.loaded


async def test_submitting_the_same_run_again_changes_nothing(tmp_path: Path, world: Path) -> None:
    prepared = await prepare(SEEDS, settings_for(tmp_path, world))
    again = await prepare(tuple(reversed(SEEDS)), settings_for(tmp_path, world))
    assert (again.run_id, again.titles) == (prepared.run_id, prepared.titles)
    async with app.client(tmp_path / "wiki.db") as client:
        for _ in range(2):
            await submit(client, prepared)
        assert await count(client, prepared.run_id) == len(SEEDS) + 1


async def count(client: Client, tracking_id: str) -> int:
    return len((await client.tasks(tracking_id=tracking_id)).tasks)
