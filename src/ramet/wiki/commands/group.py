"""The commands `ramet wiki ...`.

Errors that a user can correct leave as `UserError` or `StoreError`: one line and exit status 2.
"""

from __future__ import annotations

import asyncio
import dataclasses
import shlex
from pathlib import Path
from typing import Any

import click
from rich.live import Live

from ramet import Client
from ramet.commands.options import ask, json_option
from ramet.commands.terminal import console, counted, emit, on_terminal, plain
from ramet.fetch.addresses import host_and_port, is_private_host
from ramet.wiki.commands import cypher, operations, query, terminal
from ramet.wiki.commands.ask import ask_command
from ramet.wiki.commands.demo import demonstrate
from ramet.wiki.commands.entities import entities_command, extract_command
from ramet.wiki.commands.expand import ExpandArguments, submit_only, work
from ramet.wiki.commands.options import data_option, database_option
from ramet.wiki.commands.work import work_command
from ramet.wiki.embedding.registry import AUTO
from ramet.wiki.errors import GraphError
from ramet.wiki.expansion import CONCURRENCY
from ramet.wiki.graphs.registry import GraphInfo, default_graph
from ramet.wiki.runs import MAX_ARTICLES, MAX_DEPTH, MAX_LINKS, Run, RunSettings, find_run, list_runs
from ramet.wiki.sources.mediawiki_site import user_agent
from ramet.wiki.sources.registry import BUNDLED
from ramet.wiki.status import FailedTitle, RunStatus, failed_titles, graph_of_run, status_of
from ramet.wiki.tasks.article import app

STATUS_SECONDS = 0.5
CHOSEN = (
    "closed",
    "skip",
    "links",
    "text",
    "disambiguation",
    "user_agent",
    "requests_per_second",
    "max_articles",
    "max_depth",
    "max_links",
)
"""Options of `expand` that are settings of a run by the same name."""


@click.group(short_help="Expand articles into a graph of linked ones.")
def wiki() -> None:
    """Expand a few articles into a graph of linked articles that can be searched by meaning.

    \b
      ramet wiki demo                         see it: 500 articles in a minute
      ramet wiki expand "Alan Turing"         start or continue an expansion
      ramet wiki status --watch               how far it is
      ramet wiki search "breaking ciphers"    ask the graph
    """


@wiki.command("expand", short_help="Start or continue an expansion.")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED...")
@click.option(
    "--source",
    default=BUNDLED,
    show_default="the bundled set",
    metavar="URL|FILE",
    help="A MediaWiki (its address or api.php), a dump (.xml), a file with one article a line (.jsonl), these also as "
    ".bz2, .xz, .zst and .gz, or the bundled set of 10,033 articles.",
)
@click.option(
    "--max-articles", type=click.IntRange(min=1), default=MAX_ARTICLES, show_default=True, help="Articles loaded."
)
@click.option(
    "--max-depth", type=click.IntRange(0, 100), default=MAX_DEPTH, show_default=True, help="Links from a seed, at most."
)
@click.option(
    "--max-links", type=click.IntRange(min=1), default=MAX_LINKS, show_default=True, help="Links of one page, at most."
)
@click.option(
    "--links",
    type=click.Choice(["body", "all"]),
    default="body",
    show_default=True,
    help="Links of a page's own text, or those that templates bring in as well.",
)
@click.option(
    "--text",
    type=click.Choice(["wikitext", "rendered"]),
    default="wikitext",
    show_default=True,
    help="Texts as people write them, or as a MediaWiki renders them, with all templates: one request an article more.",
)
@click.option(
    "--disambiguation",
    type=click.Choice(["fail", "links"]),
    default="fail",
    show_default=True,
    help="A page that only lists meanings fails, or its links are followed.",
)
@click.option("--skip", multiple=True, metavar="TITLE", help="Titles not to look up, such as 'List of *'. Repeatable.")
@click.option("--closed", is_flag=True, help="Draw links between loaded articles only.")
@click.option(
    "--contact", "user_agent", default="", metavar="E-MAIL|URL", help="How the wiki's operators can reach you."
)
@click.option(
    "--requests-per-second", type=click.FloatRange(min=0, min_open=True), help="To the wiki, over all workers; at most."
)
@click.option(
    "--graph",
    type=click.Path(dir_okay=False, path_type=Path),
    default=default_graph,
    show_default="wiki.lbug",
    help="The graph file; .sqlite for one of SQLite.",
)
@click.option(
    "--embed",
    "embedder",
    default=AUTO,
    show_default="onnx, or multilingual for texts in another language where it is installed",
    metavar="MODEL",
    help="onnx (English), multilingual, sentence-transformers:NAME, openai:NAME@URL, hashing (no model: finds shared "
    "words only), or none.",
)
@click.option("--no-embed", is_flag=True, help="No vectors: the same as --embed none.")
@click.option("--no-work", is_flag=True, help="Submit only; `ramet wiki work` in other processes does the work.")
@click.option("--concurrency", type=click.IntRange(1, 1_000), default=CONCURRENCY, show_default=True, hidden=True)
@data_option
@database_option
@json_option
def expand_command(seeds: tuple[str, ...], source: str, data_dir: Path, graph: Path, **options: Any) -> None:
    """Load the SEED articles and what they link to, level by level, until --max-articles or --max-depth.

    The same command again continues where it stopped, whatever stopped it; once it has finished, larger limits go on
    from there. The first Ctrl-C ends after the running tasks, a second at once.
    """
    by_address = "://" in source
    if by_address:  # Before anybody is asked where the host is.
        user_agent(host_and_port(source)[0], options["user_agent"])
    settings = RunSettings(
        source=source if source == BUNDLED or by_address else str(Path(source).absolute()),
        data_dir=str(data_dir.absolute()),
        graph=str(graph.absolute()),
        embedder="none" if options["no_embed"] else options["embedder"],
        private=by_address and asyncio.run(is_private_host(source)),
        **{name: options[name] for name in CHOSEN},
    )
    wanted = ExpandArguments(seeds, settings, options["database"], options["concurrency"], options["as_json"])
    if options["no_work"]:
        asyncio.run(submit_only(wanted))
        return
    _, code = asyncio.run(work(wanted))
    click.get_current_context().exit(code)


