"""Nobody gets past the guard on any route that there is, and every answer carries what keeps a browser safe."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from ramet import App, Client
from ramet.testing import fresh_client
from ramet.web.access import GUESSES_MAX, Access
from ramet.web.actions import ACTIONS
from ramet.web.application import VERSION, make_application
from ramet.web.guard import BODY_BYTES_MAX, HEADERS, TARGET_BYTES_MAX

ADMIN, READ = "admin-token-of-the-test", "read-token-of-the-test"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "MADE-UP")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE", "MADE-UP")
NOWHERE = {"/nothing/here", "/logout", "//", "/..", "/static/../guard.py", "/api", "/api/", "/live/no/such", "/%00"}
NO_TOKEN: dict[str, str] = {}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with fresh_client(App()) as client:
        yield client


@pytest.fixture
def dashboard(client: Client) -> Starlette:
    return make_application(client, Access(ADMIN, READ, person="ada"))


def visitor_of(dashboard: Starlette, headers: dict[str, str] = NO_TOKEN) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=dashboard)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def addresses(routes: list[BaseRoute], before: str = "") -> Iterator[str]:
    """An address of every route that there is, whatever is mounted where."""
    for route in routes:
        if isinstance(route, Mount):
            yield from addresses(list(route.routes), before + route.path)
            yield f"{before}{route.path}/anything"
        elif isinstance(route, Route):
            yield before + re.sub(r"{[^}]*}", "x", route.path)
        else:  # A router of the API, which has its routes to itself.
            yield from addresses(list(route.original_router.routes), before + VERSION)  # type: ignore[attr-defined]


def everywhere(dashboard: Starlette) -> list[str]:
    """An address of every route, of each action and asset, and some that lead nowhere."""
    acts = {f"/act/{name}" for name in ACTIONS} | {f"/api/v1/actions/{name}" for name in ACTIONS}
    found = {*addresses(dashboard.routes)}
    # What a walk must have met, or it walked nothing.
    assert {"/", "/live/", "/tasks/x", "/parts/twigs", "/api/docs", "/api/openapi.json", "/metrics"} <= found
    assert {name for name in acts if name.startswith("/api/")} <= found
    assert {re.sub(r"{[^}]*}", "x", f"/api{path}") for path in dashboard.state.api.openapi()["paths"]} <= found
    return sorted(found | acts | NOWHERE | {"/static/app.css", "/static/live.js"})


def is_safe(answer: httpx.Response) -> bool:
    """No frame, no script or style but ours, no sniffing, no cache, nothing told to other sites."""
    kept = answer.headers["cache-control"]
    shared = "max-age" in kept and not str(answer.url.path).startswith("/static/")
    return all(answer.headers.get(name) == value for name, value in HEADERS.items()) and not shared


async def begun(dashboard: Starlette, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    """Status and headers of an answer that may have no end."""
    told: asyncio.Queue[Any] = asyncio.Queue()
    fields = [(name.lower().encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    connection = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "scheme": "http",
        "headers": fields, "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    gone = asyncio.Event()

    async def receive() -> dict[str, str]:
        await gone.wait()
        return {"type": "http.disconnect"}

    answering = asyncio.ensure_future(dashboard(connection, receive, told.put))
    start = await told.get()
    gone.set()
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


async def test_every_route_answers_401_without_a_token(dashboard: Starlette) -> None:
    async with visitor_of(dashboard) as nobody:
        for address in everywhere(dashboard):
            for method in METHODS:
                answer = await nobody.request(method, address)
                assert answer.status_code == 401, f"{method} {address}: {answer.status_code}"
                assert is_safe(answer), f"{method} {address}"
                wrong = await nobody.request(method, address, headers=bearer("no"))
                assert wrong.status_code in (401, 429), f"{method} {address}: {wrong.status_code}"


async def test_the_form_that_takes_a_token_lets_nobody_in_without_one(dashboard: Starlette) -> None:
    async with visitor_of(dashboard) as nobody:
        for method in METHODS:
            answer = await nobody.request(method, "/login")
            assert (answer.status_code, "set-cookie" in answer.headers) == (401, False), method
            assert is_safe(answer), method


async def test_a_token_is_taken_from_no_other_place_than_the_header(dashboard: Starlette) -> None:
    async with visitor_of(dashboard) as nobody:
        for name in ("token", "access_token", "authorization", "ramet_session"):
            assert (await nobody.get("/", params={name: ADMIN})).status_code == 401
            assert (await nobody.get("/", headers={"Cookie": f"{name}={ADMIN}"})).status_code == 401
        for scheme in ("Basic", "Token", "", "Bearer Bearer"):
            assert (await nobody.get("/", headers={"Authorization": f"{scheme} {ADMIN}"})).status_code == 401


async def test_no_unsafe_method_passes_with_the_token_that_reads(dashboard: Starlette, client: Client) -> None:
    async with visitor_of(dashboard, bearer(READ)) as reader:
        assert (await reader.get("/")).status_code == 200
        for address in everywhere(dashboard):
            for method in UNSAFE:
                answer = await reader.request(method, address)
                assert answer.status_code == 403, f"{method} {address}: {answer.status_code}"
        for name in ACTIONS:
            assert (await reader.get(f"/act/{name}")).status_code == 403
    assert await client.acts() == []


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://localhost", "X-CSRF-Token": "guessed"}], ids=["no", "wrong"]
)
async def test_no_unsafe_method_passes_with_a_cookie_alone(
    dashboard: Starlette, client: Client, headers: dict[str, str]
) -> None:
    async with visitor_of(dashboard) as person:
        assert (await person.post("/login", data={"token": ADMIN})).status_code == 303
        for address in everywhere(dashboard):
            for method in UNSAFE:
                answer = await person.request(method, address, headers=headers)
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf"), f"{method} {address}"
    assert await client.acts() == []


async def test_every_answer_to_who_may_act_is_safe_and_none_is_a_defect(dashboard: Starlette) -> None:
    async with visitor_of(dashboard, bearer(ADMIN)) as person:
        for address in everywhere(dashboard):
            for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS"):
                if not (address.startswith("/live") and method == "GET"):
                    answer = await person.request(method, address)
                    assert answer.status_code < 500, f"{method} {address}: {answer.status_code}"
                    assert is_safe(answer), f"{method} {address}"


async def test_every_event_stream_asks_for_the_token_and_is_safe(dashboard: Starlette) -> None:
    streams = [one for one in addresses(dashboard.routes) if one.startswith("/live")]
    assert len(streams) > 10
    for path in streams:
        assert (await begun(dashboard, path, {}))[0] == 401, path
        status, headers = await begun(dashboard, path, bearer(READ))
        assert status in (200, 400, 404), path
        assert HEADERS.items() <= headers.items(), path
        assert headers["cache-control"] == "no-store", path
        if status == 200:
            assert headers["content-type"].startswith("text/event-stream"), path


async def test_metrics_are_read_with_a_token_and_not_without(dashboard: Starlette) -> None:
    async with visitor_of(dashboard) as scraper:
        for headers in (NO_TOKEN, bearer("no-token-of-this-dashboard")):
            refused = await scraper.get("/metrics", headers=headers)
            assert refused.status_code == 401
            assert "ramet_" not in refused.text
        read = await scraper.get("/metrics", headers=bearer(READ))
        assert (read.status_code, read.headers["content-type"].split(";")[0]) == (200, "text/plain")
        assert "# TYPE ramet_" in read.text
        assert is_safe(read)
        assert (await scraper.post("/metrics", headers=bearer(ADMIN))).status_code == 405
        assert (await scraper.get("/metrics", headers={**bearer(READ), "Host": "evil.example"})).status_code == 421


async def test_what_is_wrong_is_answered_as_safely_as_what_is_right(dashboard: Starlette) -> None:
    json = {"Content-Type": "application/json"}
    act = "/api/v1/actions/pause-queue"
    asked: list[tuple[int, str, str, dict[str, Any]]] = [
        (200, "GET", "/", {}), (400, "GET", "/tasks?limit=many", {}), (404, "GET", "/tasks/no-such", {}),
        (405, "POST", "/tasks", {}), (200, "POST", act, {"json": {"queue": "a"}}),
        (409, "POST", act, {"json": {"queue": "a"}}), (413, "POST", act, {"content": b"x" * (BODY_BYTES_MAX + 1)}),
        (414, "GET", "/?" + "x" * TARGET_BYTES_MAX, {}), (415, "POST", act, {"data": {"queue": "a"}}),
        (421, "GET", "/", {"headers": {"Host": "evil.example"}}), (422, "POST", act, {"json": {}}),
        (422, "POST", act, {"content": b"{", "headers": json}),
    ]  # fmt: skip
    async with visitor_of(dashboard, bearer(ADMIN)) as person:
        for status, method, address, more in asked:
            for accept in ("application/json", "text/html") if method == "GET" else ("application/json",):
                headers = {"Accept": accept, **more.get("headers", {})}
                answer = await person.request(method, address, **{**more, "headers": headers})
                assert answer.status_code == status, f"{method} {address[:50]}: {answer.status_code}"
                assert is_safe(answer), f"{method} {address[:50]}"
        guesses = [await person.get("/", headers=bearer("guess")) for _ in range(GUESSES_MAX + 1)]
    assert [answer.status_code for answer in guesses] == [401] * GUESSES_MAX + [429]
    assert all(is_safe(answer) for answer in guesses)
