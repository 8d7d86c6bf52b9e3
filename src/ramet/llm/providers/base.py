"""The verbs of a provider: submit, poll, cancel, results, find. A background call is a batch of one.

An adapter makes exactly one HTTP call for one verb (``results`` may page, a batch's ``submit`` uploads first), with
the retries of its SDK off: who asks again, and when, is decided once, by the tasks. Every verb gets the seconds that
it may take, and raises an error of :mod:`ramet.llm.errors` that says what is known about the request's fate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request


class Mode(StrEnum):
    """Mode of asking a provider."""

    CHAT = "chat"
    """One call, which answers."""
    BACKGROUND = "background"
    """One call for each prompt, asked about later."""
    BATCH = "batch"
    """Many prompts in one batch, hours later, usually at half the price."""


@dataclass(slots=True)
class Sending:
    """State of one call in the transport."""

    began: bool = False
    """True once bytes of the request may have left."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities of a provider in a mode."""

    items_max: int
    """Prompts of one submit; 1 but for batches."""
    bytes_max: int
    """Most bytes of one submit."""
    window_seconds: float
    """Seconds in which it answers or gives up."""
    can_cancel: bool
    can_find: bool
    """True if an ambiguous submit can be looked up by its key."""
    discount: float
    """Factor on the model's price."""
    result_seconds: float | None
    """Time for which finished results are kept; None for days."""


CHAT_CAPS = Capabilities(
    items_max=1,
    bytes_max=32 * 1024 * 1024,
    window_seconds=600.0,
    can_cancel=False,
    can_find=False,
    discount=1.0,
    result_seconds=None,
)
"""Capabilities of plain calls, at every provider: nothing is kept there, so nothing can be asked for later."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that a call used, as the provider counted them."""

    input_tokens: int = 0
    """All of them, the cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0
    """All of them, reasoning included."""
    written_tokens: int = 0
    """Input tokens written to the provider's cache, which can cost more."""
    audio_tokens: int = 0
    """Input tokens of sound, which cost more."""


class AnswerState(StrEnum):
    """State of one request at its end."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """The provider tells an error; nothing was billed."""
    INCOMPLETE = "incomplete"
    """Cut off by the token limit or a filter: billed, and the same again would be cut off again."""
    EXPIRED = "expired"
    """The provider's window passed before it came to this one; not billed."""
    CANCELLED = "cancelled"


class Answer(NamedTuple):
    """A provider's answer to one request."""

    key: str
    state: AnswerState
    text: str | None = None
    """The model's words; of an incomplete answer what there is."""
    usage: TokenUsage = TokenUsage()
    usage_known: bool = True
    """False where it may have been billed and the provider did not say how much: what was reserved counts as spent."""
    error: str | None = None
    """One line, for all states but succeeded."""
    code: str | None = None
    """Short and stable: the provider's code of the error, or why it is incomplete."""
    meaning: Meaning | None = None
    """Meaning of a failed one: the remedy (:mod:`ramet.llm.refusals`); None where the provider does not say."""
    response_id: str | None = None
    model: str | None = None
    """Model that answered, as the provider says."""
    raw: dict[str, Any] | None = None
    """Further output besides text, in the provider's own form: tool calls and the like."""
    finish_reason: str | None = None
    """Reason why the model stopped, in the provider's own word."""
    reasoning: str | None = None
    """The part of its reasoning that the provider shows."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Calls in the form of chat completions, whichever provider answered: an assistant's message takes them back."""
    logprobs: Any = None
    """Log probabilities as the provider wrote them."""
    choices: tuple[Mapping[str, Any], ...] = ()
    """The second and following ones of ``n`` answers: text, finish_reason, tool_calls and the like of each."""
    embedding: Any = None
    """A vector; a list of vectors where a list of texts was asked about."""
    body: Mapping[str, Any] | None = None
    """All of the answer, as the provider wrote it."""

    @property
    def retriable(self) -> bool:
        """Of a failed one: whether asking again can help."""
        return self.meaning in (Meaning.AGAIN, Meaning.BUSY)

    def details(self) -> dict[str, Any]:
        """Return the answer beside its text: the fields from ``finish_reason`` to ``embedding`` that it has."""
        found = {name: getattr(self, name) for name in ANSWER_DETAILS}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items() if value}


