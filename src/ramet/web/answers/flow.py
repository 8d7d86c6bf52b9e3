"""Flow control: queues and kinds with their limits and what waits in them, resources with their breakers."""

from __future__ import annotations

from collections.abc import Sequence

from ramet import Backlog, Client, Count, Policy, Queue, Resource, WorkerSeen
from ramet.model.flow.resources import policy_of, rate_of, refilled, room
from ramet.web.answers.shared import Answer, CountAnswer

QUEUES_MAX = 1_000
NOTHING = Backlog("", Count(0), None, None)


class QueueAnswer(Answer):
    """A queue in which something waits or runs, that somebody limited or paused, or that a living worker serves."""

    name: str
    waiting: CountAnswer
    """Tasks that a worker could take now."""
    oldest_waiting_at: float | None
    oldest_waiting: str | None
    """The id of that task."""
    held_back: dict[str, CountAnswer]
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
    waiting: CountAnswer
    """Tasks that wait for it."""
    oldest_waiting_at: float | None
    oldest_waiting: str | None
    """The id of that task."""
    limited_by: str | None
    """What lets no task through at this moment: ``breaker``, ``disabled``, ``paused``, ``rate`` or ``concurrency``."""
    next_at: float | None
    """When the next task may go; null when one may go now, or when only an event tells."""
    policy: PolicyAnswer


async def flow(client: Client) -> FlowAnswer:
    """Queues and kinds with what is held of them and what waits; a thousand of each."""
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


def _queue(name: str, known: Queue | None, backlog: Backlog, held: int, living: Sequence[WorkerSeen]) -> QueueAnswer:
    serving = [worker for worker in living if name in worker.queues]
    return QueueAnswer(
        name=name, waiting=CountAnswer.model_validate(backlog.waiting), oldest_waiting_at=backlog.oldest_at,
        oldest_waiting=backlog.oldest,
        held_back={wait: CountAnswer.model_validate(count) for wait, count in backlog.held_back.items()},
        kinds=list(backlog.kinds), workers=len(serving), slots=sum(worker.concurrency for worker in serving),
        held=held, concurrency=known and known.concurrency, explicit=bool(known and known.explicit),
        paused_at=known and known.paused_at, paused_by=known and known.paused_by,
        paused_reason=known and known.paused_reason,
    )  # fmt: skip


async def resources(client: Client, name: str | None = None, *, limit: int = 100) -> list[ResourceAnswer]:
    """Where resources stand and what waits for them, those with an open breaker first; or the one of this name."""
    found = await client.resources(name, limit=limit)
    usage, policies, now = (await client.usage()).resources, await client.policies(), client.clock.now()
    waiting = await client.resource_backlogs([one.name for one in found])
    return [
        _resource(
            one, policy_of(one.name, policies), usage.get(one.name, 0), now, backlog=waiting.get(one.name, NOTHING)
        )
        for one in found
    ]


def _resource(one: Resource, policy: Policy, held: int, now: float, *, backlog: Backlog) -> ResourceAnswer:
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
        waiting=CountAnswer.model_validate(backlog.waiting), oldest_waiting_at=backlog.oldest_at,
        oldest_waiting=backlog.oldest, limited_by=free.reason or None, next_at=free.until,
        policy=PolicyAnswer.model_validate(policy),
    )  # fmt: skip
