"""``ramet status`` and ``ramet stages``: how many tasks are where."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import click
from rich.console import Group
from rich.text import Text

from ramet import (
    BoundedCount,
    Client,
    KindStateCount,
    Lineage,
    LineageOutcome,
    Queue,
    StageCount,
    TaskState,
    UnservedKind,
)
from ramet.cli.options import (
    SORTED_ROWS_MAX,
    RowOrder,
    ask,
    database_options,
    lineage_of,
    short_ids,
    sort_option,
)
from ramet.cli.output import (
    at,
    console,
    not_served,
    number,
    outcome_words,
    pause_lines,
    relative,
    short,
    shortened,
    styled_state,
)
from ramet.commands.terminal import counted, emit, jsonable, plain, table
from ramet.model.lineage.lineage import OPEN, LineageState, OutcomeKind
from ramet.model.tallies import Tally
from ramet.model.task.task import TERMINAL, Wait
from ramet.model.views import CLAIMABLE

STALE = "stale"
"""Pseudo-wait of claims with an expired lease."""
LIVE = "live"
"""Pending or processing, where a kind's tasks are not split."""
WHOLE_IDS_WIDTH_MIN = 120
"""Columns of a screen on which the table of lineages has room for whole ids."""
NOTHING: Mapping[str, BoundedCount] = {}
NONE: Mapping[str, int] = {}


class StatusSnapshot(NamedTuple):
    """One reading of the database for ``ramet status``."""

    database: str
    """Its address, as it may be shown."""
    tracking_id: str | None
    now: float
    counts: Sequence[KindStateCount]
    states: Mapping[str, int]
    """All tasks by state."""
    claimable: BoundedCount
    """Pending tasks that wait for nothing but a worker."""
    stale: int
    """Claims whose lease expired."""
    lineages: list[Lineage]
    more_lineages: bool
    queues: Sequence[Queue]
    unserved: Sequence[UnservedKind] = ()
    waits: Mapping[str, BoundedCount] = NOTHING
    """Pending tasks by what they wait for, where ``counts`` does not tell it."""
    refused: Mapping[str, int] = NONE
    """Number of refused spawns by reason, of the lineage or of the database; not read in a brief look at a lineage."""

    def total(self, *states: TaskState) -> int:
        """Tasks in these states; in all of them when none is named."""
        return sum(self.states.get(state, 0) for state in states or TaskState)

    @property
    def joined(self) -> int:
        """Pending tasks that wait for other tasks: they are in no queue."""
        of_counts = sum(item.tasks.number for item in self.counts if item.wait == Wait.TASKS)
        return self.waits[Wait.TASKS].number if Wait.TASKS in self.waits else of_counts

    @property
    def outcome(self) -> LineageOutcome:
        """The outcome of the lineage; of a whole database only its failures, as left-out work is counted by lineage."""
        if self.tracking_id is not None and self.lineages:
            return self.lineages[0].outcome
        return LineageOutcome(self.total(TaskState.FAILED), {})

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
        """Return the ended share of all tasks."""
        return 100.0 * (self.total() - self.live) / self.total() if self.total() else 100.0

    @property
    def seen(self) -> tuple[object, ...]:
        """Values that are equal in two looks between which nothing happened."""
        return self.states, self.counts, self.waits, self.stale

    def document(self) -> dict[str, Any]:
        """Return the snapshot for machines."""
        return {
            "database": self.database,
            "tracking_id": self.tracking_id,
            "at": self.now,
            "tasks": self.total(),
            "live": self.live,
            "queue_size": self.claimable.number,
            "queue_size_more": self.claimable.more,
            "waiting_for_tasks": self.joined,
            "stale": self.stale,
            "percent_complete": round(self.percent, 2),
            "states": {state.value: self.total(state) for state in TaskState},
            "counts": [_flat(item) for item in self.counts],
            "waits": jsonable(self.waits),
            "refused": dict(self.refused),
            "outcome": str(self.outcome),
            "lineages": [lineage_document(item) for item in self.lineages],
            "more_lineages": self.more_lineages,
            "queues": jsonable(self.queues),
            "unserved": jsonable(self.unserved),
        }


def lineage_document(lineage: Lineage) -> dict[str, Any]:
    """Return a lineage for machines, with its outcome."""
    outcome = lineage.outcome
    return {
        **jsonable(lineage),
        "left_out": dict(outcome.left_out),
        "allowed_shapes": lineage.shapes_allowed,
        "outcome": str(outcome),
    }