@wiki.command(short_help="How far a run is.")
@click.argument("run", required=False)
@click.option("--watch", is_flag=True, help="Refresh until it has ended, or Ctrl-C.")
@click.option("--failed", is_flag=True, help="The titles that failed, with the reason, by title.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Failed titles, at most.")
@click.option("--after", metavar="TITLE", help="Failed titles after this one, the last of the page before.")
@database_option
@json_option
def status(
    *, run: str | None, watch: bool, failed: bool, limit: int, after: str | None, database: str, as_json: bool
) -> None:
    """Show the state of a run (the newest, if none is named): articles by depth, rate, failures, refused links."""
    if (after is not None and not failed) or (watch and failed):
        raise click.UsageError("--failed lists titles once, without --watch; --after belongs to it")

    async def show(client: Client) -> None:
        found = await find_run(client, run)
        if failed:
            _show_failed(await failed_titles(client, found.run_id), limit, after, as_json=as_json)
            return
        if watch:
            await _watch(client, found, as_json)
            return
        now = await status_of(client, found)
        graph = _graph(now)
        if as_json:
            told = None if graph is None else dataclasses.asdict(graph)
            emit({**now.as_json(), "graph_is": told, "graph_holds": told and told.pop("counts")})
            return
        console().print(terminal.show_status(now, client.place, graph))
        others = len(await list_runs(client)) - 1
        if others and run is None:
            click.echo(f"\n{counted(others, 'other run')} in {client.place}: `ramet status` lists the lineages")

    try:
        ask(app, database, show)
    except KeyboardInterrupt:
        click.get_current_context().exit(0)


def _show_failed(found: list[FailedTitle], limit: int, after: str | None, *, as_json: bool) -> None:
    """Print one page of the failed titles of a run."""
    last = (
        None if after is None else next((one.title_key for one in found if after in (one.title_key, one.title)), after)
    )
    rest = [one for one in found if last is None or one.title_key > last]
    for one in rest[:limit] if as_json else ():
        emit(one._asdict())
    if as_json:
        return
    if not rest:
        click.echo("no title failed" if after is None else "no title failed after that one")
        return
    console().print(terminal.show_failed(rest[:limit]))
    if len(rest) > limit:
        more = counted(len(rest) - limit, "more title")
        click.echo(f"... and {more}: --after {shlex.quote(plain(rest[limit - 1].title_key))}, or --limit")


async def _watch(client: Client, run: Run, as_json: bool) -> None:
    """Tell how far the run is until it has ended."""
    now = await status_of(client, run)
    if as_json or not on_terminal():
        view = terminal.JsonView() if as_json else terminal.LineView()
        view.begin(now, resumed=True)
        while now.live:
            view.look(now)
            await asyncio.sleep(STATUS_SECONDS)
            now = await status_of(client, run)
        view.look(now)
        return
    with Live(terminal.show_status(now, client.place, None), console=console(), auto_refresh=False) as live:
        while now.live:
            await asyncio.sleep(STATUS_SECONDS)
            now = await status_of(client, run)
            live.update(terminal.show_status(now, client.place, None), refresh=True)


def _graph(status: RunStatus) -> GraphInfo | None:
    """Return the facts about the graph; None while it is not there, or cannot be read just now."""
    try:
        return graph_of_run(Path(status.run.settings.graph))
    except GraphError:
        if status.live:
            return None
        raise


for command in (
    operations.refresh,
    operations.retry,
    operations.exclude,
    work_command,
    query.search,
    ask_command,
    query.neighbors,
    query.mcp,
    query.export,
    cypher.query,
    operations.rank,
    extract_command,
    entities_command,
):
    wiki.add_command(command)


@wiki.command(short_help="See it: 500 articles in a minute.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="ramet-demo",
    show_default=True,
    help="Where the graph is kept, and without --db the database.",
)
@click.option("--db", "database", metavar="DATABASE", help="A database elsewhere, such as postgresql://... .")
@data_option
def demo(folder: Path, database: str | None, data_dir: Path) -> None:
    """Expand "Alan Turing" and "Ada Lovelace" to 500 articles, and show what can be done with them."""
    click.get_current_context().exit(demonstrate(folder, data_dir, database))
