"""An app that takes over the rows of a job finder's queue."""

from __future__ import annotations

from pydantic import BaseModel

from ramet import App, Context, url_key

app = App(import_kinds={"JOB": "LISTING", "job": "LISTING", "company": "COMPANY"})


class Page(BaseModel):
    """What both kinds are about."""

    url: str


@app.task("LISTING", key=lambda page: url_key(page.url))
async def listing(ctx: Context, page: Page) -> None:
    """An opening."""


@app.task("COMPANY", key=lambda page: url_key(page.url), unique="global", cycle_on="kind+key")
async def company(ctx: Context, page: Page) -> None:
    """A company."""
