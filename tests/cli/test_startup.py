"""Modules that a command imports, by name: each costs its part of the start, and a command pays for what it needs."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

import ramet
from ramet.cli import commands
from tests.cli.conftest import Cli
from tests.support.processes import environment_without_coverage

ENGINE = {
    "ramet.engine",
    *(
        f"ramet.engine.{part}"
        for part in ("alerts", "app", "base", "client", "context", "explain", "kinds", "settings", "tools")
    ),
}
"""Packages of the engine that a look may load: no worker, and nothing that runs handlers."""
OTHERS = {"click", "idna", "rich"}
"""Packages of others that a look may load: pydantic alone is a quarter of the start, and only a program with handlers
needs its models."""
SLOW = {"difflib", "importlib.metadata", "shutil", "tempfile", "zoneinfo"}
"""Modules of the standard library that bring many others with them, and that a look does without."""


def loaded_by(*words: str) -> dict[str, str]:
    """Modules that a fresh interpreter holds after a command, with their files."""
    code = (
        "import json, sys\nfrom ramet.cli import main\n"
        f"try: main({list(words)!r})\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print(json.dumps({name: str(getattr(found, '__file__', '')) for name, found in sys.modules.items()}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment_without_coverage()
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def others(loaded: dict[str, str]) -> set[str]:
    """Packages of others, without those that hook into every interpreter of this environment."""
    found = {name.partition(".")[0] for name, file in loaded.items() if "site-packages" in file}
    return found - set(environment_hooks())


def environment_hooks() -> set[str]:
    """Packages that an interpreter of this environment holds before it runs anything."""
    code = "import sys; print(*sys.modules)"
    bare = environment_without_coverage()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=bare)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.process
def test_the_version_needs_no_engine_no_store_and_no_tables() -> None:
    loaded = loaded_by("--version")
    own = {name for name in loaded if name.startswith("ramet")}
    assert own == {
        "ramet", "ramet.cli", "ramet.cli.commands", "ramet.cli.errors", "ramet.commands", "ramet.commands.terminal",
    }  # fmt: skip
    assert others(loaded) <= {"click"}


@pytest.mark.process
def test_status_loads_its_own_module_and_no_worker_no_product_and_no_other_driver(cli: Cli) -> None:
    cli.submit("bare")
    loaded = loaded_by("status", "--db", cli.address)
    commands_loaded = {name.removeprefix("ramet.cli.") for name in loaded if name.startswith("ramet.cli.")}
    assert commands_loaded == {"commands", "errors", "options", "output", "status"}
    engine = {".".join(name.split(".")[:3]) for name in loaded if name.startswith("ramet.engine")}
    assert engine <= ENGINE
    packages = {name.split(".")[1] for name in loaded if name.startswith("ramet.")}
    assert packages == {"cli", "commands", "engine", "model", "store"}
    assert not [name for name in loaded if name.startswith("ramet.store.postgres")]
    assert others(loaded) <= OTHERS
    assert not SLOW & set(loaded)


def test_every_command_that_the_help_lists_is_found_and_has_its_name() -> None:
    listed = [name for names in commands.SECTIONS.values() for name in names]
    assert {*commands.MODULES, "bench"} == set(listed)
    assert len(listed) == len(set(listed))
    context = click.Context(commands.main)
    for name in listed:
        found = commands.main.get_command(context, name)
        assert found is not None
        assert found.name == name


def test_the_modules_of_public_names_are_those_that_type_checkers_read() -> None:
    from docs.generate_api import public_names

    assert {name: f"ramet.{module}" for name, module in ramet._MODULE_OF.items()} == public_names()
    assert set(dir(ramet)) >= set(ramet.__all__)


def test_a_name_that_ramet_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = ramet.Nothing  # type: ignore[attr-defined]
