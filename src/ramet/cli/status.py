"""``ramet status``: how many tasks are where, and which lineages are going on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from ramet import Client, Count, TaskState
from ramet.cli.limits import not_served
from ramet.cli.options import ask, database_option
from ramet.cli.output import at, console, number, outcome_words, relative, short, styled_state, table
from ramet.cli.pause import paused
from ramet.cli.status_snapshot import STALE, Look, brief_look, full_look
from ramet.commands.options import json_option
from ramet.commands.terminal import counted, emit, plain
from ramet.model.lineage.lineage import OPEN
from ramet.model.lineage.outcome import OutcomeKind

WATCH_SECONDS = 1.0
COST_SHARE = 10
"""A look may take a tenth of the time: watching must not become the load that one sees."""
WAITS = {
    "due": "scheduled",
    "ticket": "scheduled",
    "path": "its path",
    "resource": "its resource",
    "lineage": "lineage not running",
    "bound": "bound to a settler",
    STALE: "lease expired",
}


@click.command(short_help="What is going on: kinds, states, lineages.")
@click.argument("tracking_id", required=False)
@click.option("--watch", is_flag=True, help="Look again and again until nothing is live, or Ctrl-C.")
@click.option("--limit", type=click.IntRange(0, 999), default=10, show_default=True, help="Lineages to list.")
@click.option(
    "--outcome",
    type=click.Choice([kind.value for kind in OutcomeKind]),
    help="List only lineages that came to this, so far or at their end.",
)
@database_option
@json_option
def status(
    *, tracking_id: str | None, watch: bool, limit: int, outcome: str | None, database: str, as_json: bool
) -> None:
    """Tasks by kind and state with what they wait for, and lineages with their limits; one lineage or all.

    One look counts every task. With --watch the engine's own tallies are read instead, which cost the same however
    many tasks there are: those of pruned lineages are in them, and a number with a + stands for at least so many.
    """

    async def question(client: Client) -> None:
        if watch:
            await _watch(partial(brief_look, client, tracking_id, limit, outcome), as_json)
            return
        look = await full_look(client, tracking_id, limit, outcome)
        if as_json:
            emit(look.document())
        else:
            console().print(rendered(look))

    try:
        ask(database, question)
    except KeyboardInterrupt:
        if not watch:
            raise


# --- watching


async def _watch(brief: Callable[[], Awaitable[Look]], as_json: bool) -> None:
    screen = console()
    if as_json or not screen.is_terminal:
        await _watch_lines(brief, as_json)
        return
    with Live(console=screen, auto_refresh=False, transient=False) as shown:
        while True:
            began = time.monotonic()
            look = await brief()
            shown.update(rendered(look), refresh=True)
            if look.over:
                return
            await _pause(began)


async def _watch_lines(brief: Callable[[], Awaitable[Look]], as_json: bool) -> None:
    """One line for every look that saw something new."""
    before = None
    while True:
        began = time.monotonic()
        look = await brief()
        if look.seen != before:
            if as_json:
                emit(look.document())
            else:
                click.echo(f"{at(look.now)}  {_in_a_line(look)}")
        if look.over:
            return
        before = look.seen
        await _pause(began)


async def _pause(began: float) -> None:
    await asyncio.sleep(max(WATCH_SECONDS, COST_SHARE * (time.monotonic() - began)))


# --- for people


def _in_a_line(look: Look) -> str:
    states = ", ".join(f"{number(look.total(state))} {state}" for state in TaskState if look.total(state))
    return f"{states or 'no tasks'}; {_percent(look)}"


def _percent(look: Look) -> str:
    # Rounded down, so that only a whole is called 100.
    return f"{int(look.percent * 10) / 10:g} % complete"


def rendered(look: Look) -> Group:
    """The two tables with their headlines."""
    parts: list[Any] = [Text(f"{plain(look.database)}  {at(look.now)}"), Text(_headline(look))]
    if not look.outcome.clean:
        parts.append(outcome_words(look.outcome))
    if look.stale:
        parts.append(
            Text(f"{counted(look.stale, 'claim')} stale: the next sweep of a worker reclaims them", style="red")
        )
    parts += [Text(line, style="yellow") for line in paused(look.queues, look.lineages, look.now)]
    parts += [Text(line, style="yellow") for line in not_served(look.unserved)]
    waits = [f"{_what(wait)} {_at_least(count)}" for wait, count in look.waits.items() if count.number]
    if waits:
        parts.append(Text(f"waiting: {', '.join(waits)}"))
    if look.counts:
        parts += [Text(), _kinds(look)]
    if look.lineages:
        parts += [Text(), _lineages(look)]
    if look.more_lineages:
        parts.append(Text("... and more lineages: --limit, or give a tracking id"))
    if look.refused:
        told = ", ".join(f"{plain(reason)} {number(count)}" for reason, count in sorted(look.refused.items()))
        which = "" if look.tracking_id is None else f" {plain(look.tracking_id)}"
        parts.append(Text(f"refused spawns: {told}; which: ramet blocks{which}"))
    if look.tracking_id is not None and look.lineages and look.lineages[0].reason:
        parts.append(Text(f"{look.lineages[0].state}: {plain(look.lineages[0].reason)}"))
    return Group(*parts)


def _headline(look: Look) -> str:
    if not look.counts:
        return "no tasks yet: `ramet submit APP KIND '{...}'` starts a lineage"
    pending, running = look.total(TaskState.PENDING), look.total(TaskState.PROCESSING)
    waiting = pending - look.claimable.number
    most = "at most " if look.claimable.more else ""
    told = f", {most}{number(waiting)} of them waiting" if waiting > 0 else ""
    return (
        f"{counted(look.total(), 'task')}, {_percent(look)}; "
        f"{number(running)} processing, {number(pending)} in the queue{told}"
    )


def _at_least(count: Count) -> str:
    return f"{number(count.number)}{'+' if count.more else ''}"


def _kinds(look: Look) -> Any:
    made = table("*kind", "state", ">tasks", ">mean depth", "waits for")
    for item in look.counts:
        known = item.state == TaskState.PENDING and not look.waits
        wait = _what(item.wait) if item.wait else "a worker" if known else ""
        depth = "" if item.mean_depth is None else f"{item.mean_depth:.1f}"
        made.add_row(plain(item.kind), styled_state(item.state), _at_least(item.tasks), depth, Text(wait))
    return made


def _what(wait: str) -> str:
    return plain(WAITS.get(wait, wait))


def _lineages(look: Look) -> Any:
    """``end`` is when a lineage ended, or its deadline while it has not."""
    unclean = any(not item.outcome.clean for item in look.lineages)
    made = table("*lineage", "state", ">tasks/most", ">live", ">end", *(["*outcome"] if unclean else []))
    for item in look.lineages:
        end = item.deadline_at if item.state in OPEN or item.ended_at is None else item.ended_at
        made.add_row(
            plain(item.tracking_id),
            styled_state(item.state, clean=item.outcome.clean),
            f"{number(item.tasks)}/{short(item.max_tasks)}",
            number(item.live),
            relative(end, look.now),
            *([outcome_words(item.outcome)] if unclean else []),
        )
    return made
