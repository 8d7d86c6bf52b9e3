"""Parameters of a row besides its prompt: each with its check, and those that are refused with the reason."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ramet.llm.inputs.values import (
    InvalidRow,
    Template,
    check_storable,
    flag,
    mapping,
    number,
    shown,
    text,
    unknown,
    whole,
)
from ramet.llm.requests import Endpoint, Request
from ramet.llm.schemas import WrongSchema, check_schema

Checked = Callable[[object, str], Any]

LIMIT_NAMES = ("max_output_tokens", "max_tokens", "max_completion_tokens")
"""One and the same: the most that may be answered."""

_RENAMED = {"stop_sequences": "stop"}


def _number(least: float, most: float) -> Checked:
    return lambda value, name: number(value, name, least, most)


def _whole(least: int) -> Checked:
    return lambda value, name: whole(value, name, least)


def _stop(value: object, name: str) -> str | list[str]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) and one for one in value):
        return value
    raise InvalidRow(f"'{name}' must be a text or a list of texts, not {shown(value)}")


def _tools(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidRow(f"'{name}' must be a list, not {shown(value)}")
    for index, one in enumerate(value):
        kind = mapping(one, f"{name}[{index}]").get("type", "function")
        if kind not in ("function", "custom"):
            raise InvalidRow(
                f"'{name}[{index}]' is a tool of type {shown(kind)}, which is paid on top; only functions go"
            )
    return value


def _text_or_mapping(value: object, name: str) -> Any:
    return text(value, name) if isinstance(value, str) else mapping(value, name)


def _service_tier(value: object, name: str) -> str:
    if value not in _TIERS:
        known = ", ".join(_TIERS)
        raise InvalidRow(f"'{name}' is {shown(value)}, which is not a service tier; known are {known}")
    return str(value)


_TIERS = ("auto", "default", "flex", "priority", "standard_only")

PARAMETERS: dict[str, Checked] = {
    "cache_control": mapping,
    "frequency_penalty": _number(-2, 2),
    "logit_bias": mapping,
    "dimensions": _whole(1),
    "encoding_format": text,
    "logprobs": flag,
    "min_p": _number(0, 1),
    "n": _whole(1),
    "parallel_tool_calls": flag,
    "presence_penalty": _number(-2, 2),
    "prompt_cache_key": text,
    "reasoning": mapping,
    "reasoning_effort": text,
    "repetition_penalty": _number(0, 10),
    "safety_identifier": text,
    "seed": _whole(-(2**53)),
    "service_tier": _service_tier,
    "stop": _stop,
    "temperature": _number(0, 2),
    "thinking": mapping,
    "tool_choice": _text_or_mapping,
    "tools": _tools,
    "top_k": _whole(0),
    "top_logprobs": _whole(0),
    "top_p": _number(0, 1),
    "user": text,
    "verbosity": text,
}
"""Name -> check. Further parameters of a server of one's own go into the row's object ``parameters``."""

_HARMLESS = {"stream": False, "background": False}
"""Fields that mean nothing with this value."""
_REFUSED = {
    "audio": "sound is priced otherwise",
    "background": "how the provider is asked is an option of the job",
    "context_management": "a row is asked by itself; nothing is left out of it",
    "conversation": "a row is asked by itself; give the conversation as messages",
    "metadata": "the pipeline marks its requests itself",
    "modalities": "sound is priced otherwise",
    "prediction": "rejected predictions are paid on top",
    "previous_response_id": "a row is asked by itself; give the conversation as messages",
    "store": "whether answers are kept at the provider follows from how it is asked",
    "stream": "answers are collected, not streamed",
    "stream_options": "answers are collected, not streamed",
    "web_search_options": "a search is paid on top",
}


def add_parameter(parameters: dict[str, Any], name: str, value: object) -> bool:
    """Add what a row says, where it is a parameter; null takes a default back.

    Returns:
        Whether it is one.

    Raises:
        Wrong: its value cannot be, or it is refused.
    """
    name = _RENAMED.get(name, name)
    if name in _REFUSED:
        if value is not None and not (name in _HARMLESS and value == _HARMLESS[name]):
            raise InvalidRow(f"'{name}' cannot be set in a row: {_REFUSED[name]}")
        return True
    check = PARAMETERS.get(name)
    if check is None:
        return False
    if value is None or (name == "n" and value == 1):
        parameters.pop(name, None)
    else:
        parameters[name] = check(value, name)
    return True


def add_others(parameters: dict[str, Any], others: Mapping[str, Any], taken: frozenset[str]) -> None:
    """Add a row's object ``parameters``: those of above are checked, others are for the server to know.

    Args:
        parameters: what they are added to.
        others: the object.
        taken: names that belong outside of it.

    Raises:
        Wrong: a value cannot be, or the name belongs to no parameter.
    """
    for name, value in others.items():
        if name in taken:
            raise InvalidRow(f"'parameters.{name}' belongs beside 'parameters', not in it")
        if add_parameter(parameters, name, value):
            continue
        if value is None:
            parameters.pop(name, None)
        else:
            parameters[name] = value


def unknown_parameter(name: str, others: frozenset[str]) -> InvalidRow:
    """Return the complaint about a key that no row has."""
    wrong = unknown(name, others | PARAMETERS.keys())
    return InvalidRow(f"{wrong}; what only your server knows goes into 'parameters'")


_ROLES = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip
_TEXTS = frozenset({"text", "input_text", "output_text"})
_OTHERS = frozenset(
    {"document", "file", "image", "image_url", "input_audio", "input_file", "input_image", "refusal"}
    | {"tool_use", "tool_result", "thinking", "redacted_thinking"}
)
_MESSAGE_KEYS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "refusal"})


def read_messages(value: object, name: str = "messages") -> list[dict[str, Any]]:
    """Return a list of messages; ``developer`` is ``system``, parts of the Responses API are those of chat completions.

    Raises:
        Wrong: it is none.
    """
    if not isinstance(value, list) or not value:
        raise InvalidRow(f"'{name}' must be a list of at least one message, not {shown(value)}")
    read = [_message(_as_message(one), f"{name}[{index}]") for index, one in enumerate(value)]
    if all(one["role"] == "system" for one in read):
        raise InvalidRow(f"'{name}' asks nothing; add a message of the role 'user'")
    return read


def _as_message(value: object) -> object:
    """Return an item of the Responses API that calls a tool, or has its result, as the message that it is in a chat."""
    if not isinstance(value, dict):
        return value
    if value.get("type") == "function_call":
        function = {"name": value.get("name"), "arguments": value.get("arguments")}
        return {
            "role": "assistant",
            "tool_calls": [{"id": value.get("call_id"), "type": "function", "function": function}],
        }
    if value.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": value.get("call_id"), "content": value.get("output")}
    return value


def _tool_calls(value: object, name: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise InvalidRow(f"'{name}' must be a list of at least one call, not {shown(value)}")
    for index, one in enumerate(value):
        call = mapping(one, f"{name}[{index}]")
        text(call.get("id"), f"{name}[{index}].id")
        function = mapping(call.get("function"), f"{name}[{index}].function")
        text(function.get("name"), f"{name}[{index}].function.name")
        if not isinstance(function.get("arguments"), str):
            raise InvalidRow(f"'{name}[{index}].function.arguments' must be JSON as a text, not "
                             f"{shown(function.get('arguments'))}")  # fmt: skip
    return value


def _message(value: object, name: str) -> dict[str, Any]:
    given = dict(mapping(value, name))
    if given.get("type") == "message":
        del given["type"]
    for key in given:
        if key not in _MESSAGE_KEYS:
            raise InvalidRow(f"'{name}': {unknown(key, _MESSAGE_KEYS)}")
    role = given.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidRow(f"'{name}.role' must be 'system', 'user', 'assistant' or 'tool', not {shown(role)}")
    message: dict[str, Any] = {"role": _ROLES[role]}
    calls = given.get("tool_calls")
    if calls is not None and role != "assistant":
        raise InvalidRow(f"'{name}.tool_calls' goes with the role 'assistant' only")
    if given.get("content") is not None or calls is None:
        message["content"] = read_content(given.get("content"), f"{name}.content")
    else:
        message["content"] = None
    if calls is not None:
        message["tool_calls"] = _tool_calls(calls, f"{name}.tool_calls")
    if (role == "tool") != (given.get("tool_call_id") is not None):
        raise InvalidRow(f"'{name}' needs 'tool_call_id' with the role 'tool', and with no other")
    if role == "tool":
        message["tool_call_id"] = text(given["tool_call_id"], f"{name}.tool_call_id")
    if given.get("name") is not None:
        message["name"] = text(given["name"], f"{name}.name")
    return message


def read_content(value: object, name: str) -> str | list[dict[str, Any]]:
    """Return a text, or a list of parts.

    Raises:
        Wrong: it is neither, or a part's size is not in the row, so that nothing could bound its price.
    """
    if not isinstance(value, list):
        return text(value, name)
    if not value:
        raise InvalidRow(f"'{name}' is empty")
    return [_part(one, f"{name}[{index}]") for index, one in enumerate(value)]


def _part(value: object, name: str) -> dict[str, Any]:
    part = dict(mapping(value, name))
    kind = text(part.get("type"), f"{name}.type")
    if kind in _TEXTS:
        return {**part, "type": "text", "text": text(part.get("text"), f"{name}.text")}
    if kind not in _OTHERS:
        known = ", ".join(sorted({"text", *_OTHERS}))
        raise InvalidRow(f"'{name}.type' is {shown(kind)}, the price of which nothing bounds; known are {known}")
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        image = {"url": part.pop("image_url"), "detail": part.pop("detail", None)}
        return {**part, "type": "image_url", "image_url": {key: one for key, one in image.items() if one is not None}}
    return part


_IDS = ("id", "custom_id")
_ID_LENGTH_MAX = 512
_OWN = frozenset(
    {"prompt", "messages", "input", "system", "instructions", "model", "schema", "response_format", "text"}
    | {"parameters", "endpoint", *LIMIT_NAMES}
)
_ENVELOPE = frozenset({"custom_id", "id", "method", "url", "body", "params"})
_EMBEDDINGS = "/embeddings"
_ENDPOINTS = ("/chat/completions", "/responses", "/messages", _EMBEDDINGS)
_OPTIONS = ("model", "system", *LIMIT_NAMES)
"""Columns that say how a row is asked also where a template makes its prompt, unless the template names them."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults of rows, from the options. A row's own value wins."""

    model: str | None = None
    system: str | None = None
    """Put before the messages of rows that have no system message of their own."""
    max_output_tokens: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    template: str | None = None
    """Makes the prompt out of a row's columns: then only ``id``, ``model``, ``system`` and ``max_output_tokens`` keep
    their meaning (but for ``id`` only where the template does not name them), every other one is a column."""
    endpoint: Endpoint = "chat"


