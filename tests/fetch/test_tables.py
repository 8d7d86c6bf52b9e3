"""What fetching keeps, on both databases: answers, aliases, robots.txt, places; bounded, and carried by a backup."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Statement, TaskState
from ramet.engine.worker.loops import declare_limits
from ramet.fetch import HostTurnLater, Page, tables
from ramet.fetch.host_pace import HostSlots
from ramet.fetch.messages import Response
from ramet.testing import FakeClock, drain, fresh_client
from tests.cli.conftest import Cli
from tests.fetch.hostile_server import sends_to
from tests.fetch.site import SETTINGS, SITE, Site, fetching_app, site
from tests.support.backends import BACKENDS
from tests.support.waiting import worked_off

pytestmark = [pytest.mark.network, pytest.mark.process]

pytest.importorskip("httpcore2", reason="the extra [fetch] is not installed")


@asynccontextmanager
async def on(kind: str, folder: Path, app: App) -> AsyncIterator[tuple[Client, str]]:
    backend = BACKENDS[kind](folder)
    async with app.client(backend.address) as client:
        yield client, backend.address
    backend.close()


def play(web: Site) -> None:
    web.page("/robots.txt", "User-agent: *\nDisallow: /private\n# \x00 nul", Content_Type="text/plain")
    web.behave("/old", sends_to("/new"))
    web.page("/new", "<link rel=canonical href=/real>new")
    web.page("/", '<a href="/new">1</a><a href="/real">2</a><a href="/else">3</a>', ETag='"7"', X_Odd="caf\xe9 \x01")


@pytest.mark.parametrize("kind", sorted(BACKENDS))
async def test_what_is_kept_is_read_again_and_goes_with_a_backup(kind: str, tmp_path: Path) -> None:
    pages: list[Page] = []
    async with site() as web:
        play(web)
        app = fetching_app(web.server, pages)
        async with on(kind, tmp_path, app) as (client, address):
            crawl = [("page", {"url": f"{SITE}{path}", "cache": True}) for path in ("/old", "/")]
            await client.submit_many(crawl, one_lineage=True, tracking_id="crawl")
            await worked_off(app, client)
            await client.submit("page", {"url": f"{SITE}/", "cache": True}, tracking_id="again")
            await worked_off(app, client)
            counts = {
                table: (await client.store.read(f"SELECT COUNT(*) FROM {table}", ()))[0][0]
                for table in ("fetch_robots", "fetch_aliases", "fetch_answers", "fetch_host_slots")
            }
            copy = tmp_path / "copy.db"
            await asyncio.to_thread(Cli(tmp_path, address).good, "backup", str(copy))
    assert counts == {"fetch_robots": 1, "fetch_aliases": 2, "fetch_answers": 1, "fetch_host_slots": 2}
    assert pages[-1].unchanged or pages[-1].text() == next(page.text() for page in pages if page.url == f"{SITE}/")
    async with app.client(copy) as restored:
        for table, count in counts.items():
            assert await restored.store.read(f"SELECT COUNT(*) FROM {table}", ()) == [(count,)], table


class TestBounds:
    """By a handler of its own, which has the context that the tables need."""

    @staticmethod
    async def run(steps: Any, clock: FakeClock | None = None) -> Client:
        app = App(tables=tables.DEFINITIONS)
        failed: list[BaseException] = []

        @app.task("steps")
        async def run_steps(ctx: Context) -> None:
            try:
                await steps(ctx)
            except BaseException as error:
                failed.append(error)
                raise

        async with fresh_client(app, clock=clock) as client:
            await declare_limits(app, client.store)
            await client.submit("steps")
            await drain(app, client)
            if failed:
                raise failed[0]
            [task] = (await client.tasks()).tasks
            assert task.state == TaskState.SUCCESS
            return client

    async def test_answers_used_longest_ago_go_when_there_are_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "ANSWERS_BYTES_MAX", 2_000)
        found: list[int] = []
        clock = FakeClock()

        async def steps(ctx: Context) -> None:
            kept = tables.AnswerTable(ctx, {})
            for number in range(300):
                clock.advance(1)
                body = bytes(f"{number} {hash(number)}" * 20, "ascii")
                await kept.save(f"{SITE}/{number}", Response(f"{SITE}/{number}", 200, {"etag": "1"}, body))
            [[count, together]] = await ctx.read("SELECT COUNT(*), SUM(size) FROM fetch_answers")
            found.extend([count, int(together)])
            assert await kept.load(f"{SITE}/299") is not None
            assert await kept.load(f"{SITE}/0") is None

        await self.run(steps, clock)
        assert found[0] < 300
        assert found[1] < 4_000, "sizes are added up at one address in sixteen"

    async def test_an_answer_that_is_too_large_is_asked_for_in_full(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "ANSWER_PACKED_BYTES_MAX", 100)

        async def steps(ctx: Context) -> None:
            kept = tables.AnswerTable(ctx, {})
            small = Response(SITE, 200, {"etag": "1"}, b"small")
            await kept.save(SITE, small)
            assert await kept.load(SITE) is not None
            await kept.save(SITE, Response(SITE, 200, {"etag": "2"}, bytes(range(256)) * 2))
            assert await kept.load(SITE) is None, "what was there before is out of date"

        await self.run(steps)

    async def test_a_place_that_a_killed_worker_held_is_free_after_its_lease(self) -> None:
        clock = FakeClock()
        settings = SETTINGS.model_copy(update={"turn_seconds_max": 0.05})
        free: list[bool] = []

        async def steps(ctx: Context) -> None:
            await HostSlots(1).enter(ctx, "acme.example", settings)  # Never given back: its worker was killed.
            other = HostSlots(1)
            with pytest.raises(HostTurnLater):
                await other.enter(ctx, "acme.example", settings)
            clock.advance(settings.answer_seconds + 5.0)
            leave = await other.enter(ctx, "acme.example", settings)
            await leave()
            rows = await ctx.transaction([Statement("SELECT holder FROM fetch_host_slots")])
            free.append(rows[0].rows == (("",),))

        await self.run(steps, clock)
        assert free == [True]

    async def test_places_of_hosts_that_are_not_asked_any_more_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        hosts: list[str] = []

        async def steps(ctx: Context) -> None:
            slots = HostSlots(2)
            held = await slots.enter(ctx, "held.example", SETTINGS)
            await (await slots.enter(ctx, "free.example", SETTINGS))()
            monkeypatch.setattr("uuid.uuid4", lambda: uuid.UUID(int=7))
            await (await slots.enter(ctx, "new.example", SETTINGS))()
            hosts.extend(str(host) for (host,) in await ctx.read("SELECT host FROM fetch_host_slots ORDER BY host"))
            await held()
            await (await slots.enter(ctx, "free.example", SETTINGS))()  # Its places are made again.

        await self.run(steps)
        assert hosts == ["held.example", "new.example", "new.example"]

    def test_a_host_is_asked_by_one_at_least(self) -> None:
        with pytest.raises(ValueError, match="give at least 1"):
            HostSlots(0)
