"""Answers of the stand-in and their tokens: always the same for the same request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ramet.llm.testing.script import marks_in, without_marks

BYTES_PER_TOKEN = 4
ECHO_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, whichever of the two APIs it came by."""

    model: str
    text: str
    """Text of all its messages."""
    output_max: int
    schema: Mapping[str, Any] | None
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a request at the stand-in's model."""

    text: str
    state: str
    """``completed``, ``failed``, ``incomplete``, ``cancelled``, ``expired``."""
    code: str | None
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    refuses: bool
    calls_tool: bool
    tells_usage: bool

    @property
    def billed(self) -> bool:
        """Whether it costs anything."""
        return self.state in ("completed", "incomplete")


def chat_ask(body: Mapping[str, Any]) -> Ask:
    """Return the request in the body of a chat completion.

    Raises:
        ValueError: it is none.
    """
    form = body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema") if form.get("type") == "json_schema" else None
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    return _ask(body, body.get("messages"), most, schema)


def response_ask(body: Mapping[str, Any]) -> Ask:
    """Return the request in the body of a response.

    Raises:
        ValueError: it is none.
    """
    form = (body.get("text") or {}).get("format") or {}
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    asked = body.get("input")
    return _ask(body, [{"content": asked}] if isinstance(asked, str) else asked, body.get("max_output_tokens"), schema)


def _ask(body: Mapping[str, Any], messages: Any, output_max: Any, schema: Any) -> Ask:
    if not isinstance(body.get("model"), str):
        raise ValueError("you must provide a model parameter")
    if not isinstance(messages, list) or not messages:
        raise ValueError("there are no messages")
    text = "\n".join(_content_text(message) for message in messages)
    return Ask(body["model"], text, output_max if isinstance(output_max, int) else 4096, schema, marks_in(text))


def _content_text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return "\n".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def answer(ask: Ask) -> Outcome:
    """Return the outcome of a request: decided by its text alone."""
    marks = ask.marks
    asked = tokens(ask.text)
    text, state, code = answer_text(ask), "completed", None
    if "failed" in marks:
        state, code = "failed", next(iter(marks["failed"].split()), "server_error")
    elif "expired" in marks:
        state, code = "expired", "batch_expired"
    elif "cancelled" in marks:
        state = "cancelled"
    elif "incomplete" in marks or tokens(text) > ask.output_max:
        state, code = "incomplete", "max_output_tokens"
        text = text.encode()[: ask.output_max * BYTES_PER_TOKEN].decode(errors="ignore")
    elif "filter" in marks:
        state, code = "incomplete", "content_filter"
    billed = state in ("completed", "incomplete")
    return Outcome(
        text=text, state=state, code=code,
        input_tokens=asked if billed else 0,
        cached_tokens=min(int(marks.get("cached") or 0), asked) if billed else 0,
        output_tokens=min(tokens(text), ask.output_max) if billed else 0,
        refuses="refusal" in marks, calls_tool="tool" in marks, tells_usage="no_usage" not in marks,
    )  # fmt: skip


_STATUSES = {"server_error": 500, "rate_limit_exceeded": 429, "insufficient_quota": 429, "invalid_api_key": 401,
             "model_not_found": 404}  # fmt: skip


def status_of(code: str | None) -> int:
    """Return the status that an error of this code is answered with."""
    return _STATUSES.get(code or "", 400)


def answer_text(ask: Ask) -> str:
    """Return the words of an answer."""
    if "answer" in ask.marks:
        return ask.marks["answer"]
    if "invalid" in ask.marks:
        return "this is not JSON {"
    digest = hashlib.sha256(ask.text.encode()).hexdigest()[:16]
    if ask.schema is not None:
        return json.dumps(instance(ask.schema, ask.schema, digest))
    return f"{digest} {without_marks(ask.text)[-ECHO_CHARACTERS_MAX:]}"


