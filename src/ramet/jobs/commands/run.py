"""The progress of a run: counted from the engine's rows, and shown by a bar, by lines or by JSON."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn
from rich.text import Text

from ramet import Client, LineageState, TaskState, Worker, new_id
from ramet.commands.options import database_words, json_option
from ramet.commands.terminal import (
    STOPPING_NOW,
    ProgressEvents,
    ProgressLines,
    console,
    counted,
    emit,
    on_terminal,
    plain,
    span,
    stopping_words,
)
from ramet.commands.worker import look_on, quiet_guard, run_until, run_worker
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.commands.sources import source_of
from ramet.jobs.commands.terminal import NO_PROFILE, database_option
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.errors import JobsError, NotFound
from ramet.jobs.kinds import COMPANY, LISTING, RUN, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY, ScrapePayload
from ramet.jobs.pipeline import TARGET, app
from ramet.jobs.queries import live_run
from ramet.jobs.settings import JobsSettings

DUE = "due"
"""Reason of the wait of a task whose time has not come."""
ENDED = frozenset(state for state in TaskState if state.terminal)
OUTCOMES = {"success": "matched", "filtered": "filtered", "skipped": "skipped", "failed": "failed"}
"""Words for the states of listings."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The progress of a run."""

    tracking_id: str
    """Tracking id of the batch; empty before it is begun."""
    state: str
    """State of its lineage."""
    elapsed_seconds: float
    states: dict[str, dict[str, int]] = field(default_factory=dict)
    """Tasks of each kind by state."""
    listings_per_second: float = 0.0
    """Listings that end in a second, since the progress is shown in this process."""
    put_off: int = 0
    """Live tasks whose time has not come: a server asked to come back later, or a retry waits."""

    @property
    def over(self) -> bool:
        """Whether nothing of it goes on by itself any more."""
        return self.state not in ("running", "paused")

    @property
    def busy(self) -> int:
        """Tasks that could be worked on now: neither ended nor put off to a later moment."""
        live = sum(self.count(kind) - self.count(kind, ended=True) for kind in self.states)
        return live - self.put_off

    def count(self, kind: str, *, ended: bool = False) -> int:
        """Return the number of tasks of a kind, or of those of them that have ended."""
        return sum(count for state, count in self.states.get(kind, {}).items() if not ended or state in ENDED)

    def outcome(self, state: str) -> int:
        """Return the number of listings that ended in a state."""
        return self.states.get(LISTING, {}).get(state, 0)

    @property
    def matches(self) -> int:
        """Listings that fit."""
        return self.outcome("success")

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON, for programs."""
        return {
            "run": self.tracking_id, "state": self.state, "elapsed_seconds": round(self.elapsed_seconds, 1),
            "matches": self.matches, "tasks": self.states,
        }  # fmt: skip


async def status_of(client: Client, tracking_id: str, others: Sequence[str] = ()) -> RunStatus:
    """Return the progress of a run.

    Args:
        tracking_id: tracking id of its batch; empty before it is begun.
        others: lineages that were in the queue when it began, which are worked off with it.

    Raises:
        NotFound: there is no such run.
    """
    states: dict[str, dict[str, int]] = {}
    put_off = 0
    lineages = [one for one in (tracking_id, *others) if one]
    for one in lineages:
        for row in await client.counts(one):
            of_kind = states.setdefault(row.kind, {})
            of_kind[row.state] = of_kind.get(row.state, 0) + row.tasks
            put_off += row.tasks if row.wait == DUE else 0
    lineage = await client.lineage(lineages[0]) if lineages else None
    if lineage is None:
        raise NotFound(f"there is no run {tracking_id}: `ramet status` lists the lineages")
    ended_at = lineage.ended_at if lineage.ended_at is not None else time.time()
    state = lineage.state if tracking_id else LineageState.RUNNING
    return RunStatus(tracking_id, state, max(0.0, ended_at - lineage.created_at), states, put_off=put_off)


def words_of(status: RunStatus) -> str:
    """Return a run in one line."""
    sources = status.count(SCRAPE_SOURCE)
    parts = [
        f"{status.count(SCRAPE_SOURCE, ended=True):,}/{counted(sources, 'source')}",
        f"{status.count(LISTING, ended=True):,}/{counted(status.count(LISTING), 'listing')}",
    ]
    looked_for = status.count(COMPANY) + status.count(SOURCE_DISCOVERY)
    if looked_for:
        ended = status.count(COMPANY, ended=True) + status.count(SOURCE_DISCOVERY, ended=True)
        parts.append(f"{ended:,}/{looked_for:,} companies and boards")
    parts += [f"{status.outcome(state):,} {word}" for state, word in OUTCOMES.items() if status.outcome(state)]
    if not status.over and status.listings_per_second >= 1:
        parts.append(f"{status.listings_per_second:,.0f}/s")
    return " · ".join(parts)


# --- views ----------------------------------------------------------------------------------------------------------


class View(Protocol):
    """A display of the progress of a run."""

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """Show that work begins."""

    def look(self, status: RunStatus) -> None:
        """Show the progress of a moment later."""

    def stopping(self, in_hand: int, /, *, again: bool) -> None:
        """Show that a signal asked to stop, and how many tasks are claimed. `again`: they are not waited for."""

    def close(self) -> None:
        """Close the display: work has ended, well or not."""


class BarView:
    """A progress bar, on a terminal."""

    def __init__(self, out: Console) -> None:
        self._progress = Progress(SpinnerColumn(), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = self._progress.add_task("", total=None)
        self._words = Text(no_wrap=True, overflow="ellipsis")
        # The words have a line of their own: beside the bar they would push it out of a narrow terminal.
        self._live = Live(Group(self._progress, self._words), console=out, transient=True)
        self._out = out

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        self._live.start()
        if not status.tracking_id:
            self._out.print(Text("first what is in the queue already"))
        elif resumed:
            self._out.print(Text(f"continuing a run that began {span(status.elapsed_seconds)} ago"))
        self.look(status)

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        self._words.plain = words_of(status)
        total = status.count(LISTING)
        self._progress.update(self._bar, completed=status.count(LISTING, ended=True), total=total or None)

    def stopping(self, in_hand: int, /, *, again: bool) -> None:
        """See `View`."""
        self._live.console.print(Text(_stopping(in_hand, again=again)))

    def close(self) -> None:
        """See `View`."""
        self._live.stop()


class LineView:
    """A line now and then, where there is no terminal."""

    def __init__(self) -> None:
        self._lines = ProgressLines()

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """See `View`."""
        if status.tracking_id:
            click.echo(f"{'continuing' if resumed else 'begun'}: {status.tracking_id}")
        else:
            click.echo("first what is in the queue already")

    def look(self, status: RunStatus) -> None:
        """See `View`."""
        # A batch that looks again every second is nothing new.
        words = words_of(status)
        if self._lines.is_due(words):
            click.echo(words)

    def stopping(self, in_hand: int, /, *, again: bool) -> None:
        """See `View`."""
        click.echo(_stopping(in_hand, again=again), err=True)

    def close(self) -> None:
        """See `View`."""


class JsonView(ProgressEvents, LineView):
    """A JSON line per look that found something new."""


def _stopping(in_hand: int, *, again: bool) -> str:
    return STOPPING_NOW if again else stopping_words(in_hand, "task")


def view_for(*, as_json: bool) -> View:
    """Return the display of the progress for a program, a person at a terminal, or a log."""
    if as_json:
        return JsonView()
    return BarView(console()) if on_terminal() else LineView()


LOOK_SECONDS = 0.25
"""Seconds between two looks at the progress of a run."""
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


class RunArguments(NamedTuple):
    """Options of `ramet jobs run`."""

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
@click.option(
    "--target-matches", type=click.IntRange(min=1), help="Take no more sources on after this number of matches."
)
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

    The first Ctrl-C ends after the running tasks, a second at once; neither loses anything. `ramet jobs work` in other
    processes helps.
    """
    wanted = RunArguments(work=not no_work, as_json=as_json, **options)  # type: ignore[arg-type]
    if wanted.no_target and (wanted.target_matches or wanted.max_sources):
        raise click.UsageError("--all is without --target-matches and --max-sources")
    vendors()
    click.get_current_context().exit(asyncio.run(_run(wanted, database)))


