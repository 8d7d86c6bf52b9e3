"""Large values: stored once per lineage, passed by reference, read when asked, bounded, pruned with the lineage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ramet import (
    App,
    Blob,
    BlobTooLarge,
    Claim,
    ClaimLost,
    Client,
    Context,
    Limits,
    PayloadTooLarge,
    StoreError,
    SyncContext,
)
from tests.invariants.check import violations
from tests.support.waiting import worked_off

LARGE = "ü" * 300_000


class Page(BaseModel):
    """A payload with a blob in it."""

    url: str
    html: Blob


@pytest.fixture
def app() -> App:
    app = App(limits=Limits(max_attempts=1, blob_bytes_max=1_000_000, lineage_blob_bytes_max=2_000_000))

    @app.task("read", key=lambda page: str(page.url))
    async def read(ctx: Context, page: Page) -> int:
        return len(await ctx.read_blob(page.html))

    return app


async def result(app: App, client: Client, kind: str, payload: Any = None) -> Any:
    submitted = await client.submit(kind, payload)
    await worked_off(app, client)
    return await client.result(submitted.id)


async def stored(client: Client) -> list[tuple[str, int]]:
    return [tuple(row) for row in await client.read("SELECT tracking_id, size FROM ramet_blobs ORDER BY size")]


async def test_a_payload_with_a_blob_is_small_in_its_row_and_whole_in_the_handler(app: App, tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("read", Page(url="u", html=Blob.of(LARGE)))
        task = await client.get(submitted.id)
        assert task is not None
        assert task.payload["html"] == {"$blob": Blob.of(LARGE).sha256, "size": 600_000, "form": "text"}
        assert await client.blob(task.payload["html"], task.tracking_id) == LARGE
        await worked_off(app, client)
        assert await client.result(submitted.id) == 300_000
        assert await violations(client.store) == []


async def test_a_payload_that_is_too_large_is_told_about_blobs(app: App, tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        with pytest.raises(PayloadTooLarge, match="blob"):
            await client.submit("any", LARGE)


@pytest.mark.parametrize("content", [b"\x00\xff" * 9, "text with ü", {"a": [1, None]}, [], b"", 7], ids=repr)
@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
async def test_what_a_handler_puts_in_comes_out_the_same_in_its_child(
    app: App, tmp_path: Path, content: Any, plain: bool
) -> None:
    seen: list[Any] = []

    @app.task("child")
    async def child(ctx: Context, blob: Blob) -> None:
        seen.append(await ctx.read_blob(blob))

    if plain:

        @app.task("parent")
        def in_a_thread(ctx: SyncContext) -> Any:
            blob = ctx.blob(content)
            seen.append(ctx.read_blob(blob))
            ctx.spawn("child", blob)
            return {"kept": blob}

    else:

        @app.task("parent")
        async def in_the_loop(ctx: Context) -> Any:
            blob = await ctx.blob(content)
            seen.append(await ctx.read_blob(blob))
            await ctx.checkpoint("half", {"kept": blob})
            assert ctx.state["kept"]["$blob"] == blob.sha256
            ctx.spawn("child", blob)
            return {"kept": blob}

    async with app.client(tmp_path / "ramet.db") as client:
        told = await result(app, client, "parent")
        assert seen == [content, content]
        assert told["kept"]["$blob"] == Blob.of(content).sha256
        assert len(await stored(client)) == 1
        assert await violations(client.store) == []


async def test_the_same_content_is_kept_once_a_lineage(app: App, tmp_path: Path) -> None:
    pages = [("read", Page(url=name, html=Blob.of("same"))) for name in "abc"]
    async with app.client(tmp_path / "ramet.db") as client:
        await client.submit_many(pages, one_lineage=True)
        assert len(await stored(client)) == 1
        told = await client.submit_many(pages)
        assert sorted(name for name, _ in (await stored(client))[1:]) != []
        assert {name for name, _ in await stored(client)} >= {item.tracking_id for item in told}
        await worked_off(app, client)
        assert await violations(client.store) == []


async def test_one_blob_and_all_of_a_lineage_are_bounded_exactly(app: App, tmp_path: Path) -> None:
    told: list[str] = []

    @app.task("hoard")
    async def hoard(ctx: Context) -> None:
        with pytest.raises(BlobTooLarge):
            await ctx.blob(b"x" * 1_000_001)
        await ctx.blob(b"x" * 1_000_000)
        await ctx.blob(b"y" * 1_000_000)
        await ctx.blob(b"x" * 1_000_000)
        try:
            await ctx.blob(b"z")
        except StoreError as error:
            told.append(str(error))

    async with app.client(tmp_path / "ramet.db") as client:
        assert await result(app, client, "hoard") is None
        assert "2000000" in told[0]
        assert [size for _, size in await stored(client)] == [1_000_000, 1_000_000]
        with pytest.raises(BlobTooLarge):
            await client.submit("read", Page(url="u", html=Blob.of(b"x" * 1_000_001)))
        large = [("read", Page(url=str(n), html=Blob.of(bytes([n]) * 900_000))) for n in range(3)]
        before = await stored(client)
        with pytest.raises(StoreError, match="2000000"):
            await client.submit_many(large, one_lineage=True)
        assert await stored(client) == before, "nothing half-written"
        assert await violations(client.store) == []


async def test_a_stale_claim_stores_no_blob(tmp_path: Path) -> None:
    async with App().client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("page")
        [claim] = await client.claim("page")
        await client.cancel(submitted.id)
        with pytest.raises(ClaimLost):
            await claim.blob("late")
        assert await stored(client) == []
        assert claim.lost


async def test_a_blob_is_pruned_with_its_lineage_and_not_found_elsewhere(tmp_path: Path) -> None:
    async with App().client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("page", {"html": Blob.of("x")})
        claim: Claim = (await client.claim("page"))[0]
        assert await claim.read_blob(claim.payload["html"]) == "x"
        with pytest.raises(LookupError):
            await client.blob(claim.payload["html"], "elsewhere")
        await claim.complete(await claim.blob(b"result"))
        assert len(await stored(client)) == 2
        await client.store.prune(4e9)
        assert await stored(client) == []
        with pytest.raises(LookupError):
            await client.blob(claim.payload["html"], submitted.tracking_id)


async def test_a_blob_that_is_only_in_memory_cannot_be_referred_to_by_a_handler(app: App, tmp_path: Path) -> None:
    @app.task("careless")
    async def careless(ctx: Context) -> None:
        ctx.spawn("read", Page(url="u", html=Blob.of("never stored")))

    async with app.client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("careless")
        await worked_off(app, client)
        task = await client.get(submitted.id)
        assert task is not None
        assert "await ctx.blob" in (task.error or "")


async def test_a_damaged_blob_is_not_passed_off_as_whole(tmp_path: Path) -> None:
    async with App(tables=["CREATE TABLE IF NOT EXISTS own (a)"]).client(tmp_path / "ramet.db") as client:
        submitted = await client.submit("page", Blob.of("whole"))
        await client.store.ensure_tables(["UPDATE ramet_blobs SET content = x'00'"])
        with pytest.raises(StoreError, match="damaged"):
            await client.blob(Blob.of("whole").reference, submitted.tracking_id)
        assert any("blob" in line for line in await violations(client.store))


@pytest.mark.parametrize("wrong", [{"$blob": "short", "size": 1}, {"size": 1}, {"$blob": "0" * 64, "size": -1}])
async def test_what_is_no_reference_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with App().client(tmp_path / "ramet.db") as client:
        with pytest.raises(ValidationError):
            await client.blob(wrong, "line")


def test_a_reference_reads_back_as_the_blob_it_was() -> None:
    for content in (b"x", "x", {"a": 1}):
        blob = Blob.of(content)
        assert Blob.model_validate(json.loads(json.dumps(blob.reference))) == Blob(
            sha256=blob.sha256, size=blob.size, form=blob.form
        )
