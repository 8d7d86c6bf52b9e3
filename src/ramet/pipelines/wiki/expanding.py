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

from ramet import Client, LineageState, Worker
from ramet.pipelines.wiki import questions
from ramet.pipelines.wiki.embedding.base import Embedder
from ramet.pipelines.wiki.embedding.opening import check_embedder, open_embedder
from ramet.pipelines.wiki.errors import GraphBusy, UnknownSeed, WikiError
from ramet.pipelines.wiki.expansions import source_options
from ramet.pipelines.wiki.graphs.base import NO_MODEL
from ramet.pipelines.wiki.graphs.locks import lock_alone
from ramet.pipelines.wiki.graphs.opening import open_graph_writer
from ramet.pipelines.wiki.pipeline import TARGET, app
from ramet.pipelines.wiki.runs import (
    ARTICLE,
    LEVEL,
    ArticlePayload,
    LevelPayload,
    Run,
    RunSettings,
    find_run,
    limits_of,
    run_id_of,
)
from ramet.pipelines.wiki.sources.base import ArticleSource
from ramet.pipelines.wiki.sources.opening import open_source
from ramet.pipelines.wiki.status import RunStatus, status_of
from ramet.pipelines.wiki.wikitext.titles import key_of

CONCURRENCY = 32
"""Handlers at once."""
LOOK_SECONDS = 0.25
"""Between two looks at how far the run is."""
LOOK_SHARE = 30.0
"""The pause after a look is at least so many times as long as the look took."""
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

    run_id: str
    settings: RunSettings
    titles: tuple[str, ...]
    """Of the seeds, as they are displayed, in the order of their keys."""
    resource: str
    attribution: str
    embedder: Embedder | None


async def prepare(seeds: Sequence[str], settings: RunSettings) -> Prepared:
    """Open the source, find the seeds in it, and fetch what the run needs.

    Raises:
        UnknownSeed: the source has no such article; names the nearest titles.
        WikiError: something that the run needs is not there.
    """
    check_embedder(settings.embedder)
    data_dir = Path(settings.data_dir)
    source = await asyncio.to_thread(open_source, settings.source, data_dir, source_options(settings))
    try:
        titles = await _resolve(source, seeds)
        name, attribution = source.resource, source.attribution
    finally:
        await source.close()
    if len(titles) > settings.max_articles:
        raise WikiError(f"{len(titles)} seeds are more than --max-articles {settings.max_articles}: raise it")
    embedder = await asyncio.to_thread(open_embedder, settings.embedder, data_dir)
    keys = sorted(titles)
    return Prepared(
        run_id_of(keys, settings), settings, tuple(titles[key] for key in keys), name, attribution, embedder
    )


async def _resolve(source: ArticleSource, seeds: Sequence[str]) -> dict[str, str]:
    """Display titles of the seeds by key."""
    titles, site = {}, await source.site()
    for seed in seeds:
        title = await source.resolve(seed)
        if title is None:
            near = " or ".join(f"'{title}'" for title in await source.suggest(seed))
            hint = f"did you mean {near}?" if near else "give a title as the source spells it"
            raise UnknownSeed(f"no article '{seed}' in {source.name}: {hint}")
        titles[key_of(title, site)] = title
    return titles


@asynccontextmanager
async def graph_for_us(settings: RunSettings, embedder: Embedder | None) -> AsyncIterator[None]:
    """Be the only expansion on a graph, which is free, or not there yet, and of the run's model.

    Raises:
        GraphBusy: another process writes it.
        GraphMismatch, GraphError: it is no graph for this run.
    """
    path = Path(settings.graph)
    # A run holds this lock from its first to its last moment; its handlers hold the graph's own only while they live.
    lock = lock_alone(path, "expanding")
    try:
        give_up_at = time.monotonic() + ORPHAN_SECONDS
        while not _fits(path, embedder):
            if time.monotonic() >= give_up_at:
                os.close(lock_alone(path, "writer"))  # Raises, naming the process that holds it.
            await asyncio.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(lock)


def _fits(path: Path, embedder: Embedder | None) -> bool:
    """Whether a graph can be written: it is not there yet, or free and of this model. False while another writes it."""
    if path.exists():
        model_id, dimension = (NO_MODEL, 0) if embedder is None else (embedder.model_id, embedder.dimension)
        try:
            open_graph_writer(path, model_id=model_id, dimension=dimension).close()
        except GraphBusy:
            return False
    return True


async def expand(
    client: Client, prepared: Prepared, view: View, *, concurrency: int = CONCURRENCY
) -> tuple[RunStatus, int]:
    """Submit the run, or go on with it, and work on it until it has ended.

    Returns:
        Its status, and the signal that stopped the work before the end (0 when none did).
    """
    resumed = not await submit(client, prepared)
    run = await find_run(client, prepared.run_id)
    # What is live ends under the limits that it began with; larger ones are another pass.
    passes = 1 + int(resumed and run.newest.ended_at is None)
    view.begin(await status_of(client, run), resumed=resumed)
    stopped = 0
    try:
        for _ in range(passes):
            if run.newest.ended_at is not None and not await go_on(client, run, prepared):
                break
            run = await find_run(client, prepared.run_id)
            worker = Worker(app, client, target=TARGET, concurrency=concurrency, until_ended=run.newest.tracking_id)
            stopped = await _work(client, run, worker, view)
            run = await find_run(client, prepared.run_id)
            if stopped or run.newest.ended_at is None:
                break
        return await status_of(client, run), stopped
    finally:
        view.close()


async def submit(client: Client, prepared: Prepared) -> bool:
    """Submit the first pass of a run, whole or not at all; False when it is there already."""
    first = LevelPayload(level=0, run=prepared.settings, seeds=prepared.titles)
    seeds = [(ARTICLE, ArticlePayload(title=title, resource=prepared.resource)) for title in prepared.titles]
    submitted = await client.submit_many(
        [*seeds, (LEVEL, first)],
        one_lineage=True,
        tracking_id=prepared.run_id,
        limits=limits_of(prepared.settings),
    )
    return submitted[0].created


async def go_on(client: Client, run: Run, prepared: Prepared) -> bool:
    """Begin another pass of a run that has ended, if there is anything to do under these settings."""
    if run.newest.state == LineageState.CANCELLED:
        return False
    [(looked_up,)] = await client.read(questions.LOOKED_UP, (run.run_id,))
    unfinished = await client.read(questions.UNFINISHED, (run.run_id,))
    if not unfinished:
        if looked_up >= prepared.settings.max_articles:
            return False
        if not await client.read(questions.FRONTIER, (run.run_id, prepared.settings.max_depth)):
            return False
    submitted = await client.submit_many(
        [(LEVEL, LevelPayload(level=0, run=prepared.settings, seeds=run.seeds))],
        one_lineage=True,
        tracking_id=run.next_tracking_id,
        limits=limits_of(prepared.settings, looked_up=looked_up),
    )
    return submitted[0].created


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
    pause = LOOK_SECONDS
    while True:
        await asyncio.sleep(pause)
        began_at = time.monotonic()
        view.look(await status_of(client, run))
        # A large run takes a while to count; looking must not take more than a fraction of the work.
        pause = max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - began_at))
