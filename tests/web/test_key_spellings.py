"""The dashboard and its API find a key in any spelling, though they know none of the app's kinds."""

from __future__ import annotations

from typing import Any

import pytest

from ramet import App, Client
from ramet.testing import drain
from tests.engine.conftest import client
from tests.engine.explain.test_key_lookup import KINDS, app
from tests.web.in_process_client import visiting

__all__ = ["app", "client"]  # fixtures


@pytest.mark.parametrize(("kind", "payload", "stored", "asked"), KINDS, ids=[row[0] for row in KINDS])
async def test_a_task_is_listed_and_found_by_any_spelling_of_its_key(
    client: Client, kind: str, payload: Any, stored: str, asked: str
) -> None:
    begun = await client.submit(kind, payload)
    async with App().client(client.store.address) as elsewhere, visiting(elsewhere) as visitor:
        for key in (stored, asked):
            listed = (await visitor.get("/api/v1/tasks", params={"key": key})).json()
            assert [one["id"] for one in listed["tasks"]] == [begun.id]
            shown = await visitor.get("/search", params={"q": key})
            assert begun.id in shown.text + shown.headers.get("location", "")


async def test_refused_spawns_are_listed_by_any_spelling_of_their_key(client: Client, app: App) -> None:
    begun = await client.submit("page", {"url": "https://stripe.com"})
    await drain(app, client)
    async with App().client(client.store.address) as elsewhere, visiting(elsewhere) as visitor:
        asked = {"tracking_id": begun.tracking_id, "key": "https://Stripe.com"}
        found = (await visitor.get("/api/v1/blocks", params=asked)).json()
        assert [one["key"] for one in found["blocks"]] == ["https://stripe.com/"]
