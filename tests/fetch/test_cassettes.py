"""Cassettes: recorded once from a server, replayed without one, with no secret in the file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Context, SyncContext
from ramet.engine.worker.loops import declare_limits
from ramet.fetch import declare_fetching, fetch, fetch_sync
from ramet.fetch.testing import Cassette, CassetteUnreadable
from ramet.testing import drain, fresh_client, run_task
from tests.fetch.hostile_server import answers, in_turn, sends_to
from tests.fetch.site import SETTINGS, SITE, Site, mapped, site

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [fetch] is not installed")


def app_of(web: Site | None, **options: Any) -> App:
    app = App()
    declare_fetching(app, SETTINGS, mapped=None if web is None else mapped(web.server), burst=50, **options)

    @app.task("read", key=lambda payload: payload["url"])
    async def read(ctx: Context, payload: dict[str, Any]) -> list[Any]:
        page = await fetch(ctx, **payload)
        return [page.url, page.status, page.text(), page.links()]

    @app.task("read_sync")
    def read_sync(ctx: SyncContext, url: str) -> str:
        return fetch_sync(ctx, url).text()

    return app


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    async with site() as web:
        web.page("/robots.txt", "User-agent: *\nDisallow: /private", Content_Type="text/plain")
        web.page("/", '<a href="/é">é</a>', Set_Cookie="session=s3cret")
        web.behave("/moved", sends_to("/?token=s3cret"))
        web.page("/?token=s3cret", "there")
        web.behave("/picture", answers(b"\x89PNG\xff", Content_Type="image/png"))
        yield web


async def record(web: Site, path: Path, *payloads: dict[str, Any]) -> None:
    app = app_of(web)
    async with fresh_client(app) as client:
        await declare_limits(app, client.store)
        with Cassette(path, record=True):
            for number, payload in enumerate(payloads):
                await client.submit("read", payload, key=str(number))
                await drain(app, client)


async def test_a_recording_is_replayed_without_server_or_database(web: Site, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "site.json"
    await record(web, path, {"url": f"{SITE}/"}, {"url": f"{SITE}/moved"}, {"url": f"{SITE}/picture"})
    asked = len(web.server.requests)
    app = app_of(None)
    with Cassette(path):
        run = await run_task(app, "read", {"url": f"{SITE}/"})
        assert run.result == [f"{SITE}/", 200, '<a href="/é">é</a>', [f"{SITE}/é"]]
        moved = await run_task(app, "read", {"url": f"{SITE}/moved"})
        assert moved.result[2] == "there"
        assert (await run_task(app, "read", {"url": f"{SITE}/picture"})).outcome == "success"
        assert (await run_task(app, "read_sync", f"{SITE}/")).result == '<a href="/é">é</a>'
    assert len(web.server.requests) == asked


async def test_no_secret_is_in_the_file(web: Site, tmp_path: Path) -> None:
    path = tmp_path / "site.json"
    headers = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Accept": "text/html"}
    await record(web, path, {"url": f"{SITE}/", "headers": headers}, {"url": f"{SITE}/moved"})
    text = path.read_text()
    assert "s3cret" not in text
    [entry] = [entry for entry in json.loads(text)["entries"] if entry["url"] == f"{SITE}/"]
    assert entry["request_headers"]["Accept"] == "text/html"
    assert entry["headers"]["set-cookie"] == "(struck out)"


async def test_a_missing_entry_is_one_clear_error(web: Site, tmp_path: Path) -> None:
    path = tmp_path / "site.json"
    await record(web, path, {"url": f"{SITE}/"})
    with Cassette(path):
        run = await run_task(app_of(None), "read", {"url": f"{SITE}/other"})
        refused = await run_task(app_of(None), "read", {"url": f"{SITE}/private"})
    assert (run.outcome, run.error_class) == ("error", "permanent")
    assert run.error is not None
    assert f"GET {SITE}/other is not in {path}: record it with RAMET_CASSETTES=record" in run.error
    assert "robots.txt" in (refused.error or ""), "the recorded one holds"


async def test_answers_come_in_the_order_in_which_they_were_recorded(web: Site, tmp_path: Path) -> None:
    web.behave("/count", in_turn(answers("1", Content_Type="text/html"), answers("2", Content_Type="text/html")))
    path = tmp_path / "site.json"
    await record(web, path, {"url": f"{SITE}/count"}, {"url": f"{SITE}/count"})
    app = app_of(None)
    with Cassette(path):
        found = [(await run_task(app, "read", {"url": f"{SITE}/count"})).result[2] for _ in range(3)]
    assert found == ["1", "2", "2"]


async def test_a_post_is_known_by_its_body(web: Site, tmp_path: Path) -> None:
    async def play(request: Any, writer: Any) -> None:
        await answers(request.parameters.get("q", "?"))(request, writer)

    web.behave("/search", play)
    path = tmp_path / "site.json"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    # JSON has no bytes: the payload's body is text, which a handler would encode.
    app = app_of(web)

    @app.task("search")
    async def search(ctx: Context, word: str) -> str:
        page = await fetch(ctx, f"{SITE}/search", method="POST", body=f"q={word}".encode(), headers=form, robots=False)
        return page.text()

    async with fresh_client(app) as client:
        await declare_limits(app, client.store)
        with Cassette(path, record=True):
            for word in ("one", "two"):
                await client.submit("search", word)
            await drain(app, client)
    with Cassette(path):
        assert [(await run_task(app, "search", word)).result for word in ("two", "one")] == ["two", "one"]
        assert (await run_task(app, "search", "three")).outcome == "error"


@pytest.mark.parametrize("content", [None, "", "[]", '{"entries": [{}]}', '{"entries": [{"method": "GET"'])
def test_a_file_that_is_no_cassette_is_told_in_one_line(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "site.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CassetteUnreadable, match="record it with RAMET_CASSETTES=record"), Cassette(path):
        pass


def test_the_environment_says_that_all_are_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAMET_CASSETTES", "record")
    with Cassette(tmp_path / "new.json") as cassette:
        assert cassette.records
    assert json.loads((tmp_path / "new.json").read_text())["entries"] == []


def test_a_test_that_failed_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), Cassette(tmp_path / "new.json", record=True):
        raise KeyError
    assert not (tmp_path / "new.json").exists()
