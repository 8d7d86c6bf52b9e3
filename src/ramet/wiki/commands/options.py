"""Options that several of the commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ramet.commands import options
from ramet.commands.options import database_words, short_path
from ramet.wiki.runs import MAX_ARTICLES, MAX_DEPTH, MAX_LINKS, Run, RunSettings, find_run
from ramet.wiki.sources.dataset import default_data_dir
from ramet.wiki.sources.registry import BUNDLED
from ramet.wiki.tasks.article import app

if TYPE_CHECKING:
    from ramet.llm import Model

Command = TypeVar("Command", bound=Callable[..., Any])

database_option = options.database_option("wiki.db")


def data_option(command: Command) -> Command:
    """Add the option `--data`, as `data_dir`."""
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
    """Add the option `--graph`, as `graph`: None for that of the newest run (`graph_of`)."""
    return click.option(
        "--graph",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A graph file instead of the newest run's; then no database is needed.",
    )(command)


def graph_of(graph: Path | None, database: str, run: str | None = None) -> Path:
    """Return the graph that is meant: the one given, or that of a run (the newest, if none is named).

    Raises:
        click.UsageError: a graph and a run are named.
        StoreError: there is no database, or it cannot be used.
        RunNotFound: it has no such run.
    """
    if run is not None and graph is not None:
        raise click.UsageError("give a RUN or --graph, not both")
    return graph or Path(options.ask(app, database, lambda client: find_run(client, run)).settings.graph)


def model_options(cost: str) -> Callable[[Command], Command]:
    """Add `--model`, `--max-cost` (described by `cost`), `--base-url` and `--price`; see `model_of`."""
    names = "Such as gpt-5-mini or anthropic:claude-haiku-4-5."
    prices = (
        "Dollars per million tokens, for models that the price list does not know; 0 for a server that costs nothing."
    )

    def add(command: Command) -> Command:
        command = click.option("--price", metavar="IN:OUT[:CACHED]", help=prices)(command)
        command = click.option(
            "--base-url", metavar="URL", help="Of another server, such as http://localhost:8000/v1 ."
        )(command)
        command = click.option("--max-cost", callback=_in_nano_dollars, metavar="DOLLARS", help=cost)(command)
        return click.option("--model", required=True, metavar="NAME", help=names)(command)

    return add


def _in_nano_dollars(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    from ramet.llm.commands.options import in_nano_dollars

    return in_nano_dollars(ctx, param, value)


def model_of(given: Mapping[str, Any]) -> Model:
    """Return the model that the values of `model_options` name."""
    from ramet.llm import Model

    model = replace(Model.of(given["model"]), price=given["price"])
    return model if given["base_url"] is None else replace(model, base_url=given["base_url"], key_variable=None)


def command_of(run: Run, database: str) -> str:
    """Return the command line that continues a run."""
    settings = run.settings
    words = ["ramet", "wiki", "expand", *run.seeds, *database_words(database), "--graph", short_path(settings.graph)]
    if settings.source != BUNDLED:
        words += ["--source", settings.source if "://" in settings.source else short_path(settings.source)]
    default = RunSettings(source="", data_dir="", graph="")
    told = (
        ("--embed", settings.embedder, default.embedder),
        ("--links", settings.links, default.links),
        ("--text", settings.text, default.text),
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