class Question(NamedTuple):
    """A row of the input as it was read."""

    id: str | None
    """None where it has none."""
    request: Request
    columns: Mapping[str, Any] = {}
    """Its own: what says nothing about how it is asked."""


def checked(defaults: Defaults) -> Defaults:
    """Return the defaults in the form that requests have.

    Raises:
        Wrong: no row could be asked with them.
    """
    body = {name: getattr(defaults, name) for name in ("model", "system", "max_output_tokens", "schema", "parameters")}
    check_storable({**body, "template": defaults.template})
    asked = _request({**body, "prompt": "?"}, Defaults(model="?", max_output_tokens=1, endpoint=defaults.endpoint))
    return replace(
        defaults,
        parameters=asked.parameters,
        max_output_tokens=None if defaults.max_output_tokens is None else asked.max_output_tokens,
    )


def read_question(record: dict[str, Any], defaults: Defaults, template: Template | None) -> Question:
    """Return a row with its request.

    Raises:
        Wrong: it is none.
    """
    row_id = _row_id(record)
    if template is not None:
        options = {name: record[name] for name in _OPTIONS if record.get(name) and name not in template.names}
        columns = {name: value for name, value in record.items() if name not in _IDS and name not in options}
        return Question(row_id, _request({"prompt": template.fill(record), **options}, defaults), columns)
    enveloped = "body" in record or "params" in record
    known = _ENVELOPE if enveloped else _NAMES
    columns = {name: value for name, value in record.items() if name not in known}
    for name in columns:
        if is_misspelled(name, enveloped=enveloped):
            raise unknown(name, known) if enveloped else unknown_parameter(name, _OWN)
    if enveloped:
        body, endpoint = _enveloped(record)
        return Question(row_id, _request(body, replace(defaults, endpoint=endpoint or defaults.endpoint)), columns)
    body = {name: value for name, value in record.items() if name not in columns and name not in _IDS}
    return Question(row_id, _request(body, defaults), columns)


