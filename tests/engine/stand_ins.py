"""What tests put in the place of clocks, chance, pace and handlers, so that nothing depends on timing."""

from __future__ import annotations

import asyncio
import random

from ramet import App, Context


class Hands:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class Greedy:
    """A pace that always wants the same number in hand, so that a test knows what is prefetched."""

    def __init__(self, most: int) -> None:
        self.most = most

    def settled(self, count: int) -> None: ...

    def wanted(self, held: int) -> int:
        return max(0, self.most - held)


def always(number: float) -> random.Random:
    """Chance that always draws this."""
    rng = random.Random(0)
    rng.random = lambda: number  # type: ignore[method-assign]
    return rng


class Held:
    """An app whose handlers run until they are let go."""

    def __init__(self, app: App) -> None:
        self.running: set[int] = set()
        self.began: list[int] = []
        self.go_on = asyncio.Event()

        @app.task("held")
        async def held(ctx: Context, n: int) -> int:
            self.began.append(n)
            self.running.add(n)
            try:
                await self.go_on.wait()
            finally:
                self.running.discard(n)
            return n
