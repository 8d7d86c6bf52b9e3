"""A provider that bills: what it will answer is fixed when it takes a question on, however often it is read.

It outlives the processes that ask it. The words of a prompt say what happens to it: see `WORDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from ramet.llm.errors import Ambiguous, Refused, TooBusy
from ramet.llm.providers.base import Answer, AnswerState, Capabilities, Mode, Poll, PollState, Submission, TokenUsage
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request
from tests.llm.fake_provider import CAPS

USAGE = TokenUsage(input_tokens=10, output_tokens=5)
GOOD = '{"name": "owl"}'
WORDS = {
    "owl": "success", "finch": "success", "gull": "success", "heron": "success",
    "second": "success",  # Its first answer does not fit.
    "never": "failed",  # None of its answers does.
    "flaky": "success",  # Its first answer is an error that may pass.
    "bad": "failed",  # Its answer is an error.
    "long": "failed",  # Its answer is cut off.
    "refused": "failed",  # It is not taken on, nor is a batch with it.
    "busy": "success",  # Its first submit comes too early.
    "unsure": "success",  # Its first submit is taken on, and nobody is told.
    "unsent": "success",  # Its first submit is not taken on, and nobody is told.
}  # fmt: skip
"""What prompts may say, and how their items end."""
Fault = Callable[[str, object], Exception | None]


def _prompt(request: Request) -> str:
    """What a question said first: one that is asked again has its answer and the fault behind that."""
    said = [str(message["content"]) for message in request.messages]
    return next((words for words in said if words in WORDS), said[-1])


@dataclass
class Taken:
    """What was taken on under a name, and what it is answered."""

    remote_id: str
    submit_key: str
    at: float
    answers: dict[str, Answer]
    """By the question's key."""
    cancelled: bool = False


@dataclass
class BillingProvider:
    """One provider for all lives of a process."""

    mode: Mode
    now: Callable[[], float]
    seconds: float = 400.0
    """How long it works on what it took on."""
    fault: Fault = lambda verb, about: None
    """Asked before every verb (``submit``, ``poll``, ``cancel``, ``results``, ``find``), and with ``accepted`` after a
    submit: what goes wrong."""
    name: str = "fake"
    taken: dict[str, Taken] = field(default_factory=dict)
    """By remote id."""
    submits: Counter[str] = field(default_factory=Counter)
    """How often each prompt was sent, taken on or not."""
    accepted: Counter[str] = field(default_factory=Counter)
    """How often it was taken on."""
    troubles: set[str] = field(default_factory=set)
    """Those of submits that happen once and have happened."""

    @property
    def caps(self) -> Capabilities:
        return CAPS[self.mode]

    def _fault(self, verb: str, about: object) -> None:
        fault = self.fault(verb, about)
        if fault is not None:
            raise fault

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        assert seconds > 0
        words = [_prompt(request) for request in requests]
        self.submits.update(words)
        self._fault("submit", submit_key)
        if "refused" in words:
            raise Refused("it says what must not be said", "content")
        if self._first("busy", words):
            raise TooBusy("come back", 7.0)
        if self._first("unsent", words):
            raise Ambiguous("no answer")
        answers = {request.key: self._answer(request, word) for request, word in zip(requests, words, strict=True)}
        taken = Taken(f"remote-{len(self.taken)}", submit_key, self.now(), answers)
        self.taken[taken.remote_id] = taken
        if self._first("unsure", words):
            raise Ambiguous("the connection was cut")
        self._fault("accepted", submit_key)
        return Submission(taken.remote_id, answers[requests[0].key] if self.mode is Mode.CHAT else None)

    def _first(self, trouble: str, words: list[str]) -> bool:
        """Whether these words ask for a trouble that there was not yet."""
        if trouble not in words or trouble in self.troubles:
            return False
        self.troubles.add(trouble)
        return True

    def _answer(self, request: Request, word: str) -> Answer:
        self.accepted[word] += 1
        good = Answer(request.key, AnswerState.SUCCEEDED, GOOD, USAGE)
        first = self.accepted[word] == 1
        match word:
            case "never":
                return good._replace(text="an owl")
            case "second" if first:
                return good._replace(text="an owl")
            case "flaky" if first:
                return Answer(
                    request.key, AnswerState.FAILED, error="try again", code="overloaded", meaning=Meaning.BUSY
                )
            case "bad":
                return Answer(request.key, AnswerState.FAILED, error="no", code="invalid_prompt")
            case "long":
                return good._replace(state=AnswerState.INCOMPLETE, error="cut off", code="max_output_tokens")
        return good

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        assert seconds > 0
        self._fault("poll", remote_id)
        taken = self.taken[remote_id]
        if not taken.cancelled and self.now() - taken.at < self.seconds:
            return Poll(PollState.LIVE, "in_progress", 0, len(taken.answers))
        return Poll(PollState.ENDED, "cancelled" if taken.cancelled else "completed", len(taken.answers))

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Every other question of a batch was answered before the word came."""
        assert seconds > 0
        self._fault("cancel", remote_id)
        taken = self.taken[remote_id]
        if taken.cancelled or self.now() - taken.at >= self.seconds:
            return
        taken.cancelled = True
        batch = self.mode is Mode.BATCH
        for number, key in enumerate(taken.answers):
            if not batch or number % 2:
                taken.answers[key] = Answer(key, AnswerState.CANCELLED, usage_known=batch)

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        assert seconds > 0
        for number, answer in enumerate(self.taken[remote_id].answers.values()):
            self._fault("results", (remote_id, number))
            yield answer

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        assert seconds > 0
        self._fault("find", submit_key)
        return next((name for name, taken in self.taken.items() if taken.submit_key == submit_key), None)

    async def close(self) -> None:
        """There is nothing to close."""
