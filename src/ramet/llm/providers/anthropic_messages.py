"""A request in Anthropic's terms: the body of ``POST /v1/messages``, which is also the ``params`` of a batch's request.

Only parameters that are known here are sent on, since one that is not known might cost more than what was reserved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ramet.commands.extras import import_extra
from ramet.llm.errors import Refused
from ramet.llm.providers.anthropic_client import ANTHROPIC_EXTRA, AnthropicClient, read_message
from ramet.llm.providers.base import Submission
from ramet.llm.providers.sdk_calls import AnswersAtOnce, submission
from ramet.llm.requests import Request

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)


def message_body(request: Request) -> dict[str, Any]:
    """Return the body of a call.

    Messages of the role ``system`` become the system prompt, in their order. Parts of content are taken in OpenAI's
    form (``text``, ``image_url``) or in Anthropic's own.

    Raises:
        Refused: it has a message or parameter that this API does not have, or that is paid on top.
    """
    asked: list[dict[str, Any]] = []
    system: list[dict[str, Any]] = []
    for message in request.messages:
        parts = _parts(message.get("content"))
        if message.get("role") in ("system", "developer"):
            system += _system_parts(parts)
        elif message.get("role") == "tool":
            _add_tool_result(asked, message, parts)
        else:
            asked.append({"role": message.get("role"), "content": _with_calls(parts, message.get("tool_calls"))})
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_output_tokens, "messages": asked}
    if system:
        body["system"] = system[0]["text"] if len(system) == 1 else system
    for name, value in request.parameters.items():
        translate = _PARAMETERS.get(name)
        if translate is None:
            raise Refused(f"Anthropic takes no parameter '{name}' from here: leave it out", "invalid_parameter")
        _merge(body, translate(value))
    if request.schema is not None:
        _merge(body, {"output_config": {"format": {"type": "json_schema", "schema": _schema(request.schema)}}})
    return body


def _with_calls(parts: Any, calls: object) -> Any:
    """Return the content of an assistant's message, with its calls of tools as parts."""
    if not isinstance(calls, Sequence) or not calls:
        return parts
    content = [{"type": "text", "text": parts}] if isinstance(parts, str) else list(parts or ())
    for call in calls:
        function = _mapping(_mapping(call).get("function"))
        try:
            given = json.loads(function.get("arguments") or "{}")
        except (TypeError, ValueError, RecursionError):
            raise Refused("the arguments of a tool call are not JSON", "invalid_parameter") from None
        content.append({"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": given})
    return content


def _add_tool_result(asked: list[dict[str, Any]], message: Mapping[str, Any], parts: Any) -> None:
    """Add the result of a tool: it is the user's here, and those of one turn are one message."""
    result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": parts}
    last = asked[-1]["content"] if asked and asked[-1]["role"] == "user" else None
    if isinstance(last, list) and last and _mapping(last[-1]).get("type") == "tool_result":
        last.append(result)
    else:
        asked.append({"role": "user", "content": [result]})


def _merge(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        body[name] = {**body[name], **value} if name == "output_config" and name in body else value


def _parts(content: object) -> Any:
    if not isinstance(content, list | tuple):
        return content
    return [_part(part) for part in content]


def _part(part: object) -> Any:
    """Return a part of a message; what is not in OpenAI's form is left as it is."""
    if not isinstance(part, Mapping):
        return part
    _cheaply_cached(part, "a part of a message")
    if part.get("type") != "image_url":
        return dict(part)
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, Mapping) else image
    if not isinstance(url, str):
        raise Refused("an image has no address", "invalid_parameter")
    data = _DATA_URL.fullmatch(url)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return {"type": "image", "source": {"type": "base64", "media_type": data["type"], "data": data["data"]}}


def _system_parts(content: object) -> list[dict[str, Any]]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or any(_mapping(part).get("type") != "text" for part in parts):
        raise Refused("a system prompt takes nothing but text", "invalid_parameter")
    return parts


