"""The page of a task: its error first, where its time went, repeated attempts as one line, its progress."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ramet import App, Client, Context, Permanent, TaskHistory, Transient
from ramet.commands.terminal import story
from ramet.testing import drain, fresh_client
from ramet.web.views.task_time import WIDTH, folded, progress_of, time_bar
from tests.web.in_process_client import visiting

app = App()
POLLS = 13
polled: list[str] = []


@app.task("polls", key=str)
async def polls(ctx: Context, payload: str) -> Any:
    polled.append(payload)
    return ctx.snooze(10.0, "not there yet") if len(polled) <= POLLS else None


@app.task("fails", key=str)
async def fails(ctx: Context, payload: str) -> None:
    raise Permanent("<b>no such place</b>")


@app.task("again", key=str)
async def again(ctx: Context, payload: str) -> None:
    await ctx.progress(30, 120, "<i>page 30</i>")
    raise Transient("not yet")


async def ran(client: Client, kind: str) -> TaskHistory:
    polled.clear()
    made = await client.submit(kind, "1")
    await drain(app, client)
    found = await client.history(made.id)
    assert found is not None
    return found


async def page(client: Client, found: TaskHistory) -> str:
    async with visiting(client) as visitor:
        return (await visitor.get(f"/tasks/{found.task.id}")).text


async def test_a_task_that_failed_begins_with_its_error_and_traceback() -> None:
    async with fresh_client(app) as client:
        text = await page(client, await ran(client, "fails"))
    first = text.partition('<div id="live">')[2].partition("</section>")[0]
    assert "Why it failed" in first
    assert "&lt;b&gt;no such place&lt;/b&gt;" in first
    assert "raise Permanent(" in first
    assert "<h3>Error</h3>" not in text, "once is enough"


async def test_attempts_that_repeat_are_one_line_and_each_can_be_seen() -> None:
    async with fresh_client(app) as client:
        found = await ran(client, "polls")
        text = await page(client, found)
    parts = folded(story(found))
    assert [(part.last.what, part.times) for part in parts] == [
        ("submitted", 1), ("snooze", POLLS), ("claimed", 1), ("success", 1), ("success", 1),
    ]  # fmt: skip
    assert sum(len(part.lines) for part in parts) == len(story(found)), "nothing is lost"
    assert f"</span> × {POLLS}, until" in text
    assert len(re.findall(r"claim \d+ by", text)) == POLLS + 1


async def test_attempts_that_went_differently_or_only_twice_are_not_folded() -> None:
    async with fresh_client(app) as client:
        lines = story(await ran(client, "fails"))
        assert [part.times for part in folded(lines)] == [1] * len(lines)
        pair = story(await ran(client, "polls"))[1:5]
        assert [part.times for part in folded(pair)] == [1] * 4
    assert folded([]) == []


async def test_the_bar_divides_all_of_a_tasks_time() -> None:
    async with fresh_client(app) as client:
        found = await ran(client, "polls")
        bar = time_bar(found, client.clock.now())
        text = await page(client, found)
    assert found.task.finished_at is not None
    assert bar.seconds == pytest.approx(found.task.finished_at - found.task.created_at)
    assert {what for what, _ in bar.totals} <= {"waiting", "running", "backing-off"}
    assert ("backing-off", "backed off 2 min") in bar.totals
    assert all(0 <= part.x <= part.x + part.width <= WIDTH + 2 for part in bar.parts)
    assert '<rect class="backing-off"' in text


async def test_progress_is_a_bar_with_its_message() -> None:
    async with fresh_client(app) as client:
        made = await client.submit("again", "1")
        await drain(app, client, advance=False)
        found = await client.history(made.id)
        assert found is not None
        text = await page(client, found)
    assert re.search(r'max="120(\.0)?" value="30(\.0)?" aria-label="Progress"', text)
    assert "30 of 120" in text
    assert "&lt;i&gt;page 30&lt;/i&gt;" in text


@pytest.mark.parametrize("value", [None, [], "half", {"done": "x"}, {"total": 3}, {"done": 1, "total": []}])
def test_what_is_no_progress_is_none(value: Any) -> None:
    assert progress_of(value) in (None, (1, 0.0, ""))
