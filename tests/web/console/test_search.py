"""The search box finds ids and their ends, kinds, tags, error text, and payload text when that is asked for."""

from __future__ import annotations

import pytest

from ramet import App, Context, Permanent
from ramet.testing import drain, fresh_client
from tests.web.in_process_client import visiting

app = App()


@app.task("shop.order", key=lambda payload: str(payload["n"]))
async def order(ctx: Context, payload: dict[str, object]) -> None:
    raise Permanent("<b>The mailbox is FULL</b>")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("op.ORD", "Kinds"), ("spring", "Tasks with this tag"),
        ("mailbox is full", "Failed tasks whose error contains it"),
        ("lineage-o", None), ("nothing like it", None), ("%_'", None),
    ],
)  # fmt: skip
async def test_each_sort_of_hit_has_its_heading(text: str, label: str | None) -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        for number in (1, 2):
            await client.submit(
                "shop.order", {"n": number, "note": "Grüße"}, tracking_id=f"lineage-{number}", tags=["spring"]
            )
        await drain(app, client)
        answer = await visitor.get("/search", params={"q": text})
    assert answer.status_code == 200
    assert "Search payloads too" in answer.text
    assert "<b>The mailbox" not in answer.text
    headings = [part.partition("</h2>")[0].partition(">")[2] for part in answer.text.split("<h2")[1:]]
    assert [heading.startswith(label) for heading in headings] == [True] if label else headings == []


async def test_the_end_of_an_id_leads_to_its_task() -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        made = await client.submit("shop.order", {"n": 1})
        answer = await visitor.get("/search", params={"q": made.id[-10:].upper()})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/tasks/{made.id}")


async def test_payloads_are_searched_only_when_that_is_asked_for() -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        await client.submit("shop.order", {"n": 1, "note": "Grüße"})
        plain = await visitor.get("/search?q=gr%C3%BC%C3%9Fe")
        asked = await visitor.get("/search?q=gr%C3%BC%C3%9Fe&payloads=1")
        api = (await visitor.get("/api/v1/search?q=gr%C3%BC%C3%9Fe&payloads=true")).json()
        without = (await visitor.get("/api/v1/search?q=gr%C3%BC%C3%9Fe")).json()
    assert "Tasks whose payload contains it" not in plain.text
    assert "Tasks whose payload contains it, of the newest 2,000" in asked.text
    assert [task["kind"] for task in api["payloads"]] == ["shop.order"]
    assert without["payloads"] is None
