"""What a row asks, from any of the shapes in which people keep prompts.

- the plain one: ``{"id", "prompt" | "messages", "model", "system", "max_output_tokens", ..., "schema", "parameters"}``
- a line of OpenAI's batches: ``{"custom_id", "method", "url", "body"}`` for chat completions and for responses
- a line of Anthropic's batches: ``{"custom_id", "params"}``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ramet.llm.inputs.messages import read_content, read_messages
from ramet.llm.inputs.parameters import LIMIT_NAMES, add_others, add_parameter, unknown_parameter
from ramet.llm.inputs.templates import Template
from ramet.llm.inputs.values import Wrong, check_storable, mapping, shown, text, unknown, whole
from ramet.llm.requests import Request
from ramet.llm.schemas import WrongSchema, check_schema

_IDS = ("id", "custom_id")
_ID_LENGTH_MAX = 512
_OWN = frozenset(
    {"prompt", "messages", "input", "system", "instructions", "model", "schema", "response_format", "text"}
    | {"parameters", *LIMIT_NAMES}
)
_ENVELOPE = frozenset({"custom_id", "id", "method", "url", "body", "params"})
_ENDPOINTS = ("/chat/completions", "/responses", "/messages")


@dataclass(frozen=True, slots=True)
class Defaults:
    """What options give for rows that do not say. A row's own word wins."""

    model: str | None = None
    system: str | None = None
    """Put before the messages of rows that have no system message of their own."""
    max_output_tokens: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    template: str | None = None
    """Makes the prompt out of a row's columns: then only ``id`` keeps its meaning, every other one is a column."""


def checked(defaults: Defaults) -> Defaults:
    """The defaults in the form that requests have.

    Raises:
        Wrong: no row could be asked with them.
    """
    body = {name: getattr(defaults, name) for name in ("model", "system", "max_output_tokens", "schema", "parameters")}
    check_storable({**body, "template": defaults.template})
    asked = _request({**body, "prompt": "?"}, Defaults(model="?", max_output_tokens=1))
    return replace(
        defaults,
        parameters=asked.parameters,
        max_output_tokens=None if defaults.max_output_tokens is None else asked.max_output_tokens,
    )


def read_question(record: dict[str, Any], defaults: Defaults, template: Template | None) -> tuple[str | None, Request]:
    """A row's id, None where it has none, and its request.

    Raises:
        Wrong: it is none.
    """
    row_id, body = _row_id(record), record
    if template is not None:
        return row_id, _request({"prompt": template.fill(record)}, defaults)
    if "body" in record or "params" in record:
        body = _enveloped(record)
    else:
        body = {name: value for name, value in record.items() if name not in _IDS}
    return row_id, _request(body, defaults)


def _row_id(record: Mapping[str, Any]) -> str | None:
    given = [name for name in _IDS if record.get(name) is not None]
    if not given:
        return None
    if len(given) > 1:
        raise Wrong("has both 'id' and 'custom_id'; keep one of them")
    value = record[given[0]]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(whole(value, given[0]))
    row_id = text(value, given[0])
    if len(row_id) > _ID_LENGTH_MAX:
        raise Wrong(f"'{given[0]}' has {len(row_id):,} characters, over {_ID_LENGTH_MAX}; shorten it")
    return row_id


def _enveloped(record: Mapping[str, Any]) -> dict[str, Any]:
    for name in record:
        if name not in _ENVELOPE:
            raise unknown(name, _ENVELOPE)
    if "body" in record and "params" in record:
        raise Wrong("has both 'body' and 'params'; keep one of them")
    if record.get("method", "POST") != "POST":
        raise Wrong(f"'method' must be 'POST', not {shown(record['method'])}")
    url = record.get("url")
    if url is not None and not text(url, "url").endswith(_ENDPOINTS):
        raise Wrong(f"'url' must be '/v1/chat/completions' or '/v1/responses', not {shown(url)}")
    name = "body" if "body" in record else "params"
    return mapping(record[name], name)