async def _run(wanted: RunArguments, database: str) -> int:
    async with app.client(database, create=False) as client:
        settings = await settings_in_force(client)
        if not settings.profile.given and not wanted.unscored:
            raise JobsError(f"{NO_PROFILE}; --unscored collects listings for later")
        batch = await batch_of(client, wanted, settings)
        live = None if wanted.anew else await live_run(client)
        if not wanted.work:
            tracking_id = live or await begin_run(client, batch)
            _tell_submitted(client, tracking_id, as_json=wanted.as_json)
            return 0
        run = Run(client, live or "", await in_queue(client), view_for(as_json=wanted.as_json))

        async def begin() -> str:
            # A schedule may have begun one while what was in the queue was worked off.
            return (None if wanted.anew else await live_run(client)) or await begin_run(client, batch)

        stopped = await run.work_through(begin, wanted.concurrency)
        if not run.tracking_id and not run.others:  # Stopped before anything was begun.
            return 128 + stopped
        status = await run.status()
        waiting = await _waiting(client, [run.tracking_id, *run.others])
        await _tell_end(client, status, settings, waiting, as_json=wanted.as_json)
        if stopped and not status.over:
            return 128 + stopped
        return 0 if status.state == LineageState.FINISHED else EXIT_UNFINISHED


async def in_queue(client: Client) -> list[str]:
    """Return the live lineages of this pipeline that are not runs: companies and sources that a person added."""
    found = []
    for one in await client.lineages(states=["running"], limit=OTHERS_MAX):
        roots = await client.roots(one.tracking_id) if not one.tracking_id.startswith(RUN) else []
        if roots and roots[0].kind in ADDED:
            found.append(one.tracking_id)
    return found