ANSWER_DETAILS = ("finish_reason", "reasoning", "tool_calls", "logprobs", "choices", "embedding")
"""Fields of :class:`Answer` that results keep where they are not empty."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A rate limit, as an answer's headers state it."""

    of: str
    """``requests`` or ``tokens``."""
    limit: int | None
    """A minute."""
    remaining: int | None
    reset_seconds: float | None
    """Seconds until it is full again."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The provider took it on."""

    remote_id: str
    answer: Answer | None = None
    """The answer, of a call that answers at once (chat)."""
    rates: tuple[RateLimit, ...] = ()


class PollState(StrEnum):
    """State of a submission at the provider."""

    LIVE = "live"
    ENDED = "ended"
    """Results can be read: all, some or, when it was cancelled or expired early, none."""
    FAILED = "failed"
    """Failed as a whole, and for good: it was refused after it was accepted; there are no results."""
    LOST = "lost"
    """The provider does not know it (any more): its fate, and whether it was billed, cannot be known."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The answer to a poll."""

    state: PollState
    provider_state: str
    """The provider's own word: ``in_progress``, ``validating``, ``expired``, ..."""
    done: int = 0
    """Requests that have an outcome."""
    total: int = 0
    error: str | None = None
    meaning: Meaning | None = None
    """Meaning of a failed one, as for an answer."""
    retry_seconds: float | None = None
    """Time until it wants to be asked again; None where it does not say."""
    answer: Answer | None = None
    """The result that the poll of a background call brought along at its end: it need not be asked for again."""
    rates: tuple[RateLimit, ...] = ()


@dataclass(frozen=True, slots=True)
class Gateway:
    """Parts of a request that a gateway, or a server with the same API, wants beside the usual."""

    limit_name: str | None = None
    """The parameter that limits an answer's tokens; None: known by the address, or learned from a refusal."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers of every request, over those of the same name; a value may be secret."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Added to every address."""


class Provider(Protocol):
    """One vendor in one mode. Safe for many calls at once in one event loop."""

    name: str
    """``openai``, ``anthropic``."""
    mode: Mode
    caps: Capabilities

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Hand requests over, once.

        Args:
            requests: at most ``caps.items_max``.
            submit_key: sent along (metadata) where the provider takes it, so that :meth:`find` can find it.
            seconds: how long the call may take.

        Raises:
            TooBusy, NotSent: nothing was taken on; ask again later.
            Refused: the request is at fault.
            NotAllowed: a person has to act.
            Ambiguous: it may have been taken on.
        """
        ...

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """Return its state. An id that the provider does not know is :attr:`PollState.LOST`, no error.

        Raises:
            TooBusy, NotSent: ask again later (every failure of a poll but those below is one of these).
            NotAllowed: a person has to act.
        """
        ...

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Stop it, as far as that is possible; twice is once, and one that ended or is unknown is not an error.

        Raises:
            TooBusy, NotSent, NotAllowed: as for :meth:`poll`.
        """
        ...

    def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """Yield the answers of an ended submission, in any order: never all of them in memory.

        ``seconds`` bounds each read, not all of them. A line that cannot be read is an answer ``failed`` with code
        ``unreadable`` where its key is known, and is left out (and logged) where not.

        Raises:
            TooBusy, NotSent, NotAllowed: as for :meth:`poll`; what came before is to be kept.
        """
        ...

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Return the remote id of what was submitted under a key; None when the provider does not have it.

        Args:
            submitted_at: when that submit began, Unix seconds: for providers that can tell only what is not older.

        Raises:
            TooBusy, NotSent, NotAllowed: as for :meth:`poll`.
            NotImplementedError: ``caps.can_find`` is False.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
