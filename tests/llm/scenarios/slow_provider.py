"""The provider of :mod:`tests.llm.fake_provider` with calls that take time, and a note of every poll."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ramet.llm.errors import Ambiguous, NotSent
from ramet.llm.providers.base import Poll, Submission
from ramet.llm.requests import Request
from tests.llm.fake_provider import FakeProvider


@dataclass
class SlowProvider(FakeProvider):
    """Every call takes ``call_seconds``; one that takes longer than it may is cut off, as a client would."""

    call_seconds: Callable[[], float] = lambda: 0.2
    polled_at: dict[str, list[float]] = field(default_factory=dict)
    """When each submission was asked about, by remote id."""

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        wanted = self.call_seconds()
        if wanted > seconds:
            await super().submit(requests, submit_key=submit_key, seconds=seconds)
            await asyncio.sleep(seconds)
            raise Ambiguous(f"no answer within {seconds:.0f} s")
        await asyncio.sleep(wanted / 2)
        answer = await super().submit(requests, submit_key=submit_key, seconds=seconds)
        await asyncio.sleep(wanted / 2)
        return answer

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        wanted = self.call_seconds()
        await asyncio.sleep(min(wanted, seconds))
        if wanted > seconds:
            raise NotSent(f"no answer within {seconds:.0f} s")
        self.polled_at.setdefault(remote_id, []).append(self.now())
        return await super().poll(remote_id, seconds=seconds)

    def asks(self, remote_id: str) -> str:
        """The first question of a submission."""
        return str(self.taken[remote_id].requests[0].messages[-1]["content"])
