"""What the stand-in answers to a prompt, and how many tokens that is: always the same for the same request."""

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
    """Of all its messages."""
    output_max: int
    schema: Mapping[str, Any] | None
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the stand-in's model does with it."""

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
    """The request in the body of a chat completion.

    Raises:
        ValueError: it is none.
    """
    form = body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema") if form.get("type") == "json_schema" else None
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    return _ask(body, body.get("messages"), most, schema)


def response_ask(body: Mapping[str, Any]) -> Ask:
    """The request in the body of a response.

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
    """What comes of a request: decided by its text alone."""
    marks = ask.marks
    asked = tokens(ask.text)
    text, state, code = answer_text(ask), "completed", None
    if "failed" in marks:
        state, code = "failed", marks["failed"] or "server_error"
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


def answer_text(ask: Ask) -> str:
    """The words of an answer."""
    if "answer" in ask.marks:
        return ask.marks["answer"]
    if "invalid" in ask.marks:
        return "this is no JSON {"
    digest = hashlib.sha256(ask.text.encode()).hexdigest()[:16]
    if ask.schema is not None:
        return json.dumps(instance(ask.schema, ask.schema, digest))
    return f"{digest} {without_marks(ask.text)[-ECHO_CHARACTERS_MAX:]}"


def tokens(text: str) -> int:
    """A made-up count: four bytes are a token, and there is at least one."""
    return max(1, len(text.encode()) // BYTES_PER_TOKEN)


def instance(schema: Any, root: Any, word: str, depth: int = 0) -> Any:
    """A value that fits a JSON Schema, as far as the stand-in understands it."""
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
