"""Sections of settings: typed numbers, each a row of the engine's settings table that can be changed at run time."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict


class Section(BaseModel):
    """Settings that belong together. Its fields are made by :func:`setting`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


def setting(default: Any, description: str, unit: str = "", **bounds: Any) -> Any:
    """A field of a section.

    Args:
        description: what it does, for `ramet settings list`: a few words, no full stop.
        unit: of a number; ``points``, ``characters``, ``days``.
        bounds: pydantic's ``ge``, ``le``, ``pattern`` and so on.
    """
    extra: JsonDict = {"unit": unit}
    if isinstance(default, list | dict):
        return Field(default_factory=default.copy, description=description, json_schema_extra=extra, **bounds)
    return Field(default=default, description=description, json_schema_extra=extra, **bounds)
