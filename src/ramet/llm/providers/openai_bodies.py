"""A request in OpenAI's terms: the body of a chat completion, and of a response."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ramet.llm.errors import Refused
from ramet.llm.requests import Request

SCHEMA_NAME = "answer"
LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
"""Names of the parameter that limits an answer; a server may take only one of them, which depends on the model."""

_OURS = frozenset(
    "model messages input instructions max_output_tokens stream stream_options "
    "background conversation previous_response_id context_management prompt".split()
)
"""Parameters that this pipeline decides itself, or that would make a call longer than it was priced."""
_DEARER = {
    "web_search_options": "a search is paid on top",
    "modalities": "sound is paid otherwise",
    "audio": "sound is paid otherwise",
    "prediction": "rejected predictions are paid on top",
}
"""Parameters that would cost more than what was reserved -> why."""
_TIERS = frozenset({"auto", "default", "flex", "priority"})
"""Service tiers; one that costs more goes only where the price list has its price."""
_TOOLS = frozenset({"function", "custom"})
_CHAT_ONLY = frozenset(
    "stop seed presence_penalty frequency_penalty logit_bias logprobs functions n max_tokens "
    "max_completion_tokens".split()
)
"""Parameters that the Responses API does not take."""


def chat_body(request: Request, *, limit_name: str = "max_completion_tokens") -> dict[str, Any]:
    """Return the body of ``POST /chat/completions``.

    Args:
        request: what is asked.
        limit_name: ``max_completion_tokens``, or ``max_tokens`` for servers that know only that; a parameter of one of
            these names goes before it.

    Raises:
        Refused: it has a parameter that is not sent on.
    """
    body: dict[str, Any] = dict(_checked(request))
    body["model"] = request.model
    body["messages"] = [_chat_message(message) for message in request.messages]
    if not any(name in body for name in LIMIT_NAMES):
        body[limit_name] = request.max_output_tokens
    if request.schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": _named_schema(request.schema)}
    return body


def other_limit_name(name: str, refusal: str) -> str | None:
    """Return the name of the limit that a server asks for when it refuses another; None where it names none."""
    other = next((one for one in LIMIT_NAMES if one != name), None)
    # "Unsupported parameter: 'max_tokens' ... Use 'max_completion_tokens' instead", "extra fields not permitted: ..."
    named = other is not None and re.search(rf"\b({name}|{other})\b", refusal) is not None
    return other if named else None


def _chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    for part in content if isinstance(content, list | tuple) else ():
        if _mapping(part).get("type") in _ANTHROPIC_PARTS:
            raise Refused(
                f"a part '{part['type']}' is Anthropic's: write 'tool_calls' and messages of the role 'tool'",
                "invalid_parameter",
            )
    return dict(message)


_ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


def embedding_body(request: Request) -> dict[str, Any]:
    """Return the body of ``POST /embeddings``.

    Raises:
        Refused: it has a parameter that this API does not have.
    """
    for name in request.parameters:
        if name not in _OF_EMBEDDINGS:
            raise Refused(f"embeddings have no parameter '{name}': leave it out", "invalid_parameter")
    content = request.messages[0]["content"]
    asked = list(content) if isinstance(content, list | tuple) else content
    return {**request.parameters, "model": request.model, "input": asked}


_OF_EMBEDDINGS = frozenset({"dimensions", "encoding_format", "user"})


def response_body(request: Request) -> dict[str, Any]:
    """Return the body of ``POST /responses``, but for what makes it a background call.

    Raises:
        Refused: it has a parameter that is not sent on, or that this API does not have.
    """
    body: dict[str, Any] = dict(_checked(request))
    for name in sorted(_CHAT_ONLY & body.keys()):
        raise Refused(f"the Responses API has no '{name}': leave it out, or use chat or batch", "invalid_parameter")
    text: dict[str, Any] = {}
    if "response_format" in body:
        text["format"] = body.pop("response_format")
    if "verbosity" in body:
        text["verbosity"] = body.pop("verbosity")
    if request.schema is not None:
        text["format"] = {"type": "json_schema", **_named_schema(request.schema)}
    if "reasoning_effort" in body:
        body["reasoning"] = {**_mapping(body.get("reasoning")), "effort": body.pop("reasoning_effort")}
    if "tools" in body:
        body["tools"] = [_flat_tool(tool) for tool in body["tools"]]
    if isinstance(body.get("tool_choice"), Mapping):
        body["tool_choice"] = _flat_tool(body["tool_choice"])
    if text:
        body["text"] = {**_mapping(body.get("text")), **text}
    body["model"] = request.model
    body["input"] = [item for message in request.messages for item in _input_items(message)]
    body["max_output_tokens"] = request.max_output_tokens
    return body


def is_strict(schema: object) -> bool:
    """Return whether a JSON Schema keeps the rules of strict structured output: objects closed, all fields required."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        names = set(properties) if isinstance(properties, Mapping) else set()
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or set(required or ()) != names:
            return False
    return all(is_strict(part) for part in schema.values())


