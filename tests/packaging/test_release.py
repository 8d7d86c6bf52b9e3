"""A release has all that ramet needs and nothing else, and works where nothing but its core is installed."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from ramet.commands.extras import extras
from tests.packaging.installed import (
    PROJECT,
    Environment,
    Release,
    closure,
    good,
    link_packages,
    metadata,
    names_in,
    run,
)  # fmt: skip

pytestmark = pytest.mark.process

EXTRA_COMMANDS = {
    "web": ("dashboard",),
    "metrics": ("metrics", "--listen", "127.0.0.1:0"),
    "wiki": ("wiki", "expand", "Alan Turing"),
    "llm": ("llm", "estimate", "prompts.jsonl", "--model", "gpt-4o-mini"),
    "llm work": ("llm", "work"),
    "jobs": ("jobs", "sources", "add", "https://boards.example/x"),
    "jobs work": ("jobs", "work"),
    "postgres": ("status", "--db", "postgresql://nobody@127.0.0.1:1/none"),
}
"""Extra, and more that tells it from others -> a command that cannot do without it."""
HEAVY = (
    "sqlite3 psycopg psycopg_pool fastapi starlette jinja2 uvicorn prometheus_client opentelemetry apprise numpy "
    "onnxruntime tokenizers ladybug httpx2 httpcore2 openai anthropic jsonschema_rs genai_prices selectolax feedparser"
).split()
"""Drivers, web and model code: whoever writes `import ramet` waits for none of it."""
PACKAGES = {"fetch": ("fetch",), "jobs": ("fetch", "jobs"), "llm": ("llm",), "wiki": ("wiki",)}
"""Extra -> the packages that it is for."""
LATE_IMPORT = re.compile(r'import_extra\("([\w.]+)", (\w+)\)')
CORE_MAX = 6
TYPED = """
from ramet import App, Context

app = App()

@app.task("page", key=str)
async def page(ctx: Context, title: str) -> int:
    reveal_type(ctx.attempt)  # Any, if the package were untyped.
    return len(title)
"""


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_is_the_package_whole_and_nothing_else(release: Release) -> None:
    package = PROJECT / "src"
    wanted = {
        path.relative_to(package).as_posix()
        for path in [package / "pytest_ramet.py", *(package / "ramet").rglob("*")]
        if path.is_file() and path.parent.name != "__pycache__"
    }
    data = {"boards/vendors.yaml", "config/sample.yaml", "text/places.txt", "text/technologies.txt"}
    assert {"ramet/py.typed", "ramet/web/templates/base.html", *(f"ramet/jobs/{name}" for name in data)} <= wanted
    found = {name for name in names_in(release.wheel) if ".dist-info/" not in name}
    assert found == wanted
    licences = {Path(name).name for name in names_in(release.wheel) if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}


def test_the_sdist_makes_the_same_wheel_as_the_checkout(release: Release) -> None:
    assert contents(release.wheel) == contents(release.wheel_of_tree)
    names = set(names_in(release.sdist))
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "Makefile", "mkdocs.yml"} <= names
    assert [name for name in names if "__pycache__" in name or name.startswith((".venv", "site/"))] == []


def test_what_an_index_shows_is_complete(release: Release) -> None:
    told = metadata(release.wheel)
    assert told["Requires-Python"] == [">=3.11"]
    assert {"Programming Language :: Python :: 3.11", "Programming Language :: Python :: 3.13", "Typing :: Typed"} <= {
        *told["Classifier"]
    }
    core = [line for line in told["Requires-Dist"] if "extra ==" not in line]
    assert 0 < len(core) <= CORE_MAX
    assert told["Description-Content-Type"] == ["text/markdown"]


def test_the_environment_has_the_core_alone(environment: Environment, release: Release, tmp_path: Path) -> None:
    code = "import importlib.metadata as m, json; print(json.dumps(sorted(d.name for d in m.distributions())))"
    names = json.loads(good(environment.python, "-c", code, cwd=tmp_path))
    assert {canonicalize_name(name) for name in names} == {"ramet", *closure(release.wheel)}


def test_it_says_its_version_and_runs_the_first_program(environment: Environment, tmp_path: Path) -> None:
    assert good(environment.ramet, "--version", cwd=tmp_path) == "ramet, version 0.1.0\n"
    said = good(environment.python, PROJECT / "examples" / "quickstart.py", cwd=tmp_path)
    assert "success 'home' at depth 0: 2 links" in said
    assert "cycle: ancestor" in said
    assert "success" in good(environment.ramet, "status", "--db", "quickstart.db", cwd=tmp_path)


def test_importing_it_loads_no_driver_and_no_web_or_model_code(environment: Environment, tmp_path: Path) -> None:
    loaded = {name.partition(".")[0] for name in environment.modules_after("import ramet", tmp_path)}
    assert "ramet" in loaded
    assert loaded & set(HEAVY) == set()


def test_the_doctor_says_what_each_extra_lacks(environment: Environment, release: Release, tmp_path: Path) -> None:
    done = run(environment.ramet, "doctor", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    told = {finding["do"]: finding["what"] for finding in found if finding["check"] == "extras"}
    assert set(told) == {extra.install for extra in extras(metadata(release.wheel)["Requires-Dist"])}
    assert "fastapi" in told["pip install 'ramet[web]'"]
    assert "psycopg" in told["pip install 'ramet[postgres]'"]
    for_people = good(environment.ramet, "doctor", cwd=tmp_path)
    assert "all is in order" in for_people
    assert "note: no database at ramet.db" in for_people


@pytest.mark.parametrize("which", EXTRA_COMMANDS)
def test_a_command_without_its_extra_names_it_in_one_line(environment: Environment, tmp_path: Path, which: str) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Why?", "max_output_tokens": 9}\n')
    done = run(environment.ramet, *EXTRA_COMMANDS[which], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert f"ramet[{which.split(maxsplit=1)[0]}]" in line


def test_fetching_without_its_extra_names_it_in_one_line(environment: Environment, tmp_path: Path) -> None:
    for use in ("client import WebClient; WebClient(user_agent='me')", "robots import rules_of; rules_of('', 'me')"):
        done = run(environment.python, "-c", f"from ramet.fetch.{use}", cwd=tmp_path)
        assert "ExtraMissing" in done.stderr.splitlines()[-1]
        assert "ramet[fetch]" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("extra", PACKAGES)
def test_its_extra_is_all_that_a_package_needs(
    environment: Environment, release: Release, tmp_path: Path, extra: str
) -> None:
    folder = link_packages(closure(release.wheel, extra) - closure(release.wheel), tmp_path / "extra")
    modules = [
        path.relative_to(PROJECT / "src")
        for package in PACKAGES[extra]
        for path in (PROJECT / "src" / "ramet" / package).rglob("*.py")
        if path.name != "__main__.py"
    ]
    late = {found for path in modules for found in LATE_IMPORT.findall((PROJECT / "src" / path).read_text("utf-8"))}
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in modules]
    names += [name for name, constant in late if constant in ("extra", f"{extra.upper()}_EXTRA")]
    program = f"import importlib, sys; sys.path.append({str(folder)!r}); [*map(importlib.import_module, {names!r})]"
    good(environment.python, "-c", program, cwd=tmp_path)


def test_a_users_program_is_checked_against_its_types(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TYPED)
    done = run(
        sys.executable, "-m", "mypy", "--strict", "--python-executable", environment.python, "program.py", cwd=tmp_path
    )
    assert 'note: Revealed type is "' in done.stdout, done.stdout
    assert "Any" not in done.stdout
    assert "error" not in done.stdout
