"""What the commands of every pipeline take, and how a database is named for people."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ramet import App, Client, StoreError
from ramet.commands.errors import UserError
from ramet.commands.extras import Extra, extras
from ramet.commands.options import (
    ask,
    check_folder,
    database_option,
    database_words,
    json_option,
    person,
    short_path,
)


@click.command()
@database_option("mine.db")
@json_option
def command(database: str, as_json: bool) -> None:
    """Tell what was understood."""
    click.echo(f"{database} {as_json}")


def test_a_database_is_named_by_option_environment_or_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAMET_DB", raising=False)
    run = CliRunner().invoke
    assert run(command, []).output == "mine.db False\n"
    assert run(command, ["--json"], env={"RAMET_DB": "of-the-environment.db"}).output == "of-the-environment.db True\n"
    assert run(command, ["--db", "named.db"], env={"RAMET_DB": "other.db"}).output == "named.db False\n"


def test_a_database_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    async def question(client: Client) -> int:
        return len(await client.lineages())

    with pytest.raises(StoreError, match=r"none\.db"):
        ask(App(), str(tmp_path / "none.db"), question)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told_in_a_line(tmp_path: Path) -> None:
    check_folder(str(tmp_path / "a.db"))
    check_folder("postgresql://host/none")
    with pytest.raises(UserError, match="none does not exist: create it or give another --db"):
        check_folder(str(tmp_path / "none" / "a.db"))


def test_a_database_is_named_as_short_as_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_words(str(tmp_path / "mine.db"), default="mine.db") == []
    assert database_words(str(tmp_path / "mine.db")) == ["--db", "mine.db"]
    assert database_words("/elsewhere/mine.db", default="mine.db") == ["--db", "/elsewhere/mine.db"]
    assert database_words("postgresql://user:***@host/db") == []
    assert short_path(str(tmp_path / "below" / "x")) == "below/x"


def test_somebody_is_at_the_keyboard_even_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "ada")
    assert person() == "ada"
    monkeypatch.delenv("USER")

    def nobody() -> str:
        raise KeyError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert person() == "unknown"


REQUIRES = [
    "click>=8.1",
    'no-such-package-one[speed]>=2; extra == "web"',
    "no_such_package_two ; extra == 'web'",
    "click; extra == 'web'",
    'click; python_version >= "3.11" and extra == "metrics"',
    'no-such-package-one; extra == "dev"',
    'no-such-package-one; extra == "docs"',
]


def test_each_extra_lists_what_is_not_installed_and_how_to_bring_it() -> None:
    metrics, web = extras(REQUIRES)
    assert metrics == Extra("metrics", ())
    assert web == Extra("web", ("no-such-package-one", "no_such_package_two"))
    assert web.install == "pip install 'ramet[web]'"


def test_of_the_installed_ramet_every_extra_for_users_is_told() -> None:
    names = {extra.name for extra in extras()}
    assert {"web", "wiki", "llm", "jobs", "postgres", "metrics", "traces", "alerts"} <= names
    assert names.isdisjoint({"dev", "docs"})
