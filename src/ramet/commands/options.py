"""Options that all commands have, and asking a database that must exist."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ramet.commands.errors import UserError
from ramet.store.address import is_file

if TYPE_CHECKING:
    from ramet import App, Client

Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


def database_option(default: str) -> Callable[[Command], Command]:
    """Add `--db`, as `database`: by default the file `default`, or what RAMET_DB names."""
    return click.option(
        "--db",
        "database",
        envvar="RAMET_DB",
        default=default,
        show_default=True,
        show_envvar=True,
        metavar="DATABASE",
        help="A file, or postgresql://user:password@host:port/database (with a password better in RAMET_DB).",
    )


def json_option(command: Command) -> Command:
    """Add `--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on standard output, nothing else.")(command)


def ask(app: App, database: str, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
    """Run a coroutine with a client of a database that must exist.

    Raises:
        StoreError: there is none, or it cannot be used.
    """

    async def asked() -> Answer:
        async with app.client(database, create=False) as client:
            return await question(client)

    return asyncio.run(asked())


def person() -> str:
    """Return the name of the operator at the keyboard, for the record."""
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def check_folder(database: str) -> None:
    """Refuse a database file in a folder that is not there.

    Raises:
        UserError: it is not.
    """
    folder = Path(database).absolute().parent
    if is_file(database) and not folder.is_dir():
        raise UserError(f"the folder {Path(database).parent} does not exist: create it or give another --db")


def database_words(place: str, *, default: str = "") -> list[str]:
    """Name a database in a command for people to copy; none where it is the default one.

    One on a server is named in the environment, together with its password.
    """
    if "://" in place:
        return []
    shown = short_path(place)
    return [] if shown == default else ["--db", shown]


def short_path(path: str) -> str:
    """Return a path relative to the current folder, where it lies below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def renamed(before: str, now: str) -> None:
    """Say on standard error that an option has another name, which holds from the next release on."""
    click.echo(f"{before} is called {now} here: the former name goes with the next release", err=True)
