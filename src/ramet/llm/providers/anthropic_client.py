"""Answers of Anthropic's API as :class:`~ramet.llm.providers.base.Answer`.

The same reader takes a live message and one of a batch's results. It never raises: what is not as it should be is an
answer ``failed`` with the code ``unreadable`` and, since it may have been billed, with a usage that is not known.
"""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ramet.llm.errors import ProviderError
from ramet.llm.providers.base import Answer, AnswerState, Gateway, RateLimit, TokenUsage
from ramet.llm.providers.openai_answers import unreadable
from ramet.llm.providers.openai_errors import fault_of
from ramet.llm.providers.sdk_calls import Caller, Reply
from ramet.llm.refusals import code_of, fault_text, meaning_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_WHOLE = frozenset({"end_turn", "stop_sequence", "tool_use"})
_CUT = {
    "max_tokens": ("max_output_tokens", "the answer was cut off at its token limit: allow more of them"),
    "model_context_window_exceeded": ("context_window", "prompt and answer are longer than the model's context"),
    "refusal": ("refusal", "the model refused to answer"),
    "pause_turn": ("pause_turn", "the model paused in the middle of its answer"),
}
"""Reason why the model stopped -> code and words of the answer."""


def read_message(key: str, body: Mapping[str, Any]) -> Answer:
    """Return the answer in a message."""
    content, reason = body.get("content"), body.get("stop_reason")
    if body.get("type") != "message" or not isinstance(content, list) or not isinstance(reason, str):
        return unreadable(key, "the answer is not a message")
    texts, thoughts, further = [], [], []
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text":
            texts.append(str(block.get("text") or ""))
        elif kind == "thinking":
            thoughts.append(str(block.get("thinking") or ""))
        elif kind != "redacted_thinking":
            further.append(block)
    state, code, error = AnswerState.SUCCEEDED, None, None
    if reason not in _WHOLE:
        state = AnswerState.INCOMPLETE
        code, error = _CUT.get(reason, (reason[:60], f"the answer is incomplete: {reason[:60]}"))
        details = body.get("stop_details")
        category = details.get("category") if isinstance(details, Mapping) else None
        error += f" ({category[:60]})" if isinstance(category, str) else ""
    usage = _usage(body.get("usage"))
    return Answer(
        key, state, text="".join(texts) if texts else None, usage=usage or TokenUsage(), usage_known=usage is not None,
        error=error, code=code, response_id=_text(body.get("id")), model=_text(body.get("model")),
        raw={"content": further} if further else None, finish_reason=reason, reasoning="\n\n".join(thoughts) or None,
        tool_calls=tuple(_chat_call(block) for block in further if _is_call(block)), body=body,
    )  # fmt: skip


def _is_call(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_use"


def _chat_call(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the use of a tool as chat completions write it."""
    arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
    return {"id": block.get("id"), "type": "function", "function": {"name": block.get("name"), "arguments": arguments}}


def read_result(key: str, result: object) -> Answer:
    """Return the answer in one ``result`` of a batch: a message, an error, or that it was not asked any more."""
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
        meaning = meaning_of(error)
        return Answer(key, AnswerState.FAILED, error=fault_text(error, None), code=code, meaning=meaning)
    return unreadable(key, "the result is of an unknown kind")


def inner_error(body: object) -> object:
    """Return the content of an answer of the type ``error``; the SDK's types nest it deeper than its first versions."""
    error = body.get("error") if isinstance(body, Mapping) else None
    return error if isinstance(error, Mapping) else body


def _usage(usage: object) -> TokenUsage | None:
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
    return TokenUsage(plain + read + written, read, output, written)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def anthropic_fault(
    status: int, headers: Mapping[str, str], body: Any, *, host: str, key: str | None, submit: bool, batch: bool
) -> ProviderError:
    """Return the meaning of an answer other than 2xx; arguments are those of `fault_of`, ``body`` the whole answer."""
    return fault_of(status, headers, inner_error(body), host=host, key=key, submit=submit, batch=batch)


def rates_from(headers: Mapping[str, str]) -> tuple[RateLimit, ...]:
    """Return the limits in ``anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}``; maybe none.

    Of tokens it is the limit that is narrowest just now. A reset is compared with the answer's own ``date``, so that a
    wrong clock here does no harm.
    """
    found = []
    for of in ("requests", "tokens"):
        limit, remaining = (_whole(headers.get(f"anthropic-ratelimit-{of}-{what}", "")) for what in _COUNTS)
        if limit is not None or remaining is not None:
            reset = _moment(headers.get(f"anthropic-ratelimit-{of}-reset", ""))
            found.append(RateLimit(of, limit, remaining, None if reset is None else max(reset - _now(headers), 0.0)))
    return tuple(found)


_COUNTS = ("limit", "remaining")


def _whole(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()


def _now(headers: Mapping[str, str]) -> float:
    try:
        return email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        return time.time()


ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_EXTRA = "'ramet[anthropic]'"
"""The extra that installs the SDK, quoted for a shell."""


class AnthropicClient(Caller):
    """Anthropic's SDK with our transport; see `Caller`."""

    def __init__(
        self, *, base_url: str | None, api_key: str | None, strict: bool = False, gateway: Gateway | None = None
    ) -> None:
        """Connect to nothing yet.

        Args:
            base_url: of a compatible server, without ``/v1``; None: Anthropic itself.
            api_key: None for a server that asks for none.
            strict: whether answers must be exactly what the SDK's types say; for tests.
            gateway: what it wants beside that.

        Raises:
            ExtraMissing, LlmError: as for `Caller`.
        """
        url = (base_url or ANTHROPIC_URL).rstrip("/")
        super().__init__("anthropic", url, api_key, extra=ANTHROPIC_EXTRA)
        self.sdk: AsyncAnthropic = self._module.AsyncAnthropic(
            # The SDK looks into the environment when it is given no key; servers that ask for none ignore it.
            api_key=api_key or "none",
            base_url=url,
            max_retries=0,
            http_client=self.http,
            default_query=dict(gateway.query) if gateway is not None else None,
            open_telemetry=False,
        )
        # The SDK fills these from the environment.
        self.sdk._custom_headers = dict(gateway.headers) if gateway is not None else {}
        self._strict = strict

    def _read(self, raw: Any) -> Reply:
        reply = super()._read(raw)
        if self._strict:
            types = self._module.types
            known = {"message": types.Message, "message_batch": types.messages.MessageBatch}
            if reply.body.get("type") in known:
                known[reply.body["type"]].model_validate(reply.body)
        return reply

    def _fault(
        self, status: int, headers: Mapping[str, str], body: object, *, submit: bool, batch: bool
    ) -> ProviderError:
        return anthropic_fault(status, headers, body, host=self.host, key=self._key, submit=submit, batch=batch)

    def _rates(self, headers: Mapping[str, str]) -> tuple[RateLimit, ...]:
        return rates_from(headers)
