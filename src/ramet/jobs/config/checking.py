"""Values of a file against the settings that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

from pydantic import ValidationError

from ramet.jobs.config.config_file import ConfigError, Document, KeyPath, shown
from ramet.jobs.jobs_settings import PREFIX, JobsSettings
from ramet.jobs.section import Section

_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

_WANTED = {
    "string_type": "text, in quotes where YAML takes it for something else",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "names with values",
    "too_short": "a pair of numbers",
    "too_long": "a pair of numbers",
    "string_pattern_mismatch": "a currency's three capital letters",
}
"""What to give, by the type of the error; the checks' own words where they say it as well."""


def section_types() -> dict[str, type[Section]]:
    """The sections by their names."""
    found = {}
    for name, field in JobsSettings.model_fields.items():
        assert isinstance(field.annotation, type), name
        assert issubclass(field.annotation, Section), name
        found[name] = field.annotation
    return found


def checked(document: Document, values: Mapping[str, Any], origins: Mapping[str, KeyPath]) -> dict[str, Any]:
    """Settings by full name, as they can be stored.

    Args:
        values: by ``SECTION.FIELD``.
        origins: where in the file each of them stands.

    Raises:
        ConfigError: a name is no setting, or a value is none that its setting can have.
    """
    by_section: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, field = name.partition(".")
        by_section.setdefault(section, {})[field] = value
    taken: dict[str, Any] = {}
    for section, fields in by_section.items():
        model = section_types()[section]
        for field in fields:
            path = origins[f"{section}.{field}"]
            if field not in model.model_fields:
                raise document.error(path, unknown(".".join(path), field, model.model_fields))
            _refuse(document, path, fields[field])
        try:
            read = model.model_validate(fields, strict=True)
        except ValidationError as error:
            raise _told(document, section, error, origins) from None
        whole = read.model_dump(mode="json", include=set(fields))
        taken |= {f"{PREFIX}{section}.{field}": whole[field] for field in fields}
    return taken


def unknown(shown_name: str, name: str, known: Iterable[str]) -> str:
    """What to say of a name that nothing has."""
    close = get_close_matches(name, list(known), n=1)
    advice = f"did you mean {close[0]}?" if close else f"take one of {', '.join(known)}"
    return f"{shown_name} is no setting: {advice}"


def _refuse(document: Document, path: KeyPath, value: Any) -> None:
    """What passes every type and bound, and yet is no setting: no score survives a NaN, no database keeps a NUL."""
    if isinstance(value, float) and not isfinite(value):
        raise document.error(path, f"{'.'.join(path)} is {value}: give a number")
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise document.error(path, f"{'.'.join(path)} has a character that cannot be stored: give plain text")
    children: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        children = value.items()
        for name in value:
            _refuse(document, path, name)
    elif isinstance(value, list):
        children = ((str(number), item) for number, item in enumerate(value))
    for name, child in children:
        _refuse(document, (*path, name), child)


def _told(document: Document, section: str, error: ValidationError, origins: Mapping[str, KeyPath]) -> ConfigError:
    """The first thing that is wrong, in one line."""
    first = error.errors(include_url=False, include_context=False)[0]
    field, *inner = [str(part) for part in first["loc"]]
    path = (*origins[f"{section}.{field}"], *(part for part in inner if part != "[key]"))
    wanted = _WANTED.get(first["type"]) or first["msg"].removeprefix("Input should be ")
    return document.error(path, f"{'.'.join(path)} is {shown(first['input'])}: give {wanted}")