def _request(body: Mapping[str, Any], defaults: Defaults) -> Request:
    parameters = dict(defaults.parameters)
    for name, value in body.items():
        if name not in _OWN and not add_parameter(parameters, name, value):
            raise unknown_parameter(name, _OWN)
    if body.get("parameters") is not None:
        others = mapping(body["parameters"], "parameters")
        for name in others:
            if name in body and name not in _OWN:
                raise Wrong(f"'{name}' is in 'parameters' and beside it; keep one of them")
        add_others(parameters, others, _OWN)
    schema = _schema(body, parameters)
    if isinstance(effort := parameters.get("reasoning"), dict) and set(effort) == {"effort"}:
        if body.get("reasoning_effort") is not None:
            raise Wrong("has both 'reasoning' and 'reasoning_effort'; keep one of them")
        del parameters["reasoning"]
        parameters["reasoning_effort"] = text(effort["effort"], "reasoning.effort")
    return Request.of(
        _model(body, defaults),
        _messages(body, defaults),
        _limit(body, defaults),
        parameters,
        schema if schema is not None else defaults.schema,
    )


def _model(body: Mapping[str, Any], defaults: Defaults) -> str:
    model = body.get("model")
    if model is None:
        model = defaults.model
    if model is None:
        raise Wrong("names no model; add 'model', or give one for all rows")
    return text(model, "model").strip()


def _limit(body: Mapping[str, Any], defaults: Defaults) -> int:
    given = [name for name in LIMIT_NAMES if body.get(name) is not None]
    if len(given) > 1:
        raise Wrong(f"has both '{given[0]}' and '{given[1]}', which are the same; keep one of them")
    if given:
        return whole(body[given[0]], given[0], 1)
    if defaults.max_output_tokens is None:
        raise Wrong("has no 'max_output_tokens', which bounds its price; add it, or give one for all rows")
    return defaults.max_output_tokens


def _messages(body: Mapping[str, Any], defaults: Defaults) -> list[dict[str, Any]]:
    given = [name for name in ("prompt", "messages", "input") if body.get(name) is not None]
    if not given:
        raise Wrong("asks nothing; add 'prompt' or 'messages'")
    if len(given) > 1:
        raise Wrong(f"has both '{given[0]}' and '{given[1]}'; keep one of them")
    name, value = given[0], body[given[0]]
    if name == "messages" or (name == "input" and isinstance(value, list)):
        messages = read_messages(value, name)
    else:
        messages = [{"role": "user", "content": text(value, name)}]
    has_own = any(message["role"] == "system" for message in messages)
    told = [key for key in ("system", "instructions") if body.get(key) is not None]
    if len(told) > 1 or (told and has_own):
        raise Wrong(f"has '{told[0]}' and another system message; keep one of them")
    system = read_content(body[told[0]], told[0]) if told else defaults.system
    if system is None or has_own:
        return messages
    return [{"role": "system", "content": system}, *messages]


def _schema(body: Mapping[str, Any], parameters: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a row, under whichever name; the verbosity that the Responses API keeps beside it."""
    found: list[dict[str, Any] | None] = []
    if body.get("schema") is not None:
        found.append(mapping(body["schema"], "schema"))
    if body.get("response_format") is not None:
        found.append(_formatted(mapping(body["response_format"], "response_format"), "response_format"))
    if body.get("text") is not None:
        told = mapping(body["text"], "text")
        for name in told:
            if name not in {"format", "verbosity"}:
                raise Wrong(f"'text': {unknown(name, ('format', 'verbosity'))}")
        if told.get("verbosity") is not None:
            add_parameter(parameters, "verbosity", told["verbosity"])
        if told.get("format") is not None:
            found.append(_formatted(mapping(told["format"], "text.format"), "text.format"))
    schemas = [schema for schema in found if schema is not None]
    if len(schemas) > 1:
        raise Wrong("has more than one schema for its answer; keep one of them")
    if not schemas:
        return None
    try:
        check_schema(schemas[0])
    except WrongSchema as error:
        raise Wrong(f"'schema': {error}") from error
    return schemas[0]


def _formatted(value: dict[str, Any], name: str) -> dict[str, Any] | None:
    kind = value.get("type")
    if kind == "text":
        return None
    if kind != "json_schema":
        raise Wrong(f"'{name}.type' must be 'json_schema' or 'text', not {shown(kind)}; say in 'schema' what must fit")
    inner = value.get("json_schema")
    holder, path = (value, name) if inner is None else (mapping(inner, f"{name}.json_schema"), f"{name}.json_schema")
    return mapping(holder.get("schema"), f"{path}.schema")
