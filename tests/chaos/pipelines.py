"""What the pipelines' own rows must say when chaos has drained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ramet.llm.providers.base import AnswerState
from ramet.llm.settings import BATCH_ITEM, ITEM
from ramet.store.store import Store
from ramet.wiki.graphs.registry import open_graph_reader
from ramet.wiki.runs import FIRST_TASKS, LevelPayload, run_of
from ramet.wiki.tables import WikiState

IN_GRAPH = (WikiState.LOADED, WikiState.PROCESSED)
ENDED = (*IN_GRAPH, WikiState.FAILED, WikiState.ALIAS, WikiState.EXCLUDED)


async def pipelines(store: Store) -> list[str]:
    """One line for everything that is wrong; nothing where a pipeline has no tables here."""
    there = {name for (name,) in await store.read(_tables_of(store))}
    found: list[str] = []
    if "llm_answers" in there:
        found += await _answers(store)
    if "wiki_articles" in there:
        found += await _articles(store)
    if "jobs_listings" in there:
        found += await _listings(store)
    return found


def _tables_of(store: Store) -> str:
    if "Sqlite" in type(store).__name__:
        return "SELECT name FROM sqlite_schema WHERE type = 'table'"
    return "SELECT table_name FROM information_schema.tables"


async def _answers(store: Store) -> list[str]:
    """A prompt that succeeded has exactly one good answer; one that did not has none, and a reason."""
    good = Counter(
        task
        for (task,) in await store.read(
            f"SELECT task_id FROM llm_answers WHERE late = 0 AND state = '{AnswerState.SUCCEEDED}'"
        )
    )
    kinds = f"'{ITEM}', '{BATCH_ITEM}'"
    items = await store.read(f"SELECT id, state, reason FROM ramet_tasks WHERE kind IN ({kinds})")
    return [
        f"prompt {name} is {state} ({reason}) with {good[name]} good answers"
        for name, state, reason in items
        if good[name] != (state == "success") or (state != "success" and not reason)
    ]


async def _articles(store: Store) -> list[str]:
    """Every title has its end, and what is in the graph is there once: an article of each key, and no other."""
    first = ", ".join(f"'{kind}'" for kind in FIRST_TASKS)
    sql = f"SELECT tracking_id, payload FROM ramet_tasks WHERE kind IN ({first}) AND parent_id IS NULL"
    graphs = {
        run_of(name): settings.graph
        for name, payload in await store.read(sql)
        if (settings := LevelPayload.model_validate_json(payload).run) is not None
    }
    states: dict[str, dict[str, str]] = {run: {} for run in graphs}
    for run, key, state in await store.read("SELECT run_id, title_key, wiki_state FROM wiki_articles"):
        states.setdefault(run, {})[key] = state
    cut = {
        run_of(name)
        for (name,) in await store.read(
            "SELECT tracking_id FROM ramet_lineages WHERE state <> 'finished' AND tracking_id LIKE 'wiki-%'"
        )
    }
    return [
        line
        for run, graph in graphs.items()
        if run not in cut
        for line in [*_ended(run, states[run]), *_in_graph(run, states[run], Path(graph))]
    ]


def _ended(run: str, states: dict[str, str]) -> Iterator[str]:
    for key, state in states.items():
        if state not in ENDED:
            yield f"article {key} of {run} is {state} though its run has ended"


def _in_graph(run: str, states: dict[str, str], path: Path) -> Iterator[str]:
    wanted = {key for key, state in states.items() if state in IN_GRAPH}
    if not path.exists():
        if wanted:
            yield f"run {run} has loaded {len(wanted)} articles and no graph"
        return
    with closing(open_graph_reader(path)) as graph:
        loaded = Counter(
            node.node_id.partition(":")[2]
            for node in graph.nodes()
            if node.label == "Article" and node.properties.get("loaded")
        )
    for key in wanted ^ loaded.keys():
        yield f"article {key} of {run} is {states.get(key)} and {'' if key in loaded else 'not '}in the graph"
    for key, times in loaded.items():
        if times > 1:
            yield f"article {key} of {run} is {times} times in the graph"


async def _listings(store: Store) -> list[str]:
    """An opening whose task ended well is no longer being looked at."""
    rows = await store.read(
        "SELECT l.listing_id FROM jobs_listings l WHERE l.status = 'analyzing' AND NOT EXISTS (SELECT 1 FROM "
        "ramet_tasks t WHERE t.kind = 'LISTING' AND t.state <> 'success' AND t.key = l.listing_id)"
    )
    return [f"opening {name} is still being looked at, and nobody does" for (name,) in rows]
