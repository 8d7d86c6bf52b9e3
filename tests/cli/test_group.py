"""The group: lazy commands, one-line errors, a light import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ramet import StoreError, __version__
from ramet.cli import commands, main
from ramet.cli.status import status
from tests.cli.conftest import APP, Cli
from tests.support.processes import environment_without_coverage

OWN = {
    "alerts",
    "stages",
    "import",
    "exclude",
    "lineage",
    "deny-list",
    "worker",
    "submit",
    "status",
    "tasks",
    "reclaim",
    "tree",
    "explain",
    "blocks",
    "retry",
    "cancel",
    "pause",
    "resume",
    "limit",
    "limits",
    "resources",
    "resource",
    "workers",
    "audit-log",
    "costs",
    "schedule",
    "settings",
    "prune",
    "backup",
    "restore",
    "doctor",
    "bench",
}


class RemedyError(Exception):
    """As a pipeline's own errors are."""

    exit_code = 2


@click.group()
def extra() -> None:
    """A command of somebody else."""


@extra.command()
def fine() -> None:
    click.echo("fine")


@extra.command()
def refuse() -> None:
    raise RemedyError("the graph is\nheld by another \x1b[31mwriter: end it first")


@extra.command()
def store() -> None:
    raise StoreError("the disk is full: free some space")


@extra.command()
def broken() -> None:
    raise ZeroDivisionError("a bug")