async def batch_of(client: Client, wanted: RunArguments, settings: JobsSettings) -> ScrapePayload:
    """Return the payload of a run's batch: the sources that it takes on, and its limits.

    Raises:
        NotFound: there is no such source.
    """
    chosen = [(await source_of(client, text)).source_id for text in wanted.sources]
    everything = wanted.no_target or bool(chosen)
    return ScrapePayload(
        target_matches=None if everything else wanted.target_matches or settings.run.target_matches,
        max_sources=None if everything else wanted.max_sources or settings.run.max_sources,
        source_ids=chosen or None,
        # Sources that were in the queue are worked on first, and not scraped by the run once more.
        not_since=time.time(),
        trigger="ramet jobs run",
    )


async def begin_run(client: Client, batch: ScrapePayload) -> str:
    """Submit a batch; return its tracking id."""
    told = await client.submit(SCRAPE, batch, tracking_id=f"{RUN}{new_id()}")
    return told.tracking_id


class Run:
    """Working in this process: first on what was in the queue, then on a batch, until both have ended."""

    def __init__(self, client: Client, tracking_id: str, others: Sequence[str], view: View) -> None:
        """Take a batch by its `tracking_id`, which goes on; empty: one is begun."""
        self.tracking_id = tracking_id
        self.others = list(others)
        self._client = client
        self._view = view
        self._began: tuple[float, int] | None = None
        """Time of the first look, and the number of listings that had ended by then."""

    async def status(self) -> RunStatus:
        """Return the progress."""
        return await status_of(self._client, self.tracking_id, self.others)

    async def work_through(self, begin: Callable[[], Awaitable[str]], concurrency: int) -> int:
        """Work until all has ended; return the signal that stopped it before, or 0."""
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


async def _tell_end(
    client: Client, status: RunStatus, settings: JobsSettings, waiting: Sequence[WaitingTask], *, as_json: bool
) -> None:
    blocks: dict[str, int] = {}
    if status.tracking_id:
        for (_, reason), count in (await client.block_totals(status.tracking_id)).items():
            blocks[reason] = blocks.get(reason, 0) + count
    unwell = await _unwell(client, status) if status.tracking_id else {}
    if as_json:
        emit(
            {
                "event": "end", **status.as_json(), "blocks": blocks, "not_scraped": unwell,
                "waiting": [one._asdict() for one in waiting],
            }
        )  # fmt: skip
        return
    out = console()
    state = "" if status.state == LineageState.FINISHED else f"{status.state} · "
    out.print(Text(f"{state}{words_of(status)} · {span(status.elapsed_seconds)}"))
    for reason, count in sorted(blocks.items(), key=lambda item: -item[1]):
        out.print(Text(f"  {counted(count, 'task')} not created: {REASONS_MEAN.get(reason, reason)}", style="dim"))
    for source, reason in unwell.items():
        out.print(Text(f"  {plain(source)}: {plain(reason)}", style="yellow"), soft_wrap=True)
    for one in waiting:
        out.print(Text(f"  {plain(one.key)} waits: {one.words(time.time())}", style="yellow"), soft_wrap=True)
    if waiting:
        out.print(Text("`ramet jobs run` goes on with what waits, once its time has come"))
    if not status.over:
        out.print(Text("stopped before the end: the same command goes on"))
    elif not settings.profile.given:
        out.print(Text(NO_PROFILE), soft_wrap=True)
    elif status.matches:
        out.print(Text("`ramet jobs matches` shows them"))
    else:
        out.print(Text("no match; `ramet jobs rejected` shows what did not fit, `ramet jobs why` tells why"))


class WaitingTask(NamedTuple):
    """A task that a run leaves behind, because its time has not come."""

    kind: str
    key: str
    available_at: float | None
    why: str | None

    def words(self, now: float) -> str:
        """When it is tried again, and why not now."""
        seconds = 0.0 if self.available_at is None else max(0.0, self.available_at - now)
        return f"tried again in {span(seconds)}" + (f" ({plain(self.why)})" if self.why else "")


async def _waiting(client: Client, lineages: Sequence[str]) -> list[WaitingTask]:
    """Tasks of these lineages whose time has not come; a few. The batch itself only looks how far the others are."""
    found: list[WaitingTask] = []
    for tracking_id in filter(None, lineages):
        page = await client.tasks(tracking_id=tracking_id, states=["pending"], limit=ENDED_SHOWN)
        for task in page.tasks:
            if task.wait == DUE and task.kind != SCRAPE:
                error = (task.error or "").strip().splitlines()
                found.append(WaitingTask(task.kind, task.key, task.available_at, error[0] if error else task.reason))
    return found[:ENDED_SHOWN]


async def _unwell(client: Client, status: RunStatus) -> dict[str, str]:
    """Return sources that did not end well, the batch included, with their reasons; at most a few."""
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

    The first Ctrl-C ends after the running tasks, a second at once; neither loses anything.
    """
    vendors()
    click.get_current_context().exit(asyncio.run(_work(concurrency, database)))


async def _work(concurrency: int, database: str) -> int:
    async with app.client(database, create=False) as client:
        click.echo(f"working on {client.place}; Ctrl-C ends", err=True)
        with quiet_guard():
            heard: Sequence[int] = await run_worker(Worker(app, client, target=TARGET, concurrency=concurrency))
        return 128 + heard[0] if len(heard) > 1 else 0
