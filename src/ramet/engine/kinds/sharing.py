"""What tasks of a kind share with others: how many run at once, and which resource they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

from ramet.model.flow.resources import NAME_LENGTH_MAX, Policy
from ramet.model.text import check_text

ResourceOf = Callable[[Any], str | None]


class Sharing(NamedTuple):
    """What a kind declares about the company of its tasks."""

    concurrency: int | None = None
    """Claims at once over all workers; None for no limit."""
    resource: str | ResourceOf | None = None
    """A host, a provider: as a name, or from the payload."""

    def checked(self, kind: str) -> Self:
        """The same.

        Raises:
            ValueError: an option of this kind is out of range.
        """
        at_least_one(f"kind {kind!r}", self.concurrency)
        return self

    def resource_of(self, kind: str, payload: Any) -> str | None:
        """The resource of a task with this payload.

        Raises:
            ValueError: its name is empty or too long.
        """
        name = self.resource(payload) if callable(self.resource) else self.resource
        if name is not None and not 0 < len(check_text("the resource", name)) <= NAME_LENGTH_MAX:
            raise ValueError(
                f"resource {name[:50]!r} of kind {kind!r}: give a name of 1 to {NAME_LENGTH_MAX} characters"
            )
        return name


ALONE = Sharing()


def at_least_one(what: str, concurrency: int | None) -> int | None:
    """A limit of concurrency, if it is one.

    Raises:
        ValueError: it is less than 1.
    """
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"{what}: concurrency is {concurrency}, give at least 1; pause it to run nothing")
    return concurrency


def checked_policy(policy: Policy) -> Policy:
    """A policy, if its numbers make sense.

    Raises:
        ValueError: with what to give instead.
    """
    what = f"resource {policy.pattern!r}"
    check_text("the name of a resource", policy.pattern, characters_max=NAME_LENGTH_MAX)
    if not policy.pattern or "*" in policy.pattern[:-1]:
        raise ValueError(f"{what} is no pattern: give a name, or a prefix followed by one *")
    at_least_one(what, policy.concurrency)
    if policy.rate_per_second is not None and not 0 < policy.rate_per_second < float("inf"):
        raise ValueError(f"{what}: rate_per_second is {policy.rate_per_second}, give a number above 0")
    if not 1 <= policy.burst < float("inf"):
        raise ValueError(f"{what}: burst is {policy.burst}, give at least 1")
    if policy.breaker_failures < 0:
        raise ValueError(f"{what}: breaker_failures is {policy.breaker_failures}, give 0 for none or more")
    if policy.cooldown_seconds is not None and not 0 < policy.cooldown_seconds < float("inf"):
        raise ValueError(f"{what}: cooldown_seconds is {policy.cooldown_seconds}, give a number above 0")
    return policy
