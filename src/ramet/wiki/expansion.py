"""Working on a run in this process until it has ended, telling how far it is."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ramet import Client, LineageState, RetryAfter, TaskOptions, Transient, Worker
from ramet.commands.errors import one_line
from ramet.commands.worker import look_on, quiet_guard, run_watched
from ramet.wiki import tables
from ramet.wiki.embedding.base import Embedder
from ramet.wiki.embedding.registry import (
    AUTO,
    DEFAULT,
    MULTILINGUAL,
    MULTILINGUAL_ADVICE,
    check_embedder,
    multilingual_installed,
    open_embedder,
    spec_of,
)
from ramet.wiki.errors import GraphBusy, SourceError, UnknownSeed, WikiError
from ramet.wiki.graphs.base import NO_MODEL
from ramet.wiki.graphs.graph_file import lock_alone
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from ramet.wiki.pipeline import TARGET, app
from ramet.wiki.recorded_links import frontier
from ramet.wiki.run_resources import source_options
from ramet.wiki.runs import (
    ARTICLE,
    LEVEL,
    ArticlePayload,
    LevelPayload,
    Run,
    RunSettings,
    find_run,
    is_refresh,
    limits_of,
    list_runs,
    naming_text,
    run_id_of,
    settings_of,
)
from ramet.wiki.sources.base import ArticleSource
from ramet.wiki.sources.registry import open_source
from ramet.wiki.status import RunStatus, status_of
from ramet.wiki.tasks.article import expansions
from ramet.wiki.tasks.level import Sieve
from ramet.wiki.tasks.refresh import refreshed
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import key_of

CONCURRENCY = 32
"""Most handlers at once."""
FRONTIER_MAX = 1_000_000
"""Most titles that are looked at to see whether a run can go on."""
START_WAIT_SECONDS_MAX = 600.0
"""Most seconds, together, that a start waits for a server that names the time to come back."""
WATCH_SECONDS = 0.25
"""Seconds between two looks at how far the run is."""

Begin = Callable[[Client, Run], Awaitable[bool]]
"""Function that begins another pass of a run that has ended; False when there is nothing for one."""


class View(Protocol):
    """View of how far a run is."""

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """Show that work begins."""

    def look(self, status: RunStatus) -> None:
        """Show the status of a moment later."""

    def stopping(self, articles: int, /, *, again: bool) -> None:
        """Show that a signal asked to stop; `articles` are in work. `again`: without waiting for them."""

    def close(self) -> None:
        """Show that work has ended, well or not."""


async def work_through(
    client: Client, run_id: str, view: View, *, begin: Begin, resumed: bool = True, concurrency: int = CONCURRENCY
) -> tuple[RunStatus, int]:
    """Finish the live passes of a run, then begin another pass, and finish that as well.

    A live pass ends under the limits that it began with; other ones need another pass.

    Returns:
        Its status, and the signal that stopped the work before the end (0 when none did).
    """
    run = await find_run(client, run_id)
    live = run.live
    if not live:
        await begin(client, run)
        run = await find_run(client, run_id)
    view.begin(await status_of(client, run), resumed=resumed)
    try:
        stopped = await _work_off(client, run, view, concurrency)
        run = await find_run(client, run_id)
        if live and not stopped and not run.live and await begin(client, run):
            run = await find_run(client, run_id)
            stopped = await _work_off(client, run, view, concurrency)
            run = await find_run(client, run_id)
        return await status_of(client, run), stopped
    finally:
        view.close()


async def _work_off(client: Client, run: Run, view: View, concurrency: int) -> int:
    """Work on each live pass until it has ended; the signal that stopped it, or 0."""
    for one in run.live:
        worker = Worker(app, client, target=TARGET, concurrency=concurrency, until_ended=one.tracking_id)
        with quiet_guard():
            stopped = await run_watched(worker, _watch(client, run, view), view.stopping)
        if stopped:
            return stopped
    return 0


async def _watch(client: Client, run: Run, view: View) -> None:
    async def look() -> None:
        view.look(await status_of(client, run))

    await asyncio.sleep(WATCH_SECONDS)
    await look_on(look, WATCH_SECONDS)


LOOK_SECONDS = 0.25
"""Seconds between two looks at whether a graph is free."""
ORPHAN_SECONDS = 5.0
"""Most seconds that the handlers of a killed worker may take to end."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that can be started: nothing has been written yet."""

    run_id: str
    settings: RunSettings
    keys: tuple[str, ...]
    """Canonical titles of the seeds, sorted; none for a run that is there already."""
    titles: tuple[str, ...]
    """Titles of the seeds, as they are displayed, in the order of their keys."""
    resource: str
    attribution: str
    embedder: Embedder | None


