"""Sessions that end, answers that break off, and what is wrong said in one shape, with nothing of the inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ramet import App, StoreUnreachable
from ramet.testing import fresh_client
from ramet.web.access import COOKIE, ENDED_MAX, Access, Sessions
from ramet.web.events import Feeds
from ramet.web.guard import Guard
from ramet.web.page import visit_of
from ramet.web.templating import environment
from ramet.web.tokens import Scope
from tests.web.in_process_client import visiting

ADMIN, READ = "admin-token-of-the-test", "read-token-of-the-test"
TOKENS = Access(admin_token=ADMIN, read_token=READ, person="ada")


async def _who(request: Request) -> Response:
    return JSONResponse({"csrf": request.state.visitor.csrf})


async def _break(request: Request) -> Response:
    raise RuntimeError("a secret of the server")


async def _count(request: Request) -> Response:
    async def numbers() -> AsyncIterator[str]:
        yield "one "
        request.app.state.begun.set()
        await request.app.state.more.wait()
        yield "two "

    return StreamingResponse(numbers())


def guarded(access: Access) -> Guard:
    inner = Starlette(
        routes=[Route("/who", _who), Route("/break", _break), Route("/count", _count),
                Route("/api/act", _who, methods=["POST"])]
    )  # fmt: skip
    inner.state.begun, inner.state.more = asyncio.Event(), asyncio.Event()
    return Guard(inner, access, environment())


def visitor_of(guard: Guard) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=guard), base_url="http://localhost")


@pytest.mark.parametrize("token", [ADMIN, READ])
async def test_a_cookie_that_somebody_kept_is_worth_nothing_after_its_person_left(token: str) -> None:
    async with visitor_of(guarded(TOKENS)) as person:
        await person.post("/login", data={"token": token})
        kept = person.cookies[COOKIE]
        csrf = (await person.get("/who")).json()["csrf"]
        assert (await person.post("/logout", data={"csrf": csrf})).status_code == 303
        assert (await person.get("/who", headers={"Cookie": f"{COOKIE}={kept}"})).status_code == 401


async def test_a_stream_ends_with_the_session_that_it_was_begun_in() -> None:
    guard = guarded(TOKENS)
    async with visitor_of(guard) as person:
        await person.post("/login", data={"token": ADMIN})
        csrf = (await person.get("/who")).json()["csrf"]
        stream = asyncio.create_task(person.get("/count"))
        state = guard._app.state  # type: ignore[attr-defined]
        await state.begun.wait()
        await person.post("/logout", data={"csrf": csrf})
        state.more.set()
        answer = await stream
    assert answer.text == "one "


def test_ended_sessions_are_remembered_within_bounds() -> None:
    sessions = Sessions()
    first = sessions.begin([Scope.READ], "ada")
    sessions.end(first)
    assert not sessions.is_live(first)
    for _ in range(ENDED_MAX):
        sessions.end(sessions.begin([Scope.READ], "ada"))
    assert sessions.is_live(first)


async def test_cookies_are_for_https_where_it_is_spoken() -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=guarded(TOKENS)), base_url="https://localhost"
    ) as person:
        came = await person.post("/login", data={"token": READ})
    assert "Secure" in came.headers["set-cookie"].split("; ")


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_a_defect_is_answered_without_a_word_of_the_inside(accept: str) -> None:
    async with visitor_of(guarded(Access())) as person:
        answer = await person.get("/break", headers={"Accept": accept})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers


async def test_a_form_of_ours_says_where_it_comes_from() -> None:
    """Under ``no-referrer`` a browser would send ``Origin: null`` with it."""
    async with visitor_of(guarded(Access())) as person:
        assert (await person.get("/who")).headers["referrer-policy"] == "same-origin"


async def test_the_api_takes_nothing_but_json() -> None:
    async with visitor_of(guarded(TOKENS)) as machine:
        machine.headers["Authorization"] = f"Bearer {ADMIN}"
        form = await machine.post("/api/act", data={"a": "1"})
        assert (form.status_code, form.json()["error"]["code"]) == (415, "not_json")
        assert (await machine.post("/api/act", json={"a": 1})).status_code == 200


async def test_a_database_that_is_away_is_said_on_the_page_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ramet.web.application.visit_of", lambda request: _Away(visit_of(request)))
    async with fresh_client(App()) as client, visiting(client) as visitor:
        answer = await visitor.get("/", headers={"Accept": "text/html"})
        machine = await visitor.get("/")
    assert (answer.status_code, machine.status_code) == (503, 503)
    assert "cannot be read at the moment" in answer.text
    assert "db.internal" not in answer.text
    assert machine.json()["error"]["code"] == "unavailable"
    assert "db.internal" in caplog.text


class _Away:
    """A look at a database that is away."""

    def __init__(self, visit: object) -> None:
        self._visit = visit

    def __getattr__(self, name: str) -> object:
        if name == "client":
            raise StoreUnreachable("the server at db.internal is away")
        return getattr(self._visit, name)


async def test_streams_end_at_once_when_the_server_stops_and_none_begins() -> None:
    feeds = Feeds()

    async def produce() -> str:
        return "one"

    stream = feeds.follow("/", produce)
    assert "one" in await anext(stream)
    feeds.close()
    assert [event async for event in stream] == []
    assert [event async for event in feeds.follow("/", produce)] == []


async def test_a_stream_is_not_begun_for_who_wants_its_headers_only() -> None:
    async with fresh_client(App()) as client, visiting(client) as visitor:
        answer = await visitor.head("/live/")
    assert answer.headers["content-type"].startswith("text/event-stream")


async def test_what_the_api_cannot_do_is_said_in_one_shape() -> None:
    async with fresh_client(App()) as client, visiting(client) as visitor:
        missing = await visitor.get("/api/v1/no/such/thing")
        document = (await visitor.get("/api/openapi.json")).json()
        method = await visitor.delete("/api/openapi.json", headers={"Authorization": "Bearer x"})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert method.status_code == 401
    assert document["servers"] == [{"url": "/api"}]
    assert {*document["components"]["securitySchemes"]} == {"bearer", "session"}
