"""Resources: hosts, providers and sources that tasks share; their rates, pauses and breakers (DESIGN §6, §10).

A *policy* is the load that a resource can take, declared for a name or a prefix (``host:*``); a *resource* is its
current state. Everything here is pure: the store reads a resource, asks, and writes the answer in the transaction that
claims or settles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

NAME_LENGTH_MAX = 300
FAILURES_MAX = 5
"""Consecutive failures that open a breaker, unless a policy says otherwise (DESIGN §6)."""
LOOK_SECONDS = 1.0
"""A resource whose slots are all taken is looked at again after so long, or as soon as one is given back."""


class ResourcePolicy(NamedTuple):
    """Load that a resource can take. ``pattern`` is a name, or a prefix followed by ``*``."""

    pattern: str
    concurrency: int | None = None
    """Claims at once over all workers; None for no limit."""
    rate_per_second: float | None = None
    """Claims a second in the long run, or whatever units handlers take; None for no limit."""
    burst: float = 1.0
    """Units at once after a time without any."""
    breaker_failures: int = FAILURES_MAX
    """Consecutive failures that open the breaker; 0 for no breaker."""
    cooldown_seconds: float | None = None
    """Seconds after which an open breaker lets one task through; None: only a person closes it."""
    explicit: bool = False
    """True when a person set it, which an app's declaration does not change."""


class Resource(NamedTuple):
    """Current state of a resource."""

    name: str
    tokens: float | None = None
    """Units that the rate has in store; None for a full burst, negative for a debt."""
    refilled_at: float = 0.0
    paused_until: float = 0.0
    paused_reason: str | None = None
    failures: int = 0
    """Consecutive ones."""
    opened_at: float | None = None
    """Since when the breaker is open; None while it is closed."""
    opened_by: str | None = None
    opened_reason: str | None = None
    ready_at: float | None = None
    """Moment at which a claim next checks it; None when nothing waits for it."""
    told_rate: float | None = None
    """Units a second that its server says it accepts; None when it has not said."""
    cut_rate: float | None = None
    """Units a second that were left when it last refused; None when the rate is whole."""
    cut_at: float = 0.0


class ResourceCapacity(NamedTuple):
    """Number of tasks of a resource that may be claimed now, and if 0, why and until when."""

    claims: int | None
    """None for any number."""
    reason: str = ""
    """``breaker``, ``disabled``, ``paused``, ``rate`` or ``concurrency`` when there is none."""
    until: float | None = None
    """Moment at which there may be room again; None when only an event makes room."""


def policy_of(name: str, policies: Iterable[ResourcePolicy]) -> ResourcePolicy:
    """Return the policy of a resource: that of its very name, else of the longest prefix, else the default."""
    best = ResourcePolicy(name)
    length = -1
    for policy in policies:
        if policy.pattern == name:
            return policy
        if policy.pattern.endswith("*") and name.startswith(policy.pattern[:-1]) and len(policy.pattern) > length:
            best, length = policy, len(policy.pattern)
    return best


def rate_of(resource: Resource, policy: ResourcePolicy) -> Rate | None:
    """Return the rate in force: the stricter of the policy's and the server's; None for no limit."""
    limits, said = resource.told_rate, policy.rate_per_second
    if limits is None:
        full, burst = said, policy.burst
    elif said is None:
        full, burst = limits, max(1.0, policy.burst, limits * TOLD_BURST_SECONDS)
    else:
        full, burst = min(said, limits), max(1.0, min(policy.burst, limits * 60.0))
    return None if full is None else Rate(max(RATE_MIN, full), burst, resource.cut_rate, resource.cut_at)


def refilled(resource: Resource, policy: ResourcePolicy, now: float) -> Resource:
    """Return the resource with the tokens that time has brought. A clock that was set back brings none twice."""
    rate = rate_of(resource, policy)
    if rate is None:
        return resource
    if resource.tokens is None:
        return resource._replace(tokens=rate.burst, refilled_at=max(now, resource.refilled_at))
    if now <= resource.refilled_at:
        return resource._replace(tokens=min(rate.burst, resource.tokens))
    gained = rate.gained(resource.refilled_at, now)
    return resource._replace(tokens=min(rate.burst, resource.tokens + gained), refilled_at=now)