_NAMES = frozenset({*_OWN, *PARAMETERS, *_REFUSED, *_RENAMED, *_IDS})
"""Keys that say how a row is asked; every other one is a column of its own."""


@lru_cache(maxsize=1_000)
def is_misspelled(name: str, *, enveloped: bool = False) -> bool:
    """Return whether a key was probably meant to be one of those that say how a row is asked."""
    known = _ENVELOPE if enveloped else _NAMES
    return name not in known and bool(difflib.get_close_matches(name.lower()[:60], sorted(known), 1, 0.8))


def _row_id(record: Mapping[str, Any]) -> str | None:
    given = [name for name in _IDS if record.get(name) is not None]
    if not given:
        return None
    if len(given) > 1:
        raise InvalidRow("has both 'id' and 'custom_id'; keep one of them")
    value = record[given[0]]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(whole(value, given[0]))
    row_id = text(value, given[0])
    if len(row_id) > _ID_LENGTH_MAX:
        raise InvalidRow(f"'{given[0]}' has {len(row_id):,} characters, over {_ID_LENGTH_MAX}; shorten it")
    return row_id


def _enveloped(record: Mapping[str, Any]) -> tuple[dict[str, Any], Endpoint | None]:
    """Return the body of a line of a batch's file, and what its address asks for."""
    if "body" in record and "params" in record:
        raise InvalidRow("has both 'body' and 'params'; keep one of them")
    if record.get("method", "POST") != "POST":
        raise InvalidRow(f"'method' must be 'POST', not {shown(record['method'])}")
    url = record.get("url")
    if url is not None and not text(url, "url").endswith(_ENDPOINTS):
        raise InvalidRow(f"'url' must be '/v1/chat/completions', '/v1/responses' or '/v1/embeddings', not {shown(url)}")
    name = "body" if "body" in record else "params"
    endpoint: Endpoint | None = None if url is None else "embeddings" if url.endswith(_EMBEDDINGS) else "chat"
    return mapping(record[name], name), endpoint


