"""Results over HTTP: of a task, with a wait; of a lineage, in pages; and as events that can be taken up anywhere."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import httpx
import pytest

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.in_process_client import visiting


class Event(NamedTuple):
    id: str
    name: str
    data: dict[str, Any]


def events_of(text: str) -> list[Event]:
    """The events of a stream that has ended."""
    found = []
    for message in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in message.splitlines() if not line.startswith(":"))
        if fields:
            found.append(Event(fields["id"], fields["event"], json.loads(fields["data"])))
    return found


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.web.events.PAUSE_SECONDS", 0.0)


async def test_a_result_is_waited_for(client: Client) -> None:
    made = await client.submit("page", key="a")
    async with visiting(client) as api:
        now = (await api.get("/api/v1/result", params={"task_id": made.id})).json()
        assert (now["state"], now["over"], now["result"]) == ("pending", False, None)
        waiting = asyncio.ensure_future(api.get("/api/v1/result", params={"task_id": made.id, "wait_seconds": 30}))
        [claim] = await client.claim("page")
        await claim.complete({"words": 7})
        then = (await waiting).json()
        assert (then["state"], then["over"], then["result"]) == ("success", True, {"words": 7})
        assert (await api.get("/api/v1/result", params={"task_id": "none"})).status_code == 404


async def test_results_of_a_lineage_come_in_pages(client: Client) -> None:
    items = [("page", None, {"key": str(number)}) for number in range(5)]
    await client.submit_many(items, one_lineage=True, tracking_id="many")  # type: ignore[arg-type]
    for claim in await client.claim("page", n=4):
        await claim.complete(int(claim.key))
    async with visiting(client) as api:
        first = (await api.get("/api/v1/results", params={"tracking_id": "many", "limit": 3})).json()
        after = {"tracking_id": "many", "limit": 3, "after": first["next_after"]}
        second = (await api.get("/api/v1/results", params=after)).json()
    assert [one["result"] for one in first["results"] + second["results"]] == [0, 1, 2, 3]
    assert second["next_after"] is None


async def test_events_of_a_task_tell_its_progress_and_its_end(on_file: Client) -> None:
    made = await on_file.submit("page", key="a")
    async with visiting(on_file) as api:
        stream = asyncio.ensure_future(api.get("/api/v1/events", params={"task_id": made.id}))
        [claim] = await on_file.claim("page")
        await claim.progress(1, 2, "half")
        await claim.complete("done")
        told = events_of((await stream).text)
        end = told[-1]
        assert (end.name, end.data["result"], end.data["over"]) == ("end", "done", True)
        assert {event.name for event in told[:-1]} <= {"progress"}
        again = await api.get("/api/v1/events", params={"task_id": made.id}, headers={"Last-Event-ID": end.id})
        assert events_of(again.text) == [end]


async def test_a_stream_that_is_taken_up_leaves_out_what_was_seen(on_file: Client) -> None:
    await on_file.submit("page", key="a", tracking_id="site")
    application = make_application(on_file, Access(person="ada"))
    async with visiting(on_file, application=application) as api:
        seen = await first_event(application, "/api/v1/events?tracking_id=site")
        assert (seen.name, seen.data["live"], seen.data["states"]) == ("progress", 1, {"pending": 1})
        again = asyncio.ensure_future(
            api.get("/api/v1/events", params={"tracking_id": "site"}, headers={"Last-Event-ID": seen.id})
        )
        await asyncio.sleep(0)
        [claim] = await on_file.claim("page")
        await claim.complete("done")
        told = events_of((await again).text)
    assert seen.id not in [event.id for event in told]
    assert [one["result"] for one in told[-1].data["roots"]] == ["done"]
    assert (told[-1].name, told[-1].data["live"]) == ("end", 0)


async def first_event(application: Any, address: str) -> Event:
    """The first event of a stream that is then left."""
    path, _, query = address.partition("?")
    told: asyncio.Queue[Any] = asyncio.Queue()
    gone = asyncio.Event()

    async def receive() -> dict[str, str]:
        await gone.wait()
        return {"type": "http.disconnect"}

    connection = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "scheme": "http", "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "http_version": "1.1",
        "root_path": "",
    }  # fmt: skip
    answering = asyncio.ensure_future(application(connection, receive, told.put))
    assert (await told.get())["status"] == 200
    message = await told.get()
    gone.set()
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    return events_of(message["body"].decode())[0]


async def test_what_is_not_there_is_said_before_a_stream_begins(on_file: Client) -> None:
    async with visiting(on_file) as api:
        answers: list[httpx.Response] = [
            await api.get("/api/v1/events", params=params)
            for params in ({}, {"task_id": "a", "tracking_id": "b"}, {"task_id": "none"}, {"tracking_id": "none"})
        ]
    assert [answer.status_code for answer in answers] == [400, 400, 404, 404]