def _flat(item: KindStateCount) -> dict[str, Any]:
    return {**jsonable(item), "tasks": item.tasks.number, "more": item.tasks.more}


async def full_snapshot(
    client: Client, tracking_id: str | None, limit: int, outcome: str | None = None, sort: RowOrder | None = None
) -> StatusSnapshot:
    """Count every task, of a lineage or of the database."""
    now = client.clock.now()
    lineages, more = await _read_lineages(client, tracking_id, limit, outcome, sort)
    counts = [
        KindStateCount(*row[:3], BoundedCount(row.tasks), row.mean_depth) for row in await client.counts(tracking_id)
    ]
    states = {state.value: _tasks(counts, state) for state in TaskState}
    return StatusSnapshot(
        client.place, tracking_id, now, counts, states, _claimable(counts),
        sum(item.tasks.number for item in counts if item.wait == STALE), lineages, more,
        **await _around(client, tracking_id), refused=await _refused(client, tracking_id),
    )  # fmt: skip


async def brief_snapshot(
    client: Client, tracking_id: str | None, limit: int, outcome: str | None = None, sort: RowOrder | None = None
) -> StatusSnapshot:
    """Return the same from tallies and bounded counts: watching costs the same however many tasks there are."""
    now = client.clock.now()
    lineages, more = await _read_lineages(client, tracking_id, limit, outcome, sort)
    around = await _around(client, tracking_id)
    if tracking_id is not None:
        counts = await client.lineage_counts(tracking_id)
        one = lineages[0]
        ended = {state.value: getattr(one, state.value) for state in TERMINAL}
        states = _states(ended, one.live, _tasks(counts, TaskState.PROCESSING))
        stale = sum(item.tasks.number for item in counts if item.wait == STALE)
        return StatusSnapshot(
            client.place, tracking_id, now, counts, states, _claimable(counts), stale, lineages, more, **around
        )
    present, ever = await client.present(), await client.tallies()
    total = ever.total()
    return StatusSnapshot(
        client.place, None, now, [row for tally in ever.rows for row in _rows(tally)],
        _states(total.ended, total.live, present.processing),
        present.waits[CLAIMABLE], present.stale, lineages, more, **around,
        waits={wait: count for wait, count in present.waits.items() if wait != CLAIMABLE},
        refused=ever.refused(),
    )  # fmt: skip


def _rows(tally: Tally) -> Iterator[KindStateCount]:
    """Yield the tally of a kind over all time: live tasks, and ended ones by state. It has no depths by state: a tally
    counts depths where tasks are created."""
    for state, tasks in sorted({**tally.ended, LIVE: tally.live}.items()):
        if tasks:
            yield KindStateCount(tally.kind, state, None, BoundedCount(tasks), None)


def _states(ended: Mapping[str, int], live: int, processing: int) -> dict[str, int]:
    """Return all tasks by state. Claims were counted at another moment, so they may have ended by now."""
    processing = min(processing, live)
    return {**ended, TaskState.PENDING.value: live - processing, TaskState.PROCESSING.value: processing}


def _tasks(counts: Sequence[KindStateCount], state: TaskState) -> int:
    return sum(item.tasks.number for item in counts if item.state == state)


def _claimable(counts: Sequence[KindStateCount]) -> BoundedCount:
    found = [item.tasks for item in counts if item.state == TaskState.PENDING and item.wait is None]
    return BoundedCount(sum(one.number for one in found), any(one.more for one in found))


async def _read_lineages(
    client: Client, tracking_id: str | None, limit: int, outcome: str | None, sort: RowOrder | None
) -> tuple[list[Lineage], bool]:
    """Return the lineage asked for with its ends, or open ones and then the newest; and whether there are more.

    With ``sort`` the first ones in that order, of the newest ``SORTED_ROWS_MAX``.
    """
    if tracking_id is not None:
        # With the tasks of its ends, which run in lineages of their own.
        return [await lineage_of(client, tracking_id), *await client.ends(tracking_id)], False
    if sort is not None:
        known, more = await _read_lineages(client, None, SORTED_ROWS_MAX, outcome, None)
        return sort.first(known, limit), more or len(known) > limit
    found: list[Lineage] = []
    for states in ([state.value for state in OPEN], [state.value for state in LineageState if state not in OPEN]):
        if len(found) <= limit:
            page = await client.lineage_page(states=states, limit=limit + 1 - len(found), outcome=outcome)
            found += page.lineages
    return found[:limit], len(found) > limit


