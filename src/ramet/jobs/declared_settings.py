"""The pipeline's settings as the engine knows them: the entry point ``ramet.settings`` of the package.

Only names and types: this module is imported by every `ramet settings` command.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ramet import Client, Setting
from ramet.commands.errors import one_line
from ramet.jobs.settings import JUDGING, PREFIX, JobsSettings, Section

JUDGED_BY = tuple(f"{PREFIX}{section}." for section in JUDGING)
"""Settings that the verdicts on listings hang on."""


async def _judge_again(database: str) -> str | None:
    # Its module imports all of the pipeline, which most of the `settings` commands have no use for.
    return await import_module("ramet.jobs.commands.rescore").after_setting(database)  # type: ignore[no-any-return]


def _declared(section: str, model: type[Section]) -> list[Setting]:
    return [_setting(f"{PREFIX}{section}.{name}", field) for name, field in model.model_fields.items()]


def _setting(name: str, field: FieldInfo) -> Setting:
    kind, optional = _type_of(field.annotation)
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    checker: TypeAdapter[Any] = TypeAdapter(_annotated(field))

    def check(value: Any) -> Any:
        try:
            checker.validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "it"
            raise ValueError(f"{place} is {first['input']!r:.80}: {one_line(first['msg'])}") from None
        return value

    least = max((bound for bound in _bounds(field, "ge", "gt")), default=-float("inf"))
    most = min((bound for bound in _bounds(field, "le", "lt")), default=float("inf"))
    return Setting(
        name, kind, field.get_default(call_default_factory=True), str(extra.get("unit", "")), field.description or "",
        "jobs pipeline", least, most, optional=optional, check_value=check,
        on_change=_judge_again if name.startswith(JUDGED_BY) else None,
    )  # fmt: skip


def _bounds(field: FieldInfo, *names: str) -> list[float]:
    return [float(getattr(one, name)) for one in field.metadata for name in names if hasattr(one, name)]


def _annotated(field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _type_of(annotation: Any) -> tuple[str, bool]:
    """Return the engine's word for a type, and whether None is allowed."""
    optional = False
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        optional = len(parts) < len(get_args(annotation))
        annotation = parts[0]
    words = {int: "int", float: "float", str: "string"}
    return words.get(annotation, "json"), optional


SETTINGS: tuple[Setting, ...] = tuple(
    setting
    for section, field in JobsSettings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    for setting in _declared(section, field.annotation)
)
"""Every number of the pipeline."""


class _Latest:
    """The settings that were built last: every task asks for them, and they are rebuilt only after a change."""

    def __init__(self) -> None:
        self._stored: dict[str, Any] = {}
        self._made = JobsSettings()

    def of(self, stored: Mapping[str, Any]) -> JobsSettings:
        mine = {name: value for name, value in stored.items() if name.startswith(PREFIX)}
        if mine != self._stored:
            self._stored, self._made = mine, JobsSettings.of(mine)
        return self._made


latest = _Latest()
"""Settings of this process."""


async def settings_in_force(client: Client) -> JobsSettings:
    """Return the settings in force; a change reaches every process within a few seconds."""
    await client.settings.refresh()
    return latest.of(client.settings.live.stored)
