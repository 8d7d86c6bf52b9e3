"""The guard: how one comes in and leaves, and what it lets nobody do. Where it stands: test_every_route."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ramet.web.access import (
    ADDRESSES_MAX,
    GUESSES_MAX,
    SESSION_SECONDS,
    Access,
    LoginFailures,
    Sessions,
    Visitor,
    name_of,
)
from ramet.web.guard import BODY_BYTES_MAX, TARGET_BYTES_MAX, Guard, form_of, local
from ramet.web.templating import environment
from ramet.web.tokens import Scope

ADMIN, READ = "admin-token-of-the-test", "read-token-of-the-test"
TOKENS = Access(admin_token=ADMIN, read_token=READ, person="ada")


async def _told(request: Request) -> Response:
    visitor: Visitor = request.state.visitor
    fields = await form_of(request) if request.method == "POST" else {}
    return JSONResponse({"by": visitor.by, "scopes": sorted(visitor.scopes), "csrf": visitor.csrf, "fields": fields})


def guarded(access: Access) -> Guard:
    """One route that tells who was let in."""
    inner = Starlette(routes=[Route("/who", _told, methods=["GET", "POST"])])
    return Guard(inner, access, environment())


def visitor_of(access: Access, **options: object) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=guarded(access)),
        base_url="http://localhost",
        **options,  # type: ignore[arg-type]
    )


async def test_a_machine_comes_with_a_bearer_token_and_a_name() -> None:
    async with visitor_of(TOKENS) as machine:
        answer = await machine.post(
            "/who", data={"a": "1"}, headers={"Authorization": f"Bearer {ADMIN}", "X-Ramet-By": "deploy\x7f bot"}
        )
    assert answer.json() == {
        "by": "deploy bot",
        "scopes": ["admin", "read", "submit", "work"],
        "csrf": "",
        "fields": {"a": "1"},
    }


async def test_a_person_logs_in_acts_with_the_forms_token_and_leaves() -> None:
    async with visitor_of(TOKENS) as person:
        asked = await person.get("/who?a=1", headers={"Accept": "text/html"})
        assert asked.status_code == 401
        assert 'value="/who?a=1"' in asked.text
        wrong = await person.post("/login", data={"token": "no"})
        assert wrong.status_code == 401
        entered = await person.post("/login", data={"token": ADMIN, "by": "grace", "back": "/who?a=1"})
        assert (entered.status_code, entered.headers["location"]) == (303, "/who?a=1")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(entered.headers["set-cookie"].split("; "))
        csrf = (await person.get("/who")).json()["csrf"]
        without = await person.post("/who", data={"a": "1"})
        assert (without.status_code, without.json()["error"]["code"]) == (403, "csrf")
        acted = await person.post("/who", data={"a": "1", "csrf": csrf})
        assert (acted.json()["by"], acted.json()["fields"]) == ("grace", {"a": "1"})
        assert (await person.post("/who", json={}, headers={"X-CSRF-Token": csrf})).status_code == 200
        await person.post("/logout", data={"csrf": csrf})
        assert (await person.get("/who")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://["}, {"Origin": ""},
     {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
     {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"}],
)  # fmt: skip
async def test_another_site_can_neither_act_nor_log_anybody_in(headers: dict[str, str]) -> None:
    async with visitor_of(TOKENS) as person:
        refused = await person.post("/login", data={"token": ADMIN}, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "wrong_origin")
        await person.post("/login", data={"token": ADMIN})
        csrf = (await person.get("/who")).json()["csrf"]
        acted = await person.post("/who", data={"csrf": csrf}, headers=headers)
        assert (acted.status_code, acted.json()["error"]["code"]) == (403, "wrong_origin")


async def test_on_loopback_without_a_token_a_page_of_another_site_still_cannot_act() -> None:
    async with visitor_of(Access(person="ada")) as person:
        blind = await person.post("/who", data={"a": "1"})
        assert (blind.status_code, blind.json()["error"]["code"]) == (403, "csrf")
        told = (await person.get("/who")).json()
        assert (told["by"], "admin" in told["scopes"]) == ("ada", True)
        assert (await person.post("/who", data={"csrf": told["csrf"]})).status_code == 200


async def test_a_name_that_was_led_here_is_not_answered() -> None:
    async with visitor_of(Access()) as person:
        for host in ("evil.example", "evil.example:8371", "127.0.0.1.evil.example", "", "localhost.", "[::2]:8371"):
            answer = await person.get("/who", headers={"Host": host})
            assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host"), host
        for host in ("LOCALHOST:8371", "127.0.0.1:8371", "[::1]", "[::1]:8371"):
            assert (await person.get("/who", headers={"Host": host})).status_code == 200, host


async def test_every_answer_forbids_frames_inline_scripts_sniffing_and_caching() -> None:
    async with visitor_of(TOKENS) as person:
        for answer in (await person.get("/who"), await person.get("/who", headers={"Authorization": f"Bearer {READ}"})):
            policy = answer.headers["content-security-policy"]
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"


async def test_what_is_too_large_is_not_read() -> None:
    async with visitor_of(TOKENS, headers={"Authorization": f"Bearer {ADMIN}"}) as machine:
        assert (await machine.post("/who", content=b"x" * (BODY_BYTES_MAX + 1))).status_code == 413
        assert (await machine.get("/who?" + "x" * TARGET_BYTES_MAX)).status_code == 414
        many = "&".join(f"f{number}=1" for number in range(101))
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await machine.post("/who", content=many, headers=form)).status_code == 400


async def test_who_guesses_has_to_wait_and_nobody_else() -> None:
    async with visitor_of(TOKENS) as guesser:
        for _ in range(GUESSES_MAX):
            assert (await guesser.get("/who", headers={"Authorization": "Bearer guess"})).status_code == 401
        waiting = await guesser.get("/who", headers={"Authorization": "Bearer guess"})
        assert (waiting.status_code, "retry-after" in waiting.headers) == (429, True)


def test_guesses_are_forgotten_after_a_minute_and_bounded() -> None:
    now = [0.0]
    guesses = LoginFailures(lambda: now[0])
    for _ in range(GUESSES_MAX):
        guesses.wrong("10.0.0.1")
    assert guesses.wait_seconds("10.0.0.1") == 60.0
    assert guesses.wait_seconds("10.0.0.2") == 0.0
    for number in range(ADDRESSES_MAX):
        guesses.wrong(f"address {number}")
    assert guesses.wait_seconds("10.0.0.1") == 0.0
    now[0] = 61.0
    assert guesses.wait_seconds("address 999") == 0.0


def test_a_session_that_was_changed_or_is_over_or_is_anothers_is_none() -> None:
    now = [1_000.0]
    sessions = Sessions(lambda: now[0])
    cookie = sessions.cookie(sessions.begin([Scope.READ], "ada"))
    found = sessions.read(cookie)
    assert found is not None
    assert (found.scopes, found.by) == (frozenset({Scope.READ}), "ada")
    assert Sessions(lambda: now[0]).read(cookie) is None
    body, signature = cookie.split(".")
    for changed in (f"{body}x.{signature}", f"{body}.{signature[:-1]}0x", body, "", "é.é", "x" * 3_000, None):
        assert sessions.read(changed) is None
    now[0] += SESSION_SECONDS
    assert sessions.read(cookie) is None


@pytest.mark.parametrize(
    "address",
    ["//evil.example", "/\\evil.example", "\\/evil.example", "https://evil.example/", "javascript:alert(1)", "",
     "/a\nb", "\\\\e", "//[", "/\\[", "http://[", "[", "///evil.example", "/\t/evil.example", "evil.example", "\ud800"],
)  # fmt: skip
def test_nobody_is_sent_to_another_host(address: str) -> None:
    assert local(address) == "/"


def test_an_address_of_this_host_is_kept() -> None:
    for address in ("/lineages/a?state=failed", "/", "/a//[", "/x?y=[", "/a:b"):
        assert local(address) == address


async def test_an_address_that_is_none_sends_who_came_in_to_the_first_page() -> None:
    async with visitor_of(TOKENS) as person:
        for back in ("//[", "/login", "/logout"):
            entered = await person.post("/login", data={"token": ADMIN, "back": back if back == "//[" else "/"})
            assert (entered.status_code, entered.headers["location"]) == (303, "/")
            person.cookies.clear()
            asked = await person.get(back, headers={"Accept": "text/html"})
            assert (asked.status_code, 'name="back" value="/"' in asked.text) == (401, True)


def test_names_for_the_record_are_visible_and_short() -> None:
    assert name_of("\x1b[31m" + "a" * 500, "x") == "[31m" + "a" * 96
    assert name_of("\n\t ", "nobody") == "nobody"
