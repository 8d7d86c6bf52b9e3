"""Running an expansion in this process: check what was asked for, submit it, work until it ends, tell how far it is.

Everything a user can get wrong is found before anything is written.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ramet import Client, Worker
from ramet.pipelines.wiki.embedding.hashing import HashingEmbedder
from ramet.pipelines.wiki.embedding.minilm import MiniLmEmbedder
from ramet.pipelines.wiki.errors import GraphBusy, UnknownSeed, WikiError, import_extra
from ramet.pipelines.wiki.graphs.ladybug import LadybugGraph
from ramet.pipelines.wiki.graphs.locks import lock_alone
from ramet.pipelines.wiki.runs import ArticlePayload, Run, RunSettings, find_run, limits_of, tracking_id_of
from ramet.pipelines.wiki.sources import dataset
from ramet.pipelines.wiki.sources.article_set import ArticleSet, open_source
from ramet.pipelines.wiki.status import RunStatus, status_of
from ramet.pipelines.wiki.tasks import app, article

TARGET = "ramet.pipelines.wiki.tasks:app"
CONCURRENCY = 32
"""Articles in hand at once: as many as one batch of the loader."""
LOOK_SECONDS = 0.25
"""Between two looks at how far the run is."""
ORPHAN_SECONDS = 5.0
"""How long the handlers of a killed worker may take to end."""


class View(Protocol):
    """Who is told how far a run is."""

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """Work begins."""

    def look(self, status: RunStatus) -> None:
        """A moment later."""

    def stopping(self, articles: int, *, again: bool) -> None:
        """A signal asked to stop; `articles` are in hand. `again`: without waiting for them."""

    def close(self) -> None:
        """Work has ended, well or not."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can be started: nothing has been written yet."""

    run: Run
    payloads: tuple[ArticlePayload, ...]
    attribution: str


async def prepare(seeds: Sequence[str], settings: RunSettings) -> Prepared:
    """Open the source, find the seeds in it, and fetch what the run needs.

    Raises:
        UnknownSeed: the source has no such article; names the nearest titles.
        DatasetError, SourceError, ExtraMissing: something that the run needs is not there.
    """
    for module in ("ladybug", "ahocorasick", *(("numpy", "onnxruntime", "tokenizers") if settings.semantic else ())):
        import_extra(module)
    source = open_source(settings.source, Path(settings.data_dir))
    titles = await _resolve(source, seeds)
    if len(titles) > settings.max_articles:
        raise WikiError(f"{len(titles)} seeds are more than --max-articles {settings.max_articles}: raise it")
    if settings.semantic:
        dataset.fetch(dataset.MINILM_TOKENIZER, Path(settings.data_dir))
    keys = sorted(titles)
    payloads = [ArticlePayload(title=titles[key], run=settings, opens=number == 0) for number, key in enumerate(keys)]
    run = Run(tracking_id_of(keys, settings), tuple(titles[key] for key in keys), settings)
    return Prepared(run, tuple(payloads), source.attribution)


async def _resolve(source: ArticleSet, seeds: Sequence[str]) -> dict[str, str]:
    """Display titles of the seeds by key."""
    titles = {}
    for seed in seeds:
        key = await source.resolve(seed)
        if key is None:
            near = " or ".join(f"'{title}'" for title in source.suggest(seed))
            hint = f"did you mean {near}?" if near else "give a title as the source spells it"
            raise UnknownSeed(f"no article '{seed}' in {source.name}: {hint}")
        titles[key] = (await source.get(key)).title
    return titles


@asynccontextmanager
async def graph_for_us(settings: RunSettings) -> AsyncIterator[None]:
    """Be the only expansion on a graph, which is free, or not there yet, and of the run's model.

    Raises:
        GraphBusy: another process writes it.
        GraphMismatch, GraphError: it is no graph for this run.
    """
    path = Path(settings.graph)
    model = MiniLmEmbedder if settings.semantic else HashingEmbedder()
    # A run holds this lock from its first to its last moment; its handlers hold the graph's own only while they live.
    lock = lock_alone(path, "expanding")
    try:
        give_up_at = time.monotonic() + ORPHAN_SECONDS
        while not _fits(path, model.model_id, model.dimension):
            if time.monotonic() >= give_up_at:
                os.close(lock_alone(path, "writer"))  # Raises, naming the process that holds it.
            await asyncio.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(lock)


def _fits(path: Path, model_id: str, dimension: int) -> bool:
    """Whether a graph can be written: it is not there yet, or free and of this model. False while another writes it."""
    if path.exists():
        try:
            LadybugGraph.open_writer(path, model_id=model_id, dimension=dimension).close()
        except GraphBusy:
            return False
    return True


async def expand(
    client: Client, prepared: Prepared, view: View, *, concurrency: int = CONCURRENCY
) -> tuple[RunStatus, int]:
    """Submit the run, unless it is there already, and work on it until it has ended.

    Returns:
        Its status, and the signal that stopped the work before the end (0 when none did).
    """
    run = prepared.run
    submitted = await client.submit_many(
        [(article, payload) for payload in prepared.payloads],
        one_lineage=True,
        tracking_id=run.tracking_id,
        limits=limits_of(run.settings),
    )
    run = await find_run(client, run.tracking_id)
    status = await status_of(client, run)
    view.begin(status, resumed=not submitted[0].created)
    try:
        if not status.live:
            return status, 0
        worker = Worker(app, client, target=TARGET, concurrency=concurrency, until_ended=run.tracking_id)
        stopped = await _work(client, run, worker, view)
        return await status_of(client, run), stopped
    finally:
        view.close()


async def _work(client: Client, run: Run, worker: Worker, view: View) -> int:
    """Run the worker, showing how far it is; the signal that stopped it, or 0."""
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(number)
        view.stopping(worker.in_hand, again=len(heard) > 1)
        if len(heard) > 1:
            worker.stop()
        else:
            worker.drain()

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, hear, number)
    watching = asyncio.create_task(_watch(client, run, view))
    quiet = logging.getLogger("ramet.guard")
    level = quiet.level
    # Links to what is there already and links over the cap are what every run ends with; its status counts them.
    quiet.setLevel(logging.ERROR)
    try:
        await worker.run()
    finally:
        quiet.setLevel(level)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        for number in numbers:
            loop.remove_signal_handler(number)
    return heard[0] if heard else 0


async def _watch(client: Client, run: Run, view: View) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        view.look(await status_of(client, run))
