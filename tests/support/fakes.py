"""What tests put in the place of clocks, chance, pace and handlers, so that nothing depends on timing."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import Any

from ramet import App, Context, StoreError, StoreUnreachable
from ramet.engine.base.clock import SystemClock


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
    """A pace that wants the same number in hand until one stalls, so that a test knows what is prefetched."""

    def __init__(self, most: int) -> None:
        self.most = most

    def settled(self, count: int, taken_at: float = 0.0) -> None: ...

    def stalled(self) -> None:
        self.most = 1

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


class LeapingClock(SystemClock):
    """The machine's clock, ahead by as much as a test wants: leases lapse without anybody waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


class AwayStore:
    """A store whose database can be away: then no verb reaches it, and each says so."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.away = False
        self.silent: set[str] = set()
        """Verbs that are not answered at all."""
        self.asked: Counter[str] = Counter()
        """How often the database was asked for each verb."""
        self.missed: Counter[str] = Counter()
        """How often each verb was asked for in vain."""
        self.unanswered: dict[str, StoreError] = {}
        """Verbs that the database does once more, but whose answer is lost: what the caller is told instead."""

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(verb) or name in ("wait_for_work", "close"):
            return verb

        async def passed(*arguments: Any, **options: Any) -> Any:
            if name in self.silent:
                self.missed[name] += 1
                await asyncio.Event().wait()
            if self.away:
                self.missed[name] += 1
                raise StoreUnreachable("no answer from db:5432")
            self.asked[name] += 1
            answer = await verb(*arguments, **options)
            if name in self.unanswered:
                raise self.unanswered.pop(name)
            return answer

        return passed
