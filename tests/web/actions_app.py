"""An app for tests of what people do through the dashboard."""

from __future__ import annotations

from ramet import App, Context, Permanent, Retry

app = App(retry=Retry.SEED)


@app.task("crawl", key=str, url=str)
async def crawl(ctx: Context, url: str) -> None:
    """Spawns below what says so; fails for what says so."""
    if "fail" in url:
        raise Permanent("it was told to fail")
    if url.count("/") < 4 and "deep" in url:
        ctx.spawn(crawl, f"{url}/{url.count('/')}")
