"""The group of commands: its help needs none of them, and what it says of each is what the command itself says."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from ramet.jobs.commands.group import Words, jobs
from tests.jobs.commands.conftest import Place, refusal


def groups() -> list[Words]:
    context = click.Context(jobs)
    inside = [jobs.get_command(context, name) for name in jobs.list_commands(context)]
    return [one for one in (jobs, *inside) if isinstance(one, Words)]


def test_the_help_says_of_each_command_what_the_command_says() -> None:
    shown = 0
    for group in groups():
        context = click.Context(group)
        for name, entry in group.entries.items():
            command = group.get_command(context, name)
            assert command is not None
            assert (command.name, command.short_help) == (name, entry.short_help)
            assert entry.short_help in group.get_help(context).replace("\n", " ")
            shown += 1
    assert shown >= 15


@pytest.mark.process
def test_the_help_imports_no_command() -> None:
    code = (
        "import sys, click; from ramet.jobs.commands.group import jobs; jobs.get_help(click.Context(jobs)); "
        "print([name for name in sys.modules if name.startswith(('ramet.jobs.tasks', 'ramet.jobs.commands.run'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [["matches"], ["run"], ["sources", "list"], ["company", "list"], ["why", "x"]])
def test_before_init_a_command_names_init(place: Place, words: list[str]) -> None:
    said = refusal(place.run(*words))
    assert said.startswith("no database at ")
    assert "jobs.db: `ramet jobs init` makes it" in said
    assert "submit" not in said
    assert place.files() == set()
