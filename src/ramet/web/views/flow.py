"""Flow control: queues and kinds with their limits and what waits in them, resources with their breakers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter

from ramet import (
    Backlog,
    BoundedCount,
    Client,
    Queue,
    Resource,
    ResourcePolicy,
    RunningTask,
    UnservedKind,
    WorkerStatus,
)
from ramet.model.flow.resources import policy_of, rate_of, refilled, room
from ramet.web.answer import Answer, AsObject, BoundedCountAnswer
from ramet.web.page import ClientDep, Limit, OptionalText, Page, Visit
from ramet.web.views.overview import WAITS

QUEUES_MAX = 1_000
QUEUE_FIELDS = tuple(name for name in Queue._fields if name not in ("name", "explicit"))
NOTHING = Backlog("", BoundedCount(0), None, None)


class QueueAnswer(Answer):
    """A queue that has tasks, a limit or a pause, or that a living worker serves."""

    name: str
    waiting: BoundedCountAnswer
    """Tasks that a worker could take now."""
    oldest_waiting_at: float | None
    oldest_waiting: str | None
    """The id of that task."""
    held_back: dict[str, BoundedCountAnswer]
    """Pending tasks that cannot be claimed now by what they wait for; the first 2,000 of each sort over all queues."""
    kinds: list[str]
    """Kinds of the tasks that a worker could take now."""
    workers: int
    """Living workers that serve it."""
    slots: int
    """Handlers that those may run at once; some may serve other queues too."""
    held: int
    """Claims now."""
    concurrency: int | None
    """Claims at once over all workers; None for no limit."""
    explicit: bool
    """A person set the limit."""
    paused_at: float | None
    paused_by: str | None
    paused_reason: str | None
    blocked_at: float | None
    """Since when submits into it are refused."""
    blocked_by: str | None
    blocked_reason: str | None
    on_drained: str | None
    """Kind of the task that is submitted once nothing of it lives."""
    drained_at: float | None


class KindLimitAnswer(Answer):
    """A kind that is limited, or of which claims are held."""

    name: str
    held: int
    concurrency: int | None
    explicit: bool


class FlowAnswer(Answer):
    """Queues and kinds."""

    queues: list[QueueAnswer]
    kinds: list[KindLimitAnswer]


PolicyAnswer = Annotated[ResourcePolicy, AsObject()]


class ResourceAnswer(Answer):
    """State of a resource."""

    name: str
    state: str
    """``open``, ``paused`` or ``closed``, as its breaker."""
    since: float | None
    """Time at which the breaker opened."""
    until: float | None
    """Time of the next trial, or end of the pause."""
    by: str | None
    reason: str | None
    failures: int
    """Number of failures in a row."""
    held: int
    rate_per_second: float | None
    """Rate in force: of its policy, set by its server, or cut after a refusal."""
    in_store: float | None
    """Units that may be taken at once."""
    waiting: BoundedCountAnswer
    """Tasks that wait for it."""
    oldest_waiting_at: float | None
    oldest_waiting: str | None
    """The id of that task."""
    limited_by: str | None
    """Reason why no task gets through now: ``breaker``, ``disabled``, ``paused``, ``rate`` or ``concurrency``."""
    next_at: float | None
    """Time of the next task; null when one may go now, or when only an event decides."""
    policy: PolicyAnswer


async def load_flow(client: Client) -> FlowAnswer:
    """Return queues and kinds with their claims and waiting tasks; a thousand of each."""
    usage = await client.usage()
    queues = {one.name: one for one in await client.queues()}
    waiting = {one.name: one for one in await client.backlogs()}
    living = [one for one in await client.workers() if one.alive]
    kinds = {one.name: one for one in await client.kind_limits()}
    served = {name for worker in living for name in worker.queues}
    shown = [
        _queue(name, queues.get(name), waiting.get(name, NOTHING), usage.queues.get(name, 0), living)
        for name in sorted({*queues, *usage.queues, *waiting, *served})[:QUEUES_MAX]
    ]
    limited = []
    for name in sorted({*kinds, *usage.kinds})[:QUEUES_MAX]:
        limit = kinds.get(name)
        held = usage.kinds.get(name, 0)
        limited.append(
            KindLimitAnswer(
                name=name, held=held, concurrency=limit and limit.concurrency, explicit=bool(limit and limit.explicit)
            )
        )
    return FlowAnswer(queues=shown, kinds=limited)


def _queue(name: str, known: Queue | None, backlog: Backlog, held: int, living: Sequence[WorkerStatus]) -> QueueAnswer:
    serving = [worker for worker in living if name in worker.queues]
    return QueueAnswer(
        name=name, waiting=backlog.waiting, oldest_waiting_at=backlog.oldest_at,
        oldest_waiting=backlog.oldest,
        held_back=dict(backlog.held_back),
        kinds=list(backlog.kinds), workers=len(serving), slots=sum(worker.concurrency for worker in serving),
        held=held, explicit=bool(known and known.explicit),
        **{field: known and getattr(known, field) for field in QUEUE_FIELDS},
    )  # fmt: skip


async def load_resources(client: Client, name: str | None = None, *, limit: int = 100) -> list[ResourceAnswer]:
    """Read the state of resources and their backlog, open breakers first; or of the one with this name."""
    found = await client.resources(name, limit=limit)
    usage, policies, now = (await client.usage()).resources, await client.policies(), client.clock.now()
    waiting = await client.resource_backlogs([one.name for one in found])
    return [
        _resource(
            one, policy_of(one.name, policies), usage.get(one.name, 0), now, backlog=waiting.get(one.name, NOTHING)
        )
        for one in found
    ]


def _resource(one: Resource, policy: ResourcePolicy, held: int, now: float, *, backlog: Backlog) -> ResourceAnswer:
    state, until, reason = "closed", None, None
    if one.opened_at is not None:
        state, reason = "open", one.opened_reason
        until = None if policy.cooldown_seconds is None else one.opened_at + policy.cooldown_seconds
    elif one.paused_until > now:
        state, until, reason = "paused", one.paused_until, one.paused_reason
    rate, free = rate_of(one, policy), room(one, policy, now, held)
    return ResourceAnswer(
        name=one.name, state=state, since=one.opened_at, until=until, by=one.opened_by, reason=reason,
        failures=one.failures, held=held, rate_per_second=None if rate is None else rate.at(now),
        in_store=None if rate is None else refilled(one, policy, now).tokens,
        waiting=backlog.waiting, oldest_waiting_at=backlog.oldest_at,
        oldest_waiting=backlog.oldest, limited_by=free.reason or None, next_at=free.until,
        policy=policy,
    )  # fmt: skip


WORKERS_MAX = 1_000
DISTINCT_MAX = 1_000
CLAIMS_MAX = 1_000
"""Claims that are named, those whose lease ends first."""
SHOWN_MAX = 25
"""Most tasks that are shown of one worker."""


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
    """A worker as it registered, and its claims."""

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
    """The 25 claims whose lease ends first, as far as they are among the first thousand of all workers."""


class ClaimantAnswer(Answer):
    """A holder of claims that is not a worker seen within a day: a program that pulls, or a lost worker."""

    name: str
    claims: int
    tasks: list[RunningAnswer]


NotServedAnswer = Annotated[UnservedKind, AsObject("NotServedAnswer")]


class WorkersAnswer(Answer):
    """Workers, their claims, and unserved kinds."""

    workers: list[WorkerAnswer]
    others: list[ClaimantAnswer]
    unserved: list[NotServedAnswer]


async def load_workers(client: Client) -> WorkersAnswer:
    """Return workers that were seen within a day with their claims, claims of others, and queues and kinds with live
    tasks that no living worker serves."""
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
        unserved=list(missing[:DISTINCT_MAX]),
    )


def _running(task: RunningTask, now: float) -> RunningAnswer:
    values = {name: value for name, value in task._asdict().items() if name != "worker"}
    return RunningAnswer(**values, stale=task.lease_until <= now)


def _worker(one: WorkerStatus, claims: int, tasks: Sequence[RunningAnswer]) -> WorkerAnswer:
    values = one._replace(kinds=one.kinds[:DISTINCT_MAX], queues=one.queues[:DISTINCT_MAX])._asdict()
    return WorkerAnswer(**values, claims=claims, tasks=list(tasks[:SHOWN_MAX]))


router = APIRouter(tags=["flow"])


@router.get("/queues")
async def queues(client: ClientDep) -> FlowAnswer:
    """List queues with their waiting tasks and workers, and kinds that are limited or have claims."""
    return await load_flow(client)


@router.get("/resources")
async def resources(client: ClientDep, *, name: OptionalText = None, limit: Limit = 50) -> list[ResourceAnswer]:
    """List resources with state and backlog, those with an open breaker first."""
    return await load_resources(client, name, limit=limit)


@router.get("/workers")
async def workers(client: ClientDep) -> WorkersAnswer:
    """List workers, their claims, and live kinds that no worker serves."""
    return await load_workers(client)


LIMITS = {
    "breaker": "its breaker is open",
    "disabled": "it is switched off",
    "paused": "it is paused",
    "rate": "its rate is used up",
    "concurrency": "all its claims are in use",
}
"""Reasons why no task of a resource gets through."""


async def queues_page(visit: Visit) -> dict[str, Any]:
    """Show queues and kinds with their limits, waiting tasks and claims."""
    return {"found": await load_flow(visit.client), "waits": WAITS}


async def resources_page(visit: Visit) -> dict[str, Any]:
    """Show the state of resources, those with an open breaker first."""
    name = visit.text("name")
    return {
        "name": name,
        "resources": await load_resources(visit.client, name, limit=visit.number("limit", 100, 1, 200)),
        "limits": LIMITS,
        "policies": (await visit.client.policies())[:QUEUES_MAX],
    }


async def workers_page(visit: Visit) -> dict[str, Any]:
    """Show workers, their claims, and live kinds that no worker serves."""
    return {"found": await load_workers(visit.client)}


PAGES = (
    Page("/queues", "queues", "queues.html", queues_page),
    Page("/resources", "resources", "resources.html", resources_page),
    Page("/workers", "workers", "workers.html", workers_page),
)