def _request(body: Mapping[str, Any], defaults: Defaults) -> Request:
    parameters = dict(defaults.parameters)
    if (body.get("endpoint") or defaults.endpoint) == "embeddings":
        return _embedding(body, defaults)
    if body.get("endpoint") not in (None, "chat"):
        raise InvalidRow(f"'endpoint' must be 'chat' or 'embeddings', not {shown(body['endpoint'])}")
    for name, value in body.items():
        if name not in _OWN and not add_parameter(parameters, name, value):
            raise unknown_parameter(name, _OWN)
    if body.get("parameters") is not None:
        others = mapping(body["parameters"], "parameters")
        for name in others:
            if name in body and name not in _OWN:
                raise InvalidRow(f"'{name}' is in 'parameters' and beside it; keep one of them")
        add_others(parameters, others, _OWN)
    schema = _schema(body, parameters)
    if isinstance(effort := parameters.get("reasoning"), dict) and set(effort) == {"effort"}:
        if body.get("reasoning_effort") is not None:
            raise InvalidRow("has both 'reasoning' and 'reasoning_effort'; keep one of them")
        del parameters["reasoning"]
        parameters["reasoning_effort"] = text(effort["effort"], "reasoning.effort")
    return Request.of(
        _model(body, defaults),
        _messages(body, defaults),
        _limit(body, defaults),
        parameters,
        schema if schema is not None else defaults.schema,
    )


def _embedding(body: Mapping[str, Any], defaults: Defaults) -> Request:
    """Return the request for the vector of a text, or for those of a list of texts."""
    parameters = {name: value for name, value in defaults.parameters.items() if name in _OF_EMBEDDINGS}
    given = [name for name in ("input", "prompt") if body.get(name) is not None]
    if len(given) != 1:
        raise InvalidRow("asks for an embedding of nothing; add 'input' or 'prompt', and one of them only")
    others = mapping(body.get("parameters") or {}, "parameters")
    for name, value in (*others.items(), *body.items()):
        if name in _OF_EMBEDDINGS and value is not None:
            parameters[name] = PARAMETERS[name](value, name)
        elif name not in {*given, "model", "endpoint", "parameters", *LIMIT_NAMES} and value is not None:
            raise InvalidRow(f"'{name}' says nothing about an embedding; leave it out")
    value = body[given[0]]
    if isinstance(value, list) and value:
        asked: Any = [text(one, f"{given[0]}[{index}]") for index, one in enumerate(value)]
    else:
        asked = text(value, given[0])
    return Request.of(
        _model(body, defaults), [{"role": "user", "content": asked}], 0, parameters, endpoint="embeddings"
    )


