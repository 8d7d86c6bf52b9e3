"""Flow control: queues and kinds with their limits, resources with their breakers, workers and what nobody serves."""

from __future__ import annotations

from ramet import Client, Policy, Resource, WorkerSeen
from ramet.model.resources import policy_of, rate_of, refilled
from ramet.web.answers.shared import Answer

QUEUES_MAX = 1_000
WORKERS_MAX = 1_000
DISTINCT_MAX = 1_000


class QueueAnswer(Answer):
    """A queue that somebody limited or paused, or of which claims are held."""

    name: str
    held: int
    """Claims now."""
    concurrency: int | None
    """Claims at once over all workers; None for no limit."""
    explicit: bool
    """A person set the limit."""
    paused_at: float | None
    paused_by: str | None
    paused_reason: str | None


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


class PolicyAnswer(Answer):
    """What resources with this name, or prefix and ``*``, bear."""

    pattern: str
    concurrency: int | None
    rate_per_second: float | None
    burst: float
    breaker_failures: int
    """Failures in a row that open the breaker; 0 for none."""
    cooldown_seconds: float | None
    """After so long one task tries; None: only a person closes it."""
    explicit: bool


class ResourceAnswer(Answer):
    """Where a resource stands."""

    name: str
    state: str
    """``open``, ``paused`` or ``closed``, as its breaker."""
    since: float | None
    """When the breaker opened."""
    until: float | None
    """When one task tries, or the pause ends."""
    by: str | None
    reason: str | None
    failures: int
    """In a row."""
    held: int
    rate_per_second: float | None
    """That holds now: of its policy, told by its server, or cut after a refusal."""
    in_store: float | None
    """Units that may be taken at once."""
    policy: PolicyAnswer


class WorkerAnswer(Answer):
    """A worker as it said itself."""

    name: str
    host: str
    pid: int
    kinds: list[str]
    queues: list[str]
    concurrency: int
    started_at: float
    seen_at: float
    alive: bool


class NotServedAnswer(Answer):
    """A kind in a queue, with live tasks that no living worker serves."""

    queue: str
    kind: str
    tasks: int
    more: bool
    """There are at least so many tasks."""


class WorkersAnswer(Answer):
    """Who works, and what nobody serves."""

    workers: list[WorkerAnswer]
    unserved: list[NotServedAnswer]


async def flow(client: Client) -> FlowAnswer:
    """Queues and kinds with what is held of them; a thousand of each."""
    usage = await client.usage()
    queues = {one.name: one for one in await client.queues()}
    kinds = {one.name: one for one in await client.kind_limits()}
    shown = []
    for name in sorted({*queues, *usage.queues})[:QUEUES_MAX]:
        known = queues.get(name)
        shown.append(
            QueueAnswer(
                name=name, held=usage.queues.get(name, 0), concurrency=known and known.concurrency,
                explicit=bool(known and known.explicit), paused_at=known and known.paused_at,
                paused_by=known and known.paused_by, paused_reason=known and known.paused_reason,
            )
        )  # fmt: skip
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


async def resources(client: Client, name: str | None = None, *, limit: int = 100) -> list[ResourceAnswer]:
    """Where resources stand, those with an open breaker first; or the one of this name."""
    found = await client.resources(name, limit=limit)
    usage, policies, now = (await client.usage()).resources, await client.policies(), client.clock.now()
    return [_resource(one, policy_of(one.name, policies), usage.get(one.name, 0), now) for one in found]


def _resource(one: Resource, policy: Policy, held: int, now: float) -> ResourceAnswer:
    state, until, reason = "closed", None, None
    if one.opened_at is not None:
        state, reason = "open", one.opened_reason
        until = None if policy.cooldown_seconds is None else one.opened_at + policy.cooldown_seconds
    elif one.paused_until > now:
        state, until, reason = "paused", one.paused_until, one.paused_reason
    rate = rate_of(one, policy)
    return ResourceAnswer(
        name=one.name, state=state, since=one.opened_at, until=until, by=one.opened_by, reason=reason,
        failures=one.failures, held=held, rate_per_second=None if rate is None else rate.at(now),
        in_store=None if rate is None else refilled(one, policy, now).tokens,
        policy=PolicyAnswer.model_validate(policy),
    )  # fmt: skip


async def workers(client: Client) -> WorkersAnswer:
    """Workers that were seen within a day, and queues and kinds with live tasks that none of the living serves."""
    found, missing = await client.workers(), await client.unserved()
    return WorkersAnswer(
        workers=[_worker(one) for one in found[:WORKERS_MAX]], unserved=NotServedAnswer.each(missing[:DISTINCT_MAX])
    )


def _worker(one: WorkerSeen) -> WorkerAnswer:
    return WorkerAnswer.model_validate(one._replace(kinds=one.kinds[:DISTINCT_MAX], queues=one.queues[:DISTINCT_MAX]))
