"""Dataclasses as values for JSON; :func:`dataclasses.asdict` copies deeply, which costs too much for every listing."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@cache
def _names(made: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(made))


def shallow(value: DataclassInstance) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are."""
    return {name: getattr(value, name) for name in _names(type(value))}
