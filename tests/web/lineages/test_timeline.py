"""The page of a lineage's timeline: a part of the tree over time, without scripts, whatever its tasks are called."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from ramet import App, Client, Limits
from ramet.model.timeline import TIMELINE_ROWS
from ramet.testing import FakeClock, fresh_client
from ramet.web.views.task_time import WIDTH
from ramet.web.views.timeline import drawn
from tests.web.in_process_client import visiting
from tests.web.test_pages_about_work import links
from tests.web.world import HOSTILE, ODD, world

CHILDREN = TIMELINE_ROWS + 12


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A lineage whose root joined its very many children, of which one failed."""
    clock = FakeClock()
    async with fresh_client(App(), folder=tmp_path, clock=clock) as client:
        await client.submit("parent", key="p", tracking_id="line", limits=Limits(max_fan_out=1_000, max_attempts=1))
        [claim] = await client.claim("parent")
        for number in range(CHILDREN):
            claim.spawn("child", key=f"{number}")
        await claim.join()
        [first, second] = await client.claim("child", n=2)
        await first.fail(HOSTILE, retry=False)
        clock.advance(5.0)
        await second.complete()
        yield client


@pytest.fixture
async def at(client: Client) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(client) as visitor:
        yield visitor


async def test_unknown_lineages_tasks_and_filters_are_refused(client: Client, at: httpx.AsyncClient) -> None:
    other = await client.submit("parent", key="x", tracking_id="other")
    for query, status in (
        ("tracking_id=nothing", 404),
        (f"tracking_id=line&parent_id={other.id}", 404),
        ("tracking_id=line&only=late", 422),
    ):
        assert (await at.get(f"/api/v1/timeline?{query}")).status_code == status, query
    for address, status in (
        ("/lineages/nothing/timeline", 404),
        ("/lineages/line/timeline?parent_id=nothing", 404),
        (f"/lineages/line/timeline?parent_id={other.id}", 404),
        ("/lineages/line/timeline?only=late", 400),
        ("/lineages/line/timeline?after=x", 400),
    ):
        assert (await at.get(address)).status_code == status, address


async def test_failures_and_joins_are_drawn_and_links_lead_on(client: Client, at: httpx.AsyncClient) -> None:
    [root] = await client.roots("line")
    page = (await at.get("/lineages/line/timeline")).text
    assert "1 failed below" in page
    assert f"waits for {CHILDREN - 2} tasks" in page
    assert 'class="joined"' in page
    told = (await at.get("/api/v1/timeline?tracking_id=line")).json()
    assert (told["rows"][0]["id"], told["rows"][0]["waits_for"], told["failed"]["number"]) == (root.id, CHILDREN - 2, 1)
    assert told["rows"][0]["spans"][-1]["what"] == "joined"
    below = f"/lineages/line/timeline?parent_id={root.id}"
    assert below in links(page)
    found = (await at.get(below)).text
    assert f"of {CHILDREN} children" in found
    assert re.search(rf">child</a> <span class=\"state pending\">pending</span> {CHILDREN - 2}\b", found)
    [more] = [link for link in links(found) if "after=" in link]
    rest = (await at.get(more)).text
    assert rest.count('<tr id="g-') == 1 + CHILDREN - TIMELINE_ROWS
    failed = (await at.get("/lineages/line/timeline?only=failed")).text
    assert failed.count('<tr id="g-') == 2
    assert "<line " in failed


async def test_every_bar_is_on_the_axis(client: Client) -> None:
    [root] = await client.roots("line")
    for found in (await client.timeline("line"), await client.timeline("line", parent_id=root.id)):
        _, rows = drawn(found, client.clock.now())
        bars = [bar for row in rows for bar in row.bars]
        assert bars
        assert all(0 <= bar.x <= WIDTH and 0 < bar.width <= WIDTH + 2 for bar in bars)


async def test_any_name_of_a_lineage_leads_to_its_timeline_and_back(tmp_path: Path) -> None:
    async with world(tmp_path) as made, visiting(made.client) as at:
        await made.client.submit("leaf", 1, key="1", tracking_id="x/timeline")
        for name in (ODD, "..", "x/timeline"):
            lineages = [link for link in links((await at.get("/lineages")).text) if link.startswith("/lineages/")]
            mine = [
                one for one in lineages if quote(name, safe="") in one or f"tracking_id={quote(name, safe='')}" in one
            ]
            assert mine, name
            page = (await at.get(mine[0])).text
            [timeline] = [link for link in links(page) if "/timeline" in link.partition("?")[0]]
            shown = await at.get(timeline)
            assert shown.status_code == 200, name
            assert "<title>Timeline of" in shown.text
            assert "<script>alert" not in shown.text
