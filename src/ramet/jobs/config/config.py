"""Settings from a file, in whichever of the known shapes it is."""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ramet.jobs.config.checking import checked, section_types, unknown
from ramet.jobs.config.config_file import Document, KeyPath, read_document, shown
from ramet.jobs.original import from_original, is_original

STOP_LISTS = {
    "excludedCompanies": "stop.companies",
    "excludedDomains": "stop.domains",
    "excludedKeywords": "stop.keywords",
    "companies": "stop.companies",
    "domains": "stop.domains",
    "keywords": "stop.keywords",
}
"""What a stop list of `config.yaml` has, by our names."""


def read_config(path: Path | str) -> dict[str, Any]:
    """Settings by full name (``jobs.SECTION.FIELD``), as they can be stored. What the file leaves out is left out.

    Three shapes are known: our own sections (``profile:``, ``filter:`` and so on, YAML or JSON); a `config.yaml` with
    ``filters.stopList``, of which only this is read; and the JSON settings that `original` tells of.

    Raises:
        ConfigError: one line with the file, the place in it, and what to give. Nothing is returned in part.
    """
    document = read_document(Path(path))
    if is_original(document.value):
        values, origins = from_original(document)
    elif "filters" in document.value:
        values, origins = _stop_list(document)
    else:
        values, origins = _own(document)
    return checked(document, values, origins)


def sample() -> dict[str, Any]:
    """The settings of the sample profile that ships: neutral, to be made one's own."""
    with as_file(sample_file()) as path:
        return read_config(path)


def sample_text() -> str:
    """The sample profile as a person edits it: YAML with comments."""
    return sample_file().read_text(encoding="utf-8")


def sample_file() -> Traversable:
    """Where the sample profile is, as a resource of the package."""
    return files("ramet.jobs.config") / "sample.yaml"


def _own(document: Document) -> tuple[dict[str, Any], dict[str, KeyPath]]:
    values: dict[str, Any] = {}
    origins: dict[str, KeyPath] = {}
    for section, fields in document.value.items():
        if section not in section_types():
            raise document.error((section,), unknown(section, section, section_types()))
        if fields is None:
            continue
        if not isinstance(fields, dict):
            raise document.error(
                (section,), f"{section} is {shown(fields)}: give settings below it, each `name: value`"
            )
        for field, value in fields.items():
            values[f"{section}.{field}"] = value
            origins[f"{section}.{field}"] = (section, field)
    return values, origins


def _stop_list(document: Document) -> tuple[dict[str, Any], dict[str, KeyPath]]:
    filters = document.value["filters"]
    if not isinstance(filters, dict) or "stopList" not in filters:
        message = "filters has no stopList, and nothing else of it is read: give one, or our own section `filter`"
        raise document.error(("filters",), message)
    path = ("filters", "stopList")
    if not isinstance(filters["stopList"], dict):
        raise document.error(path, f"filters.stopList is {shown(filters['stopList'])}: give {', '.join(STOP_LISTS)}")
    values: dict[str, Any] = {}
    origins: dict[str, KeyPath] = {}
    for field, value in filters["stopList"].items():
        if field not in STOP_LISTS:
            raise document.error((*path, field), unknown(f"filters.stopList.{field}", field, STOP_LISTS))
        name = STOP_LISTS[field]
        if name in values:
            raise document.error((*path, field), f"{field} is given twice, in two spellings: give it once")
        values[name] = [] if value is None else value
        origins[name] = (*path, field)
    return values, origins
