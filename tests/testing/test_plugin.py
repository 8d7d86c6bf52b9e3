"""The pytest plugin in the tests of a user's project: found by itself, and light until a fixture is asked for."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support.processes import environment_without_coverage

PROJECT = Path(__file__).parents[2]

OTHERS = [f"-pno:{one.name}" for one in entry_points(group="pytest11") if one.name not in ("ramet", "asyncio")]
"""Leaves out the plugins of other packages that are installed here: some import a lot. The settings are asyncio's."""
SETTINGS = "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
LIGHT = """
import sys

def test_that_knows_nothing_of_ramet() -> None:
    assert "pytest_ramet" in sys.modules
    assert [name for name in sys.modules if name.partition(".")[0] in ("ramet", "pydantic", "sqlite3")] == []
"""
USING = """
import asyncio
from ramet import App, Context
from ramet.testing import drain

app = App()

@app.task()
async def add(ctx: Context, a: int, b: int) -> int:
    return a + b

def test_it_adds(fresh_ramet, fake_clock) -> None:
    async def run() -> None:
        async with fresh_ramet(app) as client:
            assert client.clock is fake_clock
            told = await client.submit(add, {"a": 1, "b": 2}, delay_seconds=60.0)
            assert (await drain(app, client)).advanced_seconds >= 60.0
            assert await client.result(told.id) == 3

    asyncio.run(run())
"""
OWN_FIXTURE = """
import pytest

@pytest.fixture
def fake_clock() -> str:
    return "the project's own"

def test_it_is_the_projects_own(fake_clock) -> None:
    assert fake_clock == "the project's own"
"""

Tests = Callable[[dict[str, str]], str]


@pytest.fixture
def passed(tmp_path: Path) -> Tests:
    """Run a project's tests where the package is installed with the entry points of ``pyproject.toml``."""
    points = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    about = tmp_path / "installed" / "ramet_plugin-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ramet-plugin\nVersion: 1.0\n")
    lines = "".join(f"{name} = {target}\n" for name, target in points["pytest11"].items())
    (about / "entry_points.txt").write_text(f"[pytest11]\n{lines}")

    def run(files: dict[str, str]) -> str:
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "pytest.ini").write_text(SETTINGS)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        paths = f"{about.parent}:{PROJECT / 'src'}"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *OTHERS],
            capture_output=True, text=True, check=False, cwd=folder,
            env={**environment_without_coverage(), "PYTHONPATH": paths},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_it_is_there_without_a_line_in_a_conftest(passed: Tests) -> None:
    assert "1 passed" in passed({"test_it.py": USING})


def test_nothing_of_ramet_is_imported_before_a_fixture_is_asked_for(passed: Tests) -> None:
    assert "1 passed" in passed({"test_it.py": LIGHT})


def test_a_conftest_may_still_name_it(passed: Tests) -> None:
    assert "1 passed" in passed({"conftest.py": "pytest_plugins = ['ramet.testing.plugin']\n", "test_it.py": USING})


def test_a_fixture_of_the_project_goes_before_one_of_its(passed: Tests) -> None:
    assert "1 passed" in passed({"test_it.py": OWN_FIXTURE})