def is_full(resource: Resource, policy: ResourcePolicy, now: float) -> bool:
    """Return True when forgetting how much was used changes nothing."""
    rate = rate_of(resource, policy)
    return rate is None or (refilled(resource, policy, now).tokens or 0.0) >= rate.burst


def half_open_at(resource: Resource, policy: ResourcePolicy) -> float | None:
    """When an open breaker lets one claim try; None where it is closed, or a person alone closes it."""
    if resource.opened_at is None or policy.cooldown_seconds is None:
        return None
    return resource.opened_at + policy.cooldown_seconds


def room(resource: Resource, policy: ResourcePolicy, now: float, in_use: int) -> ResourceCapacity:
    """Return the number of claims of the resource that are possible at ``now`` beside the ``in_use`` held ones."""
    if resource.opened_at is not None and policy.cooldown_seconds is None:
        return ResourceCapacity(0, "disabled")
    counts: list[int] = []
    until = half_open_at(resource, policy)
    if until is not None:
        if now < until:
            return ResourceCapacity(0, "breaker", until)
        if in_use:
            return ResourceCapacity(0, "breaker")  # Half open: one at a time shows how it is.
        counts.append(1)
    if now < resource.paused_until:
        return ResourceCapacity(0, "paused", resource.paused_until)
    if policy.concurrency is not None:
        if in_use >= policy.concurrency:
            return ResourceCapacity(0, "concurrency")
        counts.append(policy.concurrency - in_use)
    rate = rate_of(resource, policy)
    if rate is not None:
        full = refilled(resource, policy, now)
        tokens, since = full.tokens or 0.0, max(now, full.refilled_at)
        seconds = rate.seconds_for(1.0 - tokens, since)
        if seconds > TOLERANCE_SECONDS:
            return ResourceCapacity(0, "rate", since + seconds)
        counts.append(max(1, int(tokens)))
    return ResourceCapacity(min(counts) if counts else None)


def spend(resource: Resource, policy: ResourcePolicy, now: float, claims: int) -> Resource:
    """Return the resource after this number of claims."""
    if rate_of(resource, policy) is None:
        return resource
    full = refilled(resource, policy, now)
    return full._replace(tokens=(full.tokens or 0.0) - claims)


def give_back(resource: Resource, policy: ResourcePolicy, claims: int) -> Resource:
    """Return the resource after this number of claims went back unstarted."""
    rate = rate_of(resource, policy)
    if rate is None or resource.tokens is None:
        return resource
    return resource._replace(tokens=min(rate.burst, resource.tokens + claims))


def succeeded(resource: Resource) -> Resource:
    """Return the resource after a success: the count is reset; a breaker with cool-down is closed as well."""
    return resource._replace(failures=0, opened_at=None, opened_by=None, opened_reason=None)


def failed(resource: Resource, policy: ResourcePolicy, now: float, reason: str) -> Resource:
    """One more failure in a row; opens the breaker when there are enough, or when it was half open."""
    failures = resource.failures + 1
    counted = resource._replace(failures=failures)
    if not policy.breaker_failures or failures < policy.breaker_failures:
        return counted
    return counted._replace(
        opened_at=now, opened_by="engine", opened_reason=f"{failures} failures in a row, the last: {reason}"
    )


def switched_off(before: Resource, after: Resource, policy: ResourcePolicy, now: float, reason: str) -> Resource:
    """Return the resource after a handler found that it is gone. One that waits for a person already keeps its first
    reason.

    Args:
        before, after: what else the same settlement said.
    """
    if before.opened_at is not None and policy.cooldown_seconds is None:
        return after
    return after._replace(opened_at=now, opened_by="engine", opened_reason=reason)


def paused(resource: Resource, until: float, reason: str) -> Resource:
    """Return the resource after a server named the time to come back; of several the latest holds."""
    if until <= resource.paused_until:
        return resource
    return resource._replace(paused_until=until, paused_reason=reason)


