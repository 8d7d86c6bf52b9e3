"""Pages about operating: they show what the client knows, as text whatever it is, and looking changes nothing."""

from __future__ import annotations

import json

import pytest
from starlette.routing import Route

from ramet import Client, ResourcePolicy
from ramet.model.alerts.rules import MonitorLimits
from ramet.model.flow.resources import WorkerStatus
from ramet.testing import drain
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.actions_app import app, crawl
from tests.web.in_process_client import visiting
from tests.web.test_actions import do

HOSTILE = "<img src=x onerror=alert(1)>\"'&{{7919*6101}}"
PAGES = ("/paths", "/resources", "/queues", "/workers", "/schedules", "/alerts", "/settings", "/stop-list", "/acts")


async def furnish(client: Client) -> None:
    """Something of everything, with names that would be markup anywhere else."""
    await client.submit(crawl, "https://e.org/1", tracking_id=HOSTILE, path=[HOSTILE, "review"])
    await client.submit(crawl, "https://e.org/2", tracking_id="second", path=[HOSTILE])
    await client.submit(crawl, "https://e.org/fail", tracking_id="third")
    await client.pause_queue(HOSTILE, by=HOSTILE, reason=HOSTILE)
    await client.limit("queue", "default", 7, by=HOSTILE)
    await client.limit("kind", HOSTILE, 3)
    await client.limit_resource(ResourcePolicy("host:*", concurrency=2, rate_per_second=0.5, cooldown_seconds=30.0))
    await client.open_breaker(f"host:{HOSTILE}", by=HOSTILE, reason=HOSTILE)
    await client.schedules.add(crawl, "https://e.org/", name="hourly", cron="@hourly")
    await client.schedules.pause("hourly", reason=HOSTILE)
    await client.schedules.run("hourly")
    await client.settings.set("limits.max_tasks", 77, by=HOSTILE, reason=HOSTILE)
    await client.stop("pattern", f"*{HOSTILE}*", by=HOSTILE, reason=HOSTILE)
    await client.store.see_worker(WorkerStatus(HOSTILE, HOSTILE, 1, ("other", HOSTILE), (HOSTILE,), 4))


async def shown(client: Client, address: str) -> str:
    async with visiting(client) as visitor:
        answer = await visitor.get(address)
    assert answer.status_code == 200, answer.text
    assert "<img src=x" not in answer.text
    return answer.text


async def test_every_page_shows_what_is_hostile_as_text_and_changes_nothing(client: Client) -> None:
    await furnish(client)
    acts, lineages = await client.acts(), await client.lineages()
    everything = [await shown(client, address) for address in (*PAGES, "/schedule?name=hourly")]
    assert sum("&lt;img src=x onerror=alert(1)&gt;" in page for page in everything) >= 6
    assert not any(str(7919 * 6101) in page for page in everything), "no text is a template"
    assert (await client.acts(), await client.lineages()) == (acts, lineages)


async def test_an_empty_database_has_pages_that_say_so(on_file: Client) -> None:
    said = {
        "/paths": "No task holds a path", "/resources": "No task has used a resource", "/queues": "No queue is limited",
        "/workers": "No workers", "/schedules": "No schedules", "/alerts": "No alerts",
        "/stop-list": "The deny list is empty", "/acts": "No actions recorded", "/settings": "0 settings changed",
    }  # fmt: skip
    for address in PAGES:
        assert said[address] in await shown(on_file, address)


async def test_paths_tell_who_holds_one_and_who_waits_behind_it(client: Client) -> None:
    await furnish(client)
    holders = await shown(client, "/paths")
    assert '<span class="state next">next</span>' in holders
    async with visiting(client) as visitor:
        line = await visitor.get("/paths", params={"path": json.dumps([HOSTILE])})
        typed = await visitor.get("/paths", params={"path": "no/such"})
        wrong = await visitor.get("/paths", params={"path": "[1]"})
        nowhere = await visitor.get("/paths", params={"tracking_id": "no-such"})
    assert '<span class="state waits">waits</span>' in line.text
    assert "that task" in line.text
    assert "No task holds or waits for this path" in typed.text
    assert (wrong.status_code, nowhere.status_code) == (400, 404)


async def test_a_resource_tells_since_when_it_is_off_by_whom_and_why(on_file: Client) -> None:
    await on_file.limit_resource(ResourcePolicy("host:*", concurrency=2))
    await on_file.open_breaker("host:e.org", by="bob", reason="too slow")
    page = await shown(on_file, "/resources")
    assert '<span class="state open">open</span>' in page
    assert "too slow" in page
    assert "(by bob)" in page
    assert "until an operator closes the breaker" in page
    assert "/act/close-breaker?resource=host%3Ae.org" in page
    await on_file.close_breaker("host:e.org")
    assert '<span class="state closed">closed</span>' in await shown(on_file, "/resources")


async def test_workers_and_the_kinds_that_nobody_serves(client: Client) -> None:
    await client.submit(crawl, "https://e.org/", tracking_id="t")
    assert "kind <strong>crawl</strong> on queue <strong>default</strong>: 1 live task" in await shown(
        client, "/workers"
    )
    await client.store.see_worker(WorkerStatus("w1", "here", 4711, ("crawl",), ("default",), 4))
    page = await shown(client, "/workers")
    assert "Kinds without a worker" not in page
    assert "4711" in page


async def test_a_setting_shows_its_value_its_default_and_when_it_changed(on_file: Client) -> None:
    await on_file.settings.set("limits.max_tasks", 77)
    page = await shown(on_file, "/settings?find=max_tasks")
    assert "<strong>77</strong>" in page
    assert "1 setting changed" in page
    assert "/act/unset-setting?name=limits.max_tasks" in page
    assert "No setting matches" in await shown(on_file, "/settings?find=nothing-of-it")


