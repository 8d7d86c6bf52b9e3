"""Who works, on what, and what nobody serves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ramet import Client, RunningTask, WorkerSeen
from ramet.web.answers.shared import Answer

WORKERS_MAX = 1_000
DISTINCT_MAX = 1_000
CLAIMS_MAX = 1_000
"""Claims that are named, those whose lease ends first."""
SHOWN_MAX = 25
"""Of one worker."""


class RunningAnswer(Answer):
    """A task under a claim."""

    id: str
    tracking_id: str
    kind: str
    key: str
    queue: str
    fence: int
    attempts: int
    claimed_at: float
    lease_until: float
    stale: bool
    """Its lease expired."""


class WorkerAnswer(Answer):
    """A worker as it said itself, and what it has in hand."""

    name: str
    host: str
    pid: int
    kinds: list[str]
    queues: list[str]
    concurrency: int
    started_at: float
    seen_at: float
    alive: bool
    """False when it has said nothing for a minute."""
    claims: int
    tasks: list[RunningAnswer]
    """Of these the 25 whose lease ends first, as far as they are among the first thousand of all workers."""


class ClaimantAnswer(Answer):
    """Somebody with claims who is no worker that was seen within a day: a program that pulls, or one that is gone."""

    name: str
    claims: int
    tasks: list[RunningAnswer]


class NotServedAnswer(Answer):
    """A kind in a queue, with live tasks that no living worker serves."""

    queue: str
    kind: str
    tasks: int
    more: bool
    """There are at least so many tasks."""


class WorkersAnswer(Answer):
    """Who works, on what, and what nobody serves."""

    workers: list[WorkerAnswer]
    others: list[ClaimantAnswer]
    unserved: list[NotServedAnswer]


async def workers(client: Client) -> WorkersAnswer:
    """Workers that were seen within a day with their claims, claims of others, and queues and kinds with live tasks
    that none of the living serves."""
    found, missing = await client.workers(), await client.unserved()
    in_hand, now = await client.in_hand(limit=CLAIMS_MAX), client.clock.now()
    tasks: dict[str, list[RunningAnswer]] = defaultdict(list)
    for task in in_hand.tasks:
        tasks[task.worker or ""].append(_running(task, now))
    known = {one.name for one in found}
    others = [
        ClaimantAnswer(name=name, claims=claims, tasks=tasks[name][:SHOWN_MAX])
        for name, claims in sorted(in_hand.workers.items())
        if name not in known
    ]
    return WorkersAnswer(
        workers=[_worker(one, in_hand.workers.get(one.name, 0), tasks[one.name]) for one in found[:WORKERS_MAX]],
        others=others[:WORKERS_MAX],
        unserved=NotServedAnswer.each(missing[:DISTINCT_MAX]),
    )


def _running(task: RunningTask, now: float) -> RunningAnswer:
    values = {name: value for name, value in task._asdict().items() if name != "worker"}
    return RunningAnswer(**values, stale=task.lease_until <= now)


def _worker(one: WorkerSeen, claims: int, tasks: Sequence[RunningAnswer]) -> WorkerAnswer:
    values = one._replace(kinds=one.kinds[:DISTINCT_MAX], queues=one.queues[:DISTINCT_MAX])._asdict()
    return WorkerAnswer(**values, claims=claims, tasks=list(tasks[:SHOWN_MAX]))
