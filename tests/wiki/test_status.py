"""How far a run is: what was settled, corrected by what the engine knows of each task."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from ramet import Client
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, Settlement, Write
from ramet.wiki import tables
from ramet.wiki.commands.terminal import seeds_of, show_status
from ramet.wiki.expansion import PreparedRun
from ramet.wiki.expansion import submit as submit_run
from ramet.wiki.pipeline import app
from ramet.wiki.runs import FETCH, FETCHING, Run, RunSettings, find_run
from ramet.wiki.status import status_of
from ramet.wiki.tables import WikiState

SETTINGS = RunSettings(source="x", data_dir="x", graph="x", embedder="none", max_articles=9, max_depth=2)
SEEDS = ("A", "B", "C", "D")
NAME = "wiki-test"


async def submit(client: Client) -> Run:
    assert await submit_run(client, PreparedRun(NAME, SETTINGS, SEEDS, SEEDS, "", "", None))
    return await find_run(client)


async def claim(client: Client, limit: int) -> list[ClaimedTask]:
    return await client.store.claim(ClaimRequest("test", [FETCHING], [FETCH], limit, 60.0))


def discover(title: str) -> Write:
    return Write(tables.DISCOVER, (NAME, title, title, 0, None, NAME))


def load(title: str, at: float) -> Write:
    return Write(tables.LOAD, (title, "1", 0, at, NAME, title))


async def settle(client: Client, claimed: ClaimedTask, event: Any, *writes: Write) -> None:
    standing = claimed.standing
    [settled] = await client.store.settle([Settlement(standing.seq, standing.fence, event, writes=writes)])
    assert settled.refused is None


async def test_every_article_is_in_exactly_one_state_and_the_right_one(tmp_path: Path) -> None:
    async with app.client(tmp_path / "wiki.db") as client:
        run = await submit(client)
        assert (await status_of(client, run)).titles == 0
        a, b, c = await claim(client, 3)
        await settle(client, a, ev.Checkpoint(a.standing.fence, 60.0), *map(discover, SEEDS), load("A", time.time()))
        failed = Write(tables.FAIL, ("not_found: x has no article 'B'", NAME, "B"))
        await settle(client, b, ev.Fail(b.standing.fence, "not_found: x has no article 'B'"), failed)
        status = await status_of(client, run)
        assert {state: count for state, count in status.depths[0].items() if count} == {
            WikiState.LOADED: 1,
            WikiState.FAILED: 1,
            WikiState.CLAIMED: 2,
        }
        assert (status.titles, status.loaded, status.ended, status.expected) == (4, 1, 2, 9)
        assert status.failures == {"not_found": 1}
        await settle(client, c, ev.Error(c.standing.fence, "OSError: disk", "transient", "f", 1.0))
        assert (await status_of(client, run)).states[WikiState.DISCOVERED] == 1


async def test_the_rate_and_the_time_left_come_from_what_was_loaded_lately(tmp_path: Path) -> None:
    now = time.time()
    async with app.client(tmp_path / "wiki.db") as client:
        run = await submit(client)
        a, b, c = await claim(client, 3)
        await settle(client, a, ev.Fail(a.standing.fence, "x"), discover("A"), load("A", now - 900))
        assert (await status_of(client, run, now=now)).articles_per_second is None
        await settle(client, b, ev.Fail(b.standing.fence, "x"), discover("B"), load("B", now - 4))
        await settle(client, c, ev.Fail(c.standing.fence, "x"), discover("C"), load("C", now - 2))
        status = await status_of(client, run, now=now)
    assert status.articles_per_second == 0.5
    assert status.eta_seconds == (9 - 3) / 0.5


async def test_a_run_on_which_nobody_works_says_how_to_continue(tmp_path: Path) -> None:
    async with app.client(tmp_path / "wiki.db") as client:
        status = await status_of(client, await submit(client))
    out = Console(file=io.StringIO(), width=80)
    out.print(show_status(status, str(tmp_path / "wiki.db"), None))
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "ramet wiki expand A B C D" in shown
    assert "--embed none --max-articles 9 --max-depth 2" in " ".join(shown.split())


async def test_a_silent_worker_s_title_is_told_with_its_depth_and_when_it_was_claimed(tmp_path: Path) -> None:
    now = time.time()
    async with app.client(tmp_path / "wiki.db") as client:
        run = await submit(client)
        await claim(client, 1)
        assert (await status_of(client, run, now=now)).stale == ()
        [stale] = (await status_of(client, run, now=now + 100)).stale
    assert (stale.title, stale.stage, stale.worker) == ("A", "fetch", "test")
    assert now - 5 < stale.claimed_at < stale.lease_until < now + 100


async def test_what_titles_wait_for_is_told_with_how_many(tmp_path: Path) -> None:
    async with app.client(tmp_path / "wiki.db") as client:
        run = await submit(client)
        for one in await claim(client, 3):
            await settle(client, one, ev.Snooze(one.standing.fence, 60.0, "there is no source 'x'"))
        status = await status_of(client, run)
    assert status.waiting == {"there is no source 'x'": 3}
    out = Console(file=io.StringIO(), width=80)
    out.print(show_status(status, None, None))
    assert "waiting: there is no source 'x' (3 titles)" in out.file.getvalue()  # type: ignore[attr-defined]


async def test_the_state_queries_of_the_design_are_answered(tmp_path: Path) -> None:
    async with app.client(tmp_path / "wiki.db") as client:
        run = await submit(client)
        [a, b] = await claim(client, 2)
        deep = Write(tables.DISCOVER, (NAME, "E", "E", 2, "A", NAME))
        failed = Write(tables.FAIL, ("not_found: no B", NAME, "B"))
        rows = [*map(discover, SEEDS), deep, load("A", time.time())]
        await settle(client, a, ev.Skip(a.standing.fence, "test"), *rows)
        await settle(client, b, ev.Fail(b.standing.fence, "not_found: no B"), failed)
        told = (await status_of(client, run)).as_json()
    assert {state: count for state, count in told["states"].items() if count} == {
        "discovered": 3,
        "loaded": 1,
        "failed": 1,
    }
    assert told["mean_depths"] == {"discovered": round(2 / 3, 3), "loaded": 0.0, "failed": 0.0}
    assert (told["queue_size"], told["active"], told["loaded"], told["percent_complete"]) == (3, 0, 1, 20.0)
    assert told["failure_rate"] == 0.5
    assert told["passes"][0]["sort"] == "expand"


async def test_a_run_of_many_seeds_is_named_by_the_first_few(tmp_path: Path) -> None:
    many = tuple(f"S{number:04}" for number in range(1_200))
    settings = SETTINGS.model_copy(update={"max_articles": 2_000})
    async with app.client(tmp_path / "wiki.db") as client:
        assert await submit_run(client, PreparedRun(NAME, settings, many, many, "", "", None))
        run = await find_run(client)
    assert run.seeds == many
    assert seeds_of(run) == "S0000, S0001, S0002 and 1,197 more"