def tokens(text: str) -> int:
    """Return a made-up count: four bytes are a token, and there is at least one."""
    return max(1, len(text.encode()) // BYTES_PER_TOKEN)


def instance(schema: Any, root: Any, word: str, depth: int = 0) -> Any:
    """Return a value that fits a JSON Schema, as far as the stand-in understands it."""
    if not isinstance(schema, Mapping) or depth > 20:
        return None
    if "$ref" in schema:
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            target = target.get(part, {}) if isinstance(target, Mapping) else {}
        return instance(target, root, word, depth + 1)
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return instance(schema[choice][0], root, word, depth + 1)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: instance(part, root, word, depth + 1) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema.get("items", {}), root, word, depth + 1)] * max(1, int(schema.get("minItems", 1)))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": True, "null": None}.get(kind, word)


TOOL_NAME = "look_up"


def completion(id: str, created: int, model: str, outcome: Outcome) -> dict[str, Any]:
    """Return a ``chat.completion``."""
    reason = "stop"
    if outcome.state == "incomplete":
        reason = "content_filter" if outcome.code == "content_filter" else "length"
    message: dict[str, Any] = {"role": "assistant", "content": outcome.text, "refusal": None}
    if outcome.refuses:
        message |= {"content": None, "refusal": outcome.text}
    if outcome.calls_tool:
        call = {"id": f"call_{id}", "type": "function", "function": {"name": TOOL_NAME, "arguments": "{}"}}
        message |= {"content": None, "tool_calls": [call]}
        reason = "tool_calls"
    body: dict[str, Any] = {
        "id": id, "object": "chat.completion", "created": created, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
    }  # fmt: skip
    if outcome.tells_usage:
        body["usage"] = {
            "prompt_tokens": outcome.input_tokens,
            "completion_tokens": outcome.output_tokens,
            "total_tokens": outcome.input_tokens + outcome.output_tokens,
            "prompt_tokens_details": {"cached_tokens": outcome.cached_tokens},
        }
    return body


def response(id: str, created: float, request: Mapping[str, Any], status: str, outcome: Outcome) -> dict[str, Any]:
    """Return a ``response`` in a state; its output and usage are there once it ended."""
    done = status in ("completed", "incomplete")
    text = dict(request.get("text") or {})
    text.setdefault("format", {"type": "text"})
    return {
        "id": id, "object": "response", "created_at": created, "status": status, "model": request["model"],
        "background": bool(request.get("background")), "metadata": dict(request.get("metadata") or {}),
        "error": {"code": outcome.code, "message": "the script says that it fails"} if status == "failed" else None,
        "incomplete_details": {"reason": outcome.code} if status == "incomplete" else None,
        "instructions": None, "max_output_tokens": request.get("max_output_tokens"), "parallel_tool_calls": True,
        "temperature": request.get("temperature"), "top_p": request.get("top_p"), "tool_choice": "auto",
        "tools": [], "text": text, "output": _output(id, status, outcome) if done else [],
        "usage": _usage(outcome) if done and outcome.tells_usage else None,
    }  # fmt: skip


def _output(id: str, status: str, outcome: Outcome) -> list[dict[str, Any]]:
    if outcome.calls_tool:
        call = {"type": "function_call", "call_id": f"call_{id}", "name": TOOL_NAME, "arguments": "{}"}
        return [{**call, "id": f"fc_{id}", "status": "completed"}]
    part: dict[str, Any] = {"type": "output_text", "text": outcome.text, "annotations": []}
    if outcome.refuses:
        part = {"type": "refusal", "refusal": outcome.text}
    return [{"type": "message", "id": f"msg_{id}", "role": "assistant", "status": status, "content": [part]}]


def _usage(outcome: Outcome) -> dict[str, Any]:
    return {
        "input_tokens": outcome.input_tokens,
        "input_tokens_details": {"cached_tokens": outcome.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": outcome.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": outcome.input_tokens + outcome.output_tokens,
    }


def error(
    message: str, *, kind: str = "invalid_request_error", code: str | None = None, param: str | None = None
) -> Any:
    """Return the body of a refusal."""
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}
