"""Actions: each says what it will do, does it once, and is recorded with who and why; nothing else is ever changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import httpx
import pytest

from ramet import Client, QueueBlocked
from ramet.testing import drain
from ramet.web.access import Access
from ramet.web.actions import ACTIONS
from ramet.web.views.action import back_to
from tests.web.actions_app import app, crawl
from tests.web.in_process_client import visiting

HOSTILE = "<img src=x onerror=alert(1)>\"'&{{7919*6101}}"


async def ask(client: Client, name: str, /, **fields: str) -> tuple[int, str]:
    async with visiting(client) as visitor:
        answer = await visitor.get(f"/act/{name}", params=fields)
    return answer.status_code, answer.text


async def do(
    client: Client, action: str, /, reason: str = "as agreed", back: str = "/", **fields: str
) -> tuple[int, str]:
    """Status, and what was told: by the page that one is sent to, or by the refusal."""
    async with visiting(client) as visitor:
        page = await visitor.get("/act/pause-queue")
        form: dict[str, str] = {"reason": reason, "back": back, **fields}
        form |= _hidden(page.text, "csrf")
        answer = await visitor.post(f"/act/{action}", data=form, headers={"Origin": "http://localhost"})
        if answer.status_code == 303:
            return 303, told_on(await visitor.get("/"))
    return answer.status_code, answer.text


def told_on(page: httpx.Response) -> str:
    """What a page says was done just now; empty where it says nothing."""
    found = re.search(r'<p class="told" role="status">(.*?)</p>', page.text)
    return unescape(found[1]) if found else ""


def _hidden(page: str, name: str) -> dict[str, str]:
    mark = f'name="{name}" value="'
    return {name: page.split(mark, 1)[1].split('"', 1)[0]} if mark in page else {}


async def ended(client: Client, *urls: str, tracking_id: str) -> list[str]:
    submitted = await client.submit_many([(crawl, url) for url in urls], one_lineage=True, tracking_id=tracking_id)
    await drain(app, client)
    return [one.id for one in submitted]


async def transitions(client: Client, task_id: str) -> list[Any]:
    history = await client.history(task_id)
    assert history is not None
    return list(history.transitions)


async def test_a_failed_task_gets_new_attempts_and_the_transition_says_who_and_why(client: Client) -> None:
    [task_id] = await ended(client, "https://e.org/fail", tracking_id="one")
    status, page = await ask(client, "retry", task_id=task_id)
    assert status == 200
    assert "which is failed, new attempts" in page
    assert await do(client, "retry", task_id=task_id) == (303, f"revived task {task_id} (crawl https://e.org/fail)")
    task = await client.get(task_id)
    assert task is not None
    assert task.state == "pending"
    assert any("ada" in repr(one) and "as agreed" in repr(one) for one in await transitions(client, task_id))
    status, page = await do(client, "retry", task_id=task_id)
    assert status == 409
    assert "only an ended, unsuccessful task can be retried" in page


async def test_all_failed_tasks_of_a_lineage_are_retried_at_once(client: Client) -> None:
    await ended(client, *(f"https://e.org/fail/{n}" for n in range(3)), "https://e.org/", tracking_id="many")
    _, page = await ask(client, "retry-failed", tracking_id="many")
    assert "3 failed tasks" in page
    assert await do(client, "retry-failed", tracking_id="many") == (303, "revived 3 tasks of lineage many")
    assert (await do(client, "retry-failed", tracking_id="many"))[0] == 409


async def test_a_lineage_is_cancelled_with_the_number_of_its_live_tasks_told_before(client: Client) -> None:
    await client.submit_many([(crawl, f"https://e.org/{n}") for n in range(5)], one_lineage=True, tracking_id="five")
    status, page = await ask(client, "cancel-lineage", tracking_id="five")
    assert status == 200
    assert "Cancels 5 live tasks of lineage five" in page
    assert await do(client, "cancel-lineage", tracking_id="five") == (303, "cancelled lineage five with 5 live tasks")
    lineage = await client.lineage("five")
    assert lineage is not None
    assert (lineage.state, lineage.reason) == ("cancelled", "cancelled by ada: as agreed")
    [act] = await client.acts("five")
    assert (act.by, act.act, act.reason) == ("ada", "cancel_lineage", "as agreed")
    status, page = await do(client, "cancel-lineage", tracking_id="five")
    assert status == 409
    assert "nothing to cancel" in page


@pytest.mark.parametrize(("name", "word"), [("cancel", "cancelled"), ("cancel-tree", "cancelled"), ("exclude", "excl")])
async def test_a_task_is_taken_out_and_who_did_it_is_kept(client: Client, name: str, word: str) -> None:
    [one, _] = await client.submit_many(
        [(crawl, "https://e.org/"), (crawl, "https://f.org/")], one_lineage=True, tracking_id="a"
    )
    status, told = await do(client, name, task_id=one.id)
    assert status == 303
    assert told.startswith(word)
    task = await client.get(one.id)
    assert task is not None
    assert task.state in ("cancelled", "skipped")
    assert any("ada" in repr(each) for each in await transitions(client, one.id))
    assert [act.act for act in await client.acts("a")] == (["cancel_tree"] if name == "cancel-tree" else [])
    assert (await do(client, name, task_id=one.id))[0] in ((409,) if name != "exclude" else (409, 303))


async def test_the_order_and_the_time_of_a_pending_task_are_changed(client: Client) -> None:
    one = await client.submit(crawl, "https://e.org/", tracking_id="a")
    assert (await do(client, "reprioritise", task_id=one.id, priority="9"))[1].endswith("has priority 9; it had 0")
    assert (await do(client, "reschedule", task_id=one.id, delay_seconds="60"))[1].endswith("may be claimed in 60 s")
    task = await client.get(one.id)
    assert task is not None
    assert (task.priority, task.wait) == (9, "due")
    assert [(act.by, act.act) for act in await client.acts("a")] == [("ada", "reschedule"), ("ada", "reprioritise")]
    await client.cancel(one.id)
    for name, fields in (("reprioritise", {"priority": "1"}), ("reschedule", {"delay_seconds": "0"})):
        status, page = await do(client, name, task_id=one.id, **fields)
        assert (status, "only a pending task can be" in page) == (409, True)


async def test_a_lineage_is_paused_and_goes_on(client: Client) -> None:
    await client.submit(crawl, "https://e.org/", tracking_id="p")
    assert await do(client, "pause-lineage", tracking_id="p") == (303, "paused lineage p")
    assert (await do(client, "pause-lineage", tracking_id="p"))[0] == 409
    lineage = await client.lineage("p")
    assert lineage is not None
    assert (lineage.paused_by, lineage.paused_reason) == ("ada", "as agreed")
    assert await do(client, "resume-lineage", tracking_id="p") == (303, "resumed lineage p")
    assert (await do(client, "resume-lineage", tracking_id="p"))[0] == 409


async def test_a_queue_refuses_submits_until_it_is_unblocked(client: Client) -> None:
    assert (await do(client, "block-queue", queue="default", payload="1"))[0] == 409
    assert (await do(client, "block-queue", queue="default", on_drained="x", payload="{"))[0] == 400
    given = {"queue": "default", "on_drained": "x", "payload": '{"a": 1}'}
    assert await do(client, "block-queue", **given) == (303, "blocked queue default")
    assert (await do(client, "block-queue", queue="default"))[0] == 409
    with pytest.raises(QueueBlocked, match="by ada: as agreed"):
        await client.submit(crawl, "https://e.org/")
    async with visiting(client) as visitor:
        assert "once it has drained, x is submitted" in (await visitor.get("/queues")).text
        [queue] = (await visitor.get("/api/v1/queues")).json()["queues"]
    assert (queue["blocked_by"], queue["on_drained"]) == ("ada", "x")
    assert await do(client, "unblock-queue", queue="default") == (303, "unblocked queue default")
    assert (await do(client, "unblock-queue", queue="default"))[0] == 409


async def test_a_path_is_paused_and_goes_on(client: Client) -> None:
    assert (await do(client, "pause-path", path="[]"))[0] == 400
    assert await do(client, "pause-path", path="doc/review") == (303, "paused path doc:review")
    assert (await do(client, "pause-path", path='["doc", "review"]'))[0] == 409
    async with visiting(client) as visitor:
        assert "as agreed" in (await visitor.get("/paths")).text
        [paused] = (await visitor.get("/api/v1/paths")).json()["paused"]
    assert (paused["path"], paused["queue"], paused["paused_by"]) == (["doc", "review"], "default", "ada")
    assert await do(client, "resume-path", path="doc/review") == (303, "resumed path doc:review")
    assert (await do(client, "resume-path", path="doc/review"))[0] == 409


RECORDED: list[tuple[str, Mapping[str, str], str]] = [
    ("pause-queue", {"queue": "default"}, "paused queue default"),
    ("limit-queue", {"queue": "default", "concurrency": "3"}, "queue default: at most 3 at once"),
    ("limit-queue", {"queue": "default", "concurrency": "none"}, "queue default: without limit"),
    ("limit-kind", {"kind": "crawl", "concurrency": "2"}, "kind crawl: at most 2 at once"),
    ("limit-resource", {"pattern": "host:*", "rate_per_second": "0.5"}, "limited resource host:*"),
    ("open-breaker", {"resource": "host:e.org"}, "opened the breaker of resource host:e.org"),
    ("set-setting", {"name": "limits.max_tasks", "value": "77"}, "limits.max_tasks is 77 tasks now"),
    ("stop", {"entry_type": "domain", "value": "e.org"}, "stopped domain e.org"),
    ("raise-limits", {"tracking_id": "t", "max_tasks": "1000000"}, "raised max_tasks of lineage t"),
]


@pytest.mark.parametrize(("name", "fields", "told"), RECORDED, ids=[f"{row[0]}-{row[2][-9:]}" for row in RECORDED])
async def test_what_is_no_task_s_own_is_recorded_as_an_act(
    on_file: Client, name: str, fields: dict[str, str], told: str
) -> None:
    await on_file.submit(crawl, "https://e.org/", tracking_id="t")
    before = len(await on_file.acts())
    status, said = await do(on_file, name, **fields)
    assert (status, said[: len(told)]) == (303, told)
    acts = await on_file.acts()
    assert len(acts) == before + 1
    assert (acts[0].by, acts[0].reason) == ("ada", "as agreed")


UNDONE: list[tuple[str, str, dict[str, str]]] = [
    ("pause-queue", "resume-queue", {"queue": "default"}),
    ("open-breaker", "close-breaker", {"resource": "host:e.org"}),
    ("set-setting", "unset-setting", {"name": "limits.max_tasks"}),
    ("stop", "unstop", {"entry_type": "host", "value": "e.org"}),
    ("pause-schedule", "resume-schedule", {"name": "hourly"}),
]


@pytest.mark.parametrize(("name", "back", "fields"), UNDONE, ids=[row[0] for row in UNDONE])
async def test_what_is_done_can_be_undone_once(on_file: Client, name: str, back: str, fields: dict[str, str]) -> None:
    await on_file.schedules.add(crawl, "https://e.org/", name="hourly", cron="@hourly")
    more = {"value": "5"} if name == "set-setting" else {}
    assert (await do(on_file, back, **fields))[0] in (404, 409)
    assert (await do(on_file, name, **fields, **more))[0] == 303
    assert (await do(on_file, back, **fields))[0] == 303
    assert (await do(on_file, back, **fields))[0] == 409


async def test_a_schedule_is_run_now_and_removed(client: Client) -> None:
    await client.schedules.add(crawl, "https://e.org/", name="hourly", cron="@hourly")
    status, told = await do(client, "run-schedule", name="hourly")
    assert status == 303
    assert await client.lineage(told.removeprefix("schedule hourly runs as lineage ")) is not None
    status, told = await do(client, "run-schedule", name="hourly")
    assert status == 400  # The run is not over, and its runs may not overlap.
    assert (await do(client, "remove-schedule", name="hourly"))[0] == 303
    assert (await do(client, "remove-schedule", name="hourly"))[0] == 404
    assert [act.by for act in await client.acts(limit=2)] == ["ada", "ada"]


async def test_blocked_spawns_are_offered_again(client: Client) -> None:
    await client.submit(crawl, "https://deep.org", tracking_id="deep")
    await client.stop("domain", "deep.org")
    await drain(app, client)
    _, page = await ask(client, "reoffer", tracking_id="deep", reasons="stop_list")
    assert "1 refusal so far" in page
    await client.unstop("domain", "deep.org")
    assert await do(client, "reoffer", tracking_id="deep") == (
        303,
        "created 1 task; 0 existed by now, 0 still blocked",
    )
    assert (await client.acts("deep"))[0].by == "ada"


BAD: list[tuple[str, dict[str, str], int, str]] = [
    ("retry", {"task_id": "no-such"}, 404, "no task no-such"),
    ("cancel-lineage", {"tracking_id": HOSTILE}, 404, "no lineage"),
    ("set-setting", {"name": "limits.max_tasks", "value": "many"}, 400, "give a whole number"),
    ("set-setting", {"name": "no.such", "value": "1"}, 400, "no.such"),
    ("stop", {"entry_type": "domain", "value": "com"}, 400, "is not a domain that has others below it"),
    ("stop", {"entry_type": "planet", "value": "com"}, 400, "entry_type"),
    ("limit-queue", {"queue": "default", "concurrency": "0"}, 400, "concurrency"),
    ("limit-queue", {"queue": "x" * 501}, 400, "queue"),
    ("limit-resource", {"pattern": "a*b"}, 400, "is not a valid pattern"),
    ("raise-limits", {"tracking_id": "t"}, 409, "nothing to raise"),
    ("raise-limits", {"tracking_id": "t", "max_tasks": "1"}, 400, "max_tasks"),
    ("raise-limits", {"tracking_id": "t", "max_cost": "nan"}, 400, "dollars"),
    ("reoffer", {"tracking_id": "t", "reasons": "whim"}, 400, "cannot be offered again"),
    ("pause-queue", {"queue": "a\x00b"}, 400, "NUL"),
    ("pause-queue", {"queue": "default", "tree": "1"}, 400, "tree"),
    ("no-such-action", {}, 404, "no action"),
]


@pytest.mark.parametrize(("name", "fields", "status", "line"), BAD, ids=[f"{row[0]}-{row[3]}"[:40] for row in BAD])
async def test_what_cannot_be_done_is_said_in_one_line_and_nothing_is_done(
    on_file: Client, name: str, fields: dict[str, str], status: int, line: str
) -> None:
    await on_file.submit(crawl, "https://e.org/", tracking_id="t")
    before = await on_file.acts(), await on_file.lineages()
    found, page = await do(on_file, name, **fields)
    assert found == status
    assert line in page
    assert HOSTILE not in page
    assert (await on_file.acts(), await on_file.lineages()) == before


async def test_asking_changes_nothing_and_what_is_asked_about_stays_text(on_file: Client) -> None:
    submitted = await on_file.submit(crawl, f"https://e.org/{HOSTILE}", tracking_id=HOSTILE)
    await on_file.schedules.add(crawl, "https://e.org/", name="hourly", cron="@hourly")
    before = await on_file.acts(), await on_file.lineages(), await on_file.schedules.all(), await on_file.settings.all()
    values = {"task_id": submitted.id, "tracking_id": HOSTILE, "name": "hourly", "queue": HOSTILE, "kind": HOSTILE,
              "resource": HOSTILE, "pattern": HOSTILE, "value": HOSTILE, "entry_type": "pattern"}  # fmt: skip
    for action in ACTIONS.values():
        given = {name: value for name, value in values.items() if name in action.fields.model_fields}
        status, page = await ask(on_file, action.name, **given)
        assert status in (200, 400, 404, 409), action.name
        assert "<img src=x" not in page
        assert action.title in page
    after = await on_file.acts(), await on_file.lineages(), await on_file.schedules.all(), await on_file.settings.all()
    assert after == before


async def test_a_hostile_reason_is_kept_and_shown_as_text(on_file: Client) -> None:
    assert (await do(on_file, "pause-queue", reason=HOSTILE, queue=HOSTILE))[0] == 303
    assert (await on_file.acts())[0].reason == HOSTILE
    status, page = await do(on_file, "pause-queue", reason=HOSTILE, queue=HOSTILE)
    assert status == 409
    assert "<img src=x" not in page
    assert (await do(on_file, "resume-queue", reason="x" * 501, queue=HOSTILE))[0] == 400


@pytest.mark.parametrize(
    "back",
    ["https://evil.org/", "//evil.org/", "/\\evil.org", "\\\\evil.org", "javascript:alert(1)", "/\t/evil.org", "",
     "///evil.org", "http:evil.org", "/act/cancel-lineage?tracking_id=t", "x" * 3_000, "//[", "/a\r\nX: y"],
)  # fmt: skip
def test_one_is_sent_back_to_this_host_only(back: str) -> None:
    assert back_to(back) == "/"


def test_a_link_from_an_event_stream_leads_back_to_its_page() -> None:
    assert back_to("/live/queues?a=1") == "/queues?a=1"
    assert back_to("/live//evil.org") == "/"
    assert back_to("/live/act/cancel") == "/"


async def test_who_may_only_read_is_refused_and_nothing_is_done(on_file: Client) -> None:
    async with visiting(on_file, Access("admin-token" * 4, "reader-token" * 4)) as visitor:
        headers = {"Authorization": f"Bearer {'reader-token' * 4}"}
        asked = await visitor.get("/act/pause-queue", params={"queue": "default"}, headers=headers)
        acted = await visitor.post("/act/pause-queue", data={"queue": "default"}, headers=headers)
    assert (asked.status_code, acted.status_code) == (403, 403)
    assert '<form class="ask"' not in asked.text
    assert await on_file.acts() == []


async def test_a_form_that_is_too_large_or_none_is_refused(on_file: Client) -> None:
    async with visiting(on_file) as visitor:
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://localhost"}
        for body in (b"queue=" + b"x" * 70_000, b"queue=%ff\xff", b"&".join([b"a=1"] * 200)):
            answer = await visitor.post("/act/pause-queue", content=body, headers=kind)
            assert answer.status_code in (400, 403, 413)
    assert await on_file.acts() == []


def test_every_action_names_what_it_does() -> None:
    assert app.registry.get("crawl") is not None
    for name, action in ACTIONS.items():
        assert name == action.name
        assert action.about.endswith(".")
        assert all(field.title for field in action.fields.model_fields.values()), name
