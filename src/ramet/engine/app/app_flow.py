"""The part of the app that declares limits of queues and resources."""

from __future__ import annotations

from ramet.engine.kinds.sharing import at_least_one, checked_policy
from ramet.model.flow.resources import FAILURES_MAX, Policy


class FlowApp:
    """See :class:`ramet.engine.app.app.App`."""

    def __init__(self) -> None:
        self.queues: dict[str, int | None] = {}
        """What :meth:`queue` declared; a worker stores it when it starts, as it does for kinds and resources."""
        self.resources: dict[str, Policy] = {}

    def queue(self, name: str, *, concurrency: int | None) -> None:
        """Declare how many tasks of a queue run at once, over all workers; a person's ``ramet limit`` is stronger.

        Raises:
            ValueError: the number is less than 1.
        """
        self.queues[name] = at_least_one(f"queue {name!r}", concurrency)

    def resource(
        self,
        pattern: str,
        *,
        concurrency: int | None = None,
        rate_per_second: float | None = None,
        burst: float = 1.0,
        breaker_failures: int = FAILURES_MAX,
        cooldown_seconds: float | None = None,
    ) -> None:
        """Declare what a resource bears, over all workers; a person's ``ramet limit resource`` is stronger.

        Args:
            pattern: its name, or a prefix followed by ``*``; the name itself goes first, then the longest prefix.
            concurrency: claims at once; None for no limit.
            rate_per_second: claims a second in the long run; None for no limit.
            burst: claims at once after a time without any.
            breaker_failures: failures in a row that open its breaker; 0 for no breaker.
            cooldown_seconds: after so long an open breaker lets one task through. Left out, failed tasks count
                instead of attempts, what waits is skipped, and only a person closes it.

        Raises:
            ValueError: a number is out of range.
        """
        policy = Policy(pattern, concurrency, rate_per_second, burst, breaker_failures, cooldown_seconds)
        self.resources[pattern] = checked_policy(policy)
