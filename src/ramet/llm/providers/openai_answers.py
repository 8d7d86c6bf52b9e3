"""What OpenAI's API answered, as an :class:`~ramet.llm.providers.base.Answer`.

The same readers take a live answer and a line of a batch's files. They never raise: what is not as it should be is an
answer ``failed`` with the code ``unreadable`` and, since it may have been billed, with a usage that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.llm.providers.base import Answer, AnswerState, TokenUsage
from ramet.llm.refusals import Meaning, code_of, fault_text, meaning_of

UNREADABLE = "unreadable"
_TOOLS = ("tool_calls", "function_call")


def unreadable(key: str, why: str) -> Answer:
    """An answer that came, and cannot be read."""
    return Answer(key, AnswerState.FAILED, error=why, code=UNREADABLE, meaning=Meaning.AGAIN, usage_known=False)


def failed(key: str, error: object, *, status: int | None = None) -> Answer:
    """An answer that tells an error."""
    code = code_of(error) or (f"http_{status}" if status else "failed")
    meaning = meaning_of(error, status)
    return Answer(key, AnswerState.FAILED, error=fault_text(error, None), code=code, meaning=meaning)


def read_chat(key: str, body: Mapping[str, Any]) -> Answer:
    """The answer in a chat completion."""
    if body.get("error") is not None:
        return failed(key, body["error"])
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        return unreadable(key, "the completion has no message")
    if choice.get("error") is not None:
        return failed(key, choice["error"])
    usage = _chat_usage(body.get("usage"))
    state, code, text = AnswerState.SUCCEEDED, None, _text(message.get("content"))
    reason = choice.get("finish_reason")
    if reason == "length":
        state, code = AnswerState.INCOMPLETE, "max_output_tokens"
    elif reason == "content_filter":
        state, code = AnswerState.INCOMPLETE, "content_filter"
    elif _text(message.get("refusal")):
        state, code, text = AnswerState.INCOMPLETE, "refusal", _text(message.get("refusal"))
    raw = {name: message[name] for name in _TOOLS if message.get(name)}
    if text is None and not raw:
        text = ""
    return _answer(key, state, code, text, usage=usage, body=body, raw=raw)


def read_response(key: str, body: Mapping[str, Any]) -> Answer:
    """The answer in a response that ended (``completed``, ``failed``, ``incomplete``, ``cancelled``)."""
    status = body.get("status")
    usage = _response_usage(body.get("usage"))
    if status == "failed":
        answer = failed(key, body.get("error"))
        return _with_usage(answer, usage, known=True, body=body)
    if status == "cancelled":
        answer = Answer(key, AnswerState.CANCELLED, error="it was cancelled at the provider", code="cancelled")
        return _with_usage(answer, usage, known=False, body=body)
    if status not in ("completed", "incomplete"):
        return unreadable(key, f"the response is in the unknown state {str(status)[:40]!a}")
    output = body.get("output")
    if not isinstance(output, list):
        return unreadable(key, "the response has no output")
    texts, refusals, raw = _output_of(output)
    state, code, text = AnswerState.SUCCEEDED, None, "".join(texts) if texts else None
    if status == "incomplete":
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        state, code = AnswerState.INCOMPLETE, str(reason or "incomplete")[:60]
    elif refusals and not texts:
        state, code, text = AnswerState.INCOMPLETE, "refusal", "".join(refusals)
    return _answer(key, state, code, text, usage=usage, body=body, raw={"output": raw} if raw else {})


def _output_of(output: list[Any]) -> tuple[list[str], list[str], list[Any]]:
    """Texts, refusals and further items of a response's output; what was thought on the way is left out."""
    texts: list[str] = []
    refusals: list[str] = []
    raw: list[Any] = []
    for item in output:
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "message":
            content = item.get("content")
            for part in content if isinstance(content, list) else ():
                if isinstance(part, Mapping) and part.get("type") == "output_text":
                    texts.append(_text(part.get("text")) or "")
                elif isinstance(part, Mapping) and part.get("type") == "refusal":
                    refusals.append(_text(part.get("refusal")) or "")
        elif kind is not None and kind != "reasoning":
            raw.append(item)
    return texts, refusals, raw


_CUT = {
    "max_output_tokens": "the answer was cut off at its token limit: allow more of them",
    "content_filter": "a filter of the provider cut the answer off",
    "refusal": "the model refused to answer",
}


def _answer(
    key: str,
    state: AnswerState,
    code: str | None,
    text: str | None,
    *,
    usage: TokenUsage | None,
    body: Mapping[str, Any],
    raw: dict[str, Any],
) -> Answer:
    """A billed answer."""
    return Answer(
        key, state, text=text, usage=usage or TokenUsage(), usage_known=usage is not None,
        error=None if code is None else _CUT.get(code, f"the answer is incomplete: {code}"), code=code,
        response_id=_text(body.get("id")), model=_text(body.get("model")), raw=raw or None,
    )  # fmt: skip


def _with_usage(answer: Answer, usage: TokenUsage | None, *, known: bool, body: Mapping[str, Any]) -> Answer:
    """An answer that was billed only as far as the provider says so; `known`: saying nothing means nothing."""
    return Answer(
        answer.key,
        answer.state,
        usage=usage or TokenUsage(),
        usage_known=known or usage is not None,
        error=answer.error,
        code=answer.code,
        meaning=answer.meaning,
        response_id=_text(body.get("id")),
        model=_text(body.get("model")),
    )


def _chat_usage(usage: object) -> TokenUsage | None:
    return _usage(usage, "prompt_tokens", "prompt_tokens_details", "completion_tokens")


def _response_usage(usage: object) -> TokenUsage | None:
    return _usage(usage, "input_tokens", "input_tokens_details", "output_tokens")


def _usage(usage: object, input_name: str, details_name: str, output_name: str) -> TokenUsage | None:
    """None where the provider does not say in whole numbers what it counted."""
    if not isinstance(usage, Mapping):
        return None
    asked, answered = _count(usage.get(input_name)), _count(usage.get(output_name))
    if asked is None or answered is None:
        return None
    details = usage.get(details_name)
    parts = details if isinstance(details, Mapping) else {}
    cached = min(_count(parts.get("cached_tokens")) or 0, asked)
    written = min(_count(parts.get("cache_write_tokens")) or 0, asked - cached)
    return TokenUsage(asked, cached, answered, written)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
