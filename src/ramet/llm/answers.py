"""Checks of a model's answer: JSON that fits a JSON Schema or a pydantic model.

An answer may be wrapped in one Markdown fence (```` ```json ... ``` ````), as models like to do; words around it are
not accepted. JSON's rules are kept: no ``NaN``, no trailing comma, and no half surrogate pair, which nothing could
store. The judgement takes bounded time whatever the schema and the answer are.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from ramet.commands.errors import one_line
from ramet.llm.errors import InputError
from ramet.llm.requests import canonical
from ramet.llm.schemas import WrongSchema, build, opened, schema_text, shortened, subschemas

DEPTH_MAX = 200
"""Levels of an answer."""

_FENCE = re.compile(r"(`{3,}|~{3,})[^`\n]*\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_MAX = 240


class InvalidAnswer(Exception):
    """An answer is not what was asked for. One line that names the place: ``$.items[3].name: ...``."""


class Check(Protocol):
    """Judges one answer after another; safe in many threads."""

    def __call__(self, text: str) -> Any:
        """Return the answer as JSON values.

        Raises:
            InvalidAnswer: it is not JSON, or does not fit.
        """
        ...


def open_check(schema: Mapping[str, Any] | None, model_path: str | None) -> Check | None:
    """Return the check of answers: by the model, where one is named, else by the schema; None where neither is given.

    Raises:
        InputError: the schema cannot be used, or there is no such model.
        ExtraMissing: the validator is not installed.
    """
    if model_path is not None:
        return _ModelCheck(open_model(model_path))
    if schema is None:
        return None
    try:
        return _schema_check(schema_text(schema))
    except WrongSchema as error:
        raise InputError(f"the schema for answers {error}") from error


def schema_of(model_path: str) -> dict[str, Any]:
    """Return the JSON Schema of a pydantic model, for the provider.

    Raises:
        InputError: there is no such model, or no schema tells what it accepts.
    """
    model = open_model(model_path)
    try:
        return model.model_json_schema()
    except Exception as error:
        raise InputError(f"no JSON Schema can be made of '{model_path}': {one_line(error)}") from error


def imported(path: str, what: str) -> Any:
    """Import what a path names, ``package.module:name``. Modules of the working directory are found, after all others.

    Args:
        path: of it.
        what: it is, for the error.

    Raises:
        InputError: it cannot be imported.
    """
    module_name, _, name = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        words = f"{type(error).__name__}: {one_line(error)}"
        raise InputError(f"cannot import {what} ({words}); it must be where workers look") from error
    return found


def open_model(model_path: str) -> type[BaseModel]:
    """Return the pydantic model that a path names, ``package.module:Model``; importing it runs its module.

    Modules of the working directory are found, after all others.

    Raises:
        InputError: there is none.
    """
    module_name, _, name = model_path.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise InputError(f"'{model_path}' names no model; write it as package.module:Model")
    found = imported(model_path, f"the model '{model_path}'")
    if not isinstance(found, type) or not issubclass(found, BaseModel):
        raise InputError(f"'{model_path}' is not a pydantic model; name a class that derives from pydantic.BaseModel")
    return found


def read_json(text: str) -> Any:
    """Return the JSON value of an answer, out of its fence where it has one.

    Raises:
        InvalidAnswer: it is none, or nothing could store it.
    """
    bare = _unfenced(text.strip())
    try:
        value = json.loads(bare, parse_constant=_no_constant)
    except RecursionError as error:
        raise InvalidAnswer(f"$: nests deeper than {DEPTH_MAX} levels") from error
    except ValueError as error:
        words = "is empty" if not bare else f"is not JSON ({shortened(one_line(error), _SHOWN_MAX)})"
        raise InvalidAnswer(f"$: the answer {words}") from error
    _check_values(value)
    return value


def _unfenced(text: str) -> str:
    fence = _FENCE.match(text)
    if fence is None or not text.endswith(fence[1]):
        return text
    return text[fence.end() : len(text) - len(fence[1])].strip()


class _ModelCheck:
    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __call__(self, text: str) -> Any:
        value = read_json(text)
        try:
            # As JSON: what JSON has no type for, such as a date, is read from its text even by a strict model.
            fitting = self._model.model_validate_json(json.dumps(value))
            return fitting.model_dump(mode="json")
        except ValidationError as error:
            first, more = error.errors(include_url=False, include_context=False)[0], error.error_count() - 1
            said = f"{first['msg']}{f' (and {more} more)' if more else ''}"
            raise InvalidAnswer(error_line(first["loc"], said)) from error
        except Exception as error:
            # A validator of the user's own broke on this answer.
            words = f"{self._model.__name__} raised {type(error).__name__}: {error}"
            raise InvalidAnswer(error_line((), words)) from error


class _SchemaCheck:
    """Judges by a verdict, which takes bounded time; where the fault lies is looked for only after it."""

    def __init__(self, schema: dict[str, Any], validator: Any) -> None:
        self._is_valid = validator.is_valid
        self._finder = _finder(schema)

    def __call__(self, text: str) -> Any:
        value = read_json(text)
        if self._is_valid(value):
            return value
        first = next(self._finder.iter_errors(value), None) if self._finder is not None else None
        if first is None:
            raise InvalidAnswer("$: the answer does not fit the schema")
        words = first.message
        if words.startswith("False schema does not allow"):
            words = f"{shortened(canonical(first.instance), 80)} is not allowed, or fits none of the alternatives"
        raise InvalidAnswer(error_line(tuple(first.instance_path), words))


@lru_cache(maxsize=64)
def _schema_check(text: str) -> _SchemaCheck:
    return _SchemaCheck(json.loads(text), opened(text))


def _finder(schema: dict[str, Any]) -> Any:
    """Return the schema with its alternatives behind a condition, so that only their verdict counts.

    The validator describes why every single alternative fails, and again for those within them: for a schema of
    alternatives that refers to itself that doubles with each level of the answer. None where that cannot be done.
    """
    if any("/anyOf" in str(part.get("$ref")) or "/oneOf" in str(part.get("$ref")) for part in subschemas(schema)):
        return None
    copy = json.loads(json.dumps(schema))
    for part in list(subschemas(copy)):
        for keyword in ("anyOf", "oneOf"):
            if isinstance(part.get(keyword), list):
                condition = {"if": {keyword: part.pop(keyword)}, "else": False}
                part["allOf"] = [*part.get("allOf", ()), condition]
    try:
        return build(copy)
    except WrongSchema:
        return None


def _check_values(value: Any) -> None:
    left = [(value, 0)]
    while left:
        part, depth = left.pop()
        if depth > DEPTH_MAX:
            raise InvalidAnswer(f"$: nests deeper than {DEPTH_MAX} levels")
        if isinstance(part, str):
            if _SURROGATE.search(part):
                raise InvalidAnswer("$: holds half of a surrogate pair, which nothing can store")
        elif isinstance(part, float):
            if not math.isfinite(part):
                raise InvalidAnswer("$: holds a number too big for JSON")
        elif isinstance(part, dict):
            left.extend((name, depth) for name in part)
            left.extend((inner, depth + 1) for inner in part.values())
        elif isinstance(part, list):
            left.extend((inner, depth + 1) for inner in part)


def error_line(path: tuple[str | int, ...], words: object) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else _named(str(step)) for step in path)
    return f"{shortened('$' + ''.join(steps), 120)}: {shortened(one_line(words), _SHOWN_MAX)}"


def _named(step: str) -> str:
    return f".{step}" if step.isidentifier() else f"[{json.dumps(step)}]"


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number in JSON")
