"""``/metrics`` of the dashboard: told to who may read, in the format that is asked for, from one shared reading."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.types import Message

from ramet import App, Client
from ramet.telemetry.serving import routes


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    app = App()

    @app.task("page")
    async def page(ctx: Any) -> None:
        """Nothing."""

    async with app.client(str(tmp_path / "ramet.db")) as client:
        await client.submit("page", key="a")
        yield client


async def asked(made: Starlette, accept: str = "") -> tuple[dict[str, str], str]:
    """The headers and the body of a scrape."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/metrics", "raw_path": b"/metrics", "query_string": b"",
        "headers": [(b"accept", accept.encode())], "root_path": "", "scheme": "http", "http_version": "1.1",
    }  # fmt: skip
    await made(scope, receive, send)
    assert sent[0]["status"] == 200
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return headers, b"".join(message.get("body", b"") for message in sent[1:]).decode()


async def test_a_scrape_gets_the_format_that_it_asks_for_and_nobody_keeps_it(client: Client) -> None:
    made = Starlette(routes=routes(lambda request: client))
    headers, body = await asked(made)
    assert headers["content-type"].startswith("text/plain")
    assert headers["cache-control"] == "no-store"
    assert "ramet_tasks_created" in {family.name for family in text_string_to_metric_families(body)}
    headers, body = await asked(made, "application/openmetrics-text; version=1.0.0")
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert body.endswith("# EOF\n")


async def test_two_scrapes_at_once_share_a_reading(client: Client) -> None:
    made = Starlette(routes=routes(lambda request: client))
    _, before = await asked(made)
    await client.submit("page", key="b")
    _, after = await asked(made)
    assert after == before
