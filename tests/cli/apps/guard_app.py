"""An app whose tasks the guard refuses, for the tests of what people do about that."""

from __future__ import annotations

from pydantic import BaseModel

from ramet import App, Context, Permanent, Retry, url_key

app = App(retry=Retry.SEED)


class Links(BaseModel):
    """A page with its links."""

    url: str
    links: list[str] = []
    keep_edge: bool = False


@app.task("page", key=lambda page: url_key(page.url), trap=True)
async def page(context: Context, page: Links) -> None:
    """Follows its links."""
    for url in page.links:
        context.spawn("page", Links(url=url), keep_edge=page.keep_edge)


@app.task("company", key=lambda company: url_key(company.url), unique="global")
async def company(context: Context, company: Links) -> None:
    """One over all lineages."""


@app.task("broken", key=lambda company: url_key(company.url), unique="global")
async def broken(context: Context, company: Links) -> None:
    """Fails for good."""
    raise Permanent("no")
