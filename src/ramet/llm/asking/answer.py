"""Results of ``ask``, and its errors where there is no answer that could be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ramet import Permanent, RetryAfter, Transient
from ramet.llm.providers.base import TokenUsage

Value = TypeVar("Value")
PAUSED_SECONDS = 5.0
"""Most seconds until the tasks of a lineage that a person resumed come back."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """Answer of a model, with its cost."""

    text: str
    """The words of its last message; empty where it has none."""
    value: Value
    """The answer as the type or JSON Schema that was asked for; None where none was."""
    cost: int
    """Nano-dollars that this task has paid for it, repairs and rounds of tools included; 0 from the cache."""
    usage: TokenUsage
    """Tokens of all calls together."""
    model: str
    """Model that answered, as the provider says."""
    finish_reason: str | None = None
    """Reason why the model stopped, in the provider's own word."""
    reasoning: str | None = None
    """The part of its reasoning that the provider shows, of the last message."""
    refusal: str | None = None
    """The words with which the model refused to answer."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Calls of tools, of all rounds in their order: ``{"name": ..., "arguments": text, "result": text}``."""
    response_id: str | None = None
    cached: bool = False
    """True if no call was made for it, now or in an earlier attempt: another task had paid."""
    messages: Sequence[Mapping[str, Any]] = ()
    """The conversation up to this answer, which goes on with ``ask(ctx, model, [*answer.messages, ...])``."""


class AnswerError(Permanent):
    """There is no answer that could be used, and asking the same again would not bring one. One line."""

    def __init__(self, words: str, answer: Answer[Any] | None = None) -> None:
        super().__init__(words)
        self.answer = answer
        """Answer so far, with its cost; None where the provider took nothing on."""


class RequestRefused(AnswerError):
    """The provider refuses the request: a parameter, a message or its size is at fault. Nothing was paid."""


class AnswerRefused(AnswerError):
    """The model refused to answer, or a filter of the provider held the answer back. It was paid."""


class AnswerCutOff(AnswerError):
    """The answer was cut off at its token limit or its context: allow more tokens. It was paid."""


class AnswerInvalid(AnswerError):
    """The answer does not fit what was asked for, after all repairs."""


class TooManyRounds(AnswerError):
    """The model still calls tools after as many rounds as were allowed."""


class AnswerLost(Transient):
    """The provider may have answered, and the answer never came: booked in full; the next attempt asks again."""


class AccountFault(RetryAfter):
    """The provider refuses this account whatever it is asked: a wrong key, no money left, no such model.

    The lineage is paused with the provider's words, and the task goes on when a person has resumed it.
    """

    def __init__(self, words: str, resource: str) -> None:
        super().__init__(PAUSED_SECONDS, resource)
        self.args = (words,)


class ProviderBusy(RetryAfter):
    """The provider or its rate has no room now: the task is put off, and its attempt given back."""

    def __init__(self, words: str, seconds: float, resource: str) -> None:
        super().__init__(seconds, resource)
        self.args = (words,)


def total(usages: Sequence[TokenUsage]) -> TokenUsage:
    """Add usages up."""
    return TokenUsage(
        sum(usage.input_tokens for usage in usages),
        sum(usage.cached_tokens for usage in usages),
        sum(usage.output_tokens for usage in usages),
        sum(usage.written_tokens for usage in usages),
    )
