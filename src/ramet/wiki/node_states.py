"""States, retries and times of a run's titles at one moment, for the nodes of its graph.

A graph holds what was loaded and no time, so that two runs of one wiki end in equal graphs. Questions about
states are answered from the run's own rows and tasks instead, which are never behind.
"""

from __future__ import annotations

from typing import NamedTuple

from ramet import Client, Task
from ramet.wiki import tables
from ramet.wiki.runs import ENDED_BADLY, FETCH, STAGES, Run
from ramet.wiki.tables import WikiState


class NodeState(NamedTuple):
    """A title of a run. Times are Unix seconds."""

    title: str
    expansion_state: str
    """A :class:`ramet.wiki.tables.WikiState`, neither `alias` nor `excluded`."""
    expansion_depth: int
    retry_count: int
    """Attempts beyond the first, of the stages that reached its end or failed."""
    claimed_at: float | None
    """Time when its present claim began, or when its page had come; None before its first claim."""
    processed_at: float | None
    """Time when its links were drawn, or it was loaded, or had failed; None before."""


class _Work(NamedTuple):
    """The claim, the end and the retries of a title's tasks."""

    claimed_at: float | None = None
    ended_at: float | None = None
    retries: int = 0
    in_hand: bool = False


async def node_states(client: Client, run: Run) -> dict[str, NodeState]:
    """Return the titles of a run, by canonical title. Reads one task a title, and those that are in work or failed."""
    work = await _work(client, run)
    states: dict[str, NodeState] = {}
    for key, title, depth, stored, own_task, source, loaded_at, processed_at in await client.read(
        tables.NODE_STATES, (run.run_id,)
    ):
        done = work.get(key if own_task or source is None else source, _Work())
        state = WikiState.CLAIMED if stored == WikiState.DISCOVERED and done.in_hand else WikiState(stored)
        ended_at = done.ended_at if state is WikiState.FAILED else None
        claimed_at = None if state is WikiState.DISCOVERED else done.claimed_at
        states[key] = NodeState(
            title, state.value, depth, done.retries, claimed_at, processed_at or loaded_at or ended_at
        )
    return states


async def _work(client: Client, run: Run) -> dict[str, _Work]:
    work: dict[str, _Work] = {}
    for one in run.passes:
        async for task in client.all_tasks(tracking_id=one.tracking_id, kind=FETCH):
            _add(work, task)
        for stage in STAGES[1:]:
            async for task in client.all_tasks(tracking_id=one.tracking_id, kind=stage, states=ENDED_BADLY):
                _add(work, task)
    passes = {one.tracking_id for one in run.passes}
    for running in (await client.in_hand()).tasks:
        if running.tracking_id in passes and running.kind in STAGES:
            before = work.get(running.key, _Work())
            work[running.key] = before._replace(claimed_at=running.claimed_at, in_hand=True)
    return work


def _add(work: dict[str, _Work], task: Task) -> None:
    before = work.get(task.key, _Work())
    work[task.key] = _Work(
        task.finished_at or before.claimed_at, task.finished_at or before.ended_at, before.retries + task.retry_count
    )
