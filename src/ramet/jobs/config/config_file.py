"""Settings from a YAML or JSON file, each checked, and each error with the line of its value.

The file may come from anywhere: its size, its nesting and the tags it may use are bounded, and what YAML would silently
multiply (aliases) or overwrite (keys given twice) is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from math import isfinite
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ramet.jobs.errors import InputError
from ramet.jobs.settings import PREFIX, JobsSettings, Section

BYTES_MAX = 262_144
"""Most bytes of a file with settings."""
DEPTH_MAX = 20
"""Most levels of lists and mappings in it."""

_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

KeyPath = tuple[str, ...]


class ConfigError(InputError):
    """A file with settings cannot be taken. The message names the file, the place, and what to give."""


@dataclass(frozen=True)
class Document:
    """A file with settings, as it was read."""

    name: str
    """Name of the file as it was given, for people."""
    value: Mapping[str, Any]
    lines: Mapping[KeyPath, int]
    """Line by path of keys and list positions, from 1; empty for JSON, whose reader tells no lines."""

    def error(self, path: KeyPath, message: str) -> ConfigError:
        """Return an error about one value of the file."""
        line = self.lines.get(path)
        while line is None and path:
            path = path[:-1]
            line = self.lines.get(path)
        return ConfigError(f"{self.name}{f', line {line}' if line else ''}: {message}")


def read_document(path: Path) -> Document:
    """Read a file: JSON where it starts as such and its name does not say YAML, else YAML.

    Raises:
        ConfigError: it is absent, too large, not text, or not valid in its format.
    """
    text = _text_of(path)
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    value, lines = (
        _from_yaml(text, path) if is_yaml or not text.lstrip().startswith("{") else (_from_json(text, path), {})
    )
    if value is None:
        raise ConfigError(f"{path}: is empty: give at least one section, such as `profile:`")
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: is {shown(value)}: give sections with settings, such as `profile:`")
    return Document(str(path), value, lines)


def shown(value: object) -> str:
    """Return a value in a message: short, on one line, as JSON where it can be."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_text(
    path: Path,
    bytes_max: int,
    *,
    unreadable: str,
    too_large: str,
    encoding: str = "save it as UTF-8",
    kinds: Mapping[bytes, str] | None = None,
) -> str:
    """Read a file of text that a person named.

    Args:
        path: path of the file.
        bytes_max: size that is taken.
        unreadable, too_large, encoding: advice where it cannot be read, is larger, or is not UTF-8.
        kinds: of files that are not text, by their first bytes: what it is, and what to do.

    Raises:
        InputError: one of these, on one line.
    """
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}): {unreadable}") from error
    kind = next((kind for mark, kind in (kinds or {}).items() if content.startswith(mark)), None)
    if kind is not None:
        raise InputError(f"{path}: is {kind}")
    if len(content) > bytes_max:
        raise InputError(f"{path}: is larger than {bytes_max:,} bytes: {too_large}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 at byte {error.start:,}: {encoding}") from error


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file: give the path of a YAML or JSON file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error}): give a file that can") from error
    if len(content) > BYTES_MAX:
        raise ConfigError(f"{path}: is larger than {BYTES_MAX:,} bytes: give a file with settings only")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not valid UTF-8 at byte {error.start:,}: save it as UTF-8") from error


def _from_json(text: str, path: Path) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"{path}: {shown(twice)} is given twice in one place: give it once")
        return value

    def refused(constant: str) -> Any:
        raise ConfigError(f"{path}: has {constant}: give a number")

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=refused)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}, line {error.lineno}: is not valid JSON ({error.msg}): put that right") from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{path}: is nested too deep, or has a number too long: give plain settings") from error
    if _depth(value) > DEPTH_MAX:
        raise ConfigError(f"{path}: is nested deeper than {DEPTH_MAX} levels: give plain settings")
    return value


def _depth(value: Any) -> int:
    """Levels of lists and mappings; the JSON reader has bounded them by the interpreter's own limit."""
    level, deepest = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        deepest += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return deepest


class _YamlRefused(yaml.MarkedYAMLError):
    """YAML that is right as YAML, but not taken here."""

    def __init__(self, problem: str, mark: yaml.Mark | None) -> None:
        super().__init__(None, None, problem, mark)


