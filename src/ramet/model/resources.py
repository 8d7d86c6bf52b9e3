"""Resources: hosts, providers and sources that tasks share; their rates, pauses and breakers (DESIGN §6, §10).

A *policy* says what a resource bears and is declared for a name or a prefix (``host:*``); a *resource* is where it
stands. Everything here is pure: the store reads a resource, asks, and writes the answer in the transaction that
claims or settles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

NAME_LENGTH_MAX = 300
FAILURES_MAX = 5
"""Consecutive failures that open a breaker, unless a policy says otherwise (DESIGN §6)."""
LOOK_SECONDS = 1.0
"""A resource whose slots are all taken is looked at again after so long, or as soon as one is given back."""


class Policy(NamedTuple):
    """What a resource bears. ``pattern`` is a name, or a prefix followed by ``*``."""

    pattern: str
    concurrency: int | None = None
    """Claims at once over all workers; None for no limit."""
    rate_per_second: float | None = None
    """Claims a second in the long run; None for no limit."""
    burst: float = 1.0
    """Claims at once after a time without any."""
    breaker_failures: int = FAILURES_MAX
    """Consecutive failures that open the breaker; 0 for no breaker."""
    cooldown_seconds: float | None = None
    """After so long an open breaker lets one task through; None: only a person closes it."""
    explicit: bool = False
    """True when a person set it, which an app's declaration does not change."""


class Resource(NamedTuple):
    """Where a resource stands."""

    name: str
    tokens: float | None = None
    """Claims that the rate has in store; None for a full burst."""
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
    """When a claim looks at it next; None when nothing waits for it."""


class Room(NamedTuple):
    """How many tasks of a resource may be claimed now, and if none, why and until when."""

    claims: int | None
    """None for any number."""
    reason: str = ""
    """``breaker``, ``disabled``, ``paused``, ``rate`` or ``concurrency`` when there is none."""
    until: float | None = None
    """When there may be room again; None when only an event makes it."""


def policy_of(name: str, policies: Iterable[Policy]) -> Policy:
    """The policy of a resource: that of its very name, else of the longest prefix, else the default."""
    best = Policy(name)
    length = -1
    for policy in policies:
        if policy.pattern == name:
            return policy
        if policy.pattern.endswith("*") and name.startswith(policy.pattern[:-1]) and len(policy.pattern) > length:
            best, length = policy, len(policy.pattern)
    return best


def refilled(resource: Resource, policy: Policy, now: float) -> Resource:
    """The resource with the tokens that time has brought. A clock that was set back brings none twice."""
    if policy.rate_per_second is None:
        return resource
    if resource.tokens is None:
        return resource._replace(tokens=policy.burst, refilled_at=max(now, resource.refilled_at))
    if now <= resource.refilled_at:
        return resource
    gained = (now - resource.refilled_at) * policy.rate_per_second
    return resource._replace(tokens=min(policy.burst, resource.tokens + gained), refilled_at=now)


def room(resource: Resource, policy: Policy, now: float, in_use: int) -> Room:
    """How many claims of the resource are possible at ``now`` beside the ``in_use`` that are held."""
    if resource.opened_at is not None and policy.cooldown_seconds is None:
        return Room(0, "disabled")
    counts: list[int] = []
    if resource.opened_at is not None and policy.cooldown_seconds is not None:
        until = resource.opened_at + policy.cooldown_seconds
        if now < until:
            return Room(0, "breaker", until)
        if in_use:
            return Room(0, "breaker")  # Half open: one at a time shows how it is.
        counts.append(1)
    if now < resource.paused_until:
        return Room(0, "paused", resource.paused_until)
    if policy.concurrency is not None:
        if in_use >= policy.concurrency:
            return Room(0, "concurrency")
        counts.append(policy.concurrency - in_use)
    if policy.rate_per_second is not None:
        full = refilled(resource, policy, now)
        tokens = full.tokens or 0.0
        if tokens < 1.0:
            seconds = (1.0 - tokens) / policy.rate_per_second if policy.rate_per_second > 0 else float("inf")
            return Room(0, "rate", max(now, full.refilled_at) + seconds)
        counts.append(int(tokens))
    return Room(min(counts) if counts else None)


def spend(resource: Resource, policy: Policy, now: float, claims: int) -> Resource:
    """The resource after so many claims."""
    if policy.rate_per_second is None:
        return resource
    full = refilled(resource, policy, now)
    return full._replace(tokens=(full.tokens or 0.0) - claims)


def give_back(resource: Resource, policy: Policy, claims: int) -> Resource:
    """The resource after so many claims went back unstarted."""
    if policy.rate_per_second is None or resource.tokens is None:
        return resource
    return resource._replace(tokens=min(policy.burst, resource.tokens + claims))


def succeeded(resource: Resource) -> Resource:
    """A success resets the count; in a breaker with cool-down it also closes it."""
    return resource._replace(failures=0, opened_at=None, opened_by=None, opened_reason=None)


def failed(resource: Resource, policy: Policy, now: float, reason: str) -> Resource:
    """One more failure in a row; opens the breaker when there are enough, or when it was half open."""
    failures = resource.failures + 1
    counted = resource._replace(failures=failures)
    if not policy.breaker_failures or failures < policy.breaker_failures:
        return counted
    return counted._replace(
        opened_at=now, opened_by="engine", opened_reason=f"{failures} failures in a row, the last: {reason}"
    )


def paused(resource: Resource, until: float, reason: str) -> Resource:
    """A server named the time to come back; of several the latest holds."""
    if until <= resource.paused_until:
        return resource
    return resource._replace(paused_until=until, paused_reason=reason)
