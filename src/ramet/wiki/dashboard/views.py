"""Read the pages about articles. Graphs are read in a thread; the pipeline is imported at the first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ramet.commands.pages import PageMissing, PageVisit, ProductPage, ProductPages

if TYPE_CHECKING:
    from ramet.wiki.graph_access import GraphReader, Neighbor
    from ramet.wiki.runs import Run

QUERY_CHARACTERS = 500
HITS = 20
FAILED_MAX = 50
NEIGHBORS_MAX = 14
"""Articles on each side of a picture."""
SECTIONS_MAX = 60
RUNS_MAX = 50
WIDTH, ROW, TOP = 960, 30, 20
"""Width of the picture, height of a row, and margin above and below the rows, in units of the picture."""
LABEL_CHARACTERS = 34

Answer = TypeVar("Answer")


def pages() -> ProductPages:
    """Return the entry point ``ramet.pages`` of the package."""
    return ProductPages(
        label="Wiki",
        package="ramet.wiki.dashboard",
        tables="wiki_",
        app="ramet.wiki.pipeline:app",
        pages=(
            ProductPage("", "runs", "runs.html", runs_page),
            ProductPage("/run", "run", "run.html", run_page),
            ProductPage("/search", "search", "search.html", search_page),
            ProductPage("/article", "article", "article.html", article_page),
        ),
    )


async def runs_page(visit: PageVisit) -> dict[str, Any]:
    """Return the runs of the database, the newest first, and how far each has come."""
    from ramet.wiki.runs import list_runs
    from ramet.wiki.tables import IN_GRAPH

    runs = list((await list_runs(visit.client)).items())[:RUNS_MAX]
    marks = ", ".join("?" for _ in runs) or "NULL"
    counts: dict[str, dict[str, int]] = {}
    for run_id, state, number in await visit.client.read(
        f"SELECT run_id, wiki_state, COUNT(*) FROM wiki_articles WHERE run_id IN ({marks}) "  # noqa: S608 -- marks only
        "GROUP BY run_id, wiki_state",
        [run_id for run_id, _ in runs],
    ):
        counts.setdefault(run_id, {})[state] = int(number)
    rows = [
        {
            "id": run_id, "passes": passes, "newest": passes[-1], "titles": sum(counts.get(run_id, {}).values()),
            "loaded": sum(counts.get(run_id, {}).get(state, 0) for state in IN_GRAPH),
            "failed": counts.get(run_id, {}).get("failed", 0),
        }
        for run_id, passes in runs
    ]  # fmt: skip
    return {"runs": rows}


async def _run(visit: PageVisit) -> Run:
    from ramet.wiki.errors import RunNotFound
    from ramet.wiki.runs import find_run

    try:
        return await find_run(visit.client, visit.text("run"))
    except RunNotFound as error:
        raise PageMissing(str(error)) from error


async def run_page(visit: PageVisit) -> dict[str, Any]:
    """Return the coverage of a run: titles by depth and state, failures, refusals, and what it waits for."""
    from ramet.wiki.status import failed_titles, status_of
    from ramet.wiki.tables import WikiState

    run = await _run(visit)
    failed = await failed_titles(visit.client, run.run_id)
    return {
        "run": run, "status": await status_of(visit.client, run, now=visit.now), "states": [*WikiState],
        "failed": failed[:FAILED_MAX], "failed_count": len(failed),
    }  # fmt: skip


async def search_page(visit: PageVisit) -> dict[str, Any]:
    """Return the sections of a run's graph that have the words of a query, the best first."""
    from ramet.wiki.graph_access import Ranking
    from ramet.wiki.graphs.search import section_url

    run, text = await _run(visit), visit.text("q", QUERY_CHARACTERS)
    found = []
    if text is not None:
        found = await _asked(run, lambda graph: graph.search(text, limit=HITS, ranking=Ranking.WORDS))
    return {"run": run, "q": text or "", "found": found, "url_of": section_url}


async def article_page(visit: PageVisit) -> dict[str, Any]:
    """Return an article: what it says, which articles it links to and which link to it, as a picture and as lists."""
    from ramet.wiki.errors import NotInGraph
    from ramet.wiki.graph_access import Direction

    run, title = await _run(visit), visit.text("title", QUERY_CHARACTERS) or ""

    def around(graph: GraphReader) -> tuple[list[Neighbor], list[Neighbor]]:
        sides = (Direction.IN, Direction.OUT)
        to_it, from_it = (graph.neighbors(title, direction=side, limit=NEIGHBORS_MAX) for side in sides)
        return to_it, from_it

    try:
        to_it, from_it = await _asked(run, around)
    except NotInGraph as error:
        raise PageMissing(str(error)) from error
    try:
        sections, absent = await _asked(run, lambda graph: graph.read(title)), None
    except NotInGraph as error:
        sections, absent = [], str(error)
    return {
        "run": run, "title": title, "picture": picture(title, to_it, from_it), "to_it": to_it, "from_it": from_it,
        "sections": sections[:SECTIONS_MAX], "more": max(0, len(sections) - SECTIONS_MAX), "absent": absent,
        "at_most": NEIGHBORS_MAX,
    }  # fmt: skip


async def _asked(run: Run, ask: Callable[[GraphReader], Answer]) -> Answer:
    """Return the answer of a run's graph."""
    from ramet.wiki.graph_access import open_graph

    def answer() -> Answer:
        settings = run.settings
        return ask(open_graph(settings.graph, data_dir=Path(settings.data_dir), embedder=settings.embedder))

    return await asyncio.to_thread(answer)


class Node(NamedTuple):
    """An article in a picture."""

    x: float
    y: float
    label: str
    anchor: str
    loaded: bool


class Picture(NamedTuple):
    """An article in the middle, those that link to it at the left, those that it links to at the right."""

    height: int
    middle: Node
    left: tuple[Node, ...]
    right: tuple[Node, ...]


def picture(title: str, to_it: Sequence[Neighbor], from_it: Sequence[Neighbor]) -> Picture:
    """Place an article and its neighbours."""
    rows = max(len(to_it), len(from_it), 3)
    height = TOP * 2 + ROW * rows

    def placed(some: Sequence[Neighbor], x: float, anchor: str) -> tuple[Node, ...]:
        first = height / 2 - ROW * (len(some) - 1) / 2
        return tuple(Node(x, first + ROW * at, short(one.title), anchor, one.loaded) for at, one in enumerate(some))

    middle = Node(WIDTH / 2, height / 2, short(title), "middle", True)
    return Picture(height, middle, placed(to_it, WIDTH * 0.3, "end"), placed(from_it, WIDTH * 0.7, "start"))


def short(title: str) -> str:
    """Return a title as it fits into a picture."""
    return title if len(title) <= LABEL_CHARACTERS else f"{title[: LABEL_CHARACTERS - 1]}…"