def _named_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": SCHEMA_NAME, "schema": dict(schema), "strict": is_strict(schema)}


def _checked(request: Request) -> Mapping[str, Any]:
    """Return the parameters, if all of them can be sent on without changing what a call costs at most."""
    for name in request.parameters:
        if name in _OURS:
            raise Refused(f"the parameter '{name}' is set by the pipeline: leave it out", "invalid_parameter")
        if name in _DEARER:
            raise Refused(f"the parameter '{name}' is not sent on: {_DEARER[name]}", "invalid_parameter")
    for name in LIMIT_NAMES:
        limit = request.parameters.get(name, 1)
        if type(limit) is not int or not 1 <= limit <= request.max_output_tokens:
            raise Refused(
                f"the parameter '{name}' is not a whole number of at most {request.max_output_tokens}, for which the "
                "answer is priced: give --max-output-tokens",
                "invalid_parameter",
            )
    wanted = request.parameters.get("response_format")
    if wanted is not None and not request.wants_json:
        raise Refused("'response_format' is 'json_object', or said by the schema", "invalid_parameter")
    tier = request.parameters.get("service_tier")
    if tier is not None and (not isinstance(tier, str) or tier not in _TIERS):
        raise Refused("the parameter 'service_tier' is not sent on: that tier is dearer", "invalid_parameter")
    tools = request.parameters.get("tools", ())
    if not isinstance(tools, list | tuple) or any(_mapping(tool).get("type") not in _TOOLS for tool in tools):
        raise Refused(
            "only tools of type 'function' or 'custom' are sent on: others are paid on top", "invalid_parameter"
        )
    return request.parameters


def _input_items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a chat message as items of the Responses API: calls of tools and their results are items of their own."""
    message = _chat_message(message)
    if message.get("role") == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": _plain(message["content"])}
        return
    calls = message.pop("tool_calls", None) or ()
    if message.get("content") is not None:
        yield _input_message(message)
    for call in calls:
        inner = _mapping(call.get("function"))
        yield {
            "type": "function_call", "call_id": call.get("id"), "name": inner.get("name"),
            "arguments": inner.get("arguments"),
        }  # fmt: skip


def _plain(content: Any) -> Any:
    """Return the result of a tool: its text."""
    if isinstance(content, str):
        return content
    return "".join(str(_mapping(part).get("text") or "") for part in content)


def _input_message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list | tuple):
        content = [_input_part(_mapping(part), str(message.get("role"))) for part in content]
    return {**message, "content": content}


def _input_part(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Return a part of a chat message as the Responses API names it; what it does not know is left as it is."""
    if part.get("type") == "text":
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part.get("text")}
    if part.get("type") == "image_url":
        image = part.get("image_url")
        if isinstance(image, Mapping):
            return {"type": "input_image", "detail": image.get("detail", "auto"), "image_url": image.get("url")}
        return {"type": "input_image", "detail": "auto", "image_url": image}
    return dict(part)


def _flat_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool, or the choice of one, as the Responses API writes it: the name beside the type, not within."""
    inner = tool.get(str(tool.get("type")))
    return {"type": tool["type"], **inner} if isinstance(inner, Mapping) else dict(tool)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
