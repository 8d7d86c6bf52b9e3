"""Options that several of the commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ramet.commands import options
from ramet.wiki.runs import find_run
from ramet.wiki.sources.dataset import default_data_dir
from ramet.wiki.tasks.article import app

Command = TypeVar("Command", bound=Callable[..., Any])

database_option = options.database_option("wiki.db")


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


def graph_option(command: Command) -> Command:
    """`--graph`, as `graph`: None for that of the newest run (`graph_of`)."""
    return click.option(
        "--graph",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A graph file instead of the newest run's; then no database is needed.",
    )(command)


def graph_of(graph: Path | None, database: str) -> Path:
    """The graph that is meant: the one given, or that of the newest run.

    Raises:
        StoreError: there is no database, or it cannot be used.
        RunNotFound: it has no run.
    """
    return graph if graph is not None else Path(options.ask(app, database, find_run).settings.graph)