async def test_acts_come_a_page_at_a_time(on_file: Client) -> None:
    for number in range(5):
        await on_file.pause_queue(f"queue-{number}")
    first = await shown(on_file, "/acts?limit=3")
    assert "queue-4" in first
    assert "queue-1" not in first
    following = first.split('rel="next" href="', 1)[1].split('"', 1)[0].replace("&amp;", "&")
    assert "queue-1" in await shown(on_file, following)


async def test_an_alert_has_a_page_with_its_evidence(on_file: Client) -> None:
    await on_file.submit(crawl, f"https://e.org/fail{HOSTILE}", tracking_id="storm")
    for _ in range(5):
        await drain(app, on_file)
        failed = await on_file.tasks(tracking_id="storm", states=["failed"])
        await on_file.revive([task.id for task in failed.tasks])
    limits = MonitorLimits()
    [alert, *_] = await on_file.check_alerts()
    assert alert.evidence["worst"][0]["weight"] > limits.demands_max
    assert "&lt;img" in await shown(on_file, "/alerts") or "%3Cimg" in await shown(on_file, "/alerts")
    page = await shown(on_file, f"/alerts/{alert.id}")
    assert "storm" in page
    assert "not yet" in page
    status, told = await do(on_file, "acknowledge", alert_id=str(alert.id))
    assert (status, told) == (303, f"acknowledged alert {alert.id}")
    assert (await do(on_file, "acknowledge", alert_id=str(alert.id)))[0] == 409
    page = await shown(on_file, f"/alerts/{alert.id}")
    assert "by ada" in page
    assert "/act/acknowledge" not in page
    assert [act.by for act in await on_file.acts(limit=1)] == ["ada"]
    async with visiting(on_file) as visitor:
        assert (await visitor.get("/alerts/99999")).status_code == 404
        assert (await visitor.get("/alerts/x")).status_code == 404


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "1" * 30])
async def test_limits_are_bounded(on_file: Client, limit: str) -> None:
    async with visiting(on_file) as visitor:
        for address in ("/paths", "/resources", "/alerts", "/acts", "/schedule?name=x"):
            mark = "&" if "?" in address else "?"
            assert (await visitor.get(f"{address}{mark}limit={limit}")).status_code in (400, 404)


async def test_the_api_says_the_same_as_the_pages(client: Client) -> None:
    await furnish(client)
    async with visiting(client) as visitor:
        found = {address: await visitor.get(f"/api/v1{address}") for address in PAGES}
        schedule = await visitor.get("/api/v1/schedules/hourly")
        actions = await visitor.get("/api/v1/actions")
    assert {address: answer.status_code for address, answer in found.items()} == dict.fromkeys(PAGES, 200)
    nothing = {"number": 0, "more": False}
    assert found["/queues"].json()["queues"][0] | {"paused_at": 0} == {
        "name": HOSTILE, "held": 0, "concurrency": None, "explicit": False, "paused_at": 0, "paused_by": HOSTILE,
        "paused_reason": HOSTILE, "waiting": nothing, "oldest_waiting": None, "oldest_waiting_at": None,
        "held_back": {}, "kinds": [], "workers": 1, "slots": 4, "blocked_at": None, "blocked_by": None,
        "blocked_reason": None, "on_drained": None, "drained_at": None,
    }  # fmt: skip
    assert found["/resources"].json()[0]["state"] == "open"
    assert [one["kind"] for one in found["/workers"].json()["unserved"]] == ["crawl"]
    assert schedule.json()["slots"][0]["outcome"] == "manual"
    assert "cancel-lineage" in {one["name"] for one in actions.json()}


async def test_an_action_through_the_api_is_recorded_with_the_name_that_came_with_it(on_file: Client) -> None:
    token = "admin-token" * 4
    headers = {"Authorization": f"Bearer {token}", "X-Ramet-By": "robot"}
    async with visiting(on_file, Access(token)) as visitor:
        done = await visitor.post(
            "/api/v1/actions/pause-queue", json={"queue": "default", "reason": "night"}, headers=headers
        )
        again = await visitor.post("/api/v1/actions/pause-queue", json={"queue": "default"}, headers=headers)
        wrong = await visitor.post("/api/v1/actions/pause-queue", json={"name": "default"}, headers=headers)
        missing = await visitor.post("/api/v1/actions/retry", json={"task_id": "no-such"}, headers=headers)
    assert done.json() == {"told": "paused queue default", "result": {"queue": "default"}}
    assert (again.status_code, wrong.status_code, missing.status_code) == (409, 422, 404)
    assert [(act.by, act.reason) for act in await on_file.acts()] == [("robot", "night")]


async def test_no_get_changes_anything(on_file: Client) -> None:
    await furnish(on_file)
    tables = await _tables(on_file)
    before = {table: await on_file.read(f"SELECT * FROM {table}") for table in tables}
    application = make_application(on_file, Access(person="ada"))
    async with visiting(on_file) as visitor:
        for route in application.routes:
            if isinstance(route, Route) and "GET" in (route.methods or ()) and not route.path.startswith("/live"):
                address = route.path.replace("{name}", "cancel-lineage").replace("{number}", "1")
                answer = await visitor.get(address.split("{", 1)[0], params={"tracking_id": "second"})
                assert answer.status_code < 500, address
    assert {table: await on_file.read(f"SELECT * FROM {table}") for table in tables} == before


async def _tables(client: Client) -> list[str]:
    rows = await client.read("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ramet_%'")
    assert len(rows) > 10
    return sorted(str(name) for (name,) in rows)
