"""Finding an app by its name: ``module:attribute``, or a module or package that has one app in it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ramet.engine.app.app import App

FIRST = "app"
"""The attribute that goes before all others of a module."""
NAMED_MAX = 5
HOW = "give the app as module:attribute"


def load_app(target: str) -> App:
    """Return the app at ``module:attribute``, or the one of a module or package.

    Without an attribute it is ``app``, or the only app that the module has under any name. A package's modules are
    imported, all but ``__main__``, so that the handlers in them register, and its app may be in any of them. The same
    app under several names, in several modules, is one.

    Raises:
        ValueError: there is no such app, or there are several; the message says what to give instead.
    """
    # The former names of the products' modules hold for one release.
    name, _, attribute = re.sub(r"^ramet\.pipelines\.", "ramet.", target).partition(":")
    module = _imported(name)
    if attribute:
        found = getattr(module, attribute, None)
        if not isinstance(found, App):
            raise ValueError(f"{name} has no App named {attribute!r}: {HOW}")
        return found
    modules = [module, *_submodules(module)]
    app = getattr(module, FIRST, None)
    return app if isinstance(app, App) else _only_app(name, modules)


def _imported(name: str) -> ModuleType:
    if not name or name.startswith("."):
        raise ValueError(f"no module {name!r}: {HOW}")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(f"no module {name!r}: {HOW}") from error
        raise


def _submodules(package: ModuleType) -> Iterator[ModuleType]:
    """Yield all modules below a package, imported in the order of their names; none for a module that is not a
    package.
    """
    folders = [Path(folder) for folder in getattr(package, "__path__", ())]
    names = {found.name for found in pkgutil.iter_modules(map(str, folders))}
    # Those without an __init__.py are packages too, and a handler in one must not be left out silently.
    names |= {path.parent.name for folder in folders for path in folder.glob("*/*.py")}
    for name in sorted(names):
        if name.isidentifier() and name != "__main__":
            module = importlib.import_module(f"{package.__name__}.{name}")
            yield module
            yield from _submodules(module)


def _only_app(name: str, modules: list[ModuleType]) -> App:
    names: dict[int, list[str]] = {}
    apps: dict[int, App] = {}
    for module in modules:
        for attribute, value in vars(module).items():
            if isinstance(value, App):
                apps[id(value)] = value
                names.setdefault(id(value), []).append(f"{module.__name__}:{attribute}")
    if len(apps) == 1:
        return next(iter(apps.values()))
    if not apps:
        raise ValueError(f"{name} has no App: {HOW}, or define one there")
    several = [min(known, key=len) for known in names.values()]
    more = f" and {len(several) - NAMED_MAX} more" if len(several) > NAMED_MAX else ""
    raise ValueError(f"{name} has {len(several)} Apps: give one of {', '.join(several[:NAMED_MAX])}{more}")