async def prepare(
    seeds: Sequence[str], settings: RunSettings, *, progress: Callable[[str], None] | None = None
) -> PreparedRun:
    """Open the source, find the seeds in it, and fetch what the run needs.

    A server that names the time to come back is waited for, as in the middle of a run. `progress` is given a line now
    and then, while a big file is read or a server waited for.

    Raises:
        UnknownSeed: the source has no such article; names the nearest titles.
        WikiError: something that the run needs is not there.
    """
    check_embedder(settings.embedder)
    data_dir = Path(settings.data_dir)
    source = await asyncio.to_thread(
        open_source, settings.source, data_dir, source_options(settings), progress=progress
    )
    try:
        titles, site = await _first_answers(source, seeds, progress)
        settings = settings.model_copy(
            update={
                "language": site.language,
                "embedder": chosen_embedder(settings.embedder, Path(settings.graph), site),
            }
        )
        if progress is not None and settings.embedder == DEFAULT and not site.english:
            progress(f"the model onnx reads English, and these texts are in {site.language}: {MULTILINGUAL_ADVICE}")
        name, attribution = source.resource, source.attribution
    except (Transient, RetryAfter) as error:
        raise SourceError(f"{source.name} cannot be asked just now: {one_line(error)}: try again later") from None
    finally:
        await source.close()
    if len(titles) > settings.max_articles:
        raise WikiError(f"{len(titles)} seeds are more than --max-articles {settings.max_articles}: raise it")
    embedder = await asyncio.to_thread(open_embedder, settings.embedder, data_dir)
    keys = sorted(titles)
    return PreparedRun(
        run_id_of(keys, settings),
        settings,
        tuple(keys),
        tuple(titles[key] for key in keys),
        name,
        attribution,
        embedder,
    )


def chosen_embedder(spec: str, graph: Path, site: Site) -> str:
    """Return the embedder that is meant: for `auto` that of the graph, else one that reads the texts' language."""
    if spec != AUTO:
        return spec
    if graph.exists():
        with open_graph_reader(graph) as reader:
            known = spec_of(reader.model_id)
        if known is not None:
            return known
    return MULTILINGUAL if not site.english and multilingual_installed() else DEFAULT


async def prepare_again(run: Run) -> PreparedRun:
    """Return what an existing run needs to be worked on under the settings of its newest pass.

    Raises:
        WikiError: something that it needs is not there (any more).
    """
    settings, data_dir = run.settings, Path(run.settings.data_dir)
    source = await asyncio.to_thread(open_source, settings.source, data_dir, source_options(settings))
    name, attribution = source.resource, source.attribution
    await source.close()
    embedder = await asyncio.to_thread(open_embedder, settings.embedder, data_dir)
    return PreparedRun(run.run_id, settings, (), run.seeds, name, attribution, embedder)


async def _first_answers(
    source: ArticleSource, seeds: Sequence[str], progress: Callable[[str], None] | None
) -> tuple[dict[str, str], Site]:
    """Return the seeds and the site, after the times that the source names.

    Raises:
        RetryAfter: it named more than `START_WAIT_SECONDS_MAX` together.
        Transient, UnknownSeed: as `ArticleSource.resolve` and `_resolve`.
    """
    waited = 0.0
    while True:
        try:
            return await _resolve(source, seeds), await source.site()
        except RetryAfter as error:
            seconds = max(error.seconds, 1.0)
            waited += seconds
            if waited > START_WAIT_SECONDS_MAX:
                raise
            if progress is not None:
                progress(f"{source.name} asks to come back in {seconds:.0f} s: waiting (Ctrl-C stops)")
            await pause(seconds)


pause = asyncio.sleep
"""Sleep at a start; tests put another in its place."""


