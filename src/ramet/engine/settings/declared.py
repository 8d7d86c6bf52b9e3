"""All settings that there are: the engine's, those of installed packages, and those of an app.

A package declares its settings in the entry-point group ``ramet.settings``; they are loaded only when a name is asked
for that is none of the engine's, so that a program that has nothing to do with the package never imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ramet.engine.settings.setting import LIMITS_PREFIX, SETTINGS, Setting
from ramet.store.loggers import own_logger

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = own_logger("ramet.settings")

GROUP = "ramet.settings"
NAME_LENGTH_MAX = 200
_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+")
_ENGINES = tuple(sorted({name.partition(".")[0] + "." for name in SETTINGS}))


class UnknownSetting(ValueError):
    """There is no setting of this name."""


class DeclaredSettings:
    """The settings that a program knows.

    Args:
        own: an app's; they go before those of installed packages with the same name.

    Raises:
        ValueError: one of them cannot be declared; one line says why.
    """

    def __init__(self, own: Iterable[Setting] = ()) -> None:
        self._own: dict[str, Setting] = {}
        for setting in own:
            declared = checked(setting)
            if self._own.setdefault(declared.name, declared) != declared:
                raise ValueError(f"setting {declared.name} is declared twice, and not the same: leave one of them out")

    @property
    def own(self) -> tuple[Setting, ...]:
        """Those of the app."""
        return tuple(self._own.values())

    def get(self, name: str) -> Setting | None:
        """Return the setting of exactly this name, or None."""
        return SETTINGS.get(name) or self._own.get(name) or installed().get(name)

    def known(self, name: str) -> Setting:
        """Return the setting of this name; of a limit ``limits.`` may be left out.

        Raises:
            UnknownSetting: there is none; names the nearest.
        """
        found = SETTINGS.get(name) or SETTINGS.get(LIMITS_PREFIX + name) or self.get(name)
        if found is None:
            from difflib import get_close_matches

            names = [setting.name for setting in self.all()]
            near = get_close_matches(name, names, 3, 0.5)
            near += [full for full in names if name and name in full and full not in near][: 3 - len(near)]
            hint = f"did you mean {' or '.join(near)}?" if near else "`ramet settings list` shows all"
            raise UnknownSetting(f"no setting {name!r}: {hint}")
        return found

    def all(self) -> list[Setting]:
        """Every setting: the engine's by name, then the others by name."""
        others = {**installed(), **self._own}
        return [mine[name] for mine in (SETTINGS, others) for name in sorted(mine)]

    def sound(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return the stored rows that may be acted on: known names with valid values. `ramet doctor` names the
        others.
        """
        found = {}
        for name, value in stored.items():
            setting = self.get(name)
            if setting is None:
                continue
            try:
                found[name] = setting.check(value)
            except ValueError:
                continue
        return found


def could_be_declared(name: str) -> bool:
    """Whether another than the engine may have a setting of this name."""
    return bool(_NAME.fullmatch(name)) and len(name) <= NAME_LENGTH_MAX and not name.startswith(_ENGINES)


def checked(setting: Setting) -> Setting:
    """Return a setting that another package than the engine declares, checked.

    Raises:
        ValueError: its name is one that could be the engine's, or its default cannot be stored.
    """
    name = setting.name
    if not could_be_declared(name) and not name.startswith(_ENGINES):
        raise ValueError(f"setting {name!r}: give a prefix, a dot and a name, such as 'shop.page_seconds'")
    if name.startswith(_ENGINES):
        raise ValueError(f"setting {name!r}: the prefix {name.partition('.')[0]!r} is the engine's, give another")
    if setting.value_type not in ("int", "float", "string", "json"):
        raise ValueError(f"setting {name!r}: value_type is {setting.value_type!r}, give int, float, string or json")
    try:
        setting.check(setting.default)
    except ValueError as error:
        raise ValueError(f"setting {name!r} has a default that cannot be stored: {error}") from error
    return setting


@cache
def installed() -> dict[str, Setting]:
    """Return the settings of installed packages, by name. A package that cannot be read is logged, and left out: it
    must not stop work that has nothing to do with it.
    """
    from importlib.metadata import entry_points

    found: dict[str, Setting] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        for setting in _declared_by(point):
            if found.setdefault(setting.name, setting) != setting:
                log.warning("%s of %s is declared by another package too: that one holds", setting.name, point.value)
    return found


def _declared_by(point: EntryPoint) -> list[Setting]:
    try:
        return [checked(setting) for setting in point.load()]
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        log.warning("the settings of %s (%s) are not known here: %s", point.name, point.value, why)
        return []