class _Loader(yaml.SafeLoader):
    """Safe tags only, without aliases, to a bounded depth."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise _YamlRefused("aliases are not taken: write the value out", mark)
        if self.depth >= DEPTH_MAX:
            raise _YamlRefused(f"is nested deeper than {DEPTH_MAX} levels: give plain settings", mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _from_yaml(text: str, path: Path) -> tuple[Any, dict[KeyPath, int]]:
    lines: dict[KeyPath, int] = {}
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return (None if node is None else _built(loader, node, (), lines)), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        problem = " ".join((error.problem or error.context or "").split())[:120]
        message = problem if isinstance(error, _YamlRefused) else f"is not valid YAML ({problem}): put that right"
        raise ConfigError(f"{path}{place}: {message}") from error
    except yaml.YAMLError as error:
        raise ConfigError(
            f"{path}: is not valid YAML ({' '.join(str(error).split())[:120]}): put that right"
        ) from error


def _built(loader: _Loader, node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> Any:
    """Return the value of a node. Only plain values, lists and mappings with text as keys."""
    lines[path] = node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN_TAGS:
        raise _YamlRefused("tags are not taken: write plain lists and mappings", node.start_mark)
    if isinstance(node, yaml.MappingNode):
        value: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _name(loader, key_node)
            if key in value:
                raise _YamlRefused(f"{shown(key)} is given twice: give it once", key_node.start_mark)
            value[key] = _built(loader, value_node, (*path, key), lines)
            lines[*path, key] = key_node.start_mark.line + 1
        return value
    if isinstance(node, yaml.SequenceNode):
        return [_built(loader, item, (*path, str(number)), lines) for number, item in enumerate(node.value)]
    return _plain(loader, node)


def _name(loader: _Loader, node: yaml.Node) -> str:
    merges = node.tag == "tag:yaml.org,2002:merge"
    key = _plain(loader, node) if isinstance(node, yaml.ScalarNode) and not merges else None
    if key is None or isinstance(key, bool):
        raise _YamlRefused("this cannot be a name here: put it in quotes", node.start_mark)
    return str(key)


def _plain(loader: _Loader, node: yaml.Node) -> Any:
    try:
        return loader.construct_object(node, deep=True)
    except (ValueError, OverflowError) as error:
        raise _YamlRefused("is not a possible number or date: give another, or quotes", node.start_mark) from error


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
"""Values to give, by the type of the error; for all others the checks' own words."""


def section_types() -> dict[str, type[Section]]:
    """Return the sections by their names."""
    found = {}
    for name, field in JobsSettings.model_fields.items():
        assert isinstance(field.annotation, type), name
        assert issubclass(field.annotation, Section), name
        found[name] = field.annotation
    return found


def checked(document: Document, values: Mapping[str, Any], origins: Mapping[str, KeyPath]) -> dict[str, Any]:
    """Return settings by full name, as they can be stored.

    Args:
        values: values by ``SECTION.FIELD``.
        origins: place of each of them in the file.

    Raises:
        ConfigError: a name is not a setting, or its setting cannot have the value.
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
            raise _first_error(document, section, error, origins) from None
        whole = read.model_dump(mode="json", include=set(fields))
        taken |= {f"{PREFIX}{section}.{field}": whole[field] for field in fields}
    return taken


def unknown(shown_name: str, name: str, known: Iterable[str]) -> str:
    """Return the message about the name of an unknown setting."""
    close = get_close_matches(name, list(known), n=1)
    advice = f"did you mean {close[0]}?" if close else f"take one of {', '.join(known)}"
    return f"{shown_name} is not a setting: {advice}"


def _refuse(document: Document, path: KeyPath, value: Any) -> None:
    """Refuse values that pass every type and bound and cannot be used: a NaN in a score, a NUL in a database."""
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


def _first_error(
    document: Document, section: str, error: ValidationError, origins: Mapping[str, KeyPath]
) -> ConfigError:
    """Return the first error, in one line."""
    first = error.errors(include_url=False, include_context=False)[0]
    field, *inner = [str(part) for part in first["loc"]]
    path = (*origins[f"{section}.{field}"], *(part for part in inner if part != "[key]"))
    wanted = _WANTED.get(first["type"]) or first["msg"].removeprefix("Input should be ")
    return document.error(path, f"{'.'.join(path)} is {shown(first['input'])}: give {wanted}")


STOP_LISTS = {
    "excludedCompanies": "stop.companies",
    "excludedDomains": "stop.domains",
    "excludedKeywords": "stop.keywords",
    "companies": "stop.companies",
    "domains": "stop.domains",
    "keywords": "stop.keywords",
}
"""Fields of a stop list in `config.yaml`, with our names."""


def read_config(path: Path | str) -> dict[str, Any]:
    """Return settings by full name (``jobs.SECTION.FIELD``), as they can be stored; absent ones are left out.

    Two shapes are known: our own sections (``profile:``, ``filter:`` and so on, YAML or JSON), and a `config.yaml` with
    ``filters.stopList``, of which only this is read.

    Raises:
        ConfigError: one line with the file, the place in it, and what to give. Nothing is returned in part.
    """
    document = read_document(Path(path))
    values, origins = (_stop_list if "filters" in document.value else _own)(document)
    return checked(document, values, origins)


def sample() -> dict[str, Any]:
    """Return the settings of the sample profile that ships: neutral, to be made one's own."""
    with as_file(sample_file()) as path:
        return read_config(path)


def sample_text() -> str:
    """Return the sample profile as a person edits it: YAML with comments."""
    return sample_file().read_text(encoding="utf-8")


def sample_file() -> Traversable:
    """Return the sample profile as a resource of the package."""
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
