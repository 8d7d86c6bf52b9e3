"""Options that several of the commands share, and asking a database that must exist."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ramet import Client
from ramet.pipelines.wiki.runs import find_run
from ramet.pipelines.wiki.sources.dataset import default_data_dir
from ramet.pipelines.wiki.tasks import app

DATABASE = "wiki.db"

Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


def database_option(command: Command) -> Command:
    """`--db`, as `database`."""
    return click.option(
        "--db",
        "database",
        envvar="RAMET_DB",
        default=DATABASE,
        show_default=True,
        show_envvar=True,
        metavar="DATABASE",
        help="A file, or postgresql://user:password@host:port/database (with a password better in RAMET_DB).",
    )(command)


def data_option(command: Command) -> Command:
    """`--data`, as `data_dir`."""
    return click.option(
        "--data",
        "data_dir",
        type=click.Path(file_okay=False, path_type=Path),
        default=default_data_dir,
        show_default="~/.cache/ramet",
        metavar="DIR",
        help="Where fetched packages are kept.",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on standard output, nothing else.")(command)


def graph_option(command: Command) -> Command:
    """`--graph`, as `graph`: None for that of the newest run (`graph_of`)."""
    return click.option(
        "--graph",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A graph file instead of the newest run's; then no database is needed.",
    )(command)


def ask(database: str, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
    """Run a coroutine with a client of a database that must exist.

    Raises:
        StoreError: there is none, or it cannot be used.
    """

    async def asked() -> Answer:
        async with app.client(database, create=False) as client:
            return await question(client)

    return asyncio.run(asked())


def graph_of(graph: Path | None, database: str) -> Path:
    """The graph that is meant: the one given, or that of the newest run.

    Raises:
        StoreError: there is no database, or it cannot be used.
        RunNotFound: it has no run.
    """
    return graph if graph is not None else Path(ask(database, find_run).settings.graph)
