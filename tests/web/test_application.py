"""The frame of the dashboard: pages are found, what is wrong is said, text stays text."""

from __future__ import annotations

from ramet import App, Context
from ramet.testing import fresh_client
from ramet.web.events import Feeds
from tests.web.in_process_client import visiting

app = App()


@app.task("crawl", key=str)
async def crawl(ctx: Context, url: str) -> None:
    """Never run here."""


async def test_the_overview_names_the_newest_lineages() -> None:
    async with fresh_client(app) as client:
        await client.submit(crawl, "https://example.org/", tracking_id="<b>first</b>")
        async with visiting(client) as visitor:
            answer = await visitor.get("/")
    assert answer.status_code == 200
    assert "&lt;b&gt;first&lt;/b&gt;" in answer.text
    assert "<b>first" not in answer.text


async def test_an_address_with_nothing_behind_it_is_a_page_that_says_so() -> None:
    async with fresh_client(app) as client, visiting(client) as visitor:
        answer = await visitor.get("/no/such/page")
    assert answer.status_code == 404
    assert "there is nothing at this address" in answer.text


async def test_an_event_stream_sends_the_live_part_of_a_page_and_then_only_what_is_new() -> None:
    feeds, made = Feeds(), iter(["one", "one", "two"])

    async def produce() -> str:
        return next(made)

    stream = feeds.follow("/", produce)
    assert await anext(stream) == 'event: page\ndata: "one"\n\n'
    assert await anext(stream) == 'event: page\ndata: "two"\n\n'
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_stream_whose_page_cannot_be_made_ends_and_the_next_one_begins_anew() -> None:
    feeds, made = Feeds(), iter(["one"])

    async def produce() -> str:
        try:
            return next(made)
        except StopIteration:
            raise RuntimeError("gone") from None

    stream = feeds.follow("/", produce)
    assert await anext(stream) == 'event: page\ndata: "one"\n\n'
    assert [event async for event in stream] == []

    async def mended() -> str:
        return "two"

    again = feeds.follow("/", mended)
    assert await anext(again) == 'event: page\ndata: "two"\n\n'
    await again.aclose()  # type: ignore[attr-defined]
