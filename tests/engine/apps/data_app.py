"""Handlers in a child process that keep blobs and run transactions of their own."""

from __future__ import annotations

from typing import Any

from ramet import App, Blob, Context, Limits, Statement, SyncContext, TransactionRefused

app = App(
    tables=["CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, quantity INTEGER, picture BLOB)"],
    limits=Limits(max_attempts=1, lineage_blob_bytes_max=3_000_000),
)
LARGE = bytes(range(256)) * 8_000


@app.task("keeps")
async def keeps(ctx: Context, given: Blob) -> Any:
    text = await ctx.read_blob(given)
    blob = await ctx.blob(LARGE)
    assert await ctx.read_blob(blob) == LARGE
    ctx.spawn("reads", blob)
    return {"given": text, "kept": blob}


@app.task("reads")
def reads(ctx: SyncContext, blob: Blob) -> int:
    return len(ctx.read_blob(blob))


@app.task("takes")
async def takes(ctx: Context) -> Any:
    told = await ctx.transaction([
        Statement("INSERT INTO stock VALUES (?, ?, ?) RETURNING picture", ("owl", 3, b"\x00\xff"), expect_rows=1),
        Statement("UPDATE stock SET quantity = quantity - 1 WHERE item = ?", ("owl",), expect_rows=1),
    ])  # fmt: skip
    assert told[0].rows == ((b"\x00\xff",),)
    try:
        await ctx.transaction([Statement("UPDATE stock SET quantity = 0 WHERE item = 'eagle'", expect_rows=1)])
    except TransactionRefused as refused:
        return [refused.statement, str(refused), (await ctx.read("SELECT quantity FROM stock"))[0][0]]
