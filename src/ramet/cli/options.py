"""What commands have in common: options, opening a database, loading an app."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from ramet import App, Client, Lineage
from ramet.cli.errors import CliError, where_raised
from ramet.cli.output import database_clock
from ramet.commands import options
from ramet.engine.worker.child import load_app

Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


database_option = options.database_option("ramet.db")
"""``--db DATABASE``."""


def app_option(command: Command) -> Command:
    """``--app APP``, for what knows only the settings of the engine and of installed packages."""
    return click.option(
        "--app", "target", metavar="MODULE:ATTR", help="An app with settings of its own, which are known then too."
    )(command)


def ask(database: str, question: Callable[[Client], Awaitable[Answer]], target: str | None = None) -> Answer:
    """Run a coroutine with a client of a database that must exist, and show times by the clock of that database.

    Args:
        target: an app whose settings are to be known.

    Raises:
        StoreError: there is no such database, or it cannot be used.
    """

    # Not the app itself: its client would make its tables, and a look writes nothing.
    app = App() if target is None else App(settings=load(target).registry.live.declared.own)

    async def asked(client: Client) -> Answer:
        database_clock.ahead_seconds = client.store.ahead_seconds
        return await question(client)

    return options.ask(app, database, asked)


def load(target: str) -> App:
    """The app at ``module:attribute``; modules of the working directory are found.

    Raises:
        CliError: it cannot be loaded; says why and, for an error inside the module, where.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return load_app(target)
    except ValueError as error:
        raise CliError(str(error)) from error
    except Exception as error:
        raise CliError(f"cannot load {target}: {type(error).__name__}: {error} ({where_raised(error)})") from error


async def lineage_of(client: Client, tracking_id: str) -> Lineage:
    """The lineage of this name.

    Raises:
        CliError: there is none; when the name is a task's, says which lineage that task belongs to.
    """
    found = await client.lineage(tracking_id)
    if found is not None:
        return found
    task = await client.get(tracking_id)
    if task is not None:
        raise CliError(f"{tracking_id} is a task of lineage {task.tracking_id}: give that tracking id")
    raise CliError(f"no lineage {tracking_id}: `ramet status` lists them")


class _Several(click.ParamType[list[str]]):
    """Words of a list, with commas between."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.name = "several"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self.words)}],..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        given = [word.strip() for word in str(value).split(",") if word.strip()]
        if wrong := [word for word in given if word not in self.words]:
            self.fail(f"{wrong[0]!r} is not one of {', '.join(self.words)}", param, ctx)
        return given


def several(
    flag: str, name: str, words: Iterable[str], *, help: str = "", hidden: bool = False
) -> Callable[[Command], Command]:
    """An option that takes words of a list, with commas between or given several times; a tuple, each word once."""

    def together(ctx: click.Context, param: click.Parameter, value: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for words in value for word in words))

    known = _Several([str(word) for word in words])
    return click.option(flag, name, multiple=True, type=known, callback=together, help=help, hidden=hidden)


KEY_HELP = "in any spelling: as stored, or a text, URL, title or payload whose canonical form that is."
"""Of a key that is looked up."""


def compared(client: Client, kind: str | None, key: str) -> str:
    """The key, and what it was compared as: commands know no kinds, so they try what any kind would store."""
    others = [repr(one) for one in client.spellings(kind, key) if one != key]
    return f"key {key!r}" + (f" (nor {', '.join(others)})" if others else "")
