"""The commands that work: `run`, a batch over sources until there are enough matches, and `work`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import click
from rich.text import Text

from ramet import Client, LineageState, Worker
from ramet.commands.options import database_words, json_option
from ramet.commands.terminal import console, counted, emit, plain, span
from ramet.commands.worker import look_on, quiet_guard, run_until, run_worker
from ramet.engine.base.clock import new_id
from ramet.jobs.commands.following import RunStatus, View, status_of, view_for, words_of
from ramet.jobs.commands.options import NO_PROFILE, database_option
from ramet.jobs.commands.sources import source_of
from ramet.jobs.errors import JobsError
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.kinds import COMPANY, LISTING, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY, ScrapePayload
from ramet.jobs.live import settings_in_force
from ramet.jobs.pipeline import TARGET, app

RUN = "jobs-run-"
"""What the lineages begin with that `run` starts."""
LOOK_SECONDS = 0.25
"""Between two looks at how far a run is."""
CONCURRENCY = 32
"""Handlers at once."""
EXIT_UNFINISHED = 1
ENDED_SHOWN = 5
OTHERS_MAX = 200
"""Newest lineages among which `run` looks for what is in the queue."""
ADDED = frozenset({COMPANY, SOURCE_DISCOVERY, SCRAPE_SOURCE, LISTING})
REASONS_MEAN = {
    "elsewhere": "known from another run",
    "done": "known in this run",
    "in_flight": "asked for by another task already",
    "budget": "over the tasks of one run, offered again by the next",
    "fan_out": "over the listings of one source, offered again by the next run",
    "deadline": "the run's time is over, offered again by the next",
}
concurrency_option = click.option(
    "--concurrency", type=click.IntRange(1, 1_000), default=CONCURRENCY, show_default=True, hidden=True
)


class Wanted(NamedTuple):
    """What was typed."""

    sources: tuple[str, ...]
    target_matches: int | None
    max_sources: int | None
    no_target: bool
    anew: bool
    unscored: bool
    work: bool
    concurrency: int
    as_json: bool


@click.command("run", short_help="Scrape sources, filter and score what is new.")
@click.option("--source", "sources", multiple=True, metavar="SOURCE", help="Only this one (repeatable).")
@click.option("--target-matches", type=click.IntRange(min=1), help="Stop taking sources on after so many matches.")
@click.option("--max-sources", type=click.IntRange(min=1), help="Sources of this run, at most.")
@click.option("--all", "no_target", is_flag=True, help="Every enabled source, however many matches there are.")
@click.option("--new", "anew", is_flag=True, help="Begin another run although one has not ended.")
@click.option("--unscored", is_flag=True, help="Go on without a profile: listings are kept for later.")
@click.option("--no-work", is_flag=True, help="Only put it into the queue; `ramet jobs work` does it.")
@concurrency_option
@database_option
@json_option
def run_command(*, no_work: bool, database: str, as_json: bool, **options: object) -> None:
    """Scrape enabled sources, and filter, score and save what is new on them. A run that was stopped goes on.

    The first Ctrl-C ends after what is in hand, a second at once; neither loses anything. `ramet jobs work` in other
    processes helps.
    """
    wanted = Wanted(work=not no_work, as_json=as_json, **options)  # type: ignore[arg-type]
    if wanted.no_target and (wanted.target_matches or wanted.max_sources):
        raise click.UsageError("--all is without --target-matches and --max-sources")
    click.get_current_context().exit(asyncio.run(_run(wanted, database)))


async def _run(wanted: Wanted, database: str) -> int:
    async with app.client(database, create=False) as client:
        settings = await settings_in_force(client)
        if not settings.profile.given and not wanted.unscored:
            raise JobsError(f"{NO_PROFILE}; --unscored collects listings for later")
        batch = await batch_of(client, wanted, settings)
        live = None if wanted.anew else await _live_run(client)
        if not wanted.work:
            tracking_id = live or await begin_run(client, batch)
            _tell_submitted(client, tracking_id, as_json=wanted.as_json)
            return 0
        run = Run(client, live or "", await in_queue(client), view_for(as_json=wanted.as_json))
        stopped = await run.work_through(lambda: begin_run(client, batch), wanted.concurrency)
        if not run.tracking_id and not run.others:  # Stopped before anything was begun.
            return 128 + stopped
        status = await run.status()
        await _tell_end(client, status, settings, as_json=wanted.as_json)
        if stopped and not status.over:
            return 128 + stopped
        return 0 if status.state == LineageState.FINISHED else EXIT_UNFINISHED


async def _live_run(client: Client) -> str | None:
    """The newest run that has not ended."""
    found = await client.lineages(states=["running", "paused"], limit=1_000)
    return next((one.tracking_id for one in found if one.tracking_id.startswith(RUN)), None)


async def in_queue(client: Client) -> list[str]:
    """Lineages of this pipeline that are no runs and have not ended: companies and sources that somebody added."""
    found = []
    for one in await client.lineages(states=["running"], limit=OTHERS_MAX):
        roots = await client.roots(one.tracking_id) if not one.tracking_id.startswith(RUN) else []
        if roots and roots[0].kind in ADDED:
            found.append(one.tracking_id)
    return found


async def batch_of(client: Client, wanted: Wanted, settings: JobsSettings) -> ScrapePayload:
    """What a run takes on.

    Raises:
        NotFound: there is no such source.
    """
    chosen = [(await source_of(client, text)).source_id for text in wanted.sources]
    everything = wanted.no_target or bool(chosen)
    return ScrapePayload(
        target_matches=None if everything else wanted.target_matches or settings.run.target_matches,
        max_sources=None if everything else wanted.max_sources or settings.run.max_sources,
        source_ids=chosen or None,
        trigger="ramet jobs run",
    )


async def begin_run(client: Client, batch: ScrapePayload) -> str:
    """Submit a batch; its tracking id."""
    told = await client.submit(SCRAPE, batch, tracking_id=f"{RUN}{new_id()}")
    return told.tracking_id


class Run:
    """Working in this process: first on what was in the queue, then on a batch, until both have ended."""

    def __init__(self, client: Client, tracking_id: str, others: Sequence[str], view: View) -> None:
        """`tracking_id` is that of a batch which goes on; empty: one is begun."""
        self.tracking_id = tracking_id
        self.others = list(others)
        self._client = client
        self._view = view
        self._began: tuple[float, int] | None = None
        """When somebody first looked, and how many listings had ended by then."""

    async def status(self) -> RunStatus:
        """How far it is."""
        return await status_of(self._client, self.tracking_id, self.others)

    async def work_through(self, begin: Callable[[], Awaitable[str]], concurrency: int) -> int:
        """Work until all has ended; the signal that stopped it before, or 0."""
        worker = Worker(app, self._client, target=TARGET, concurrency=concurrency)
        try:
            with quiet_guard():
                return await run_until(worker, self._through(begin), self._view.stopping)
        finally:
            self._view.close()

    async def _through(self, begin: Callable[[], Awaitable[str]]) -> None:
        resumed = bool(self.tracking_id)
        if self.others and not resumed:
            self._view.begin(await self.status(), resumed=False)
            await look_on(self._look, LOOK_SECONDS, is_over=lambda status: not status.busy)
        self.tracking_id = self.tracking_id or await begin()
        self._view.begin(await self.status(), resumed=resumed)
        await look_on(self._look, LOOK_SECONDS, is_over=lambda status: status.over)

    async def _look(self) -> RunStatus:
        status, now = await self.status(), time.monotonic()
        ended = status.count(LISTING, ended=True)
        began_at, before = self._began = self._began or (now, ended)
        if now > began_at:
            status = replace(status, listings_per_second=(ended - before) / (now - began_at))
        self._view.look(status)
        return status


def _tell_submitted(client: Client, tracking_id: str, *, as_json: bool) -> None:
    if as_json:
        emit({"event": "submitted", "run": tracking_id})
        return
    words = " ".join(["ramet", "jobs", "work", *database_words(client.place, default="jobs.db")])
    click.echo(f"submitted {tracking_id}; to work on it, in as many processes as you like:\n  {plain(words)}")


async def _tell_end(client: Client, status: RunStatus, settings: JobsSettings, *, as_json: bool) -> None:
    blocks: dict[str, int] = {}
    if status.tracking_id:
        for (_, reason), count in (await client.block_totals(status.tracking_id)).items():
            blocks[reason] = blocks.get(reason, 0) + count
    unwell = await _unwell(client, status) if status.tracking_id else {}
    if as_json:
        emit({"event": "end", **status.as_json(), "blocks": blocks, "not_scraped": unwell})
        return
    out = console()
    state = "" if status.state == LineageState.FINISHED else f"{status.state} · "
    out.print(Text(f"{state}{words_of(status)} · {span(status.elapsed_seconds)}"))
    for reason, count in sorted(blocks.items(), key=lambda item: -item[1]):
        out.print(Text(f"  {counted(count, 'task')} not created: {REASONS_MEAN.get(reason, reason)}", style="dim"))
    for source, reason in unwell.items():
        out.print(Text(f"  {plain(source)}: {plain(reason)}", style="yellow"), soft_wrap=True)
    if not status.over:
        out.print(Text("stopped before the end: the same command goes on"))
    elif not settings.profile.given:
        out.print(Text(NO_PROFILE), soft_wrap=True)
    elif status.matches:
        out.print(Text("`ramet jobs matches` shows them"))
    else:
        out.print(Text("no match; `ramet jobs rejected` shows what did not fit, `ramet jobs why` tells why"))


async def _unwell(client: Client, status: RunStatus) -> dict[str, str]:
    """Sources, and the batch itself, that did not end well, and why; a few."""
    found: dict[str, str] = {}
    for kind in (SCRAPE, SCRAPE_SOURCE):
        page = await client.tasks(
            tracking_id=status.tracking_id, kind=kind, states=["failed", "skipped"], limit=ENDED_SHOWN
        )
        for task in page.tasks:
            name = "run" if kind == SCRAPE else task.key
            found[name] = task.why or task.state
    return found


@click.command("work", short_help="Work on what is in the queue.")
@concurrency_option
@database_option
def work_command(concurrency: int, database: str) -> None:
    """Work on companies, sources and listings of a database, until Ctrl-C; as many processes as you like, anywhere.

    The first Ctrl-C ends after what is in hand, a second at once; neither loses anything.
    """
    click.get_current_context().exit(asyncio.run(_work(concurrency, database)))


async def _work(concurrency: int, database: str) -> int:
    async with app.client(database, create=False) as client:
        click.echo(f"working on {client.place}; Ctrl-C ends", err=True)
        with quiet_guard():
            heard: Sequence[int] = await run_worker(Worker(app, client, target=TARGET, concurrency=concurrency))
        return 128 + heard[0] if len(heard) > 1 else 0
