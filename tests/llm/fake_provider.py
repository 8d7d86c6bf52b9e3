"""A provider inside the test, on the test's clock: what it is asked it remembers, what it answers the test says.

Contract tests run the real adapters against real servers; this one is for what needs virtual time, crashes at every
statement, and faults at exact places.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ramet.llm.errors import Ambiguous
from ramet.llm.providers.base import (
    Answer,
    AnswerState,
    Capabilities,
    Mode,
    Poll,
    PollState,
    Submission,
    TokenUsage,
)
from ramet.llm.requests import Request

USAGE = TokenUsage(input_tokens=10, output_tokens=5)
Fault = Literal["before", "after"]

CAPS = {
    Mode.CHAT: Capabilities(1, 1 << 30, 60.0, can_cancel=False, can_find=False, discount=1.0, result_seconds=None),
    Mode.BACKGROUND: Capabilities(
        1, 1 << 30, 3_600.0, can_cancel=True, can_find=False, discount=1.0, result_seconds=None
    ),
    Mode.BATCH: Capabilities(
        50_000, 1 << 30, 86_400.0, can_cancel=True, can_find=True, discount=0.5, result_seconds=None
    ),
}


@dataclass
class Taken:
    """What was taken on."""

    submit_key: str
    requests: tuple[Request, ...]
    at: float
    cancelled: bool = False


def echo(request: Request) -> Answer:
    """The last message, in capitals."""
    return Answer(request.key, AnswerState.SUCCEEDED, str(request.messages[-1]["content"]).upper(), USAGE)


@dataclass
class FakeProvider:
    """Answers what ``answer`` says after ``seconds``; every verb first asks ``fault`` what goes wrong."""

    mode: Mode
    now: Callable[[], float]
    answer: Callable[[Request], Answer | None] = echo
    """None: this one is never answered (of a batch: left out)."""
    seconds: float = 0.0
    """How long it works on a submission; ``inf``: for ever."""
    fault: Callable[[str, object], Exception | None] = lambda verb, what: None
    """Called with the verb and what it is about: an exception to raise instead of doing it."""
    lose_answer: Callable[[str], bool] = lambda submit_key: False
    """Whether a submit is taken on and its answer lost."""
    end: Callable[[str], Poll | None] = lambda remote_id: None
    """What the poll of a submission that would have ended says instead."""
    name: str = "fake"
    taken: dict[str, Taken] = field(default_factory=dict)
    """By remote id."""
    polls: int = 0
    cancels: list[str] = field(default_factory=list)

    @property
    def caps(self) -> Capabilities:
        return CAPS[self.mode]

    @property
    def journal(self) -> dict[str, int]:
        """How often each question was taken on, by key."""
        counts: dict[str, int] = {}
        for one in self.taken.values():
            for request in one.requests:
                counts[request.key] = counts.get(request.key, 0) + 1
        return counts

    def _fault(self, verb: str, what: object) -> None:
        fault = self.fault(verb, what)
        if fault is not None:
            raise fault

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        assert seconds > 0
        assert 1 <= len(requests) <= self.caps.items_max
        self._fault("submit", requests)
        remote_id = f"remote-{len(self.taken)}"
        self.taken[remote_id] = Taken(submit_key, tuple(requests), self.now())
        if self.lose_answer(submit_key):
            raise Ambiguous("the connection was cut")
        answer = self.answer(requests[0]) if self.mode is Mode.CHAT else None
        return Submission(remote_id, answer)

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        assert seconds > 0
        self.polls += 1
        self._fault("poll", remote_id)
        one = self.taken.get(remote_id)
        if one is None:
            return Poll(PollState.LOST, "not_found")
        if one.cancelled:
            return Poll(PollState.ENDED, "cancelled")
        if self.now() - one.at < self.seconds or (self.mode is Mode.BACKGROUND and not self.answer(one.requests[0])):
            return Poll(PollState.LIVE, "in_progress", 0, len(one.requests))
        ended = self.end(remote_id)
        if ended is not None:
            return ended
        return Poll(PollState.ENDED, "completed", len(one.requests), len(one.requests))

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        assert seconds > 0
        self._fault("cancel", remote_id)
        self.cancels.append(remote_id)
        if self.now() - self.taken[remote_id].at < self.seconds:
            self.taken[remote_id].cancelled = True

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        assert seconds > 0
        one = self.taken[remote_id]
        for number, request in enumerate(one.requests):
            self._fault("results", (remote_id, number))
            if one.cancelled:
                yield Answer(request.key, AnswerState.CANCELLED, usage_known=self.mode is Mode.BATCH)
                continue
            answer = self.answer(request)
            if answer is not None:
                yield answer._replace(key=request.key)

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        assert seconds > 0
        self._fault("find", submit_key)
        return next((name for name, one in self.taken.items() if one.submit_key == submit_key), None)

    async def close(self) -> None:
        """There is nothing to close."""