async def _resolve(source: ArticleSource, seeds: Sequence[str]) -> dict[str, str]:
    """Return the display titles of the seeds by key."""
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
        GraphMismatch, GraphError: it is not a graph for this run.
    """
    path = Path(settings.graph)
    # A run holds this lock from its first to its last moment; its handlers hold the graph's own only while they live.
    lock = lock_alone(path, "expanding")
    try:
        give_up_at = time.monotonic() + ORPHAN_SECONDS
        while not _fits(path, embedder, settings.language):
            if time.monotonic() >= give_up_at:
                os.close(lock_alone(path, "writer"))  # Raises, naming the process that holds it.
            await asyncio.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(lock)


def _fits(path: Path, embedder: Embedder | None, language: str) -> bool:
    """Return whether a graph can be written: it is missing, or free and of this model. False while it is written."""
    if path.exists():
        model_id, dimension = (NO_MODEL, 0) if embedder is None else (embedder.model_id, embedder.dimension)
        try:
            open_graph_writer(path, model_id=model_id, dimension=dimension, language=language).close()
        except GraphBusy:
            return False
    return True


async def expand(
    client: Client, prepared: PreparedRun, view: View, *, concurrency: int = CONCURRENCY
) -> tuple[RunStatus, int]:
    """Submit the run, or go on with it, and work on it until it has ended; as `work_through`."""
    prepared = await continued(client, prepared)
    resumed = not await submit(client, prepared)

    async def begin(client: Client, run: Run) -> bool:
        return resumed and await go_on(client, run, prepared)

    return await work_through(client, prepared.run_id, view, begin=begin, resumed=resumed, concurrency=concurrency)


async def continued(client: Client, prepared: PreparedRun) -> PreparedRun:
    """Return it under the name of the run that it goes on with: one that a refresh led to a newer file keeps its name.

    Raises:
        WikiError: the run of this name reads another file since a refresh.
    """
    if await client.lineage(prepared.run_id) is not None:
        now = (await find_run(client, prepared.run_id)).settings.source
        if now != prepared.settings.source:
            raise WikiError(f"{prepared.run_id} reads {now} since a refresh: give that as --source")
        return prepared
    for run_id, passes in (await list_runs(client)).items():
        newest = await settings_of(client, passes[-1].tracking_id) if len(passes) > 1 else None
        if newest is None or newest.run is None or newest.seeds != prepared.titles:
            continue
        if naming_text(newest.run) == naming_text(prepared.settings):
            return replace(prepared, run_id=run_id)
    return prepared


async def submit(client: Client, prepared: PreparedRun) -> bool:
    """Submit the first pass of a run, whole or not at all; False when it is there already."""
    first = LevelPayload(level=0, run=prepared.settings, seeds=prepared.titles, resource=prepared.resource)
    seeds = [
        # The wiki's own rules make the key: where case matters, the first letter's does.
        (ARTICLE, ArticlePayload(title=title, resource=prepared.resource), TaskOptions(key=key))
        for key, title in zip(prepared.keys, prepared.titles, strict=True)
    ]
    submitted = await client.submit_many(
        [*seeds, (LEVEL, first)],
        one_lineage=True,
        tracking_id=prepared.run_id,
        limits=limits_of(prepared.settings),
        may_raise=True,
    )
    return submitted[0].created


async def go_on(client: Client, run: Run, prepared: PreparedRun) -> bool:
    """Begin another pass of a run that has ended, if there is anything to do under these settings."""
    if run.newest.state == LineageState.CANCELLED:
        return False
    [(held,)] = await client.read(tables.HELD, (run.run_id,))
    if not await client.read(tables.UNFINISHED, (run.run_id,)):
        # At the cap, too, what changed articles newly link to is offered once, and refused with its reason.
        full = held >= prepared.settings.max_articles and not await _has_new_links(client, run)
        if full or not await _has_frontier(client, run, prepared):
            return False
    submitted = await client.submit_many(
        [(LEVEL, LevelPayload(level=0, run=prepared.settings, seeds=run.seeds, resource=prepared.resource))],
        one_lineage=True,
        tracking_id=run.next_tracking_id,
        limits=limits_of(prepared.settings, held=held),
        may_raise=True,
    )
    return submitted[0].created


async def _has_new_links(client: Client, run: Run) -> bool:
    """Return whether the newest pass is a refresh that found changed articles: their links were offered by none."""
    if not await is_refresh(client, run.newest.tracking_id):
        return False
    found = await refreshed(client, run.newest.tracking_id)
    return found is not None and found.loaded > 0


async def _has_frontier(client: Client, run: Run, prepared: PreparedRun) -> bool:
    """Return whether some article links to a title that a further pass would look up."""
    settings = prepared.settings
    source = None if prepared.resource else await expansions.source(client, settings)
    sieve = Sieve((), settings.skip, source)
    looked_at = 0
    async for keys in frontier(client.read, run.run_id, settings.max_depth):
        await sieve.look(keys)
        looked_at += len(keys)
        if keys - sieve.unwanted or looked_at >= FRONTIER_MAX:
            return bool(keys - sieve.unwanted)
    return False
