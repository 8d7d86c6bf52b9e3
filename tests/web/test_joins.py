"""Joins in the dashboard and the API: what a parent waits for, and its place in the tree."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from ramet import App, Client, Limits
from ramet.testing import fresh_client
from tests.web.in_process_client import visiting
from tests.web.world import HOSTILE

TASKS = 30


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A lineage whose root waits for thirty children, one of which was refused."""
    async with fresh_client(App(), folder=tmp_path) as client:
        await client.submit("parent", key=HOSTILE, tracking_id="line", limits=Limits(max_tasks=TASKS))
        [claim] = await client.claim("parent")
        for number in range(TASKS):
            claim.spawn("child", key=f"{HOSTILE} {number}")
        await claim.join()
        yield client


@pytest.fixture
async def at(client: Client) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(client) as visitor:
        yield visitor


async def test_an_unknown_join_is_not_found_and_a_bad_place_is_refused(client: Client, at: httpx.AsyncClient) -> None:
    [root] = await client.roots("line")
    for address, status in (
        ("/joined?task_id=nobody", 404),
        (f"/joined?task_id={root.id}&round=2", 404),
        (f"/joined?task_id={root.id}&round=x", 400),
        (f"/joined?task_id={root.id}&place=-1", 400),
    ):
        assert (await at.get(address)).status_code == status, address
        assert (await at.get(f"/api/v1{address}")).status_code == (422 if status == 400 else status), address


async def test_the_tasks_of_a_join_are_read_page_by_page(client: Client, at: httpx.AsyncClient) -> None:
    [root] = await client.roots("line")
    first = (await at.get(f"/api/v1/joined?task_id={root.id}&limit=20")).json()
    assert (first["round"], first["waiting"], first["remaining"], first["total"]["number"]) == (1, True, 29, 29)
    place = first["next"]
    where = f"/api/v1/joined?task_id={root.id}&limit=20&place={place['place']}&behind={place['behind']}"
    second = (await at.get(where)).json()
    assert (len(first["rows"]), len(second["rows"]), second["next"]) == (20, 10, None)
    assert [row["refused_code"] for row in second["rows"]] == [*[None] * 9, "budget"]


async def test_pages_say_what_a_parent_waits_for(client: Client, at: httpx.AsyncClient) -> None:
    [root] = await client.roots("line")
    page = (await at.get(f"/tasks/{root.id}")).text
    assert "Waits for" in page
    assert "29 of 29 tasks" in page
    assert f"/joined?task_id={root.id}" in page
    assert "waits for 29 tasks" in (await at.get("/lineages/line")).text
    rest = (await at.get(f"/joined?task_id={root.id}")).text
    assert "refused: " in rest
    for text in (page, rest):
        assert "<script>alert" not in text
    overview = (await at.get("/api/v1/overview")).json()
    assert (overview["waiting"]["number"], overview["waits"]["tasks"]["number"]) == (29, 1)
    assert "parents whose children have not ended" in (await at.get("/")).text


async def test_the_page_of_a_task_shows_what_its_attempts_logged(client: Client, at: httpx.AsyncClient) -> None:
    [claim] = await client.claim("child")
    settlement = claim.settlement_for(None)
    line = [1.5, "warning", "shop", HOSTILE]
    await client.store.settle([settlement._replace(log=json.dumps({"left_out": 2, "lines": [line]}))])
    page = (await at.get(f"/tasks/{claim.id}")).text
    assert '<h2 id="log">Log</h2>' in page
    assert "2 before them left out" in page
    assert "<script>alert" not in page
    [log] = (await at.get(f"/api/v1/tasks/{claim.id}")).json()["log"]
    assert (log["fence"], log["left_out"], log["lines"][0]["message"]) == (1, 2, HOSTILE)