def cut(resource: Resource, policy: ResourcePolicy, now: float) -> Resource:
    """Return the resource after its server refused a request as too early: the rate is halved, and grows again with
    time.

    Of several refusals until the end of the pause that the first one made only that one counts: they were under way.
    """
    rate = rate_of(resource, policy)
    if rate is None or now < resource.paused_until:
        return resource
    return refilled(resource, policy, now)._replace(cut_rate=rate.halved(now), cut_at=now)


class ResponseLimits(NamedTuple):
    """Limits that the headers of a response state about a resource; None for those not stated."""

    limit_per_minute: float | None = None
    """Units a minute."""
    remaining: float | None = None
    """Units that are left now."""
    reset_seconds: float | None = None
    """Seconds until the limit is whole again."""


EXHAUSTED = "its limit is used up, as its server says"


def adapted(resource: Resource, policy: ResourcePolicy, limits: ResponseLimits, now: float) -> Resource:
    """Return the resource after a response stated its limits: they make it slower, never faster than its policy.

    A limit that is used up and comes back in more than a minute is taken as one of that longer time. A used up one
    whose size is not stated is a refusal: nothing is left until it comes back, and the rate is cut.
    """
    exhausted = limits.remaining is not None and limits.remaining < 1
    if limits.limit_per_minute is not None:
        seconds = max(60.0, limits.reset_seconds or 60.0) if exhausted else 60.0
        before = refilled(resource, policy, now)
        resource = before._replace(told_rate=max(RATE_MIN, limits.limit_per_minute / seconds))
    until = half_open_at(resource, policy)
    if until is not None and now >= until:
        resource = succeeded(resource)
    if exhausted and limits.reset_seconds and limits.limit_per_minute is None:
        resource = paused(cut(resource, policy, now), now + limits.reset_seconds, EXHAUSTED)
    if rate_of(resource, policy) is None:
        return resource
    full = refilled(resource, policy, now)
    return full if limits.remaining is None else full._replace(tokens=min(limits.remaining, full.tokens or 0.0))


RECOVERY_SECONDS = 300.0
"""A rate that a refusal cut grows by its full value in so long, evenly."""
FLOOR = 1 / 64
"""The part of its full value below which no refusal cuts a rate."""
TOLD_BURST_SECONDS = 10.0
"""Seconds' worth of a rate that only the server stated which may be used at once."""

RATE_MIN = 1e-6
"""Units a second: one in eleven days. No server is taken at its word for less; by less nothing can be divided."""

TOLERANCE_SECONDS = 1e-6
"""Units by which a request may come too early and still be accepted. Moments are rounded to a quarter of it; without
this a caller could be sent away until now, again and again.
"""


class Rate(NamedTuple):
    """Gain and capacity of a bucket."""

    full: float
    """Units a second where nothing was cut."""
    burst: float
    """Units that it holds at most."""
    cut: float | None = None
    """Units a second that were left at the last refusal; None where there was none."""
    cut_at: float = 0.0
    """Moment of that, Unix seconds."""

    def at(self, now: float) -> float:
        """Units a second at this moment."""
        if self.cut is None:
            return self.full
        return min(self.full, self.cut + self._growth * max(0.0, now - self.cut_at))

    @property
    def _growth(self) -> float:
        return self.full / RECOVERY_SECONDS

    def _since_cut(self, seconds: float) -> float:
        """Units gained in the first seconds after the cut; negative for moments before it."""
        assert self.cut is not None
        if self.cut >= self.full:
            return self.full * seconds
        if seconds <= 0:
            return self.cut * seconds
        growing = min(seconds, (self.full - self.cut) / self._growth)
        return self.cut * growing + self._growth * growing**2 / 2 + self.full * (seconds - growing)

    def gained(self, since: float, until: float) -> float:
        """Units gained from one moment to a later one."""
        if self.cut is None:
            return self.full * (until - since)
        return self._since_cut(until - self.cut_at) - self._since_cut(since - self.cut_at)

    def seconds_for(self, units: float, since: float) -> float:
        """Return the seconds from this moment on in which the bucket gains this number of units."""
        if units <= 0:
            return 0.0
        if self.cut is None or self.cut >= self.full:
            return units / self.full
        begun = since - self.cut_at
        wanted = self._since_cut(begun) + units
        if wanted <= 0:
            return wanted / self.cut - begun
        growing = (self.full - self.cut) / self._growth
        grown = self._since_cut(growing)
        if wanted >= grown:
            return growing + (wanted - grown) / self.full - begun
        return (math.sqrt(self.cut**2 + 2 * self._growth * wanted) - self.cut) / self._growth - begun

    def halved(self, now: float) -> float:
        """Return the rate after a refusal at this moment, units a second."""
        return max(self.full * FLOOR, self.at(now) / 2)


