"""A fuzzer that reads the document asks the API what it allows and what it does not: no defect, nothing undeclared."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from ramet import App, Client, Context
from ramet.testing import drain, fresh_client
from ramet.web.access import Access
from ramet.web.application import make_api, make_application

TOKEN = "a-token-of-the-fuzzer"
READ_TOKEN = "a-read-token-of-the-fuzzer"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
HOSTILE = "<script>alert(1)</script> \u202e '\"; DROP TABLE ramet_tasks; -- %2e%2e/"

app = App()


@app.task("crawl", key=str)
async def crawl(ctx: Context, url: str) -> dict[str, str]:
    """Fails for one, spawns for another, is refused for a third."""
    if url == "bad":
        raise ValueError(HOSTILE)
    if url == "root":
        for child in ("bad", "leaf", "root", HOSTILE):
            ctx.spawn(crawl, child)
    return {"url": url}


async def fill(client: Client) -> None:
    """Something of most kinds of things."""
    for tracking_id in ("first", HOSTILE, "a/b", ".."):
        await client.submit(crawl, "root", tracking_id=tracking_id)
    await drain(app, client)
    await client.submit(crawl, "waits", tracking_id="waiting")


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """A dashboard in a thread of its own, over a database with things in it."""
    listener = socket.create_server(("127.0.0.1", 0))
    ready, told = threading.Event(), []

    async def serve() -> None:
        async with fresh_client(app) as client:
            await fill(client)
            made = make_application(client, Access(TOKEN, READ_TOKEN))
            told.append(uvicorn.Server(uvicorn.Config(made, log_level="error", lifespan="off")))
            ready.set()
            await told[0].serve(sockets=[listener])

    def run() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ramet.web.access.GUESSES_MAX", 1_000_000)  # Wrong tokens are among what is tried.
        thread = threading.Thread(target=run)
        thread.start()
        ready.wait()
        assert told, "the dashboard did not start"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        told[0].should_exit = True
        thread.join()


# 400 is for what no schema can say: one of two parameters, a cursor that is none. 414 and 429 come from the guard.
REFUSED = [400, 401, 403, 404, 405, 409, 414, 415, 422, 429]
ACCEPTED = ["2xx", 400, 401, 403, 404, 409, 414]
CHECKS = {
    "negative_data_rejection": {"expected-statuses": REFUSED},
    "positive_data_acceptance": {"expected-statuses": ACCEPTED},
}
config = schemathesis.Config.from_dict({"checks": CHECKS})
schema = schemathesis.openapi.from_dict(make_api().openapi(), config=config)


def fuzzed(examples: int) -> settings:
    return settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=[*HealthCheck]
    )


def at_once(case: schemathesis.Case[Any]) -> schemathesis.Case[Any]:
    """The same, without the wait for work that may be half a minute."""
    for part in (case.body, case.query):
        if isinstance(part, dict) and part.get("wait_seconds"):
            part["wait_seconds"] = 0
    return case


READING, ACTING = schema.include(method="GET"), schema.exclude(method="GET")
# Bodies of actions take what a form can say, too: words that are numbers. The rest holds for them as for all.
NOT_OF_ACTIONS: list[Any] = [negative_data_rejection, positive_data_acceptance]


@READING.parametrize()
@fuzzed(3)
def test_reading_finds_no_defect_and_no_undeclared_answer(case: schemathesis.Case[Any], origin: str) -> None:
    at_once(case).call_and_validate(base_url=origin, headers=HEADERS)


@ACTING.parametrize()
@fuzzed(2)
def test_acting_finds_no_defect_and_no_undeclared_answer(case: schemathesis.Case[Any], origin: str) -> None:
    at_once(case).call_and_validate(base_url=origin, headers=HEADERS, excluded_checks=NOT_OF_ACTIONS)


@schema.include(path_regex="^/v1/(submit|claims|result|events)").parametrize()
@fuzzed(1)
def test_no_route_of_work_does_anything_without_a_token(case: schemathesis.Case[Any], origin: str) -> None:
    for headers in ({}, {"Authorization": "Bearer not-a-token-of-this-server"}):
        answer = at_once(case).call(base_url=origin, headers=headers, cookies={})
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "unauthorized"


@pytest.mark.nightly
@ACTING.parametrize()
@fuzzed(50)
def test_much_acting_finds_no_defect_and_no_undeclared_answer(case: schemathesis.Case[Any], origin: str) -> None:
    at_once(case).call_and_validate(base_url=origin, headers=HEADERS, excluded_checks=NOT_OF_ACTIONS)
