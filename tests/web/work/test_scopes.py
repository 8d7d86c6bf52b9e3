"""Tokens and their scopes: each route asks for one, refuses every other token and names what it needs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette

from ramet import App, Client
from ramet.testing import fresh_client
from ramet.web.access import Access, CallRates
from ramet.web.application import make_application
from ramet.web.guard import JSON_DEPTH_MAX, WORK_BODY_BYTES_MAX, json_depth
from ramet.web.tokens import BadToken, Scope, Token, required_scope, tokens_from
from tests.web.test_every_route import METHODS, begun, everywhere

TEXTS = {scope: f"{scope}-token-of-the-test" for scope in Scope}
TOKENS = tuple(Token.of(f"the-{scope}", [scope], text) for scope, text in TEXTS.items())


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with fresh_client(App()) as client:
        yield client


@pytest.fixture
def server(client: Client) -> Starlette:
    return make_application(client, Access(tokens=TOKENS, person="ada"))


def holding(server: Starlette, scope: Scope, **headers: str) -> httpx.AsyncClient:
    bearer = {"Authorization": f"Bearer {TEXTS[scope]}", **headers}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=server), base_url="http://localhost", headers=bearer)


@pytest.mark.parametrize("scope", [Scope.SUBMIT, Scope.WORK, Scope.READ])
async def test_every_route_refuses_a_token_of_another_scope_and_names_its_own(
    server: Starlette, client: Client, scope: Scope
) -> None:
    refused = 0
    async with holding(server, scope) as visitor:
        for address in everywhere(server):
            for method in METHODS:
                needed = required_scope(method, address)
                if needed is scope:
                    continue
                answer = await visitor.request(method, address)
                assert answer.status_code == 403, f"{method} {address}: {answer.status_code}"
                if method != "HEAD":
                    error = answer.json()["error"]
                    assert error["code"] == "missing_scope", f"{method} {address}"
                    assert f"the scope {needed}:" in error["message"], f"{method} {address}"
                refused += 1
    assert refused > 500
    assert (await client.tasks()).tasks == ()
    assert await client.acts() == []


async def test_a_token_that_may_do_all_passes_every_scope(server: Starlette) -> None:
    async with holding(server, Scope.ADMIN) as visitor:
        for address in sorted(everywhere(server)):
            if not address.startswith("/live") and "/events" not in address:
                for method in ("GET", "POST"):
                    assert (await visitor.request(method, address)).status_code not in (401, 403), address


async def test_the_document_names_the_scope_of_every_route(server: Starlette) -> None:
    paths = server.state.api.openapi()["paths"]
    scopes = {(path, method): one["x-scope"] for path, methods in paths.items() for method, one in methods.items()}
    assert {scope for (path, _), scope in scopes.items() if path.startswith("/v1/claims")} == {"work"}
    assert {scope for (path, _), scope in scopes.items() if path.startswith("/v1/submit")} == {"submit"}
    for (path, method), scope in scopes.items():
        if not path.startswith(("/v1/claims", "/v1/submit")):
            assert scope == ("read" if method == "get" else "admin"), path
    for (path, method), scope in scopes.items():
        other = Scope.READ if scope != "read" else Scope.WORK
        address = re.sub(r"{[^}]*}", "x", f"/api{path}")
        if method == "get":
            assert (await begun(server, address, {"authorization": f"Bearer {TEXTS[other]}"}))[0] == 403, path


async def test_without_pages_only_the_api_answers_and_nobody_logs_in(client: Client) -> None:
    bare = make_application(client, Access(tokens=TOKENS), pages=False)
    async with holding(bare, Scope.ADMIN, Accept="text/html") as visitor:
        for address in ("/", "/tasks", "/act/cancel"):
            missing = await visitor.get(address)
            assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found"), address
        came = await visitor.post("/login", data={"token": TEXTS[Scope.ADMIN]})
        assert (came.status_code, "set-cookie" in came.headers) == (404, False)
        assert (await visitor.get("/api/v1/tasks")).status_code == 200
        assert (await visitor.get("/metrics")).status_code == 200
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=bare), base_url="http://localhost") as nobody:
        refused = await nobody.get("/api/v1/tasks", headers={"Accept": "text/html"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")


async def test_a_program_on_loopback_without_a_token_may_send_json_and_a_page_of_another_site_not(
    client: Client,
) -> None:
    server = make_application(client, Access(person="ada"))
    body = {"kind": "page", "key": "a"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=server), base_url="http://localhost") as program:
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            refused = await program.post("/api/v1/submit", json=body, headers=headers)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "wrong_origin")
        plain = await program.post("/api/v1/submit", content=b"{}", headers={"Content-Type": "text/plain"})
        assert plain.status_code == 415
        assert (await program.post("/api/v1/submit")).status_code == 403
        assert (await program.post("/api/v1/submit", json=body)).status_code == 200


async def test_a_token_has_so_many_calls_a_minute_and_others_have_theirs(client: Client) -> None:
    server = make_application(client, Access(tokens=TOKENS, calls_per_minute=12))
    async with holding(server, Scope.READ) as reader, holding(server, Scope.ADMIN) as other:
        answers = [await reader.get("/api/v1/queues") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[-1].json()["error"]["code"] == "too_many"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 5
        assert (await other.get("/api/v1/queues")).status_code == 200
        assert (await reader.get("/")).status_code == 200


def test_calls_are_there_again_as_time_passes() -> None:
    now = [0.0]
    rates = CallRates(60, lambda: now[0])
    assert [rates.wait_seconds("a") for _ in range(11)] == [0.0] * 10 + [1.0]
    now[0] = 1.0
    assert (rates.wait_seconds("a"), rates.wait_seconds("a")) == (0.0, 1.0)


async def test_a_body_that_is_too_large_or_too_deep_is_not_taken(server: Starlette) -> None:
    deep = b'{"kind": "page", "payload": ' + b"[" * 120 + b"]" * 120 + b"}"
    headers = {"Content-Type": "application/json"}
    async with holding(server, Scope.ADMIN) as visitor:
        refused = await visitor.post("/api/v1/submit", content=deep, headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "too_deep")
        large = await visitor.post("/api/v1/submit", content=b" " * (WORK_BODY_BYTES_MAX + 1), headers=headers)
        assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")


def test_the_depth_of_json_is_counted_outside_of_its_texts() -> None:
    wide = b"[" + b"[]," * 200 + b"[]]"
    text = b'["' + b"[" * 500 + b'\\"[", {}]'
    assert json_depth(wide) == 2
    assert json_depth(text) == 2
    assert json_depth(b"[" * 300) == 300
    assert json_depth(b'{"a": [1]}') <= JSON_DEPTH_MAX


def test_a_file_of_tokens_has_a_line_for_each() -> None:
    digest = "sha256:" + TOKENS[0].digest.hex()
    found = tokens_from(f"# who\npool work {TEXTS[Scope.WORK]}  # workers\n\ningest submit,read {digest}\n")
    assert [(one.name, one.scopes) for one in found] == [
        ("pool", frozenset({Scope.WORK})),
        ("ingest", frozenset({Scope.SUBMIT, Scope.READ})),
    ]
    assert found[1].digest == TOKENS[0].digest
    assert tokens_from("all admin " + "x" * 16)[0].scopes == {*Scope}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pool work", "line 1 is not in the form"),
        ("pool work,fly 1234567890123456", "line 1: 'fly' is not a scope: give some of admin, read, submit, work"),
        ("pool work short", "token pool is not valid: give at least 16"),
        ("pool work sha256:12", "the digest of token pool is not valid"),
        ("a work 1234567890123456\nb read 1234567890123456", "the tokens a and b are the same"),
        ("a work 1234567890123456\na read 1234567890123457", "two tokens have the name a"),
    ],
)
def test_what_is_no_token_is_said_in_a_line_without_it(text: str, said: str) -> None:
    with pytest.raises(BadToken, match=re.escape(said)) as refused:
        tokens_from(text)
    assert "123456" not in str(refused.value)
    assert "short" not in str(refused.value)