class Queue(NamedTuple):
    """A queue that was limited, paused or blocked; of any other there is nothing to know."""

    name: str
    concurrency: int | None
    """Claims at once over all workers; None for no limit."""
    explicit: bool
    """True when a person set the limit, which an app's declaration does not change."""
    paused_at: float | None
    paused_by: str | None
    paused_reason: str | None
    blocked_at: float | None = None
    """Since when submits into it are refused, Unix seconds; spawns of running lineages go on."""
    blocked_by: str | None = None
    blocked_reason: str | None = None
    on_drained: str | None = None
    """The kind of the task that is submitted once no task of it lives; None where none was asked for, or it was."""
    drained_at: float | None = None
    """Moment at which that task was submitted, Unix seconds."""


class KindLimit(NamedTuple):
    """Number of tasks of a kind that may run at once."""

    name: str
    concurrency: int
    """Claims at once over all workers."""
    explicit: bool
    """True when a person set the limit, which an app's declaration does not change."""


class DeclaredFlow(NamedTuple):
    """Queues, kinds and resources as an app declares them."""

    queues: Mapping[str, int | None]
    """Claims at once, by name; None takes a declared limit back."""
    kinds: Mapping[str, int | None]
    policies: Sequence[ResourcePolicy]
    limits: Mapping[str, str | None] = MappingProxyType({})
    """Limits, as JSON, of lineages whose root is of a kind, by its name; None where the code declares none."""


class ClaimUsage(NamedTuple):
    """Claims that are held now, by queue, kind and resource."""

    queues: Mapping[str, int]
    kinds: Mapping[str, int]
    resources: Mapping[str, int]


class WorkerStatus(NamedTuple):
    """A worker as it said itself."""

    name: str
    host: str
    pid: int
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    """Handlers at once."""
    started_at: float = 0.0
    seen_at: float = 0.0
    alive: bool = True
    """False when it has said nothing for a minute."""


class HandlerWait(NamedTuple):
    """A handler that waits inside, with its slot, for another task."""

    task_id: str
    kind: str
    since: float
    """Unix seconds."""
    awaited_id: str
    awaited_kind: str
    awaited_state: str


class StarvedKind(NamedTuple):
    """Pending tasks whose every slot is held by a handler that waits inside for a pending task."""

    queue: str
    kind: str
    slots: int
    """Slots in which they could run, all of them held."""
    waiter_id: str
    """The task whose handler waits for longest for one of them."""
    waiter_kind: str
    awaited_id: str
    since: float
    """Unix seconds."""


class UnservedKind(NamedTuple):
    """Live tasks that no living worker serves."""

    queue: str
    kind: str
    tasks: int
    more: bool = False
    """True when counting stopped at a bound: there are at least ``tasks``."""
    waiter: str | None = None
    """A task that waits for one of them since a join; None where none was found."""


COMMIT_BUCKETS_SECONDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip
"""Upper bounds of the buckets of :class:`CommitTimes`, inclusive; what took longer is in one more."""
COMMIT_VERBS = ("claim", "settle", "submit", "other")
"""Purpose of a transaction; ``other`` is none of the first three: a heartbeat, maintenance, an operator's act."""


class CommitTimes(NamedTuple):
    """Durations of the transactions of one verb, from the call until they were durable, over all workers there ever
    were.

    Counts only grow: what a worker measured stays when it has ended.
    """

    verb: str
    """One of :data:`COMMIT_VERBS`."""
    counts: tuple[int, ...]
    """Transactions by :data:`COMMIT_BUCKETS_SECONDS`, then those beyond the last; not cumulative."""
    seconds: float
    """Their sum."""

    @property
    def commits(self) -> int:
        """All of them."""
        return sum(self.counts)
