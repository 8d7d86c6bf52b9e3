"""``ramet paths``: who holds a path, who waits in line, since when."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ramet import Client, PathPage, PathPause, PathTask
from ramet.cli.errors import CliError
from ramet.cli.options import ask, database_options, lineage_of, short_ids
from ramet.cli.output import console, database_clock, number
from ramet.commands.options import person
from ramet.commands.terminal import emit, jsonable, plain, span, table
from ramet.model.paths import BEHIND_MAX, path_key, path_of

WATCH_SECONDS = 1.0
COST_SHARE = 10
"""A look may take a tenth of the time: watching a large database must not become its load."""
DETAIL_FROM_WIDTH = 120
"""Least columns with room for the task that one waits for; `ramet explain TASK` shows it."""
PLACE_STYLES = {"runs": "blue", "next": "cyan", "gave up": "yellow"}


@click.command(short_help="Who holds a path, who waits, since when.")
@click.argument("elements", nargs=-1, metavar="[ELEMENT]...")
@click.option("--path-json", metavar="JSON", help="The path as a JSON list, for elements that a shell cannot spell.")
@click.option("--queue", metavar="QUEUE", help="Of this queue (default: `default`; without a path, any).")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID",
              help="Paths of scope `lineage` in it; without a path, what its tasks hold.")  # fmt: skip
@click.option("--size", "what", flag_value="size", help="Only how many live tasks are at the path and below, by state.")
@click.option("--pause", "what", flag_value="pause", help="Claim nothing more at the path and below it.")
@click.option("--resume", "what", flag_value="resume", help="Claim there again.")
@click.option("--reason", help="Why, for the record of --pause and --resume.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most tasks to list.")
@click.option("--watch", is_flag=True, help="Refresh until no task is there, or Ctrl-C.")
@database_options
@short_ids("tracking_id")
def paths(
    *,
    elements: tuple[str, ...],
    path_json: str | None,
    queue: str | None,
    tracking_id: str | None,
    what: str | None,
    reason: str | None,
    limit: int,
    watch: bool,
    database: str,
    as_json: bool,
) -> None:
    """List tasks at a path, below it and at its prefixes, in the order in which they go.

    `ramet paths doc1 review` is the path ["doc1", "review"]. Without a path: who holds one, those with most tasks
    behind them first. Delayed tasks take their place when they are due and are not listed before.

    `ramet cancel --path doc1 --path review` cancels all at a path and below it, with `--state pending` those that wait.
    """
    path = _given(elements, path_json)
    if what is not None:
        if not path:
            raise CliError(f"--{what} is about one path: give its elements")
        _act(what, path, queue=queue, tracking_id=tracking_id, reason=reason, database=database, as_json=as_json)
        return

    async def question(client: Client) -> None:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        screen = console()
        live = Live(console=screen, auto_refresh=False) if watch and screen.is_terminal and not as_json else None
        if live is not None:
            live.start()
        try:
            while True:
                began = time.monotonic()
                page = await client.paths(path, queue=queue, tracking_id=tracking_id, limit=limit)
                pauses = await client.path_pauses()
                if as_json:
                    emit(document(page, path, queue, pauses))
                elif live is not None:
                    live.update(rendered(screen, page, path, queue, pauses), refresh=True)
                else:
                    screen.print(rendered(screen, page, path, queue, pauses))
                if not watch or not page.tasks:
                    return
                await asyncio.sleep(max(WATCH_SECONDS, COST_SHARE * (time.monotonic() - began)))
        finally:
            if live is not None:
                live.stop()

    try:
        ask(database, question)
    except KeyboardInterrupt:
        if not watch:
            raise


def _act(
    what: str,
    path: Sequence[str],
    *,
    queue: str | None,
    tracking_id: str | None,
    reason: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Count what is at a path and below it, pause it, or resume it."""
    shown = plain(path_key(path))
    if what == "size":
        sizes = ask(database, lambda client: client.path_size(path, queue=queue))
        counts = ", ".join(f"{number(count)} {state}" for state, count in sorted(sizes.items()))
        emit({"path": list(path), **sizes}) if as_json else click.echo(f"at {shown} and below: {counts or 'nothing'}")
        return

    async def act(client: Client) -> bool:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        do = client.pause_path if what == "pause" else client.resume_path
        return await do(path, queue=queue, tracking_id=tracking_id, by=person(), reason=reason)

    done = ask(database, act)
    if as_json:
        emit({"path": list(path), f"{what}d": done})
    else:
        click.echo(f"{what}d path {shown}" if done else f"path {shown} is {'not ' if what == 'resume' else ''}paused"
                   + (" already" if what == "pause" else ""))  # fmt: skip


