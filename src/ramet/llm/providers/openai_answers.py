"""Answers of OpenAI's API as :class:`~ramet.llm.providers.base.Answer`.

The same readers take a live answer and a line of a batch's files. They never raise: what is not as it should be is an
answer ``failed`` with the code ``unreadable`` and, since it may have been billed, with a usage that is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ramet.llm.providers.base import Answer, AnswerState, TokenUsage
from ramet.llm.refusals import Meaning, code_of, fault_text, meaning_of

UNREADABLE = "unreadable"
_TOOLS = ("tool_calls", "function_call")


def unreadable(key: str, why: str) -> Answer:
    """Return an answer that came, and cannot be read."""
    return Answer(key, AnswerState.FAILED, error=why, code=UNREADABLE, meaning=Meaning.AGAIN, usage_known=False)


def failed(key: str, error: object, *, status: int | None = None) -> Answer:
    """Return an answer that tells an error."""
    code = code_of(error) or (f"http_{status}" if status else "failed")
    meaning = meaning_of(error, status)
    return Answer(key, AnswerState.FAILED, error=fault_text(error, None), code=code, meaning=meaning)


def read_chat(key: str, body: Mapping[str, Any]) -> Answer:
    """Return the answer in a chat completion."""
    if body.get("error") is not None:
        return failed(key, body["error"])
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
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
    assert isinstance(choices, list)
    others = tuple(_choice_details(other) for other in choices[1:] if isinstance(other, dict))
    return _answer(
        key, state, code, text, usage=usage, body=body, raw=raw, finish_reason=_text(reason) or None,
        reasoning=_reasoning_in(message), choices=others, tool_calls=tuple(_tool_calls_in(message)),
        logprobs=choice.get("logprobs") or None,
    )  # fmt: skip


def _tool_calls_in(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of tools in a message of a completion, that of the older form among them."""
    calls, old = message.get("tool_calls"), message.get("function_call")
    listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if isinstance(old, dict):
        listed.append({"type": "function", "function": dict(old)})
    return listed


def _reasoning_in(message: Mapping[str, Any]) -> str | None:
    """Return the reasoning: DeepSeek and vLLM have the first name, OpenRouter and newer servers the second."""
    return _text(message.get("reasoning_content")) or _text(message.get("reasoning")) or None


def _choice_details(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Of one of the answers in a completion what there is: text, refusal, finish_reason, reasoning, tool calls."""
    told = choice.get("message")
    message = told if isinstance(told, dict) else {}
    found = {
        "text": _text(message.get("content")),
        "refusal": _text(message.get("refusal")),
        "finish_reason": _text(choice.get("finish_reason")),
        "reasoning": _reasoning_in(message),
        "tool_calls": _tool_calls_in(message),
        "logprobs": choice.get("logprobs"),
    }
    return {name: value for name, value in found.items() if value}


def read_embeddings(key: str, body: Mapping[str, Any]) -> Answer:
    """Return the vectors in the answer of ``POST /embeddings``: one, or a list of them by the place of their text."""
    if body.get("error") is not None:
        return failed(key, body["error"])
    data = body.get("data")
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    vectors = [row.get("embedding") for row in sorted(rows, key=lambda row: _count(row.get("index")) or 0)]
    if not vectors or not all(isinstance(vector, list | str) and vector for vector in vectors):
        return unreadable(key, "the answer has no embedding")
    told = body.get("usage")
    asked = _count(told.get("prompt_tokens")) if isinstance(told, dict) else None
    usage = None if asked is None else TokenUsage(asked)
    embedding = vectors[0] if len(vectors) == 1 else vectors
    return _answer(key, AnswerState.SUCCEEDED, None, None, usage=usage, body=body, raw={}, embedding=embedding)


def read_response(key: str, body: Mapping[str, Any]) -> Answer:
    """Return the answer in a response that ended (``completed``, ``failed``, ``incomplete``, ``cancelled``)."""
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
        reason = details.get("reason") if isinstance(details, dict) else None
        state, code = AnswerState.INCOMPLETE, str(reason or "incomplete")[:60]
    elif refusals and not texts:
        state, code, text = AnswerState.INCOMPLETE, "refusal", "".join(refusals)
    reason = body.get("incomplete_details")
    stopped = _text(reason.get("reason")) if isinstance(reason, dict) else None
    return _answer(
        key, state, code, text, usage=usage, body=body, raw={"output": raw} if raw else {},
        finish_reason=stopped or _text(status), reasoning=_reasoning_of(output),
        tool_calls=tuple(map(_chat_call, (item for item in raw if item.get("type") in _CALLS))),
        logprobs=_logprobs_of(output),
    )  # fmt: skip


_CALLS = {"function_call": "function", "custom_tool_call": "custom"}
"""Items of a response's output that call a tool -> the type of the tool."""


def _chat_call(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call as chat completions write it."""
    kind = _CALLS[str(item["type"])]
    given = "arguments" if kind == "function" else "input"
    return {"id": item.get("call_id"), "type": kind, kind: {"name": item.get("name"), given: item.get(given)}}


def _parts_of(output: list[Any], kind: str, holder: str) -> Iterator[Mapping[str, Any]]:
    """Yield the parts that items of a kind hold."""
    for item in output:
        if isinstance(item, dict) and item.get("type") == kind:
            parts = item.get(holder)
            yield from (part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, dict))


def _reasoning_of(output: list[Any]) -> str | None:
    """Return the summaries of a response's reasoning, and its text where the server shows it."""
    holders = ("summary", "content")
    texts = [_text(part.get("text")) or "" for holder in holders for part in _parts_of(output, "reasoning", holder)]
    return "\n\n".join(texts) or None


def _logprobs_of(output: list[Any]) -> list[Any] | None:
    found = [part["logprobs"] for part in _parts_of(output, "message", "content") if part.get("logprobs")]
    return [one for several in found if isinstance(several, list) for one in several] or None


def _output_of(output: list[Any]) -> tuple[list[str], list[str], list[Any]]:
    """Texts, refusals and further items of a response's output; what was thought on the way is left out."""
    texts: list[str] = []
    refusals: list[str] = []
    raw: list[Any] = []
    for item in output:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "message":
            content = item.get("content")
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and part.get("type") == "output_text":
                    texts.append(_text(part.get("text")) or "")
                elif isinstance(part, dict) and part.get("type") == "refusal":
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
    **details: Any,
) -> Answer:
    """Return a billed answer; ``details``: fields of :class:`Answer` from ``finish_reason`` on."""
    return Answer(
        key, state, text=text, usage=usage or TokenUsage(), usage_known=usage is not None,
        error=None if code is None else _CUT.get(code, f"the answer is incomplete: {code}"), code=code,
        response_id=_text(body.get("id")), model=_text(body.get("model")), raw=raw or None, body=body,
        **details,
    )  # fmt: skip


def _with_usage(answer: Answer, usage: TokenUsage | None, *, known: bool, body: Mapping[str, Any]) -> Answer:
    """Return an answer that was billed only as far as the provider says so; `known`: saying nothing means nothing."""
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
    if not isinstance(usage, dict):
        return None
    asked, answered = _count(usage.get(input_name)), _count(usage.get(output_name))
    if asked is None or answered is None:
        return None
    details = usage.get(details_name)
    parts = details if isinstance(details, dict) else {}
    cached = min(_count(parts.get("cached_tokens")) or 0, asked)
    written = min(_count(parts.get("cache_write_tokens")) or 0, asked - cached)
    audio = min(_count(parts.get("audio_tokens")) or 0, asked - cached - written)
    return TokenUsage(asked, cached, answered, written, audio)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