@extra.command()
def interrupted() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the entry points that the group finds."""

    def put(**values: str) -> None:
        found = [EntryPoint(name, value, commands.GROUP) for name, value in values.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found)

    return put


PRODUCTS = ("ramet.fetch", "ramet.jobs", "ramet.llm", "ramet.wiki")


def test_importing_the_command_line_loads_no_pipeline_and_no_driver() -> None:
    code = "import json, sys, ramet.cli; print(json.dumps(sorted(sys.modules)))"
    command, bare = [sys.executable, "-c", code], environment_without_coverage()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=bare)
    loaded = json.loads(done.stdout)
    assert [name for name in loaded if name.startswith(PRODUCTS) or name == "sqlite3"] == []
    assert "ramet.cli.commands" in loaded


def test_every_command_and_every_plugin_is_listed() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    listed = [line.split()[0] for line in result.stdout.partition("\nWork:\n")[2].splitlines() if line.strip()]
    assert set(listed) >= {*OWN, "wiki"}
    titles = [f"{title}:" for title in (*commands.SECTIONS, commands.EXTRAS)][1:]
    assert [word for word in listed if word.endswith(":")] == titles
    assert len(listed) == len(set(listed))
    assert listed.index("wiki") > listed.index(titles[-1])


def test_the_help_fits_a_narrow_terminal_and_cuts_no_own_line() -> None:
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines[1:] if line.endswith("...")] == []


def test_the_former_name_of_a_command_is_taken_with_a_word_about_the_new_one() -> None:
    for before, now in commands.FORMER_NAMES.items():
        result = CliRunner().invoke(main, [before, "--help"])
        assert result.exit_code == 0
        assert f"{before} is called {now} here" in result.stderr
        assert "--json" in result.stdout or "COMMAND" in result.stdout


def test_no_arguments_show_the_help() -> None:
    assert CliRunner().invoke(main, []).stdout == CliRunner().invoke(main, ["--help"]).stdout


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(main, ["--version"]).stdout == f"ramet, version {__version__}\n"


@pytest.mark.parametrize("command", sorted(OWN))
def test_every_command_explains_itself_and_every_option(command: str) -> None:
    found = main.get_command(click.Context(main), command)
    assert found is not None
    explained(found)
    assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0


def explained(own: click.Command) -> None:
    """Help for a command, its options, and all below it."""
    assert own.help, own.name
    for parameter in own.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
    for below in own.commands.values() if isinstance(own, click.Group) else ():
        explained(below)


def test_a_plugin_runs(plugins: Callable[..., None], cli: Cli) -> None:
    plugins(extra="tests.cli.test_group:extra")
    assert cli.good("extra", "fine", database=False) == "fine\n"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module_anywhere:group", "not installed: pip install 'ramet[graphs]'"),
        ("tests.cli.test_group:no_such_attribute", "cannot be loaded (AttributeError"),
        ("tests.cli.test_group:OWN", "not a click command"),
    ],
)
def test_a_broken_plugin_says_what_to_do_and_breaks_nobody_else(
    plugins: Callable[..., None], cli: Cli, value: str, said: str
) -> None:
    plugins(graphs=value, extra="tests.cli.test_group:extra")
    for words in (["graphs"], ["graphs", "--help"], ["graphs", "expand", "--deep", "x"]):
        assert said in cli.bad(*words, database=False)
    assert "extra" in cli.good("--help", database=False)
    assert cli.good("extra", "fine", database=False) == "fine\n"


def test_own_commands_win_over_plugins_of_the_same_name(plugins: Callable[..., None]) -> None:
    plugins(status="tests.cli.test_group:extra")
    assert main.get_command(click.Context(main), "status") is status


def test_errors_of_plugins_end_as_one_harmless_line(plugins: Callable[..., None], cli: Cli) -> None:
    plugins(extra="tests.cli.test_group:extra")
    line = cli.bad("extra", "refuse", database=False)
    assert line == r"ramet: the graph is held by another \x1b[31mwriter: end it first"
    assert cli.bad("extra", "store", database=False) == "ramet: the disk is full: free some space"


def test_a_bug_keeps_its_traceback(plugins: Callable[..., None], cli: Cli) -> None:
    plugins(extra="tests.cli.test_group:extra")
    with pytest.raises(ZeroDivisionError):
        cli.run("extra", "broken", database=False)


def test_an_interrupt_ends_with_its_status(plugins: Callable[..., None], cli: Cli) -> None:
    plugins(extra="tests.cli.test_group:extra")
    result = cli.run("extra", "interrupted", database=False)
    assert result.exit_code == 130
    assert "ramet: stopped" in result.stderr


@pytest.mark.parametrize(
    "words", [["nope"], ["status", "--nope"], ["tree", "a", "b"], ["blocks", "--limit", "x"], ["explain"]]
)
def test_misuse_is_one_line_that_names_the_help(words: list[str], cli: Cli) -> None:
    assert "--help)" in cli.bad(*words, database=False)


@pytest.mark.parametrize(
    "words", [["status"], ["tree", "x"], ["explain", "x"], ["explain", "a", "b"], ["blocks"], ["retry", "x"],
              ["cancel", "x"], ["status", "--watch"]],
)  # fmt: skip
def test_a_missing_database_is_named_and_not_created(words: list[str], cli: Cli) -> None:
    assert str(cli.database) in cli.bad(*words)
    assert list(cli.database.parent.iterdir()) == []


def test_a_file_that_is_no_database_is_left_as_it_was(cli: Cli) -> None:
    cli.database.write_text("my diary\n" * 100, encoding="ascii")
    assert "not a readable SQLite database" in cli.bad("status")
    assert cli.database.read_text(encoding="ascii") == "my diary\n" * 100


def test_a_newer_schema_is_refused(cli: Cli) -> None:
    import sqlite3

    cli.submit("node", {"name": "a"})
    with sqlite3.connect(cli.database) as connection:
        connection.execute("UPDATE ramet_counters SET value = 999 WHERE name IN ('schema', 'compatible_from')")
    connection.close()
    assert "upgrade ramet" in cli.bad("status")
    assert "upgrade ramet" in cli.bad("submit", APP, "node", '{"name": "b"}')


def test_a_database_of_another_program_gets_no_tables(cli: Cli) -> None:
    import sqlite3

    with sqlite3.connect(cli.database) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    assert "is not a ramet database" in cli.bad("status")
    with sqlite3.connect(cli.database) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    connection.close()


def test_the_environment_names_the_database(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cli.submit("node", {"name": "a"})
    monkeypatch.setenv("RAMET_DB", str(cli.database))
    assert json.loads(cli.good("status", "--json", database=False))["tasks"] == 1
    monkeypatch.setenv("RAMET_DB", str(tmp_path / "other.db"))
    assert "other.db" in cli.bad("status", database=False)
