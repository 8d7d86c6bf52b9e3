"""A key is found in whatever spelling: as its kind would have stored it, wherever it is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from ramet import App, Client, Context, title_key, url_key
from ramet.engine.explain.key import spellings
from ramet.testing import drain


class Page(BaseModel):
    url: str
    depth: int = 0


@dataclass
class Article:
    title: str


class Pair(BaseModel):
    left: str
    right: str


@pytest.fixture
def app() -> App:
    app = App()

    @app.task("page", key=lambda page: url_key(page.url))
    async def page(ctx: Context, page: Page) -> None:
        ctx.spawn("page", {"url": page.url})

    @app.task("site", key=url_key)
    async def site(ctx: Context, url: str) -> None: ...

    @app.task("article", key=lambda article: title_key(article.title))
    async def article(ctx: Context, article: Article) -> None: ...

    @app.task("word", key=lambda word: word)
    async def word(ctx: Context, word: str) -> None: ...

    @app.task("pair", key=lambda pair: f"{pair.left}/{pair.right}")
    async def pair(ctx: Context, pair: Pair) -> None: ...

    @app.task()
    async def question(ctx: Context, text: str) -> None: ...

    @app.task()
    async def number(ctx: Context, number: int) -> None: ...

    @app.task()
    async def order(ctx: Context, number: int, note: str = "") -> None: ...

    return app


KINDS: list[tuple[str, Any, str, str]] = [
    ("page", {"url": "https://stripe.com"}, "https://stripe.com/", "HTTPS://Stripe.com:443"),
    ("site", "https://stripe.com", "https://stripe.com/", "https://stripe.com"),
    ("article", {"title": "ant colony"}, "Ant colony", "ant_colony"),
    ("word", "stripe", "stripe", " stripe "),
    ("pair", {"left": "a", "right": "b"}, "a/b", "a/b"),
    ("question", "why", '{"payload":"why"}', "why"),
    ("number", 7, '{"payload":7}', "7"),
    ("order", {"number": 7}, '{"note":"","number":7}', '{ "number": 7.0, "note": "" }'),
]


@pytest.mark.parametrize(("kind", "payload", "stored", "asked"), KINDS, ids=[row[0] for row in KINDS])
async def test_every_lookup_finds_a_task_by_any_spelling_of_its_key(
    client: Client, kind: str, payload: Any, stored: str, asked: str
) -> None:
    begun = await client.submit(kind, payload)
    task = await client.get(begun.id)
    assert task is not None
    assert task.key == stored
    # One program knows the kind, the other, such as a command or the dashboard, does not.
    async with App().client(client.store.address) as elsewhere:
        for asking in (client, elsewhere):
            for key in (stored, asked):
                assert await asking.has_live(kind, key), (asking is client, key)
                assert await asking.has_live(kind, key, begun.tracking_id)
                assert not await asking.has_live(kind, key, "another lineage")
                for page in (await asking.tasks(key=key), await asking.tasks(kind=kind, key=key, states=["pending"])):
                    assert [one.id for one in page.tasks] == [begun.id]
                assert [one.id for one in await asking.tasks_with_key(key)] == [begun.id]
                known = await asking.explain_key(kind, key)
                assert known is not None
                assert known.key == stored


@pytest.mark.parametrize(("kind", "payload", "stored", "asked"), KINDS, ids=[row[0] for row in KINDS])
async def test_an_exact_key_is_looked_for_as_it_is_stored(
    client: Client, kind: str, payload: Any, stored: str, asked: str
) -> None:
    begun = await client.submit(kind, payload)
    for key, found in ((stored, [begun.id]), (asked, [begun.id] if asked == stored else [])):
        page = await client.tasks(kind=kind, key=key, exact=True)
        assert [one.id for one in page.tasks] == found


async def test_refused_spawns_are_found_by_any_spelling_of_their_key(client: Client, app: App) -> None:
    begun = await client.submit("page", {"url": "https://stripe.com"})
    await drain(app, client)
    async with App().client(client.store.address) as elsewhere:
        for asking in (client, elsewhere):
            for key in ("https://stripe.com/", "https://Stripe.com"):
                assert [one.kind for one in await asking.blocks(begun.tracking_id, key=key)] == ["page"]
                assert [one.kind for one in await asking.blocks(begun.tracking_id, kind="page", key=key)] == ["page"]
                assert (await asking.block_page(begun.tracking_id, key=key)).blocks
            assert await asking.blocks(begun.tracking_id, key="https://other.com") == []


async def test_a_kind_that_tells_two_spellings_apart_does_so_in_lookups_too(client: Client) -> None:
    """Only where the kind is known here; elsewhere the exact spelling goes first."""
    await client.submit("word", "Stripe")
    assert not await client.has_live("word", "stripe")
    assert (await client.tasks(kind="word", key="stripe")).tasks == ()
    lower = await client.submit("word", "stripe")
    async with App().client(client.store.address) as elsewhere:
        assert [one.id for one in (await elsewhere.tasks(kind="word", key="stripe")).tasks] == [lower.id]


async def test_a_kind_completes_what_a_lookup_leaves_out_of_a_payload(client: Client) -> None:
    await client.submit("order", {"number": 7})
    assert await client.has_live("order", '{"number": 7}')
    assert not await client.has_live("order", '{"number": 8}')


def test_what_a_lookup_compares_can_be_asked(app: App) -> None:
    assert spellings("https://stripe.com")[:2] == ["https://stripe.com", "https://stripe.com/"]
    assert spellings("why") == ["why", "Why", '{"payload":"why"}']
    assert spellings("7") == ["7", '{"payload":"7"}', '{"payload":7}']
    assert spellings("\ud800") == ["\ud800"]


async def test_a_key_that_was_named_when_it_was_submitted_is_found_by_that_name(client: Client) -> None:
    begun = await client.submit("page", {"url": "https://stripe.com"}, key="https://mine")
    assert await client.has_live("page", "https://mine")
    assert [one.id for one in (await client.tasks(kind="page", key="https://mine")).tasks] == [begun.id]
    assert client.spellings("page", "https://mine") == ["https://mine", "https://mine/"]