async def _refused(client: Client, tracking_id: str | None) -> Mapping[str, int]:
    if tracking_id is None:
        return (await client.tallies(kinds=False)).refused()
    times: Counter[str] = Counter()
    for (_, reason), count in (await client.block_totals(tracking_id)).items():
        times[str(reason)] += count
    return times


async def _around(client: Client, tracking_id: str | None) -> dict[str, Any]:
    """Read the part that both snapshots share."""
    unserved = await client.unserved() if tracking_id is None else []
    return {"queues": await client.queues(), "unserved": unserved}


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
    Wait.PAUSED: "a paused path",
    Wait.TASKS: "other tasks",
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
@sort_option(
    lineage=lambda lineage: lineage.tracking_id,
    state=lambda lineage: lineage.state,
    tasks=lambda lineage: lineage.tasks,
    live=lambda lineage: lineage.live,
    failed=lambda lineage: lineage.failed,
    end=lambda lineage: lineage.deadline_at if lineage.state in OPEN else lineage.ended_at,
)
@database_options
@short_ids("tracking_id")
def status(
    *,
    tracking_id: str | None,
    watch: bool,
    limit: int,
    outcome: str | None,
    sort: RowOrder | None,
    database: str,
    as_json: bool,
) -> None:
    """Show tasks by kind and state with what they wait for, and lineages with their limits; one lineage or all.

    One look counts every task. With --watch the engine's own tallies are read instead, which cost the same however
    many tasks there are: those of pruned lineages are in them, and a number with a + is a lower bound.
    """

    async def question(client: Client) -> None:
        if watch:
            await _watch(partial(brief_snapshot, client, tracking_id, limit, outcome, sort), as_json)
            return
        seen = await full_snapshot(client, tracking_id, limit, outcome, sort)
        if as_json:
            emit(seen.document())
        else:
            screen = console()
            screen.print(rendered(seen, screen.width))

    try:
        ask(database, question)
    except KeyboardInterrupt:
        if not watch:
            raise


# --- watching


async def _watch(brief: Callable[[], Awaitable[StatusSnapshot]], as_json: bool) -> None:
    screen = console()
    if as_json or not screen.is_terminal:
        await _watch_lines(brief, as_json)
        return
    from rich.live import Live  # Late: only a terminal that is watched needs it.

    with Live(console=screen, auto_refresh=False, transient=False) as shown:
        while True:
            began = time.monotonic()
            seen = await brief()
            shown.update(rendered(seen, screen.width), refresh=True)
            if seen.over:
                return
            await _pause(began)


async def _watch_lines(brief: Callable[[], Awaitable[StatusSnapshot]], as_json: bool) -> None:
    """Print a line for every look that saw a change."""
    before = None
    while True:
        began = time.monotonic()
        seen = await brief()
        if seen.seen != before:
            if as_json:
                emit(seen.document())
            else:
                click.echo(f"{at(seen.now)}  {_in_a_line(seen)}")
        if seen.over:
            return
        before = seen.seen
        await _pause(began)


async def _pause(began: float) -> None:
    await asyncio.sleep(max(WATCH_SECONDS, COST_SHARE * (time.monotonic() - began)))


# --- for people


def _in_a_line(seen: StatusSnapshot) -> str:
    states = ", ".join(f"{number(seen.total(state))} {state}" for state in TaskState if seen.total(state))
    return f"{states or 'no tasks'}; {_percent(seen)}"


def _percent(seen: StatusSnapshot) -> str:
    # Rounded down, so that only a whole is called 100.
    return f"{int(seen.percent * 10) / 10:g} % complete"


