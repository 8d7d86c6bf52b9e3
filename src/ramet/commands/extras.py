"""The import of what an extra brings, at the moment when it is first needed."""

from __future__ import annotations

import importlib
from typing import Any

from ramet.commands.errors import UserError


class ExtraMissing(UserError):
    """A package that is needed for what was asked is not installed."""


def import_extra(module: str, package: str) -> Any:
    """Import `module`; `package` is what installs it, as pip is told: `'ramet[wiki]'`, quoted for a shell.

    Typed `Any` because most of these packages ship no types.

    Raises:
        ExtraMissing: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ExtraMissing(f"this needs the package '{module}': install it with `pip install {package}`") from error
