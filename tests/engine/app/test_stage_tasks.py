"""A task per stage: one unique key from the first stage to the end of the last, and stages that are pulled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, ClaimResult, Client, Context, Outcome, Permanent
from ramet.engine.app.pipeline import Pipeline
from ramet.engine.client.client import Client as AnyClient
from ramet.store.errors import StoreBusy, UniqueHeld
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.support.fakes import Hands
from tests.support.waiting import worked_off
from tests.support.world import SettableClock

WINDOW_SECONDS = 50.0


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def client(app: App, tmp_path: Path, clock: SettableClock) -> AsyncIterator[Client]:
    store = SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True)
    async with AnyClient(app.registry, store, app.limits, clock=Hands()) as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture
def pipeline(app: App) -> Pipeline:
    pipeline = app.pipeline(
        "listing", task_per_stage=True, key=lambda url: url, unique="global", unique_seconds=WINDOW_SECONDS
    )

    @pipeline.stage()
    async def scrape(ctx: Context, url: str) -> str:
        return url.upper()

    @pipeline.stage()
    async def save(ctx: Context, url: str) -> Outcome | str:
        if "broken" in url:
            raise Permanent("no room")
        return ctx.filter("unwanted") if "spam" in url else str(ctx.state["scrape"])

    return pipeline


async def scraped(client: Client, url: str) -> str:
    """The first stage is done; returns the id of the second, which waits."""
    submitted = await client.submit("listing", url)
    [claim] = await client.claim("listing.scrape")
    [told] = (await claim.complete(url.upper())).spawns
    assert (claim.tracking_id, told.reason, told.kind) == (submitted.tracking_id, None, "listing.save")
    return str(told.id)


@pytest.mark.parametrize("url", ["a", "spam", "broken"])
async def test_a_unique_key_is_held_to_the_end_of_the_last_stage(
    app: App, client: Client, clock: SettableClock, pipeline: Pipeline, url: str
) -> None:
    last = await scraped(client, url)
    clock.advance(2 * WINDOW_SECONDS)
    again = await client.submit("listing", url)
    assert (again.id, again.created) == (last, False), "the first stage ended longer ago than the window"
    await worked_off(app, client)
    seconds = 86_400.0 if url == "broken" else WINDOW_SECONDS
    clock.advance(seconds - 1.0)
    assert (await client.submit("listing", url)).id == last
    clock.advance(1.0)
    assert (await client.submit("listing", url)).created


async def test_of_a_task_per_stage_the_last_stage_says_how_long_the_key_is_held(
    client: Client, clock: SettableClock, pipeline: Pipeline
) -> None:
    await client.submit("listing", "a")
    [first] = await client.claim("listing.scrape")
    first.hold_key(0)
    [told] = (await first.complete("A")).spawns
    assert (await client.submit("listing", "a")).id == told.id, "the next stage holds it, whatever the first one said"
    [last] = await client.claim("listing.save")
    last.hold_key(10)
    await last.complete("done")
    clock.advance(9.0)
    assert (await client.submit("listing", "a")).id == told.id
    clock.advance(1.0)
    assert (await client.submit("listing", "a")).created


async def test_a_stage_that_is_cancelled_frees_the_key_and_a_revive_takes_it_again(
    client: Client, pipeline: Pipeline
) -> None:
    last = await scraped(client, "a")
    await client.cancel(last)
    other = await client.submit("listing", "a")
    assert other.created
    with pytest.raises(UniqueHeld, match=other.id):
        await client.revive([last])
    await client.cancel(other.id)
    assert await client.revive([last]) == [last]
    assert (await client.submit("listing", "a")).id == last


async def test_a_pulled_stage_hands_on_what_it_made(client: Client, pipeline: Pipeline) -> None:
    last = await scraped(client, "a")
    [claim] = await client.claim("listing.save")
    assert (claim.id, claim.state, claim.payload, claim.spawn_depth) == (last, {"scrape": "A"}, "a", 0)
    assert list((await claim.complete("done")).spawns) == []
    assert [row.stage for row in await client.stage_counts("listing")] == ["save", "scrape"]


async def test_a_pulled_stage_that_chooses_an_end_hands_nothing_on(client: Client, pipeline: Pipeline) -> None:
    for url, outcome in (("a", Outcome.filter("thin")), ("b", Permanent("gone"))):
        await client.submit("listing", url)
        [claim] = await client.claim("listing.scrape")
        [ended] = await client.settle_many([(claim, outcome)])
        assert isinstance(ended, ClaimResult)
        assert list(ended.spawns) == []
    assert await client.claim("listing.save") == []


async def test_a_stage_that_is_completed_again_after_a_busy_database_is_handed_on_once(
    client: Client, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.submit("listing", "a")
    [claim] = await client.claim("listing.scrape")

    async def busy(settlements: Any) -> Any:
        raise StoreBusy("the database is busy")

    with monkeypatch.context() as patched:
        patched.setattr(client.store, "settle", busy)
        with pytest.raises(StoreBusy):
            await claim.complete("A")
    assert len((await claim.complete("A")).spawns) == 1


async def test_the_base_kind_is_not_claimed_itself(client: Client, pipeline: Pipeline) -> None:
    with pytest.raises(ValueError, match=r"^listing has a task per stage: claim its stages, listing.scrape, listing"):
        await client.claim(["listing.save", "listing"])
