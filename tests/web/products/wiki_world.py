"""A small expansion whose titles and texts would run if a template failed to escape one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

from ramet import Client
from ramet.testing import drain, fresh_client
from ramet.wiki.expansion import prepare, submit
from ramet.wiki.pipeline import app
from ramet.wiki.runs import RunSettings
from ramet.wiki.tasks import level
from ramet.wiki.tasks.article import expansions

TITLES = ("Seed", 'Onload" onload="ran(1)', "Quote's <b>bold</b> 'x'", "Plain article", "Nowhere")
BROKEN = "Broken <i>redirect</i>"
"""It leads to a page that is not there."""
TEXT = "<script>alert(1)</script>\"'&{{7919*6101}} ferries run on software."


def write_articles(path: Path) -> None:
    """Each links to the others; the last one is not there."""
    lines = [
        json.dumps({"title": title, "text": f"{title} is about something. {TEXT}", "links": [*TITLES, BROKEN]})
        for title in TITLES[:-1]
    ]
    lines.append(json.dumps({"title": BROKEN, "redirect": "Gone"}))
    path.write_text("\n".join(lines), encoding="utf-8")


@asynccontextmanager
async def expanded(folder: Path) -> AsyncIterator[tuple[Client, str]]:
    """A client of the database of an expansion that ended, and the run's name."""
    write_articles(folder / "articles.jsonl")
    settings = RunSettings(
        source=str(folder / "articles.jsonl"), data_dir=str(folder / "data"), graph=str(folder / "wiki.sqlite"),
        embedder="hashing", max_articles=20, max_depth=3,
    )  # fmt: skip
    try:
        async with fresh_client(app, folder=folder) as client:
            prepared = await prepare(("Seed",), settings)
            assert await submit(client, prepared)
            with patch.object(level, "WAIT_SECONDS", 0.0):
                await drain(app, client)
            yield client, prepared.run_id
    finally:
        expansions.close()
