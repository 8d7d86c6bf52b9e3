"""Made-up worlds to expand, and what is left of a run when times and ids are taken away."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ramet import Worker
from ramet.wiki.expansion import go_on, prepare, submit
from ramet.wiki.graphs.registry import open_graph_reader
from ramet.wiki.pipeline import app
from ramet.wiki.runs import RunSettings, find_run
from ramet.wiki.tasks.article import expansions

SEEDS = ("Place 000", "Place 001")


def write_world(path: Path, *, articles: int, seed: int = 7, holes: int = 2) -> Path:
    """A JSON Lines file of so many articles that link each other at random.

    `holes` titles redirect to a page that is not there; as many others are linked and not there themselves.
    Some links are stated and some only mentioned; some articles have several sections and categories.
    """
    rng = random.Random(seed)
    titles = [f"Place {number:03}" for number in range(articles)]
    lines = []
    for number, title in enumerate(titles):
        near = titles[: 3 * number + 12]
        linked = rng.sample(near, k=min(5, len(near)))
        if number % 3:
            text = f"{title} lies near {', '.join(linked)}.\n== History ==\nIt was founded in {1000 + number}."
            record: dict[str, Any] = {"title": title, "text": text}
        else:
            hole = number % holes if holes else 0
            holed = [f"Hole {hole}", f"Missing {hole}"] if holes and number % 4 == 0 else []
            record = {"title": title, "text": f"{title} has {number} houses.", "links": [*linked, *holed, title]}
        record["categories"] = [f"Region {number % 4}", "Places"][: 1 + number % 2]
        lines.append(json.dumps(record))
    lines += [json.dumps({"title": f"Hole {number}", "redirect": f"Nothing {number}"}) for number in range(holes)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def settings_for(
    folder: Path, world: Path, *, max_articles: int = 40, max_depth: int = 3, graph: str = "wiki.lbug"
) -> RunSettings:
    return RunSettings(
        source=str(world),
        data_dir=str(folder / "data"),
        graph=str(folder / graph),
        embedder="hashing",
        max_articles=max_articles,
        max_depth=max_depth,
    )


class Impatient(random.Random):
    """Jitter that makes every backoff end at once."""

    def random(self) -> float:
        return 0.0


async def expand_in_process(
    folder: Path, settings: RunSettings, *, concurrency: int = 16, seeds: Sequence[str] = SEEDS
) -> str:
    """Expand `seeds` into `folder`, or go on with what is there, handlers in this process; the run's name."""
    prepared = await prepare(seeds, settings)
    async with app.client(folder / "wiki.db") as client:
        if not await submit(client, prepared):
            await go_on(client, await find_run(client, prepared.run_id), prepared)
        newest = (await find_run(client, prepared.run_id)).newest.tracking_id
        worker = Worker(app, client, concurrency=concurrency, until_ended=newest, rng=Impatient())
        await worker.run()
    expansions.close()
    return prepared.run_id


QUESTIONS = {
    "articles": "SELECT title_key, title, expansion_depth, wiki_state, discovered_from, links_count, error, alias_of, "
    "own_task FROM wiki_articles ORDER BY title_key",
    "links": "SELECT source_key, targets FROM wiki_outlinks ORDER BY source_key",
    "tasks": "SELECT t.kind, t.key, t.state, t.spawn_depth, p.key FROM ramet_tasks t "
    "LEFT JOIN ramet_tasks p ON p.id = t.parent_id ORDER BY t.kind, t.key",
    "blocks": "SELECT b.kind, b.key, b.reason, b.count, f.key, l.key FROM ramet_blocks b "
    "JOIN ramet_tasks f ON f.id = b.first_parent JOIN ramet_tasks l ON l.id = b.last_parent ORDER BY 1, 2, 3",
    "block counts": "SELECT p.key, c.kind, c.reason, c.count FROM ramet_block_counts c "
    "JOIN ramet_tasks p ON p.id = c.parent_id ORDER BY 1, 2, 3",
    "lineages": "SELECT state, tasks, live, success, failed, blocks, max_tasks, max_spawn_depth FROM ramet_lineages",
    "checks": "PRAGMA integrity_check",
}


def what_is_left(folder: Path) -> dict[str, list[Any]]:
    """Everything about the run in `folder` that must not depend on timing: graph, domain rows, tasks and blocks."""
    left: dict[str, list[Any]] = {"graph": graph_of(folder)}
    with closing(sqlite3.connect(folder / "wiki.db")) as database:
        for name, query in QUESTIONS.items():
            left[name] = database.execute(query).fetchall()
    return left


def graph_of(folder: Path) -> list[str]:
    """Every node and edge of the graph in `folder`."""
    [path] = [path for path in (folder / "wiki.lbug", folder / "wiki.sqlite") if path.exists()]
    graph = open_graph_reader(path)
    try:
        return graph.dump()
    finally:
        graph.close()