def rendered(seen: StatusSnapshot, width: int) -> Group:
    """Render the two tables with their headlines, for a screen of ``width`` columns."""
    parts: list[Any] = [Text(f"{plain(seen.database)}  {at(seen.now)}"), Text(_headline(seen))]
    if not seen.outcome.clean:
        parts.append(outcome_words(seen.outcome))
    if seen.stale:
        parts.append(
            Text(f"{counted(seen.stale, 'claim')} stale: the next sweep of a worker reclaims them", style="red")
        )
    parts += [Text(line, style="yellow") for line in pause_lines(seen.queues, seen.lineages, seen.now)]
    parts += [Text(line, style="yellow") for line in not_served(seen.unserved)]
    waits = [f"{_live_words(wait)} {_at_least(count)}" for wait, count in seen.waits.items() if count.number]
    if waits:
        parts.append(Text(f"waiting: {', '.join(waits)}"))
    if seen.counts:
        parts += [Text(), _kinds(seen)]
    if seen.lineages:
        parts += [Text(), _lineages(seen, width)]
    if seen.more_lineages:
        parts.append(Text("... and more lineages: --limit, or give a tracking id"))
    if seen.refused:
        refusals = ", ".join(f"{plain(reason)} {number(count)}" for reason, count in sorted(seen.refused.items()))
        which = "" if seen.tracking_id is None else f" {plain(seen.tracking_id)}"
        parts.append(Text(f"refused spawns: {refusals}; which: ramet blocks{which}"))
    if seen.tracking_id is not None and seen.lineages and seen.lineages[0].reason:
        parts.append(Text(f"{seen.lineages[0].state}: {plain(seen.lineages[0].reason)}"))
    return Group(*parts)


def _headline(seen: StatusSnapshot) -> str:
    if not seen.counts:
        return "no tasks yet: `ramet submit APP KIND '{...}'` starts a lineage"
    pending, running = max(0, seen.total(TaskState.PENDING) - seen.joined), seen.total(TaskState.PROCESSING)
    waiting = pending - seen.claimable.number
    joined = f", {number(seen.joined)} waiting for other tasks" if seen.joined else ""
    most = "at most " if seen.claimable.more else ""
    held_back = f", {most}{number(waiting)} of them waiting" if waiting > 0 else ""
    return (
        f"{counted(seen.total(), 'task')}, {_percent(seen)}; "
        f"{number(running)} processing, {number(pending)} in the queue{held_back}{joined}"
    )


def _at_least(count: BoundedCount) -> str:
    return f"{number(count.number)}{'+' if count.more else ''}"


def _kinds(seen: StatusSnapshot) -> Any:
    made = table("*kind", "state", ">tasks", ">mean depth", "waits for")
    for item in seen.counts:
        known = item.state == TaskState.PENDING and not seen.waits
        wait = _live_words(item.wait) if item.wait else "a worker" if known else ""
        depth = "" if item.mean_depth is None else f"{item.mean_depth:.1f}"
        made.add_row(plain(item.kind), styled_state(item.state), _at_least(item.tasks), depth, Text(wait))
    return made


def _live_words(wait: str) -> str:
    return plain(WAITS.get(wait, wait))


def _lineages(seen: StatusSnapshot, width: int) -> Any:
    """Return the table of lineages; ``end`` is their end or deadline. Ids are short where whole ones would break."""
    names = shortened(item.tracking_id for item in seen.lineages) if width < WHOLE_IDS_WIDTH_MIN else {}
    unclean = any(not item.outcome.clean for item in seen.lineages)
    made = table("*lineage", "state", ">tasks/most", ">live", ">end", *(["*outcome"] if unclean else []))
    for item in seen.lineages:
        end = item.deadline_at if item.state in OPEN or item.ended_at is None else item.ended_at
        made.add_row(
            plain(names.get(item.tracking_id, item.tracking_id)),
            styled_state(item.state, clean=item.outcome.clean),
            f"{number(item.tasks)}/{short(item.max_tasks)}",
            number(item.live),
            relative(end, seen.now),
            *([outcome_words(item.outcome)] if unclean else []),
        )
    return made


@click.command(short_help="How many tasks of a staged kind are at which stage.")
@click.argument("kind")
@click.argument("tracking_id", required=False)
@database_options
@short_ids("tracking_id")
def stages(*, kind: str, tracking_id: str | None, database: str, as_json: bool) -> None:
    """List tasks of KIND by stage and state, in one lineage or in all; a stage of "-" is before the first checkpoint.

    KIND is the name given to app.pipeline(...), whether its stages are one task or a task each.
    """

    async def question(client: Client) -> list[StageCount]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        return await client.stage_counts(kind, tracking_id)

    found = ask(database, question)
    if as_json:
        emit({"kind": kind, "tracking_id": tracking_id, "stages": found})
        return
    if not found:
        click.echo(f"no tasks of kind {plain(kind)}: `ramet status` lists the kinds that have some")
        return
    made = table("*stage", "state", ">tasks")
    for row in found:
        made.add_row(plain(row.stage or "-"), styled_state(row.state), number(row.tasks))
    console().print(made)
