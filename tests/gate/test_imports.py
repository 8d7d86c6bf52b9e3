"""``make test`` installs ``test.lock`` alone: what its files import when they are collected is in there."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.gate.targets import may_hold

PROJECT = Path(__file__).parents[2]
ROOTS = {"ramet": PROJECT / "src", **dict.fromkeys(("tests", "benchmarks", "examples", "docs"), PROJECT)}
LOCKED = set(re.findall(r"^([\w.-]+)==", (PROJECT / "requirements" / "test.lock").read_text(), re.MULTILINE))


def collected() -> Iterator[Path]:
    """The files that pytest imports for the target."""
    for pattern in ("test_*.py", "conftest.py"):
        for path in (PROJECT / "tests").rglob(pattern):
            if may_hold(path.relative_to(PROJECT).as_posix(), "test"):
                yield path


def names(path: Path) -> Iterator[str]:
    """The dotted names that a file imports when it is imported itself: not those of functions, types and attempts."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Try)
        if not later and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            waiting.extend(ast.iter_child_nodes(node))


def files_of(name: str) -> Iterator[Path]:
    """The project's files that the import of a dotted name runs: each package on the way, and the module."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        path = ROOTS[parts[0]].joinpath(*parts[:length])
        yield from (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file())


def not_locked(files: Iterable[Path]) -> dict[str, str]:
    """Packages of others that these files import, one through the other, and ``test.lock`` has not -> one importer."""
    installed = packages_distributions()
    found: dict[str, str] = {}
    waiting, seen = [*files], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in names(path):
            top = name.partition(".")[0]
            if top in ROOTS:
                waiting.extend(files_of(name))
            elif top not in sys.stdlib_module_names:
                owners = {re.sub(r"[-_.]+", "-", owner).lower() for owner in installed.get(top, ())}
                if not owners & LOCKED:
                    found[top] = path.relative_to(PROJECT).as_posix()
    return found


def test_the_lock_of_make_test_has_all_that_its_files_import() -> None:
    files = [*collected()]
    assert len(files) > 300
    assert not_locked(files) == {}


def test_a_file_that_needs_more_is_found_through_those_that_it_imports() -> None:
    found = not_locked([PROJECT / "tests" / "web" / "console" / "test_bulk.py"])
    assert "fastapi" in found
    assert found["fastapi"].startswith(("tests/web/", "src/ramet/web/"))
