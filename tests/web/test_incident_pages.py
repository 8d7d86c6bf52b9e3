"""What somebody asks at night is on a page: what waits and since when, who does what, what it cost, where it is."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from ramet import Client, ResourcePolicy
from ramet.model.alerts.rules import MonitorLimits
from ramet.model.flow.resources import WorkerStatus
from ramet.model.lineage.limits import BALANCED
from ramet.model.money import ActualCost, Charge, ReserveRequest
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, Settlement
from tests.web.actions_app import crawl
from tests.web.in_process_client import visiting
from tests.web.world import ODD

MORE = re.compile(r'rel="next" href="([^"]+)"')


async def take(client: Client, n: int = 1, worker: str = "w1", lease_seconds: float = 300.0) -> Sequence[ClaimedTask]:
    return await client.store.claim(ClaimRequest(worker, ("default", "night"), ("crawl",), n, lease_seconds))


async def shown(visitor: httpx.AsyncClient, address: str, **parameters: Any) -> str:
    answer = await visitor.get(address, params=parameters or None)
    assert answer.status_code == 200, answer.text
    return answer.text


def row(page: str, name: str) -> str:
    """The text of one row of a table, its cells apart."""
    found = re.search(rf'<tr id="{re.escape(name)}">(.*?)</tr>', page, re.DOTALL)
    assert found is not None, f"no row {name}"
    cells = re.split(r"</t[hd]>", found[1])
    return "|".join(" ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in cells)


async def pages(visitor: httpx.AsyncClient, address: str) -> list[str]:
    """A list with all its pages."""
    found = [await shown(visitor, address)]
    while following := MORE.search(found[-1]):
        found.append(await shown(visitor, html.unescape(following[1])))
        assert len(found) < 50, "pages without end"
    return found


async def test_the_queues_page_says_what_waits_since_when_and_who_serves_it(client: Client) -> None:
    await client.submit_many([(crawl, f"https://e.org/{n}") for n in range(3)], one_lineage=True)
    await client.submit(crawl, "https://e.org/later", delay_seconds=600.0)
    await client.submit(crawl, "https://e.org/night", queue="night")
    await client.store.see_worker(WorkerStatus("w1", "here", 1, ("crawl",), ("default",), 4))
    await client.store.see_worker(WorkerStatus("w2", "here", 2, ("crawl",), ("default", "idle"), 2))
    await take(client)
    async with visiting(client) as visitor:
        page = await shown(visitor, "/queues")
        told = (await visitor.get("/api/v1/queues")).json()["queues"]
    name, state, waiting, held_back, running, *_ = row(page, "q-default").split("|")
    assert (name, state, held_back, running) == ("default", "active", "1 until they are due", "1")
    assert re.fullmatch(r"2 oldest [\d.]+ m?s", waiting)
    assert "2 workers 6 slots" in row(page, "q-default")
    assert "warning no worker" in row(page, "q-night")
    assert "1 worker 2 slots" in row(page, "q-idle"), "a queue in which nothing waits is served all the same"
    by_name = {one["name"]: one for one in told}
    assert by_name["default"]["waiting"] == {"number": 2, "more": False}
    assert by_name["default"]["kinds"] == ["crawl"]
    assert (await client.get(by_name["night"]["oldest_waiting"])) is not None


async def test_the_resources_page_says_what_waits_and_when_the_next_may_go(client: Client) -> None:
    await client.limit_resource(ResourcePolicy("api", cooldown_seconds=60.0))
    await client.limit_resource(ResourcePolicy("slow", rate_per_second=0.001))
    await client.limit_resource(ResourcePolicy("few", concurrency=1))
    new = client.registry.known(crawl)
    for name in ("api", "slow", "few"):
        tasks = [new.new_task(f"https://e.org/{name}/{n}")._replace(resource=name) for n in range(3)]
        await client.store.submit([client._lineage(tasks, name, BALANCED)])
    await take(client, 2)
    await take(client, 2)
    await client.open_breaker("api", by="ada", reason="too slow")
    async with visiting(client) as visitor:
        page = await shown(visitor, "/resources")
        told = {one["name"]: one for one in (await visitor.get("/api/v1/resources")).json()}
    for name in ("api", "slow", "few"):
        live = (await client.tasks(tracking_id=name, states=["pending"])).tasks
        assert told[name]["waiting"] == {"number": len(live), "more": False}
        assert told[name]["oldest_waiting"] == live[0].id
        assert f"|{len(live)} oldest " in row(page, f"r-{name}")
    assert told["api"]["limited_by"] == "breaker"
    assert told["api"]["next_at"] == pytest.approx(told["api"]["since"] + 60.0)
    assert re.search(r"in [\d.]+ (s|min) its breaker is open", row(page, "r-api"))
    assert told["slow"]["limited_by"] == "rate"
    assert "its rate is used up" in row(page, "r-slow")
    assert (told["few"]["limited_by"], told["few"]["next_at"]) == ("concurrency", None)
    assert "when a claim ends all its claims are in use" in row(page, "r-few")


async def test_the_workers_page_says_what_each_does_and_marks_what_is_stale(client: Client) -> None:
    await client.submit_many([(crawl, f"https://e.org/{n}") for n in range(4)], one_lineage=True)
    await client.store.see_worker(WorkerStatus("w1", "here", 1, ("crawl",), ("default",), 4))
    [stale] = await take(client, lease_seconds=0.0)
    current = await take(client, 2)
    [other] = await take(client, worker="a script")
    async with visiting(client) as visitor:
        page = await shown(visitor, "/workers")
        told = (await visitor.get("/api/v1/workers")).json()
    assert "|3 of 4|" in row(page, "w-w1")
    assert "stale" in row(page, f"c-{stale.id}")
    assert not any("stale" in row(page, f"c-{claimed.id}") for claimed in current)
    assert "a script (not seen as a worker within a day" in page
    [worker], [claimant] = told["workers"], told["others"]
    assert [task["id"] for task in worker["tasks"]] == [stale.id, *(claimed.id for claimed in current)]
    assert [task["stale"] for task in worker["tasks"]] == [True, False, False]
    async with visiting(client) as visitor:
        story = await shown(visitor, f"/tasks/{other.id}")
    assert "claim 1 by a script, which still has it" in story
    assert (claimant["name"], [task["id"] for task in claimant["tasks"]]) == ("a script", [other.id])


async def test_a_task_says_what_it_reserved_and_what_was_booked(client: Client) -> None:
    made = await client.submit(crawl, "https://e.org/")
    [claimed] = await take(client)
    standing = claimed.standing
    for name, amount in (("first", 50), ("second", 7)):
        await client.store.reserve([ReserveRequest(name, standing.seq, standing.fence, amount * 10_000_000)])
    await client.store.settle_reserved([ActualCost("first", 620_000_000)])
    charge = Charge("charged", 30_000_000)
    await client.store.settle(
        [Settlement(standing.seq, standing.fence, ev.Progress(standing.fence, 300.0), charge=charge)]
    )
    async with visiting(client) as visitor:
        page = await shown(visitor, f"/tasks/{made.id}")
        told = (await visitor.get("/api/v1/calls", params={"task_id": made.id})).json()
        nobody = await visitor.get("/api/v1/calls", params={"task_id": "nobody"})
    assert "$0.65 spent, $0.07 reserved in 3 calls" in page
    assert "$0.12 above its reservation" in page
    assert (told["spent"], told["reserved"], told["calls"]) == (650_000_000, 70_000_000, 3)
    assert {call["id"]: call["actual"] for call in told["latest"]} == {
        "first": 620_000_000, "second": None, "charged": 30_000_000
    }  # fmt: skip
    assert nobody.status_code == 404


async def _refuse(client: Client, times: int) -> None:
    await client.submit(crawl, "https://e.org/hub", tracking_id=ODD)
    [claimed] = await take(client)
    standing, known = claimed.standing, client.registry.known(crawl)
    children = [known.new_task(f"https://e.org/{n}") for n in range(times)]
    event = ev.Progress(standing.fence, 300.0)
    await client.store.settle([Settlement(standing.seq, standing.fence, event, spawns=children)])
    again = [one._replace(id=f"{one.id}-again") for one in children]
    await client.store.settle([Settlement(standing.seq, standing.fence, event, spawns=again)])


async def test_refused_spawns_come_page_by_page(client: Client) -> None:
    await _refuse(client, 7)
    every = [block.key for block in await client.blocks(ODD)]
    async with visiting(client) as visitor:
        listed = await pages(visitor, f"/blocks?tracking_id={quote(ODD, safe='')}&limit=3")
        found, after = list[str](), None
        while True:
            asked: dict[str, Any] = {"tracking_id": ODD, "limit": 2} | ({"after": after} if after else {})
            answer = (await visitor.get("/api/v1/blocks", params=asked)).json()
            found += [block["key"] for block in answer["blocks"]]
            after = answer["next_after"]
            if after is None:
                break
        wrong = await visitor.get("/blocks", params={"tracking_id": ODD, "after": "x"})
    assert len(every) == 7
    assert found == every
    assert [len(re.findall(r">in_flight</td>", page)) for page in listed] == [3, 3, 1]
    assert wrong.status_code == 400


async def test_alerts_come_page_by_page_and_by_state(on_file: Client) -> None:
    findings = await _alerts(on_file)
    async with visiting(on_file) as visitor:
        for state, wanted in (("all", findings["firing"] + findings["resolved"]), *findings.items()):
            listed = await pages(visitor, f"/alerts?state={state}&limit=2")
            assert [int(n) for page in listed for n in re.findall(r'<tr id="al-(\d+)"', page)] == wanted
            found, after = list[int](), None
            while True:
                asked: dict[str, Any] = {"limit": 1} | ({} if state == "all" else {"state": state})
                answer = await visitor.get("/api/v1/alerts", params=asked | ({"after": after} if after else {}))
                found += [one["id"] for one in answer.json()["alerts"]]
                after = answer.json()["next_after"]
                if after is None:
                    break
            assert found == wanted
        for wrong in ("x", "firing", "firing x", "odd 1", "firing " + "9" * 30):
            assert (await visitor.get("/alerts", params={"after": wrong})).status_code == 400


async def _alerts(client: Client) -> dict[str, list[int]]:
    """Breakers that opened and were closed; then lineages over their budget."""
    for number in range(3):
        await client.submit(crawl, f"https://e.org/{number}", tracking_id=f"line {number}")
    limits = MonitorLimits(depth_max=-1)
    while (await client.store.look(limits, force=True)).more:
        pass
    await client.cancel_lineage("line 1")
    await client.submit(crawl, "https://e.org/deep", tracking_id="line 9")
    client.clock.advance(100_000.0)  # type: ignore[attr-defined]  # the clock of the test
    while (await client.store.look(limits, force=True)).more:
        pass
    found = {
        "firing": [one.id for one in await client.alerts()],
        "resolved": [one.id for one in await client.alerts(resolved=True)],
    }
    assert min(len(found["firing"]), len(found["resolved"])) >= 1
    return found


async def test_lineages_are_found_by_name_and_listed_by_what_they_used(client: Client) -> None:
    limited = await client.submit_many(
        [(crawl, f"https://e.org/{n}") for n in range(4)], one_lineage=True, tracking_id="night 1"
    )
    assert len(limited) == 4
    await client.submit(crawl, "https://e.org/x", tracking_id="night 2")
    await client.submit(crawl, "https://e.org/y", tracking_id="day", delay_seconds=9.0)
    await client.pause_lineage("night 2")
    async with visiting(client) as visitor:

        async def names(**asked: str) -> list[str]:
            return re.findall(r'<tr id="l-([^"]+)">', await shown(visitor, "/lineages", **asked))

        assert await names(prefix="night") == ["night 1", "night 2"]
        assert await names(prefix="night", state="paused") == ["night 2"]
        assert await names(prefix="Night") == []
        assert (await names(order="fullest"))[0] == "night 1"
        assert await names(order="deadline", state="paused") == ["night 2"]
        assert (await visitor.get("/lineages?order=odd")).status_code == 400
        page = await shown(visitor, "/lineages", prefix="night 1")
        listed = (await visitor.get("/api/v1/lineages?order=fullest&limit=1")).json()["lineages"]
    assert [one["tracking_id"] for one in listed] == ["night 1"]
    assert "<meter" not in page, "a bar of next to nothing"


async def test_a_lineage_says_what_was_put_off_and_why(on_file: Client) -> None:
    await on_file.submit(crawl, "https://e.org/", tracking_id="late")
    [claimed] = await take(on_file)
    event = ev.Snooze(claimed.standing.fence, 60.0, "no model <b>here</b>")
    await on_file.store.settle([Settlement(claimed.standing.seq, claimed.standing.fence, event)])
    async with visiting(on_file) as visitor:
        page = await shown(visitor, "/lineages/late")
        told = (await visitor.get("/api/v1/lineage", params={"tracking_id": "late"})).json()
    assert "1 crawl after snooze: no model &lt;b&gt;here&lt;/b&gt;" in page
    assert [(one["kind"], one["reason"], one["tasks"]["number"]) for one in told["delays"]] == [
        ("crawl", "no model <b>here</b>", 1)
    ]


# --- search


async def test_every_page_has_a_search_box_that_leads_to_what_a_text_names(client: Client) -> None:
    made = await client.submit(crawl, "https://e.org/only", tracking_id=ODD)
    two = [await client.submit(crawl, "https://e.org/two", tracking_id=f"batch {n}") for n in (1, 2)]
    async with visiting(client) as visitor:
        assert '<form class="search" method="get" action="/search" role="search"' in await shown(visitor, "/workers")

        async def led(text: str) -> str:
            answer = await visitor.get("/search", params={"q": text})
            assert answer.status_code == 303
            page = await visitor.get(answer.headers["location"])
            assert page.status_code == 200
            return page.text

        assert f'<dd class="id">{made.id}</dd>' in await led(made.id)
        assert f'<dd class="id">{made.id}</dd>' in await led(f" {made.id} ")
        assert html.escape(ODD)[:20] in await led(ODD)
        assert f'<dd class="id">{made.id}</dd>' in await led("https://E.org:443/only"), "a key in another spelling"
        assert "batch 1" in await led("batch 1")
        several = await shown(visitor, "/search", q="https://e.org/two")
        begun = await shown(visitor, "/search", q="batch")
        nothing = await shown(visitor, "/search", q="<b>nothing</b>")
        assert "Enter the id of a task" in await shown(visitor, "/search")
        told = (await visitor.get("/api/v1/search", params={"q": "batch"})).json()
        key = (await visitor.get("/api/v1/search", params={"q": "https://e.org/two"})).json()
    assert {f"t-{one.id}" in several for one in two} == {True}
    assert re.findall(r'<tr id="l-([^"]+)">', begun) == ["batch 1", "batch 2"]
    assert "no tracking id begins so" in nothing
    assert "<b>nothing" not in nothing
    assert [one["tracking_id"] for one in told["lineages"]] == ["batch 1", "batch 2"]
    assert {one["id"] for one in key["tasks"]} == {one.id for one in two}
