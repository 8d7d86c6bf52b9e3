"""Writes docs/reference/settings.md: every setting of the engine and of the pipelines, from their declarations."""

from __future__ import annotations

import math
from itertools import groupby

from docs.generate_shared import REFERENCE, code, page_of, table, written_by
from ramet import Setting
from ramet.cli.settings import value_text
from ramet.engine.settings.setting import SETTINGS
from ramet.jobs.declared_settings import SETTINGS as JOBS

PAGE = REFERENCE / "settings.md"
DEFAULT_CHARACTERS_MAX = 60


def declared() -> list[Setting]:
    """All settings of this package: not those of others that happen to be installed beside it."""
    return [*(SETTINGS[name] for name in sorted(SETTINGS)), *sorted(JOBS, key=lambda setting: setting.name)]


def prefix_of(setting: Setting) -> str:
    """Its section: ``limits``, ``jobs.filter``."""
    parts = setting.name.split(".")
    return ".".join(parts[: max(1, len(parts) - 1)])


def default_of(setting: Setting) -> str:
    """The default as it can be typed; of a long list the first of it."""
    if setting.default == "":
        return "empty"
    text = value_text(setting.default, setting.value_type)
    if len(text) <= DEFAULT_CHARACTERS_MAX:
        return code(text)
    size = f"{len(setting.default)} entries" if isinstance(setting.default, list | dict) else "long"
    return f"{size}: `ramet settings get {setting.name}`"


def range_of(setting: Setting) -> str:
    """What may be given."""
    word = {"float": "number", "json": "JSON"}.get(setting.value_type, setting.value_type)
    if setting.value_type in ("int", "float") and math.isfinite(setting.maximum):
        word += f", {setting.minimum:g} to {setting.maximum:g}"
    elif setting.value_type in ("int", "float") and math.isfinite(setting.minimum):
        word += f", {setting.minimum:g} or more"
    return word + (", or `none`" if setting.optional else "")


def page() -> str:
    """The page."""
    parts = []
    for prefix, found in groupby(declared(), prefix_of):
        rows = [
            (code(one.name), range_of(one), default_of(one), one.unit, one.description, one.reader) for one in found
        ]
        parts += [f"## `{prefix}`", table(("setting", "type", "default", "unit", "what", "read by"), rows)]
    return page_of(
        "# Settings",
        written_by("generate_settings", "the declarations in the source"),
        "`ramet settings set NAME VALUE` stores one in the database; whoever runs acts on it within seconds, and "
        "`ramet settings list` shows what holds. A stored setting replaces a default; where an app gives a value of "
        "its own, the stricter of the two holds. An app declares its own with `App(settings=[Setting(...)])`, and "
        "`ramet settings list --app module:app` shows them too.",
        *parts,
    )
