"""From the address of a wiki to its API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ramet import RetryAfter
from ramet.fetch.addresses import AddressRefused
from ramet.wiki.errors import SourceError
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from tests.fetch.hostile_server import Hostile, Play, Request, answers, sends_to
from tests.wiki.fake_wiki import FakeWiki
from tests.wiki.mediawiki import MediaWiki

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")

HERE = SourceOptions(private=True)
NOWHERE = answers("<html>no such page</html>", 404, Content_Type="text/html")


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with Hostile() as server:
        yield server


def routed(paths: dict[str, Play], otherwise: Play = NOWHERE) -> Play:
    """Another answer for each path."""

    async def play(request: Request, writer: asyncio.StreamWriter) -> None:
        await paths.get(request.path, otherwise)(request, writer)

    return play


def page(head: str) -> Play:
    return answers(f"<html><head>{head}</head></html>", Content_Type="text/html; charset=utf-8")


async def endpoint(address: str) -> str:
    """What was found; the first page of a wiki comes from there too."""
    source = MediaWikiSource(address, HERE)
    try:
        await source.site()
        assert "One" in await source.pages(["One"])
    finally:
        await source.close()
    return source.endpoint


@pytest.mark.parametrize("words", ["", "index.php/Ferry_crossing", "index.php?title=Ferry_crossing", "wiki/Main_Page"])
async def test_the_api_of_a_real_wiki_is_found_from_any_of_its_pages(mediawiki: MediaWiki, words: str) -> None:
    assert await endpoint(mediawiki.address + words) == mediawiki.api


@pytest.mark.parametrize(
    ("start", "there"),
    [
        ("", "/w/api.php"),
        ("wiki/Main_Page", "/w/api.php"),
        ("", "/api.php"),
        ("team/index.php/Main_Page", "/team/api.php"),
        ("team/index.php?title=Main_Page", "/team/api.php"),
        ("odd/place/api.php", "/odd/place/api.php"),
        ("odd/api.php?action=query#x", "/odd/api.php"),
    ],
)
async def test_the_usual_places_are_tried(server: Hostile, start: str, there: str) -> None:
    server.play = routed({there: FakeWiki({"One": "text"})})
    assert await endpoint(server.address + start) == server.address.rstrip("/") + there


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="EditURI" type="application/rsd+xml" href="{}/deep/down/api.php?action=rsd"/>',
        "<LINK href='/deep/down/api.php?action=rsd&amp;x=1' rel='EditURI'>",
        '<link rel="x" href="/a"><link rel="EditURI" href="//{host}/deep/down/api.php?action=rsd">',
    ],
)
async def test_what_a_page_says_of_its_wiki_is_followed(server: Hostile, link: str) -> None:
    link = link.replace("{host}", server.address.split("/")[2]).replace("{}", server.address.rstrip("/"))
    server.play = routed({"/deep/down/api.php": FakeWiki({"One": "text"}), "/Main": page(link)})
    assert await endpoint(f"{server.address}Main") == f"{server.address}deep/down/api.php"


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="EditURI" href="http://other.example/api.php">',
        '<link rel="EditURI" href="file:///api.php">',
        '<link rel="EditURI" href="http://[::1/api.php">',
        '<link rel="EditURI" href="/no.php">',
        '<link rel="EditURI">',
        "<link " * 20_000,
        "",
    ],
    ids=range(7),
)
async def test_a_page_cannot_send_it_elsewhere(server: Hostile, link: str) -> None:
    server.play = routed({"/Main": page(link)})
    with pytest.raises(SourceError, match=r"no MediaWiki API was found.*api\.php"):
        await endpoint(f"{server.address}Main")


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("http://127.0.0.1:1/api.php", False),
        ("http://localhost:1/wiki/Main_Page", False),
        ("http://0x7f.1:1/api.php", False),
        ("http://[::ffff:10.0.0.1]/api.php", False),
        ("http://169.254.169.254/latest/meta-data/", True),
        ("http://[::ffff:a9fe:a9fe]/api.php", True),
        ("http://0.0.0.0:1/api.php", True),
    ],
)
async def test_no_request_goes_where_no_wiki_may_be(address: str, private: bool) -> None:
    source = MediaWikiSource(address, SourceOptions(private=private))
    for ask in (source.site(), source.pages(["One"]), source.resolve("One")):
        with pytest.raises(AddressRefused, match="nothing is fetched there"):
            await ask
    await source.close()


@pytest.mark.parametrize(
    "play",
    [NOWHERE, page("a site of another kind"), answers({"name": "another API"}), answers([1]), answers({"query": {}})],
    ids=["nothing", "page", "json", "list", "empty"],
)
async def test_an_address_without_an_api_is_refused_with_what_to_give(server: Hostile, play: Play) -> None:
    server.play = play
    for address in (server.api, server.address):
        with pytest.raises(SourceError, match=r"api\.php") as raised:
            await endpoint(address)
        assert "\n" not in str(raised.value)


async def test_a_wiki_that_is_busy_is_not_called_missing(server: Hostile) -> None:
    server.play = answers("busy", 429, Retry_After=7)
    with pytest.raises(RetryAfter, match="7 s"):
        await endpoint(server.address)


async def test_a_moved_api_is_asked_at_its_new_place_from_then_on(server: Hostile) -> None:
    async def moved(request: Request, writer: asyncio.StreamWriter) -> None:
        await sends_to(f"/new{request.target}", 301)(request, writer)

    server.play = routed({"/api.php": moved, "/new/api.php": FakeWiki({"One": "text"})})
    assert await endpoint(server.api) == f"{server.address}new/api.php"
    assert [request.path for request in server.requests].count("/api.php") == 1
