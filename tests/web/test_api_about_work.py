"""The API about work says what the pages say, in JSON, for any id that people choose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from ramet.web.access import Access
from ramet.web.page import BadInput, Dashboard, NotFound
from ramet.web.templating import environment
from ramet.web.views import costs, lineages, overview, tasks
from tests.web.world import HOSTILE, ODD, World, database_of, world


@pytest.fixture(params=["postgres", "sqlite"])
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    with database_of(request.param) as database:
        async with world(tmp_path, database) as found:
            yield found


@pytest.fixture
async def api(made: World) -> AsyncIterator[httpx.AsyncClient]:
    """The routers by themselves: what stands around them is tested elsewhere."""
    application = FastAPI()
    application.state.dashboard = Dashboard(made.client, Access(), environment())
    for router in (overview.router, lineages.router, tasks.router, tasks.explain_router, costs.router):
        application.include_router(router)

    async def refused(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"message": str(error)}, 404 if isinstance(error, NotFound) else 400)

    application.add_exception_handler(NotFound, refused)
    application.add_exception_handler(BadInput, refused)
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def read(api: httpx.AsyncClient, address: str, **parameters: Any) -> Any:
    answer = await api.get(address, params=parameters or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_every_question_about_work_has_an_answer(made: World, api: httpx.AsyncClient) -> None:
    told = await read(api, "/overview")
    assert sum(minute["good"] + minute["bad"] for minute in told["spans"]) == 36
    assert 36 / 5 <= told["ended_per_minute"] <= 36 / 4, "what has just ended counts"
    assert told["failed"] == {"permanent_error": 1}
    assert sum(told["depths"]) == 39
    assert {(row["kind"], row["tasks"]) for row in told["unserved"]} >= {("elsewhere", 2)}

    for lineage in (
        await read(api, f"/lineages/{quote(ODD, safe='')}"),
        await read(api, "/lineage", tracking_id=ODD),
    ):
        assert (lineage["tracking_id"], lineage["state"], lineage["tasks"]) == (ODD, "finished", 36)
        assert lineage["refused"] == {"in_flight": 1}
        assert sum(row["number"] for row in lineage["kinds"]) == 36
    assert (await read(api, "/lineage", tracking_id=".."))["paused_by"] == "ada"

    failed = await read(api, f"/tasks/{made.failed}")
    assert (failed["key"], failed["payload"], failed["state"]) == (HOSTILE, HOSTILE, "failed")
    assert [attempt["outcome"] for attempt in failed["history"]] == ["error"]
    assert "raise Permanent(text)" in failed["history"][0]["traceback"]
    assert failed["why"].startswith("Permanent: ")
    assert failed == await read(api, "/task", task_id=made.failed)
    why = await read(api, f"/tasks/{made.failed}/explanation")
    assert [cause["code"] for cause in why["why"]] == ["ended", "permanent_error"]
    waiting = await read(api, f"/tasks/{made.waiting}/explanation")
    assert waiting["waits_behind"] == 1
    assert waiting["why"][0]["about"]["what"] == "task"

    known = await read(api, "/explain", kind="leaf", key="seed 0")
    assert [block["reason"] for block in known["blocks"]] == ["in_flight"]
    assert known["tasks"][0]["id"] == known["blocks"][0]["winner"]
    assert (await read(api, "/costs"))["day"]["spent"] == 0
    assert len((await read(api, "/blocks", tracking_id=ODD, reason="in_flight"))["blocks"]) == 1


async def test_lists_go_on_where_they_stopped(made: World, api: httpx.AsyncClient) -> None:
    names: list[str] = []
    before: dict[str, str] = {}
    while True:
        page = await read(api, "/lineages", limit=1, **before)
        names += [one["tracking_id"] for one in page["lineages"]]
        if page["next_before"] is None:
            break
        before = {"before": page["next_before"]}
    assert sorted(names) == sorted([ODD, "..", "running", "behind"])

    [root] = (await read(api, "/branches", tracking_id=ODD))["branches"]
    assert (root["kind"], root["tasks"], root["with_children"]) == ("root", {"number": 1, "more": False}, True)
    keys: set[str] = set()
    after: int | None = 0
    while after is not None:
        page = await read(api, "/twigs", parent_id=made.root, kind="leaf", state="success", limit=7, after=after)
        keys |= {twig["task"]["key"] for twig in page["twigs"]}
        after = page["next_after"]
    assert len(keys) == 20
    found = await read(api, "/tasks", tracking_id=ODD, kind="deep", min_depth=2)
    assert sorted(one["spawn_depth"] for one in found["tasks"]) == [2, 3, 4]


REFUSED = [
    ("/tasks/nobody", 404),
    ("/tasks/nobody/explanation", 404),
    ("/lineage?tracking_id=nobody", 404),
    ("/blocks?tracking_id=nobody", 404),
    ("/explain?kind=nobody&key=nothing", 404),
    ("/costs?tracking_id=nobody", 404),
    ("/lineages?before=nowhere", 400),
    ("/branches", 400),
    ("/twigs?kind=leaf&state=success", 400),
    ("/tasks?limit=201", 422),
    ("/tasks?state=lost", 422),
    ("/lineages?state=success", 422),
    ("/lineages/%00", 422),
    ("/tasks/%00", 422),
    ("/tasks?key=%00", 422),
    ("/explain?kind=%00&key=1", 422),
]


async def test_what_cannot_be_answered_is_refused(api: httpx.AsyncClient) -> None:
    assert {address: (await api.get(address)).status_code for address, _ in REFUSED} == dict(REFUSED)
