"""Extras: which packages are missing, and their import on first use."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

from ramet.commands.errors import UserError

FOR_DEVELOPERS = ("dev", "docs")
"""Extras that only those need who change ramet."""

_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class ExtraMissing(UserError):
    """A package that is needed for what was asked is not installed."""


class Extra(NamedTuple):
    """One of ramet's extras, as it is installed here."""

    name: str
    missing: tuple[str, ...]
    """Packages of it that are not installed, sorted; whether others are new enough is for pip to say."""

    @property
    def install(self) -> str:
        """Return the install command, as a shell takes it."""
        return f"pip install 'ramet[{self.name}]'"


def import_extra(module: str, package: str) -> Any:
    """Import `module`; `package` is what installs it, as given to pip: `'ramet[wiki]'`, quoted for a shell.

    Typed `Any` because most of these packages ship no types.

    Raises:
        ExtraMissing: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        raise ExtraMissing(f"this needs the package '{module}': install it with `pip install {package}`") from error


def need_modules(modules: Sequence[str], package: str) -> None:
    """Before work begins that could not be done without them; imports nothing. `package` as for `import_extra`.

    Raises:
        ExtraMissing: some are not installed.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise ExtraMissing(f"this needs {', '.join(missing)}: run `pip install {package}`")


def extras(requires: Sequence[str] | None = None) -> list[Extra]:
    """Return the extras that a user may want, in the order of their names.

    Args:
        requires: requirements as a distribution states them; by default, those of the installed ramet (none for one
            that was not installed, as in a folder of sources on the path).
    """
    if requires is None:
        requires = _or_none(partial(metadata.requires, "ramet")) or ()
    found: dict[str, set[str]] = {}
    for line in requires:
        requirement, _, marker = line.partition(";")
        extra, name = _EXTRA.search(marker), _NAME.match(requirement)
        if extra is not None and name is not None and extra[1] not in FOR_DEVELOPERS:
            missing = found.setdefault(extra[1], set())
            if _or_none(partial(metadata.version, name[0])) is None:
                missing.add(name[0])
    return [Extra(name, tuple(sorted(missing))) for name, missing in sorted(found.items())]


def _or_none(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except metadata.PackageNotFoundError:
        return None
