"""Every number of the overview is what a count of the stored rows gives, on either store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Permanent
from ramet.model.tallies import BUCKETS_SECONDS, Histogram
from ramet.store.requests import ClaimRequest
from ramet.testing import drain, fresh_client
from ramet.web.views.overview import HEIGHT, WIDTH, bars, quantile, stacked
from tests.web.in_process_client import visiting
from tests.web.world import database_of, world

ENDED = ("success", "filtered", "skipped", "failed", "cancelled")


async def rows(client: Client, sql: str) -> list[tuple[Any, ...]]:
    return await client.read(sql)


async def one(client: Client, sql: str) -> Any:
    [(value,)] = await client.read(sql)
    return value


@pytest.mark.parametrize("backend", ["postgres", "sqlite"])
async def test_the_overview_says_what_the_rows_say(backend: str, tmp_path: Path) -> None:
    with database_of(backend) as database:
        async with world(tmp_path, database) as made, visiting(made.client) as visitor:
            client = made.client
            await client.submit_many([("leaf", n, {"key": f"free {n}"}) for n in range(4)], one_lineage=True)
            await client.submit("leaf", 7, key="later", delay_seconds=900.0)
            await client.cancel(await one(client, "SELECT id FROM ramet_tasks WHERE key = 'free 3'"))
            await client.store.claim(ClaimRequest("w", ("default",), ("leaf",), 1, 300.0))
            await client.store.claim(ClaimRequest("w", ("default",), ("leaf",), 1, 0.0))
            told = (await visitor.get("/api/v1/overview")).json()
            page = (await visitor.get("/")).text
            await _compare(client, told)
            assert f'<span class="value">{told["failed_share"]:.1%}</span>' in page
            assert f'<span class="value">{told["processing"]}</span>' in page


async def _compare(client: Client, told: dict[str, Any]) -> None:
    """Everything was created and ended within the last hour, so the hour is all there is."""
    live = "SELECT COUNT(*) FROM ramet_live WHERE "
    assert told["waiting"]["number"] == await one(client, live + "state = 'pending' AND wait IS NULL") > 0
    assert told["processing"] == await one(client, live + "state = 'processing'") == 2
    assert told["stale"] == 1
    claimed_at = await one(client, "SELECT MIN(claimed_at) FROM ramet_live WHERE state = 'processing'")
    assert told["oldest_claimed_at"] == claimed_at
    waits = await rows(
        client, "SELECT COALESCE(wait, ''), COUNT(*) FROM ramet_live WHERE state = 'pending' GROUP BY wait"
    )
    assert {name: found["number"] for name, found in told["waits"].items() if found["number"]} == dict(waits)
    oldest = "SELECT t.id, l.available_at FROM ramet_live l JOIN ramet_tasks t ON t.seq = l.seq WHERE "
    oldest += "l.state = 'pending' AND l.wait IS NULL ORDER BY l.available_at, l.seq"
    [(task_id, available_at), *_] = await rows(client, oldest)
    assert (told["oldest_waiting"], told["oldest_waiting_at"]) == (task_id, available_at)

    depths = Counter(dict(await rows(client, "SELECT spawn_depth, COUNT(*) FROM ramet_tasks GROUP BY spawn_depth")))
    assert {depth: count for depth, count in enumerate(told["depths"]) if count} == dict(depths)
    ended = dict(await rows(client, "SELECT state, COUNT(*) FROM ramet_tasks WHERE state IS NOT NULL GROUP BY state"))
    assert ended["cancelled"] == 1
    assert told["failed_share"] == pytest.approx(ended["failed"] / sum(ended.values()))
    assert sum(minute["good"] for minute in told["spans"]) == sum(ended.get(state, 0) for state in ENDED[:3])
    assert sum(minute["bad"] for minute in told["spans"]) == ended["failed"] + ended["cancelled"]
    assert sum(ended.values()) / 5 <= told["ended_per_minute"] <= sum(ended.values()) / 4

    for kind in told["kinds"]:
        of = f"FROM ramet_tasks WHERE kind = '{kind['kind']}'"
        states = dict(await rows(client, f"SELECT COALESCE(state, 'live'), COUNT(*) {of} GROUP BY 1"))
        assert kind["live"] == states.pop("live", 0)
        assert {state: count for state, count in kind["ended"].items() if count} == states
        assert kind["created"] == await one(client, f"SELECT COUNT(*) {of}")
    lineages = dict(await rows(client, "SELECT state, COUNT(*) FROM ramet_lineages GROUP BY state"))
    assert {state: found["number"] for state, found in told["lineages"].items() if found["number"]} == lineages
    reasons = await rows(client, "SELECT reason FROM ramet_tasks WHERE state = 'failed'")
    assert told["failed"] == dict(Counter(reason for (reason,) in reasons))


def test_bars_stand_on_the_axis_inside_of_the_plot_however_unlike_they_are() -> None:
    made = stacked([(1.0, 1, 0), (2.0, 999_990, 7), (3.0, 0, 0)])
    assert made.most == 1_000_000
    assert made.total == 999_998
    for bar in made.bars:
        assert bar.good_y + bar.good_height == pytest.approx(HEIGHT)
        assert bar.bad_y + bar.bad_height == pytest.approx(bar.good_y)
        assert bar.bad_y >= 0
        assert bar.x + bar.width <= WIDTH
    assert made.bars[0].good_height > 1, "one among a million is seen"
    assert made.bars[2].good_height == 0


def test_a_chart_of_nothing_is_a_chart() -> None:
    assert bars([]).total == 0
    assert stacked([(0.0, 0, 0)]).most == 1


def histogram(**counts: int) -> Histogram:
    numbers = [0] * (len(BUCKETS_SECONDS) + 1)
    for name, count in counts.items():
        numbers[int(name[1:])] = count
    return Histogram(tuple(numbers), 0.0)


def test_a_quantile_is_the_end_of_the_bucket_in_which_it_lies() -> None:
    assert quantile(histogram(), 0.5) is None
    assert quantile(histogram(b0=1), 0.5) == BUCKETS_SECONDS[0]
    assert quantile(histogram(b0=50, b5=50), 0.5) == BUCKETS_SECONDS[0]
    assert quantile(histogram(b0=50, b5=50), 0.51) == BUCKETS_SECONDS[5]
    assert quantile(histogram(b16=1), 0.95) == BUCKETS_SECONDS[-1], "beyond the last only its begin is known"


app = App()


@app.task("fails", key=str)
async def fails(ctx: Context, payload: str) -> None:
    raise Permanent("no such place")


@app.task("works", key=str)
async def works(ctx: Context, payload: str) -> None:
    """Ends well."""


async def test_what_is_wrong_comes_first_with_a_way_to_it() -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        await client.submit("works", "1")
        await drain(app, client)
        assert "None: no failure in the last hour" in (await visitor.get("/")).text
        await client.submit("fails", "1")
        await drain(app, client)
        await client.submit("unserved", "1")
        text = (await visitor.get("/")).text
    wrong, rest = text.partition('<h2 id="wrong">')[2].split('<ul class="cards">')
    assert '<a href="/tasks?kind=fails&amp;state=failed"><bdi>fails</bdi></a>: 1 of 1 (100.0%)' in wrong
    assert "permanent_error 1" in wrong
    assert "no worker serves kind <bdi>unserved</bdi>" in wrong
    assert rest.index('<tr id="k-fails"') < rest.index('<tr id="k-works"'), "most failures first"


@pytest.mark.parametrize(("window", "found"), [("1h", 1), ("24h", 2), ("7d", 3)])
async def test_a_longer_window_shows_what_ended_longer_ago(window: str, found: int) -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        for hours in (2 * 24, 5, 0):
            await client.submit("fails", f"{hours}")
            await drain(app, client)
            client.clock.advance(hours * 3_600.0)  # type: ignore[attr-defined]
            await client.store.sweep()
        told = (await visitor.get("/api/v1/overview", params={"window": window})).json()
        page = (await visitor.get("/", params={"window": window})).text
    assert sum(span["bad"] for span in told["spans"]) == told["ended"]["failed"] == found
    assert [kind["reasons"] for kind in told["kinds"]] == [{"permanent_error": found}]
    assert f"{found} of {found} (100.0%)" in page


async def test_a_window_that_there_is_not_is_refused_with_one_line() -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        assert (await visitor.get("/?window=1y")).status_code == 400
        assert (await visitor.get("/api/v1/overview?window=1y")).status_code == 422
