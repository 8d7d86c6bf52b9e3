"""Options that several of the commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ramet.commands import options
from ramet.commands.options import database_words, short_path
from ramet.wiki.runs import MAX_ARTICLES, MAX_DEPTH, MAX_LINKS, Run, RunSettings, find_run
from ramet.wiki.sources.dataset import default_data_dir
from ramet.wiki.sources.registry import BUNDLED
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


def command_of(run: Run, database: str) -> str:
    """The command line that continues a run."""
    settings = run.settings
    words = ["ramet", "wiki", "expand", *run.seeds, *database_words(database), "--graph", short_path(settings.graph)]
    if settings.source != BUNDLED:
        words += ["--source", settings.source if "://" in settings.source else short_path(settings.source)]
    default = RunSettings(source="", data_dir="", graph="")
    told = (
        ("--embed", settings.embedder, default.embedder),
        ("--links", settings.links, default.links),
        ("--disambiguation", settings.disambiguation, default.disambiguation),
        ("--contact", settings.user_agent, default.user_agent),
        ("--max-articles", settings.max_articles, MAX_ARTICLES),
        ("--max-depth", settings.max_depth, MAX_DEPTH),
        ("--max-links", settings.max_links, MAX_LINKS),
        ("--requests-per-second", settings.requests_per_second, None),
    )
    for option, value, usual in told:
        if value != usual:
            words += [option, str(value)]
    for pattern in settings.skip:
        words += ["--skip", pattern]
    return shlex.join([*words, *(["--closed"] if settings.closed else [])])
