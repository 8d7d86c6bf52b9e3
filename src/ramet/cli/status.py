"""``ramet status``: how many tasks are where, and which lineages are going on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from ramet import Client, Lineage, Queue, TaskState, Unserved
from ramet.cli.limits import not_served
from ramet.cli.options import ask, database_option, json_option, lineage_of
from ramet.cli.pausing import paused
from ramet.cli.show import at, console, counted, emit, jsonable, number, plain, relative, short, styled_state, table
from ramet.model.lineage import OPEN, LineageState
from ramet.store.base_queries import KindCount

WATCH_SECONDS = 1.0
COST_SHARE = 10
"""A look may take a tenth of the time: watching a large database must not become its load."""
WAITS = {
    "due": "scheduled",
    "ticket": "scheduled",
    "path": "its path",
    "resource": "its resource",
    "lineage": "lineage not running",
    "bound": "bound to a settler",
    "stale": "lease expired",
}


class Look(NamedTuple):
    """What one look at the database saw."""

    database: str
    """Its address, as it may be shown."""
    tracking_id: str | None
    now: float
    counts: list[KindCount]
    lineages: list[Lineage]
    more_lineages: bool
    queues: Sequence[Queue] = ()
    unserved: Sequence[Unserved] = ()

    def total(self, *states: TaskState) -> int:
        """Tasks in these states; in all of them when none is named."""
        return sum(item.tasks for item in self.counts if not states or item.state in states)

    def held(self, wait: str | None, state: TaskState = TaskState.PENDING) -> int:
        """Tasks of a state with this wait."""
        return sum(item.tasks for item in self.counts if item.state == state and item.wait == wait)

    @property
    def live(self) -> int:
        """Tasks that have not ended."""
        return self.total(TaskState.PENDING, TaskState.PROCESSING)

    @property
    def over(self) -> bool:
        """Nothing is live; of one lineage, the task of its end has ended too."""
        to_come = self.tracking_id is not None and any(item.live or item.end_wanted for item in self.lineages)
        return not (self.live or to_come)

    @property
    def percent(self) -> float:
        """How much of what exists has ended."""
        return 100.0 * (self.total() - self.live) / self.total() if self.total() else 100.0

    def document(self) -> dict[str, Any]:
        """All of it for machines."""
        states = {state.value: self.total(state) for state in TaskState}
        return {
            "database": self.database,
            "tracking_id": self.tracking_id,
            "at": self.now,
            "tasks": self.total(),
            "live": self.live,
            "queue_size": self.held(None),
            "stale": self.held("stale", TaskState.PROCESSING),
            "percent_complete": round(self.percent, 2),
            "states": states,
            "counts": jsonable(self.counts),
            "lineages": jsonable(self.lineages),
            "more_lineages": self.more_lineages,
            "queues": jsonable(self.queues),
            "unserved": jsonable(self.unserved),
        }


@click.command(short_help="What is going on: kinds, states, lineages.")
@click.argument("tracking_id", required=False)
@click.option("--watch", is_flag=True, help="Look again and again until nothing is live, or Ctrl-C.")
@click.option("--limit", type=click.IntRange(0, 999), default=10, show_default=True, help="Lineages to list.")
@database_option
@json_option
def status(*, tracking_id: str | None, watch: bool, limit: int, database: str, as_json: bool) -> None:
    """Tasks by kind and state with what they wait for, and lineages with their limits; one lineage or all."""

    async def question(client: Client) -> None:
        if watch:
            await _watch(client, tracking_id, limit, as_json)
            return
        look = await take_look(client, tracking_id, limit)
        if as_json:
            emit(look.document())
        else:
            console().print(rendered(look))

    try:
        ask(database, question)
    except KeyboardInterrupt:
        if not watch:
            raise


async def take_look(client: Client, tracking_id: str | None, limit: int) -> Look:
    """Read everything once. Open lineages come first: they are what one looks for."""
    now = client.clock.now()
    if tracking_id is not None:
        # With the tasks of its ends, which run in lineages of their own.
        lineages, more = [await lineage_of(client, tracking_id), *await client.ends(tracking_id)], False
        limit = len(lineages)
    else:
        lineages = await client.lineages(states=[state.value for state in OPEN], limit=limit + 1)
        if len(lineages) <= limit:
            ended = [state.value for state in LineageState if state not in OPEN]
            lineages += await client.lineages(states=ended, limit=limit + 1 - len(lineages))
        more = len(lineages) > limit
    queues = await client.queues()
    counts = await client.counts(tracking_id)
    unserved = await client.unserved() if tracking_id is None else []
    return Look(client.place, tracking_id, now, counts, lineages[:limit] or lineages[:0], more, queues, unserved)


# --- watching


async def _watch(client: Client, tracking_id: str | None, limit: int, as_json: bool) -> None:
    screen = console()
    if as_json or not screen.is_terminal:
        await _watch_lines(client, tracking_id, limit, as_json)
        return
    with Live(console=screen, auto_refresh=False, transient=False) as shown:
        while True:
            began = time.monotonic()
            look = await take_look(client, tracking_id, limit)
            shown.update(rendered(look), refresh=True)
            if look.over:
                return
            await _pause(began)


async def _watch_lines(client: Client, tracking_id: str | None, limit: int, as_json: bool) -> None:
    """One line for every look that saw something new."""
    before = None
    while True:
        began = time.monotonic()
        look = await take_look(client, tracking_id, limit)
        if look.counts != before:
            if as_json:
                emit(look.document())
            else:
                click.echo(f"{at(look.now)}  {_in_a_line(look)}")
        if look.over:
            return
        before = look.counts
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
    stale = look.held("stale", TaskState.PROCESSING)
    if stale:
        parts.append(Text(f"{counted(stale, 'claim')} stale: the next sweep of a worker reclaims them", style="red"))
    parts += [Text(line, style="yellow") for line in paused(look.queues, look.lineages, look.now)]
    parts += [Text(line, style="yellow") for line in not_served(look.unserved)]
    if look.counts:
        parts += [Text(), _kinds(look)]
    if look.lineages:
        parts += [Text(), _lineages(look)]
    if look.more_lineages:
        parts.append(Text("... and more lineages: --limit, or give a tracking id"))
    if look.tracking_id is not None and look.lineages and look.lineages[0].reason:
        parts.append(Text(f"{look.lineages[0].state}: {plain(look.lineages[0].reason)}"))
    return Group(*parts)


def _headline(look: Look) -> str:
    if not look.counts:
        return "no tasks yet: `ramet submit APP KIND '{...}'` starts a lineage"
    pending, running = look.total(TaskState.PENDING), look.total(TaskState.PROCESSING)
    waiting = f", {number(pending - look.held(None))} of them waiting" if pending > look.held(None) else ""
    return (
        f"{counted(look.total(), 'task')}, {_percent(look)}; "
        f"{number(running)} processing, {number(pending)} in the queue{waiting}"
    )


def _kinds(look: Look) -> Any:
    made = table("*kind", "state", ">tasks", ">mean depth", "waits for")
    for item in look.counts:
        wait = WAITS.get(item.wait, item.wait) if item.wait else "a worker" if item.state == "pending" else ""
        made.add_row(
            plain(item.kind), styled_state(item.state), number(item.tasks), f"{item.mean_depth:.1f}", Text(plain(wait))
        )
    return made


def _lineages(look: Look) -> Any:
    """``end`` is when a lineage ended, or its deadline while it has not."""
    made = table("*lineage", "state", ">tasks/most", ">live", ">end")
    for item in look.lineages:
        end = item.deadline_at if item.state in OPEN or item.ended_at is None else item.ended_at
        made.add_row(
            plain(item.tracking_id),
            styled_state(item.state),
            f"{number(item.tasks)}/{short(item.max_tasks)}",
            number(item.live),
            relative(end, look.now),
        )
    return made
