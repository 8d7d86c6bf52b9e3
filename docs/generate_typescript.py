"""Writes ``clients/typescript/src/types.ts``, the types of requests and answers, from the document of the API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ramet.web.application import make_api

PAGE = Path(__file__).parents[1] / "clients" / "typescript" / "src" / "types.ts"
BELOW = ("/v1/submit", "/v1/claims", "/v1/result", "/v1/events")
"""Routes that the client calls."""
HEAD = """// Types of requests and answers, written from the document of the API by `make docs`: do not edit.

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
"""
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def page() -> str:
    """Return the types as TypeScript."""
    document = make_api().openapi()
    schemas = document["components"]["schemas"]
    names = sorted(_needed(document, schemas))
    return "\n".join([HEAD, *(_declaration(name, schemas[name]) for name in names)])


def _needed(document: Mapping[str, Any], schemas: Mapping[str, Any]) -> set[str]:
    """Names of the schemas that the routes use, directly or not."""
    found: set[str] = set()
    for path, methods in document["paths"].items():
        if path.startswith(BELOW):
            for operation in methods.values():
                good = operation["responses"].get("200", {})
                _collect([operation.get("requestBody", {}), operation.get("parameters", []), good], schemas, found)
    return found


def _collect(part: Any, schemas: Mapping[str, Any], found: set[str]) -> None:
    for name in _references(part):
        if name not in found and name != "JsonValue":
            found.add(name)
            _collect(schemas[name], schemas, found)


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def _declaration(name: str, schema: Mapping[str, Any]) -> str:
    about = _comment(schema.get("description"), "")
    if "properties" not in schema:
        return f"{about}export type {name} = {_type(schema)};\n"
    is_body = schema.get("additionalProperties") is False
    lines = [f"{about}export interface {name} {{"]
    for field, value in schema["properties"].items():
        optional = "?" if is_body and field not in schema.get("required", ()) else ""
        lines += [f"{_comment(value.get('description'), '  ')}  {field}{optional}: {_type(value)};"]
    return "\n".join([*lines, "}\n"])


def _comment(text: str | None, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split())} */\n" if text else ""


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "Json" if name == "JsonValue" else str(name)
    for words in ("anyOf", "oneOf"):
        if words in schema:
            return " | ".join(dict.fromkeys(_type(one) for one in schema[words]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        inner = _type(schema.get("items", {}))
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"{{ [name: string]: {_type(values) if isinstance(values, dict) else 'Json'} }}"
    return _SIMPLE.get(str(kind), "Json")
