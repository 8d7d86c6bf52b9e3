"""Many tasks from the list: ticked or filtered, counted on a page, done to exactly the number that was confirmed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import httpx
import pytest
import pytest_asyncio

from ramet import App, Client, Context, Permanent, TaskFilter, Transient
from ramet.engine.client import operate
from ramet.testing import drain, fresh_client
from ramet.web.access import Access
from ramet.web.views import bulk
from tests.web.in_process_client import visiting

app = App()


@app.task("fails", key=str)
async def fails(ctx: Context, payload: str) -> None:
    raise Permanent(f"no such place: {payload}")


@app.task("waits", key=str)
async def waits(ctx: Context, payload: str) -> None:
    raise Transient("later")


class At(NamedTuple):
    """A database with three failed tasks, and a visitor who may act."""

    client: Client
    visitor: httpx.AsyncClient
    failed: Sequence[str]


@pytest_asyncio.fixture
async def at() -> AsyncIterator[At]:
    async with fresh_client(app) as client, visiting(client) as visitor:
        for name in ("a", "b", "c"):
            await client.submit("fails", name, tracking_id=f"lineage-{name}")
        await drain(app, client)
        yield At(client, visitor, [task.id async for task in client.all_tasks(states=["failed"])])


def form_of(page: str) -> dict[str, str]:
    """The fields of the form that confirms, as a browser sends them."""
    form = page.partition('<form class="ask"')[2].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))


async def states(client: Client) -> dict[str, str]:
    return {task.key: str(task.state) async for task in client.all_tasks()}


async def test_ticked_tasks_are_retried_after_a_page_that_counts_them(at: At) -> None:
    listed = (await at.visitor.get("/tasks?state=failed")).text
    assert [f'name="task" value="{one}"' in listed for one in at.failed] == [True] * 3
    asked = await at.visitor.get("/bulk", params={"act": "retry", "task": at.failed[:2], "back": "/tasks?state=failed"})
    assert "<h1>Retry 2 tasks</h1>" in asked.text
    assert set((await states(at.client)).values()) == {"failed"}, "nothing is done yet"
    answer = await at.visitor.post("/bulk", data={**form_of(asked.text), "reason": "the place is there"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/tasks?state=failed")
    assert await states(at.client) == {"a": "pending", "b": "pending", "c": "failed"}
    assert "retried 2 tasks" in (await at.visitor.get("/tasks")).text
    [act] = await at.client.acts()
    assert (act.act, act.by, act.reason) == ("bulk_retry", "ada", "the place is there")
    assert isinstance(act.detail, dict)
    assert act.detail["task_ids"] == list(at.failed[:2])


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ({"kind": "fails"}, []), ({"error": "PLACE: B"}, ["a", "c"]), ({"tracking_id": "lineage-a"}, ["b", "c"]),
        ({"since": "30m"}, []), ({"state": "failed", "error": "place: c", "since": "1h"}, ["a", "b"]),
    ],
)  # fmt: skip
async def test_all_that_match_a_filter_are_excluded(at: At, wanted: dict[str, str], left: list[str]) -> None:
    asked = await at.visitor.get("/bulk", params={"act": "exclude", **wanted})
    answer = await at.visitor.post("/bulk", data=form_of(asked.text))
    assert answer.status_code == 303
    assert [key for key, state in (await states(at.client)).items() if state == "failed"] == left


async def test_what_ended_before_the_moment_is_left_alone(at: At) -> None:
    at.client.clock.advance(7_200.0)  # type: ignore[attr-defined]
    assert "No matching tasks" in (await at.visitor.get("/bulk?act=retry&kind=fails&since=1h")).text


async def test_a_number_that_is_no_longer_true_is_shown_again_and_nothing_is_done(at: At) -> None:
    form = form_of((await at.visitor.get("/bulk?act=retry&kind=fails")).text)
    await at.client.submit("fails", "d")
    await drain(app, at.client)
    answer = await at.visitor.post("/bulk", data=form)
    assert answer.status_code == 409
    assert "4 tasks by now, not 3: look again, then confirm" in answer.text
    assert set((await states(at.client)).values()) == {"failed"}
    assert (await at.visitor.post("/bulk", data=form_of(answer.text))).status_code == 303


@pytest.mark.parametrize(
    "query",
    [
        "act=retry", "act=delete&kind=fails", "kind=fails", "act=retry&state=success", "act=cancel&state=failed",
        "act=retry&since=yesterday%20or%20so", "act=retry&state=odd", "act=retry&error=%00",
        "act=retry&" + "&".join(f"task={number}" for number in range(201)),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_is_refused_with_one_line(at: At, query: str) -> None:
    answer = await at.visitor.get(f"/bulk?{query}")
    assert answer.status_code == 400
    assert len(re.findall(r'<p class="refused">[^<]+</p>', answer.text)) == 1
    assert set((await states(at.client)).values()) == {"failed"}


async def test_tasks_that_are_not_there_or_went_on_are_left(at: At) -> None:
    asked = await at.visitor.get("/bulk", params={"act": "cancel", "task": [*at.failed, "no such task"]})
    assert "The selected tasks are in states that do not allow this" in asked.text
    form = {**form_of((await at.visitor.get("/bulk?act=retry&kind=fails")).text), "act": "cancel", "confirm": "0"}
    assert (await at.visitor.post("/bulk", data=form)).status_code == 400


async def test_who_may_only_look_has_no_ticks_and_is_refused(at: At) -> None:
    readers = Access(admin_token="a" * 40, read_token="r" * 40)
    async with visiting(at.client, readers) as reader:
        reader.headers["Authorization"] = f"Bearer {'r' * 40}"
        listed = (await reader.get("/tasks?state=failed")).text
        assert "no such place" in listed
        assert 'name="task"' not in listed
        assert "/bulk" not in listed
        assert (await reader.get("/bulk?act=retry&kind=fails")).status_code in (400, 403)
        assert (await reader.post("/bulk", data={"act": "retry", "kind": "fails", "confirm": "3"})).status_code == 403
    assert set((await states(at.client)).values()) == {"failed"}


async def test_a_form_of_another_site_does_nothing(at: At) -> None:
    form = form_of((await at.visitor.get("/bulk?act=retry&kind=fails")).text)
    assert (await at.visitor.post("/bulk", data={**form, "csrf": "guessed"})).status_code == 403
    assert set((await states(at.client)).values()) == {"failed"}


async def test_tabs_count_what_is_in_each_state(at: At) -> None:
    await at.client.submit("waits", "1")
    text = (await at.visitor.get("/tasks")).text
    counted = dict(re.findall(r'<a href="/tasks\?state=(\w+)">\w+ <span class="n">([\d+]+)</span>', text))
    assert counted == {
        "pending": "1", "processing": "0", "filtered": "0", "skipped": "0", "failed": "3", "cancelled": "0",
    }  # fmt: skip
    assert '<span class="n">' not in (await at.visitor.get("/tasks?kind=fails")).text.partition("<table")[0]


@pytest.mark.parametrize(("order", "first"), [("newest", "c"), ("oldest", "a")])
async def test_the_order_is_chosen(at: At, order: str, first: str) -> None:
    text = (await at.visitor.get("/tasks", params={"order": order, "limit": "1"})).text
    assert re.findall(r'<span class="key">([^<]+)</span>', text) == [first]
    assert f"{first}</td>" in text, "the error is in the row"


async def test_without_a_filter_the_page_asks_which_tasks_are_meant(at: At) -> None:
    text = (await at.visitor.get("/bulk")).text
    assert "Choose a filter above" in text
    assert '<form class="ask"' not in text


class Bounded(NamedTuple):
    """A search, and what it finds."""

    most: int
    looks: int
    error: str
    chosen: int
    more: bool


@pytest.mark.parametrize(
    "one",
    [Bounded(2, 100, "no such", 2, True), Bounded(100, 2, "nothing has this", 0, True),
     Bounded(100, 100, "no such", 3, False)],
    ids=["selected", "looked at", "all"],
)  # fmt: skip
async def test_a_search_that_a_bound_ended_says_so(at: At, monkeypatch: pytest.MonkeyPatch, one: Bounded) -> None:
    monkeypatch.setattr(bulk, "TASKS_MAX", one.most)
    monkeypatch.setattr(bulk, "LOOKS_MAX", one.looks)
    monkeypatch.setattr(operate, "BATCH", 1)
    page = (await at.visitor.get("/bulk", params={"act": "retry", "error": one.error})).text
    assert ("There may be more" in page) is one.more
    assert ("No matching tasks" in page) is (one.chosen == 0)
    assert form_of(page).get("confirm") == (str(one.chosen) if one.chosen else None)


async def test_the_newest_are_selected_in_the_order_of_their_creation(at: At) -> None:
    found = await at.client.bulk_select("retry", TaskFilter(), limit=2, newest=True)
    assert (list(found.task_ids), found.more) == (at.failed[1:], True)
    oldest = await at.client.bulk_select("retry", TaskFilter(), limit=2)
    assert (list(oldest.task_ids), oldest.more) == (at.failed[:2], True)