def _given(elements: Sequence[str], path_json: str | None) -> tuple[str, ...]:
    """Return the path that was asked for; empty for none.

    Raises:
        CliError: it is not a valid path.
    """
    if elements and path_json is not None:
        raise CliError("give the path as arguments or with --path-json, not both")
    try:
        wanted = list(elements) if path_json is None else json.loads(path_json)
    except ValueError as error:
        raise CliError(f"--path-json is not valid JSON ({error}): give a list of strings") from error
    try:
        return path_of(wanted)
    except ValueError as error:
        raise CliError(str(error)) from error


def document(page: PathPage, path: Sequence[str], queue: str | None, pauses: Sequence[PathPause]) -> dict[str, Any]:
    """Return the tasks of a path for machines."""
    return {"path": list(path), "queue": queue, "at": database_clock.now(), "more": page.more,
            "tasks": jsonable(page.tasks), "paused": jsonable(pauses)}  # fmt: skip


# --- for people


def counted_behind(task: PathTask) -> str:
    """Return the number of tasks that wait behind it."""
    if task.behind is None:
        return ""
    return f"{number(task.behind)}+" if task.behind >= BEHIND_MAX else number(task.behind)


def _paused(pauses: Sequence[PathPause], now: float) -> list[Text]:
    """Return a line for every paused path."""
    lines = []
    for one in pauses:
        why = f": {plain(one.paused_reason)}" if one.paused_reason else ""
        since = span(max(0.0, now - one.paused_at))
        words = f"path {plain(path_key(one.path))} in queue {plain(one.queue)} is paused for {since} by "
        lines.append(Text(f"{words}{plain(one.paused_by)}{why}", style="yellow"))
    return lines


def rendered(
    screen: Console, page: PathPage, path: Sequence[str], queue: str | None, pauses: Sequence[PathPause] = ()
) -> Group:
    """Render the tasks of a path in their order."""
    where = f" in queue {plain(queue)}" if queue is not None else " in queue default" if path else ""
    paused = _paused(pauses, database_clock.now())
    if not page.tasks:
        return Group(*paused, Text(
            f"no task holds or waits for {plain(path_key(path))}{where}" if path else f"no task holds a path{where}"
        ))  # fmt: skip
    wide = screen.width >= DETAIL_FROM_WIDTH
    several = len({task.queue for task in page.tasks}) > 1
    made = table("place", ">behind", ">for", "*path", *(["queue"] if several else []), "task",
                 *(["waits for"] if wide else []))  # fmt: skip
    now = database_clock.now()
    for task in page.tasks:
        place = task.place
        made.add_row(
            Text(place, style=PLACE_STYLES.get(place, "")),
            counted_behind(task),
            span(max(0.0, now - task.since)),
            plain(path_key(task.path)) + (" (lineage)" if task.scope == "lineage" else ""),
            *([plain(task.queue)] if several else []),
            plain(task.task_id),
            *([plain(task.waits_for or "")] if wide else []),
        )
    parts: list[Any] = [*paused, made]
    if page.more:
        parts.append(Text("... and more: --limit" + ("" if path else ", or give a path"), style="dim"))
    waiting = next((task for task in page.tasks if task.place == "waits"), None)
    if waiting is not None:
        parts.append(Text(f"\nwhy one waits: ramet explain {plain(waiting.task_id)}", style="dim"))
    return Group(*parts)
