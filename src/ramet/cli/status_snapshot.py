"""What ``ramet status`` sees: a full look counts every task, a brief one reads what the engine counted already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ramet import Client, Count, KindState, Lineage, LineageOutcome, Queue, TaskState, Unserved
from ramet.cli.options import lineage_of
from ramet.commands.terminal import jsonable
from ramet.model.lineage.lineage import OPEN, LineageState
from ramet.model.tallies import Tally
from ramet.model.task.task import TERMINAL
from ramet.model.views import CLAIMABLE

STALE = "stale"
"""What claims wait for whose lease expired."""
LIVE = "live"
"""Pending or processing, where a kind's tasks are not told apart."""
NOTHING: Mapping[str, Count] = {}
NONE: Mapping[str, int] = {}


class Look(NamedTuple):
    """What one look at the database saw."""

    database: str
    """Its address, as it may be shown."""
    tracking_id: str | None
    now: float
    counts: Sequence[KindState]
    states: Mapping[str, int]
    """All tasks by state."""
    claimable: Count
    """Pending tasks that wait for nothing but a worker."""
    stale: int
    """Claims whose lease expired."""
    lineages: list[Lineage]
    more_lineages: bool
    queues: Sequence[Queue]
    unserved: Sequence[Unserved] = ()
    waits: Mapping[str, Count] = NOTHING
    """Pending tasks by what they wait for, where ``counts`` does not tell it."""
    refused: Mapping[str, int] = NONE
    """Number of refused spawns by reason, of the lineage or of the database; not read in a brief look at a lineage."""

    def total(self, *states: TaskState) -> int:
        """Tasks in these states; in all of them when none is named."""
        return sum(self.states.get(state, 0) for state in states or TaskState)

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
        """How much of what exists has ended."""
        return 100.0 * (self.total() - self.live) / self.total() if self.total() else 100.0

    @property
    def seen(self) -> tuple[object, ...]:
        """Equal in two looks between which nothing happened."""
        return self.states, self.counts, self.waits, self.stale

    def document(self) -> dict[str, Any]:
        """All of it for machines."""
        return {
            "database": self.database,
            "tracking_id": self.tracking_id,
            "at": self.now,
            "tasks": self.total(),
            "live": self.live,
            "queue_size": self.claimable.number,
            "queue_size_more": self.claimable.more,
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
    """A lineage for machines, with what it came to."""
    outcome = lineage.outcome
    return {
        **jsonable(lineage),
        "left_out": dict(outcome.left_out),
        "allowed_shapes": lineage.shapes_allowed,
        "outcome": str(outcome),
    }


def _flat(item: KindState) -> dict[str, Any]:
    return {**jsonable(item), "tasks": item.tasks.number, "more": item.tasks.more}


async def full_look(client: Client, tracking_id: str | None, limit: int, outcome: str | None = None) -> Look:
    """Count every task, of a lineage or of the database."""
    now = client.clock.now()
    lineages, more = await _lineages(client, tracking_id, limit, outcome)
    counts = [KindState(*row[:3], Count(row.tasks), row.mean_depth) for row in await client.counts(tracking_id)]
    states = {state.value: _tasks(counts, state) for state in TaskState}
    return Look(
        client.place, tracking_id, now, counts, states, _claimable(counts),
        sum(item.tasks.number for item in counts if item.wait == STALE), lineages, more,
        **await _around(client, tracking_id), refused=await _refused(client, tracking_id),
    )  # fmt: skip


async def brief_look(client: Client, tracking_id: str | None, limit: int, outcome: str | None = None) -> Look:
    """The same from tallies and bounded counts, so that watching costs the same however many tasks there are."""
    now = client.clock.now()
    lineages, more = await _lineages(client, tracking_id, limit, outcome)
    around = await _around(client, tracking_id)
    if tracking_id is not None:
        counts = await client.lineage_counts(tracking_id)
        one = lineages[0]
        ended = {state.value: getattr(one, state.value) for state in TERMINAL}
        states = _states(ended, one.live, _tasks(counts, TaskState.PROCESSING))
        stale = sum(item.tasks.number for item in counts if item.wait == STALE)
        return Look(client.place, tracking_id, now, counts, states, _claimable(counts), stale, lineages, more, **around)
    present, ever = await client.present(), await client.tallies()
    total = ever.total()
    return Look(
        client.place, None, now, [row for tally in ever.rows for row in _rows(tally)],
        _states(total.ended, total.live, present.processing),
        present.waits[CLAIMABLE], present.stale, lineages, more, **around,
        waits={wait: count for wait, count in present.waits.items() if wait != CLAIMABLE},
        refused=ever.refused(),
    )  # fmt: skip


def _rows(tally: Tally) -> Iterator[KindState]:
    """A kind's tally of all time: what is live, and what ended by state. How deep those of a state are it does not
    tell: a tally counts depths where tasks are created."""
    for state, tasks in sorted({**tally.ended, LIVE: tally.live}.items()):
        if tasks:
            yield KindState(tally.kind, state, None, Count(tasks), None)


def _states(ended: Mapping[str, int], live: int, processing: int) -> dict[str, int]:
    """All tasks by state. Claims were counted at another moment, so they may have ended by now."""
    processing = min(processing, live)
    return {**ended, TaskState.PENDING.value: live - processing, TaskState.PROCESSING.value: processing}


def _tasks(counts: Sequence[KindState], state: TaskState) -> int:
    return sum(item.tasks.number for item in counts if item.state == state)


def _claimable(counts: Sequence[KindState]) -> Count:
    found = [item.tasks for item in counts if item.state == TaskState.PENDING and item.wait is None]
    return Count(sum(one.number for one in found), any(one.more for one in found))


async def _lineages(
    client: Client, tracking_id: str | None, limit: int, outcome: str | None
) -> tuple[list[Lineage], bool]:
    """The one asked for with its ends, or open ones and then the newest; and whether there are more."""
    if tracking_id is not None:
        # With the tasks of its ends, which run in lineages of their own.
        return [await lineage_of(client, tracking_id), *await client.ends(tracking_id)], False
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
    """What both looks read in the same way."""
    unserved = await client.unserved() if tracking_id is None else []
    return {"queues": await client.queues(), "unserved": unserved}
