"""JSON Schemas that answers must fit: checked before anything is sent, and judged within bounds.

The validator (jsonschema-rs) bounds what a ``pattern`` may backtrack and remembers verdicts of schemas that refer to
themselves. Bounds that it lacks are here: how large a schema is, that it refers to nothing outside of itself, and how
often one value can be looked at because branches of branches refer to the same definition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.llm.errors import LLM_EXTRA
from ramet.llm.requests import canonical

BYTES_MAX = 65_536
"""Most bytes of a schema."""
DEPTH_MAX = 60
"""Levels of a schema."""
LOOKS_MAX = 2_000
"""Number of looks at one value, at most."""
LOOKS_UNEVALUATED_MAX = 120
"""The same where the schema asks for what was not looked at: each such question looks at everything again."""
CHAIN_MAX = 120
"""Definitions that refer to the next one for the same value."""
BACKTRACKS_MAX = 100_000
"""Steps that one ``pattern`` may go back."""

# Keywords that look at the same value as the schema they are in.
_ALL_OF = ("allOf", "anyOf", "oneOf")
_ONE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_VALUES = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose values are no schemas."""

_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", *_BY_NAME})
"""Keywords whose values are schemas by name."""


class WrongSchema(Exception):
    """A schema cannot be used. One line that says why."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that is none, is too large, or could keep a validator busy for long.

    Raises:
        WrongSchema: with what is wrong.
        ExtraMissing: the validator is not installed.
    """
    opened(schema_text(schema))


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return a schema in canonical JSON.

    Raises:
        WrongSchema: it holds what JSON has not, or nests for ever.
    """
    try:
        return canonical(schema)
    except (ValueError, TypeError, RecursionError) as error:
        raise WrongSchema(f"is not JSON ({one_line(error)})") from error


@lru_cache(maxsize=64)
def opened(text: str) -> Any:
    """Return the validator of a schema in canonical JSON; a rejected one is not remembered.

    Raises:
        WrongSchema, ExtraMissing: as for :func:`check_schema`.
    """
    size = len(text.encode(errors="replace"))
    if size > BYTES_MAX:
        raise WrongSchema(f"has {size:,} bytes, over {BYTES_MAX:,}; leave descriptions and unused definitions out")
    schema = json.loads(text)
    _check_depth(schema)
    _check_references(schema)
    validator = build(schema)
    _Looks(schema).check()
    return validator


def build(schema: Mapping[str, Any]) -> Any:
    """Return a validator that fetches nothing.

    Raises:
        WrongSchema: it is not a valid JSON Schema.
        ExtraMissing: the validator is not installed.
    """
    rust = import_extra("jsonschema_rs", LLM_EXTRA)
    try:
        return rust.validator_for(
            dict(schema), offline=True, pattern_options=rust.FancyRegexOptions(backtrack_limit=BACKTRACKS_MAX)
        )
    except (ValueError, rust.ReferencingError) as error:
        reason = getattr(error, "message", None) or error
        raise WrongSchema(f"is not a valid JSON Schema ({shortened(one_line(reason))})") from error


def shortened(text: str, most: int = 240) -> str:
    """Return a text with its middle left out where it is long."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} ... {text[-most // 3 :]}"


def _check_depth(schema: Any) -> None:
    left = [(schema, 0)]
    while left:
        part, depth = left.pop()
        if depth > DEPTH_MAX:
            raise WrongSchema(f"nests deeper than {DEPTH_MAX} levels; put parts of it into '$defs'")
        if isinstance(part, dict | list):
            left.extend((inner, depth + 1) for inner in (part.values() if isinstance(part, dict) else part))


def _check_references(schema: dict[str, Any]) -> None:
    for part in subschemas(schema):
        for keyword in _REFERENCES:
            target = part.get(keyword)
            if isinstance(target, str) and not target.startswith("#"):
                raise WrongSchema(
                    f"refers to {shortened(ascii(target), 80)}; nothing is fetched: put it into '$defs' of the schema"
                )


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a schema but those in values such as ``const``; maps of schemas by name are given as well."""
    left: list[tuple[Any, bool]] = [(schema, False)]
    while left:
        part, by_name = left.pop()
        if isinstance(part, dict):
            yield part
            for name, inner in part.items():
                # In a map a name is a property's, whatever it says.
                if by_name or name not in _VALUES:
                    left.append((inner, not by_name and name in _MAPS))
        elif isinstance(part, list):
            left.extend((inner, False) for inner in part)


class _Looks:
    """Counts how often one value is looked at: a schema, and all that it applies to the same value, unfolded."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._anchors = {
            f"#{part[name]}": part
            for part in subschemas(schema)
            for name in ("$anchor", "$dynamicAnchor")
            if isinstance(part.get(name), str)
        }
        self._counts: dict[int, int] = {}
        self._open: set[int] = set()

    def check(self) -> None:
        parts = list(subschemas(self._schema))
        asks = any("unevaluatedProperties" in part or "unevaluatedItems" in part for part in parts)
        most = LOOKS_UNEVALUATED_MAX if asks else LOOKS_MAX
        for part in parts:
            if (looks := self._count(part)) > most:
                raise WrongSchema(
                    f"could look at one value {looks:,} times, over {most:,}; let fewer branches refer to one another"
                )

    def _count(self, part: dict[str, Any]) -> int:
        """Of a schema; a circle without an end is refused."""
        known = self._counts.get(id(part))
        if known is not None:
            return known
        if id(part) in self._open:
            raise WrongSchema("refers to itself without looking into the value; a reference must be under a property")
        if len(self._open) > CHAIN_MAX:
            raise WrongSchema(f"refers from definition to definition over {CHAIN_MAX} times; make that shorter")
        self._open.add(id(part))
        looks = 1 + sum(self._count(inner) for inner in self._same_value(part))
        self._open.remove(id(part))
        self._counts[id(part)] = looks
        return looks

    def _same_value(self, part: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for keyword in _ALL_OF:
            if isinstance(part.get(keyword), list):
                yield from (inner for inner in part[keyword] if isinstance(inner, dict))
        for keyword in _ONE:
            if isinstance(part.get(keyword), dict):
                yield part[keyword]
        for keyword in _BY_NAME:
            if isinstance(part.get(keyword), dict):
                yield from (inner for inner in part[keyword].values() if isinstance(inner, dict))
        for keyword in _REFERENCES:
            target = self._target(part.get(keyword))
            if target is not None:
                yield target

    def _target(self, reference: object) -> dict[str, Any] | None:
        if not isinstance(reference, str):
            return None
        if reference in self._anchors:
            return self._anchors[reference]
        found: Any = self._schema
        for step in reference.lstrip("#").split("/")[1:]:
            name = _unescaped(step)
            if isinstance(found, dict):
                found = found.get(name)
            elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return found if isinstance(found, dict) else None


def _unescaped(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")
