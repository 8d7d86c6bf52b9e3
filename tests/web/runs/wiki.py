"""A real expansion: articles of the shared corpus, read, embedded and loaded into a graph by the wiki pipeline."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import patch

from ramet.testing import drain, fresh_client
from ramet.wiki.expansion import go_on, prepare, submit
from ramet.wiki.pipeline import app
from ramet.wiki.runs import RunSettings, find_run
from ramet.wiki.tasks import level
from ramet.wiki.tasks.article import expansions
from tests.web.runs.clock import TickingClock

CORPUS = Path(__file__).parents[3].parent / "shared" / "wiki-corpus" / "enwiki-a.jsonl"
ABSENT = "the shared wiki corpus is not beside this repository"
SEEDS = ("Anarchism", "Aristotle")
TEXT_CHARACTERS = 6_000
HOLE = "Arkadiko bridge"
"""A title that redirects to a page that is not there."""


def write_articles(path: Path) -> Path:
    """The corpus' articles as plain text; each links to those that its text names, and to the two that follow it."""
    pages = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    texts = {page["title"]: plain(page["wikitext"])[:TEXT_CHARACTERS] for page in pages if not page["redirect"]}
    titles, lines = list(texts), []
    for at, (title, text) in enumerate(texts.items()):
        named = [other for other in titles if len(other) > 1 and f" {other.lower()}" in text.lower()]
        links = [*named, *titles[at + 1 : at + 3], *([HOLE] if title.startswith("Al") else [])]
        lines.append(json.dumps({"title": title, "text": text, "links": links}))
    lines.append(json.dumps({"title": HOLE, "redirect": "Nowhere"}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def plain(wikitext: str) -> str:
    """Without templates, references and brackets: enough to be read."""
    text = re.sub(r"<ref[^>]*?/>|<ref.*?</ref>|<!--.*?-->", "", wikitext, flags=re.DOTALL)
    for _ in range(4):
        text = re.sub(r"\{[{|][^{}]*\}+", "", text)
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]", r"\1", text)
    return re.sub(r"'{2,}|\[\S+ ([^\]]*)\]", r"\1", text).strip()


async def expand(folder: Path, clock: TickingClock, *sizes: int) -> str:
    """Expand to the first size, then go on to each of the others; the run's name."""
    world = write_articles(folder / "articles.jsonl")
    run_id = ""
    try:
        async with fresh_client(app, clock=clock, folder=folder) as client:
            for number, size in enumerate(sizes):
                settings = RunSettings(
                    source=str(world), data_dir=str(folder / "data"), graph=str(folder / "wiki.sqlite"),
                    embedder="hashing", max_articles=size, max_depth=9,
                )  # fmt: skip
                prepared = await prepare(SEEDS, settings)
                run_id = prepared.run_id
                if number == 0:
                    assert await submit(client, prepared)
                else:
                    assert await go_on(client, await find_run(client, run_id), prepared)
                # Nothing works beside it for which a level would wait.
                with patch.object(level, "WAIT_SECONDS", 0.0):
                    await drain(app, client)
    finally:
        expansions.close()
    return run_id