def _cheaply_cached(value: Mapping[str, Any], what: str) -> None:
    """Refuse a cache of over five minutes: it costs more than what was reserved."""
    cache = value.get("cache_control")
    if cache is not None and _mapping(cache).get("ttl", "5m") != "5m":
        raise Refused(f"{what} asks for a cache of more than 5 minutes: that is paid on top", "invalid_parameter")


def _cache(value: object) -> dict[str, Any]:
    _cheaply_cached({"cache_control": value}, "a parameter")
    return {"cache_control": value}


def _stop(value: object) -> dict[str, Any]:
    return {"stop_sequences": [value] if isinstance(value, str) else value}


def _effort(value: object) -> dict[str, Any]:
    if value not in _EFFORTS:
        raise Refused(f"Anthropic knows the efforts {', '.join(_EFFORTS)} and no other", "invalid_parameter")
    return {"output_config": {"effort": value}}


def _tools(value: object) -> dict[str, Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Refused("'tools' is a list", "invalid_parameter")
    return {"tools": [_tool(_mapping(tool)) for tool in value]}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool of the caller; Anthropic's own (search, code, ...) are paid on top."""
    _cheaply_cached(tool, "a tool")
    function = tool.get("function")
    if tool.get("type") == "function" and isinstance(function, Mapping):
        named = {name: function[name] for name in ("name", "description", "strict") if function.get(name) is not None}
        return {**named, "input_schema": function.get("parameters") or {"type": "object"}}
    if tool.get("type", "custom") != "custom" or "input_schema" not in tool:
        raise Refused("only tools with an 'input_schema' are sent on: others are paid on top", "invalid_parameter")
    return dict(tool)


def _tool_choice(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        if value not in _CHOICES:
            raise Refused(f"'tool_choice' is one of {', '.join(_CHOICES)}, or a mapping", "invalid_parameter")
        return {"tool_choice": {"type": _CHOICES[value]}}
    choice = _mapping(value)
    function = choice.get("function")
    if choice.get("type") == "function" and isinstance(function, Mapping):
        return {"tool_choice": {"type": "tool", "name": function.get("name")}}
    return {"tool_choice": dict(choice)}


def _tier(value: object) -> dict[str, Any]:
    if value != "standard_only":
        raise Refused("'service_tier' can be 'standard_only' with Anthropic: others are dearer", "invalid_parameter")
    return {"service_tier": value}


def _same(name: str) -> Callable[[object], dict[str, Any]]:
    return lambda value: {name: value}


_PARAMETERS: Mapping[str, Callable[[object], dict[str, Any]]] = {
    **{name: _same(name) for name in ("temperature", "top_p", "top_k", "stop_sequences", "thinking")},
    "service_tier": _tier,
    "cache_control": _cache,
    "reasoning_effort": _effort,
    "stop": _stop,
    "tools": _tools,
    "tool_choice": _tool_choice,
}


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """As structured output takes it: closed objects, and constraints that it does not know as a description.

    The answer is checked against the whole schema here all the same. A schema that the SDK cannot bring into this form
    is sent as it is, and the provider decides.
    """
    transform = import_extra("anthropic", ANTHROPIC_EXTRA).transform_schema
    try:
        transformed: dict[str, Any] = transform(dict(schema))
    except (ValueError, TypeError, AttributeError, AssertionError):
        return dict(schema)
    return transformed


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class AnthropicChat(AnswersAtOnce):
    """A provider in mode chat: see `AnswersAtOnce`."""

    name = "anthropic"
    calls = "messages"

    def __init__(self, client: AnthropicClient) -> None:
        """Connect to nothing yet."""
        self._client = client

    async def submit(self, requests: Sequence[Request], *, submit_key: str, seconds: float) -> Submission:
        """Ask, and bring the answer; see `Provider`. The submit key is sent nowhere."""
        (request,) = requests
        body = message_body(request)
        model, messages, most = body.pop("model"), body.pop("messages"), body.pop("max_tokens")

        async def call(times: Any) -> Any:
            return await self._client.sdk.messages.with_raw_response.create(
                model=model, messages=messages, max_tokens=most, extra_body=body, timeout=times
            )

        reply = await self._client.ask(call, seconds=seconds, submit=True)
        return submission(read_message(request.key, reply.body), reply, submit_key, self._client.host)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
