"""Paths into what a board answered. A path never fails: what is not there is nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

_STEP = re.compile(r"(?P<name>[^\[\].]*)(?P<each>\[(?:(?P<key>[^\[\]=]+)=(?P<value>[^\[\]]*))?\])?")
TEXT_MAX = 1_000_000
"""Characters of one value that are looked at."""


class Step(NamedTuple):
    """One part of a path."""

    name: str
    each: bool
    key: str
    value: str


@lru_cache(maxsize=4096)
def parsed_path(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        ValueError: it is none.
    """
    if not path:
        return ()
    steps = []
    for part in path.split("."):
        match = _STEP.fullmatch(part)
        if match is None or (not match["name"] and not match["each"]):
            raise ValueError(f"no path: {path!r}: names with a dot between, [] or [key=value] behind a list")
        steps.append(Step(match["name"], match["each"] is not None, match["key"] or "", match["value"] or ""))
    return tuple(steps)


def values_at(value: Any, path: str) -> Sequence[Any]:
    """All that a path leads to, in order; null is not there."""
    found = [value]
    for step in parsed_path(path):
        found = [one for each in found for one in _step(each, step)]
        if not found:
            break
    return [one for one in found if one is not None]


def _step(value: Any, step: Step) -> Iterator[Any]:
    if step.name == "*":
        if isinstance(value, dict):
            yield from value.values()
        return
    inner = value
    if step.name:
        if isinstance(value, dict):
            inner = value.get(step.name)
        elif isinstance(value, list) and step.name.isdecimal() and len(step.name) < 9:
            at = int(step.name)
            inner = value[at] if at < len(value) else None
        else:
            return
    if not step.each:
        yield inner
        return
    for one in inner if isinstance(inner, list) else [] if inner is None else [inner]:
        if not step.key or (isinstance(one, dict) and text_at(one, step.key) == step.value):
            yield one


def text_of_value(value: Any) -> str:
    """A single value as text: ``true`` and ``false`` of a flag; empty for objects, lists and what has no end."""
    if isinstance(value, str):
        return value[:TEXT_MAX]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(10**40) < value < 10**40 else ""
    if isinstance(value, float):
        # The text of a whole number has no point, so that an identifier is the same however it was written.
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dict):
        return text_of_value(value.get("#text")) if "#text" in value else ""
    return ""


def text_at(value: Any, path: str) -> str:
    """The first text that is not empty where a path leads to; empty: there is none."""
    for one in values_at(value, path):
        text = text_of_value(one).strip()
        if text:
            return text
    return ""


def texts_at(value: Any, path: str) -> list[str]:
    """All texts that are not empty where a path leads to."""
    return [text for one in values_at(value, path) if (text := text_of_value(one).strip())]
