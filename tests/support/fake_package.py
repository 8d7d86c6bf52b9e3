"""An installed package with settings of its own, made for a test: found by the interpreter as any other is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ramet.engine.settings.declared import installed

SHOP = """
from ramet import Setting


def even(value):
    if value % 2:
        raise ValueError(f"{value} is odd:\\n  give an even number")
    return value


SETTINGS = [
    Setting("shop.pages", "int", 4, "pages", "fetched at once", "shop", 1, 100, check_value=even),
    Setting("shop.names", "json", ["a"], "", "of shops", "shop"),
    Setting("shop.title", "string", "", "", "of the page", "shop"),
    Setting("shop.price_max", "float", None, "dollars", "of what is bought", "shop", optional=True),
]
"""


@contextmanager
def installed_package(folder: Path, source: str = SHOP, name: str = "shop") -> Iterator[None]:
    """Install a package of one module, whose ``SETTINGS`` it declares, while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        put_package(folder, source, name)
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, f"{name}_settings", raising=False)
        with fresh():
            yield


def put_package(folder: Path, source: str, name: str) -> None:
    """Write the package's files."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[ramet.settings]\n{name} = {name}_settings:SETTINGS\n")
    (folder / f"{name}_settings.py").write_text(source)


@contextmanager
def fresh(clear: Callable[[], None] = installed.cache_clear) -> Iterator[None]:
    """Look for installed packages anew, and again afterwards."""
    clear()
    try:
        yield
    finally:
        clear()
