"""What Anthropic's API answered, as an :class:`~ramet.llm.providers.base.Answer`.

The same reader takes a live message and one of a batch's results. It never raises: what is not as it should be is an
answer ``failed`` with the code ``unreadable`` and, since it may have been billed, with a usage that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.llm.providers.base import Answer, AnswerState, Usage
from ramet.llm.providers.openai_answers import unreadable
from ramet.llm.providers.openai_errors import code_of, told

_WHOLE = frozenset({"end_turn", "stop_sequence", "tool_use"})
_CUT = {
    "max_tokens": ("max_output_tokens", "the answer was cut off at its token limit: allow more of them"),
    "model_context_window_exceeded": ("context_window", "prompt and answer are longer than the model's context"),
    "refusal": ("refusal", "the model refused to answer"),
    "pause_turn": ("pause_turn", "the model paused in the middle of its answer"),
}
"""Why the model stopped -> our code, and what to tell."""
_AGAIN = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
"""Types of errors that another try can mend."""


def read_message(key: str, body: Mapping[str, Any]) -> Answer:
    """The answer in a message."""
    content, reason = body.get("content"), body.get("stop_reason")
    if body.get("type") != "message" or not isinstance(content, list) or not isinstance(reason, str):
        return unreadable(key, "the answer is no message")
    texts, further = [], []
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text":
            texts.append(str(block.get("text") or ""))
        elif kind not in ("thinking", "redacted_thinking"):
            further.append(block)
    state, code, error = AnswerState.SUCCEEDED, None, None
    if reason not in _WHOLE:
        state = AnswerState.INCOMPLETE
        code, error = _CUT.get(reason, (reason[:60], f"the answer is incomplete: {reason[:60]}"))
    usage = _usage(body.get("usage"))
    return Answer(
        key, state, text="".join(texts) if texts else None, usage=usage or Usage(), usage_known=usage is not None,
        error=error, code=code, response_id=_text(body.get("id")), model=_text(body.get("model")),
        raw={"content": further} if further else None,
    )  # fmt: skip


def read_result(key: str, result: object) -> Answer:
    """The answer in one ``result`` of a batch: a message, an error, or that it was not asked any more."""
    kind = result.get("type") if isinstance(result, Mapping) else None
    if kind == "canceled":
        return Answer(key, AnswerState.CANCELLED, error="it was cancelled at the provider", code="cancelled")
    if kind == "expired":
        return Answer(key, AnswerState.EXPIRED, error="the batch expired before it was asked", code="expired")
    if kind == "succeeded" and isinstance(result, Mapping) and isinstance(result.get("message"), Mapping):
        return read_message(key, result["message"])
    if kind == "errored" and isinstance(result, Mapping):
        error = inner_error(result.get("error"))
        code = code_of(error) or "failed"
        return Answer(key, AnswerState.FAILED, error=told(error, None), code=code, retriable=code in _AGAIN)
    return unreadable(key, "the result is of an unknown kind")


def inner_error(body: object) -> object:
    """What is told in an answer of the type ``error``; the SDK's types nest it once more than its first versions."""
    error = body.get("error") if isinstance(body, Mapping) else None
    return error if isinstance(error, Mapping) else body


def _usage(usage: object) -> Usage | None:
    """None where the provider does not say in whole numbers what it counted.

    Anthropic counts what it read from a cache, and what it wrote to one, apart from ``input_tokens``.
    """
    if not isinstance(usage, Mapping):
        return None
    plain, output = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    if plain is None or output is None:
        return None
    read = _count(usage.get("cache_read_input_tokens")) or 0
    written = _count(usage.get("cache_creation_input_tokens")) or 0
    return Usage(plain + read + written, read, output, written)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
