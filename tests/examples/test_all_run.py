"""No example is left out: each program is run by a test of this folder."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.docs.pages import PROJECT

EXAMPLES = PROJECT / "examples"


def texts(file: Path) -> set[str]:
    """The texts in the code of a file that are names of programs, and the programs that it imports from."""
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    named = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return named | {f"{module.removeprefix('examples.')}.py" for module in modules if module.startswith("examples.")}


def never_run(programs: set[str], tests: Path) -> set[str]:
    """The programs that no test runs by name, nor imports."""
    return programs.difference(*(texts(file) for file in tests.glob("test_*.py") if file.name != Path(__file__).name))


def test_every_example_is_run() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert len(programs) > 10
    assert never_run(programs, Path(__file__).parent) == set()


def test_an_example_that_no_test_runs_is_found() -> None:
    assert never_run({"quickstart.py", "gone.py"}, Path(__file__).parent) == {"gone.py"}
