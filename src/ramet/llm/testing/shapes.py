"""The JSON objects of OpenAI's API, as the stand-in fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.llm.testing.answers import Outcome

TOOL_NAME = "look_up"


def completion(id: str, created: int, model: str, outcome: Outcome) -> dict[str, Any]:
    """A ``chat.completion``."""
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
    """A ``response`` in a state; its output and usage are there once it ended."""
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
    """What a refusal tells."""
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}
