"""Work over HTTP: what a worker of another language sees, under the same fences as every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ramet import App, Client, Limits
from ramet.testing import FakeClock, fresh_client
from ramet.web.access import Access
from ramet.web.application import make_application

TOKEN = "a-token-of-the-worker"
BODY = {"kinds": ["page"], "worker": "ts-1"}


@pytest.fixture
async def api(client: Client) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(client) as visitor:
        yield visitor


def visiting(client: Client) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=make_application(client, Access(TOKEN), pages=False))
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    return httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1", headers=bearer)


async def post(api: httpx.AsyncClient, path: str, body: dict[str, Any], status: int = 200) -> Any:
    answer = await api.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def claim(api: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    [found] = await post(api, "/claims", {**BODY, **more})
    assert isinstance(found, dict)
    return found


async def test_a_task_goes_from_submit_to_its_result(api: httpx.AsyncClient, client: Client) -> None:
    made = await post(api, "/submit", {"kind": "page", "payload": {"title": "Owl"}, "tags": ["a"], "max_attempts": 2})
    held = await claim(api)
    assert (held["task_id"], held["payload"], held["attempt"], held["lease_seconds"]) == (
        made["id"], {"title": "Owl"}, 1, 300,
    )  # fmt: skip
    task = await client.get(made["id"])
    assert task is not None
    assert (task.worker, task.max_attempts, task.tags) == ("remote:ts-1", 2, ("a",))
    checked = await post(
        api, "/claims/checkpoint",
        {"claim": held["claim"], "stage": "loaded", "state": {"links": 2}, "spawns": [{"kind": "page", "key": "b"}]},
    )  # fmt: skip
    assert [one["reason"] for one in checked["spawns"]] == [None]
    await post(api, "/claims/progress", {"claim": held["claim"], "done": 1, "total": 2, "message": "half"})
    again = await post(api, "/claims/spawn", {"claim": held["claim"], "spawns": [{"kind": "page", "key": "b"}]})
    assert [(one["reason"], one["winner"]) for one in again["spawns"]] == [("in_flight", checked["spawns"][0]["id"])]
    assert (await post(api, "/claims/heartbeat", {"claims": [held["claim"]]})) == {"lost": []}
    ended = await post(api, "/claims/settle", {"claim": held["claim"], "outcome": "success", "result": {"words": 7}})
    assert (ended["state"], ended["refused"]) == ("success", None)
    assert await client.result(made["id"]) == {"words": 7}
    child = await client.get(checked["spawns"][0]["id"])
    assert child is not None
    assert (child.parent_id, child.spawn_depth) == (made["id"], 1)


async def test_a_parent_joins_its_children_and_reads_what_became_of_them(api: httpx.AsyncClient) -> None:
    await post(api, "/submit", {"kind": "page", "key": "root"})
    held = await claim(api)
    assert held["joined"] is None
    children = [{"kind": "leaf", "key": name, "payload": name} for name in ("a", "b", "c", "a")]
    waits = await post(api, "/claims/settle", {"claim": held["claim"], "outcome": "join", "spawns": children})
    assert (waits["state"], [one["reason"] for one in waits["spawns"]]) == ("pending", [None, None, None, "in_flight"])
    assert await post(api, "/claims", BODY) == []
    leaves = await post(api, "/claims", {**BODY, "kinds": ["leaf"], "n": 10})
    ends = [
        {"claim": leaves[0]["claim"], "outcome": "success", "result": 1},
        {"claim": leaves[1]["claim"], "outcome": "filter", "reason": "thin"},
        {"claim": leaves[2]["claim"], "outcome": "failure", "error": {"name": "Gone", "error_class": "permanent"}},
    ]
    settled = await post(api, "/claims/settle/many", {"settlements": ends})
    assert [one["state"] for one in settled] == ["success", "filtered", "failed"]
    held = await claim(api)
    joined = held["joined"]
    assert (joined["round"], joined["total"], joined["refused"], joined["next"]) == (1, 4, 1, None)
    assert joined["states"] == {"success": 1, "filtered": 1, "failed": 1}
    assert [(one["key"], one["state"], one["result"]) for one in joined["tasks"]][:2] == [
        ("a", "success", 1), ("b", "filtered", None),
    ]  # fmt: skip
    page = (await api.get("/claims/joined", params={"claim": held["claim"]})).json()
    assert page["tasks"] == joined["tasks"]


async def test_tasks_come_after_others_and_find_their_results(api: httpx.AsyncClient) -> None:
    items = [
        {"kind": "leaf", "key": "a"},
        {"kind": "page", "key": "b", "after": [{"kind": "leaf", "key": "a"}]},
    ]
    made = await post(api, "/submit/many", {"items": items})
    assert made[0]["tracking_id"] == made[1]["tracking_id"]
    assert await post(api, "/claims", BODY) == []
    first = await claim(api, kinds=["leaf"])
    await post(api, "/claims/settle", {"claim": first["claim"], "outcome": "success", "result": "x"})
    held = await claim(api)
    assert [one["result"] for one in held["after"]["tasks"]] == ["x"]
    page = await api.get("/claims/joined", params={"claim": held["claim"], "before": True})
    assert page.json()["tasks"] == held["after"]["tasks"]


async def test_every_other_end_is_that_of_the_pull_api(api: httpx.AsyncClient, client: Client) -> None:
    made = await post(api, "/submit/many", {"items": [{"kind": "page", "key": str(key)} for key in range(5)]})
    held = await post(api, "/claims", {**BODY, "n": 5})
    ends: list[dict[str, Any]] = [
        {"outcome": "skip", "reason": "known"},
        {"outcome": "snooze", "seconds": 60, "reason": "later", "uses_time": False},
        {"outcome": "retry_after", "seconds": 30, "resource": "api.example"},
        {"outcome": "failure", "error": {"name": "Busy", "message": "503", "error_class": "transient",
                                         "traceback": "  at page.ts:7"}},
        {"outcome": "release"},
    ]  # fmt: skip
    settlements = [{"claim": one["claim"], **end} for one, end in zip(held, ends, strict=True)]
    answers = await post(api, "/claims/settle/many", {"settlements": settlements})
    assert [one["state"] for one in answers] == ["skipped", "pending", "pending", "pending", "pending"]
    histories = [await client.history(one["id"]) for one in made]
    outcomes = [history.attempts[-1].outcome for history in histories if history is not None]
    assert outcomes == ["skipped", "snooze", "snooze", "error", "returned"]
    failed = histories[3]
    assert failed is not None
    assert (failed.attempts[-1].error, failed.attempts[-1].error_class) == ("Busy: 503", "transient")
    assert failed.attempts[-1].traceback == "  at page.ts:7"


async def test_a_settlement_without_a_current_claim_is_refused_with_what_happened() -> None:
    clock = FakeClock()
    async with fresh_client(App(), clock=clock) as client, visiting(client) as api:
        await post(api, "/submit", {"kind": "page", "key": "a"})
        first = await claim(api, lease_seconds=10)
        clock.advance(11)
        await client.reclaim()
        second = await claim(api, worker="ts-2")
        assert second["fence"] > first["fence"]
        end = {"claim": first["claim"], "outcome": "success", "spawns": [{"kind": "page", "key": "never"}]}
        for path, body in (
            ("/claims/settle", end),
            ("/claims/checkpoint", {"claim": first["claim"], "state": {"a": 1}}),
            ("/claims/progress", {"claim": first["claim"], "done": 1}),
            ("/claims/spawn", {"claim": first["claim"], "spawns": [{"kind": "page", "key": "never"}]}),
        ):
            error = (await post(api, path, body, 409))["error"]
            assert error["code"] == "claim_lost", path
            assert "its attempt ended as lost; the task is processing" in error["message"], path
            assert f"under fence {second['fence']}, held by remote:ts-2" in error["message"], path
        beat = await post(api, "/claims/heartbeat", {"claims": [first["claim"], second["claim"]]})
        assert [(one["claim"], one["code"]) for one in beat["lost"]] == [(first["claim"], "claim_lost")]
        both = await post(
            api, "/claims/settle/many", {"settlements": [end, {"claim": second["claim"], "outcome": "success"}]}
        )
        assert [(one["state"], one["refused"] and one["refused"]["code"]) for one in both] == [
            (None, "claim_lost"), ("success", None),
        ]  # fmt: skip
        once_more = await post(api, "/claims/settle", {"claim": second["claim"], "outcome": "success"}, 409)
        assert once_more["error"]["code"] == "claim_settled"
        assert "its attempt ended as success" in once_more["error"]["message"]
        assert len((await client.tasks()).tasks) == 1


async def test_a_claim_outlives_the_server_that_gave_it(on_file: Client) -> None:
    async with visiting(on_file) as before:
        await post(before, "/submit", {"kind": "page", "key": "a"})
        held = await claim(before)
    async with visiting(on_file) as after:
        await post(after, "/claims/checkpoint", {"claim": held["claim"], "state": {"half": True}})
        assert (await post(after, "/claims/settle", {"claim": held["claim"], "outcome": "success"}))[
            "state"
        ] == "success"


async def test_a_task_that_was_cancelled_tells_its_worker(api: httpx.AsyncClient, client: Client) -> None:
    made = await post(api, "/submit", {"kind": "page", "key": "a", "path": ["doc"]})
    await post(api, "/submit", {"kind": "page", "key": "b", "path": ["doc"]})
    held = await claim(api)
    await client.cancel(made["id"], by="ada")
    beat = await post(api, "/claims/heartbeat", {"claims": [held["claim"]]})
    assert "cancelled" in beat["lost"][0]["message"]
    assert await post(api, "/claims", BODY) == []  # It may still work outside: its path is held.
    await post(api, "/claims/settle", {"claim": held["claim"], "outcome": "release"}, 409)
    assert (await claim(api))["key"] == "b"


async def test_a_claim_that_waits_gets_the_task_that_comes(api: httpx.AsyncClient) -> None:
    waiting = asyncio.ensure_future(claim(api, wait_seconds=30))
    await post(api, "/submit", {"kind": "page", "key": "a"})
    assert (await waiting)["key"] == "a"


async def test_the_same_submit_again_changes_nothing_and_another_one_is_refused(
    api: httpx.AsyncClient, client: Client
) -> None:
    named = {"Idempotency-Key": "order-7"}
    body = {"kind": "page", "key": "a"}
    first = (await api.post("/submit", json=body, headers=named)).json()
    again = (await api.post("/submit", json=body, headers=named)).json()
    assert (first["created"], again) == (True, {**first, "created": False})
    other = await api.post("/submit", json={"kind": "page", "key": "b"}, headers=named)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    many = await api.post("/submit/many", json={"items": [body], "one_lineage": True}, headers=named)
    assert many.json() == [again]
    apart = await api.post("/submit/many", json={"items": [body, {"kind": "leaf"}]}, headers=named)
    assert apart.status_code == 400
    assert len((await client.tasks()).tasks) == 1


async def test_roots_are_added_under_the_limits_of_their_lineage(api: httpx.AsyncClient) -> None:
    await post(api, "/submit", {"kind": "page", "key": "a", "tracking_id": "crawl", "limits": {"max_tasks": 2}})
    items = [{"kind": "page", "key": key} for key in ("a", "b", "c")]
    answers = await post(api, "/submit/roots", {"tracking_id": "crawl", "items": items})
    assert [one["reason"] for one in answers] == ["in_flight", None, "budget"]
    missing = await post(api, "/submit/roots", {"tracking_id": "none", "items": items}, 404)
    assert missing["error"]["code"] == "not_found"


async def test_what_cannot_be_done_is_one_line_and_nothing_is_half_written(
    api: httpx.AsyncClient, client: Client
) -> None:
    await post(api, "/submit", {"kind": "page", "key": "a"})
    held = await claim(api)
    large = {"kind": "page", "key": "large", "payload": "x" * 300_000}
    fine = {"kind": "page", "key": "fine"}
    for path, body, status in (
        ("/submit", large, 400),
        ("/submit", {"kind": "page", "limits": {"max_task": 1}}, 400),
        ("/submit", {"kind": "page", "limits": {"allow_shapes": 3}}, 400),
        ("/submit", {"kind": "page", "colour": "red"}, 422),
        ("/submit/many", {"items": [fine, large]}, 400),
        ("/claims", {**BODY, "n": 0}, 422),
        ("/claims", {**BODY, "wait_seconds": 3_600}, 422),
        ("/claims/spawn", {"claim": held["claim"], "spawns": [fine, large]}, 400),
        ("/claims/settle", {"claim": held["claim"], "outcome": "success", "result": "x" * 300_000}, 400),
        ("/claims/settle", {"claim": held["claim"], "outcome": "fly"}, 422),
        ("/claims/settle", {"claim": "1-1", "outcome": "success"}, 422),
        ("/claims/settle", {"claim": "999-1-300", "outcome": "success"}, 409),
        ("/claims/settle/many", {"settlements": [{"claim": held["claim"], "outcome": "success"}] * 2}, 400),
    ):
        error = (await post(api, path, body, status))["error"]
        assert set(error) == {"code", "message"}
        assert "\n" not in error["message"]
    assert [task.key for task in (await client.tasks()).tasks] == ["a"]
    assert (await post(api, "/claims/settle", {"claim": held["claim"], "outcome": "success"}))["state"] == "success"


async def test_secrets_in_what_a_worker_reports_are_not_kept(api: httpx.AsyncClient, client: Client) -> None:
    made = await post(api, "/submit", {"kind": "page", "key": "a", "max_attempts": 1})
    held = await claim(api)
    address = "postgresql://user:hunter2@db.example/tasks"
    error = {"name": f"Refused {address}", "message": address, "traceback": address}
    await post(api, "/claims/settle", {"claim": held["claim"], "outcome": "failure", "error": error})
    history = await client.history(made["id"])
    assert history is not None
    assert history.task.state == "failed"
    assert "hunter2" not in f"{history}"


async def test_the_budget_holds_to_the_task(api: httpx.AsyncClient, client: Client) -> None:
    limits = Limits(max_tasks=3)
    await client.submit("page", key="a", tracking_id="small", limits=limits)
    held = await claim(api)
    spawns = [{"kind": "page", "key": str(number)} for number in range(5)]
    ended = await post(api, "/claims/settle", {"claim": held["claim"], "outcome": "success", "spawns": spawns})
    assert [one["reason"] for one in ended["spawns"]] == [None, None, "budget", "budget", "budget"]