_OF_EMBEDDINGS = frozenset({"dimensions", "encoding_format", "user"})


def _model(body: Mapping[str, Any], defaults: Defaults) -> str:
    model = body.get("model")
    if model is None:
        model = defaults.model
    if model is None:
        raise InvalidRow("names no model; add 'model', or give one for all rows")
    return text(model, "model").strip()


def _limit(body: Mapping[str, Any], defaults: Defaults) -> int:
    given = [name for name in LIMIT_NAMES if body.get(name) is not None]
    if len(given) > 1:
        raise InvalidRow(f"has both '{given[0]}' and '{given[1]}', which are the same; keep one of them")
    if given:
        return whole(body[given[0]], given[0], 1)
    if defaults.max_output_tokens is None:
        raise InvalidRow("has no 'max_output_tokens', which bounds its price; add it, or give one for all rows")
    return defaults.max_output_tokens


def _messages(body: Mapping[str, Any], defaults: Defaults) -> list[dict[str, Any]]:
    given = [name for name in ("prompt", "messages", "input") if body.get(name) is not None]
    if not given:
        raise InvalidRow("asks nothing; add 'prompt' or 'messages'")
    if len(given) > 1:
        raise InvalidRow(f"has both '{given[0]}' and '{given[1]}'; keep one of them")
    name, value = given[0], body[given[0]]
    if name == "messages" or (name == "input" and isinstance(value, list)):
        messages = read_messages(value, name)
    else:
        messages = [{"role": "user", "content": text(value, name)}]
    has_own = any(message["role"] == "system" for message in messages)
    systems = [key for key in ("system", "instructions") if body.get(key) is not None]
    if len(systems) > 1 or (systems and has_own):
        raise InvalidRow(f"has '{systems[0]}' and another system message; keep one of them")
    system = read_content(body[systems[0]], systems[0]) if systems else defaults.system
    if system is None or has_own:
        return messages
    return [{"role": "system", "content": system}, *messages]


def _schema(body: Mapping[str, Any], parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of a row, under whichever name; the verbosity that the Responses API keeps beside it."""
    found: list[dict[str, Any] | None] = []
    if body.get("schema") is not None:
        found.append(mapping(body["schema"], "schema"))
    if body.get("response_format") is not None:
        found.append(_formatted(mapping(body["response_format"], "response_format"), "response_format", parameters))
    if body.get("text") is not None:
        told = mapping(body["text"], "text")
        for name in told:
            if name not in {"format", "verbosity"}:
                raise InvalidRow(f"'text': {unknown(name, ('format', 'verbosity'))}")
        if told.get("verbosity") is not None:
            add_parameter(parameters, "verbosity", told["verbosity"])
        if told.get("format") is not None:
            found.append(_formatted(mapping(told["format"], "text.format"), "text.format", parameters))
    schemas = [schema for schema in found if schema is not None]
    if len(schemas) > 1:
        raise InvalidRow("has more than one schema for its answer; keep one of them")
    if not schemas:
        return None
    try:
        check_schema(schemas[0])
    except WrongSchema as error:
        raise InvalidRow(f"'schema': {error}") from error
    return schemas[0]


def _formatted(value: dict[str, Any], name: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    kind = value.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        parameters["response_format"] = {"type": kind}
        return None
    if kind != "json_schema":
        raise InvalidRow(
            f"'{name}.type' must be 'json_schema', 'json_object' or 'text', not {shown(kind)}; "
            "say in 'schema' what must fit"
        )
    inner = value.get("json_schema")
    holder, path = (value, name) if inner is None else (mapping(inner, f"{name}.json_schema"), f"{name}.json_schema")
    return mapping(holder.get("schema"), f"{path}.schema")
