"""The commands on an existing run: `refresh`, `retry`, `exclude` and `rank`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from ramet import Client
from ramet.commands.options import ask, json_option, person, renamed
from ramet.commands.terminal import console, counted, emit, plain, table
from ramet.wiki.commands.expand import ContinueArguments, work_again
from ramet.wiki.commands.options import database_option, graph_of
from ramet.wiki.errors import RunNotFound, WikiError
from ramet.wiki.expansion import PreparedRun
from ramet.wiki.graphs.base import ArticleRank
from ramet.wiki.graphs.rank import rank_articles
from ramet.wiki.graphs.registry import reopen_writer
from ramet.wiki.runs import PREFIX, Run, find_run, is_refresh
from ramet.wiki.sources.registry import BUNDLED
from ramet.wiki.tables import WikiState
from ramet.wiki.tasks.article import app
from ramet.wiki.tasks.refresh import begin_refresh, refreshed
from ramet.wiki.tasks.retry_exclude import Excluded, RetryPayload, begin_retry, exclude_titles, find_titles

RANKS_SHOWN = 10
_REASON = re.compile(r"[a-z]+(_[a-z]+)*")
"""Form of reasons of failed titles: one word, which no person's own words are."""


@click.command(short_help="Load again what has changed.")
@click.argument("run", required=False)
@click.option("--source", metavar="FILE", help="A newer dump, or file of articles, of the same wiki: read from now on.")
@database_option
@json_option
def refresh(run: str | None, source: str | None, database: str, as_json: bool) -> None:
    """Compare every article of a run (the newest, if none is named) with its source, and load again what changed.

    A refresh that was interrupted goes on. New links of changed articles are looked up by the next `expand`.
    """

    if source is not None and "://" not in source and source != BUNDLED:
        source = str(Path(source).absolute())

    async def act() -> int:
        async with app.client(database, create=False) as client:
            found = await find_run(client, run)
            refreshes = bool(found.live) and await is_refresh(client, found.newest.tracking_id)
            goes_on = refreshes and source in (None, found.settings.source)

        async def begin(client: Client, found: Run, prepared: PreparedRun) -> bool:
            return not goes_on and await begin_refresh(client, found, prepared.settings)

        return await work_again(ContinueArguments(run, database, as_json, source), begin, _tell_refreshed)

    click.get_current_context().exit(asyncio.run(act()))


async def _tell_refreshed(client: Client, run: Run) -> None:
    found = await refreshed(client, run.newest.tracking_id) if run.newest.ended_at is not None else None
    if found is not None:
        compared = counted(found.compared, "article")
        redirects = counted(found.redirects, "new redirect")
        click.echo(f"compared {compared}: {found.loaded:,} loaded again, {found.gone:,} gone, {redirects}")


@click.command(short_help="Try failed titles again.")
@click.argument("words", nargs=-1, metavar="[RUN] [TITLE]...")
@click.option("--failed-for", metavar="REASON", help="Only those that failed for this reason, as `status` names it.")
@click.option("--reason", metavar="TEXT", help="Why, for the record.")
@click.option("--note", hidden=True)
@database_option
@json_option
def retry(
    *,
    words: tuple[str, ...],
    failed_for: str | None,
    reason: str | None,
    note: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Look the failed titles of a run up again, and follow their links where that makes them articles.

    Without titles: all those that another try may load. Titles that the source refused (not_found, disambiguation, ...)
    and excluded ones are tried when they, or their reason, are named.
    """

    failed_for, reason = _as_before(failed_for, reason, note)

    async def act() -> int:
        async with app.client(database, create=False) as client:
            run, titles = await _run_and_titles(client, words)
            states = await find_titles(client, run, titles)
        if states and failed_for:
            raise WikiError("give either titles or --failed-for")
        for key, state in states.items():
            if not run.live and state not in (WikiState.FAILED, WikiState.EXCLUDED):
                raise WikiError(f"'{key}' is {state}: only a failed or excluded title can be tried again")
        keys, begun = tuple(states), False
        wanted = RetryPayload(by=person(), note=reason, keys=keys, reason=failed_for)

        async def begin(client: Client, run: Run, prepared: PreparedRun) -> bool:
            nonlocal begun
            begun = await begin_retry(client, run, wanted)
            return begun

        async def tell(client: Client, run: Run) -> None:
            if not begun:
                click.echo("no failed title is left to try; those that the source said no to are tried when named")

        return await work_again(ContinueArguments(run.run_id, database, as_json), begin, tell)

    click.get_current_context().exit(asyncio.run(act()))


def _as_before(failed_for: str | None, reason: str | None, note: str | None) -> tuple[str | None, str | None]:
    """Return the filter and the record by their present names; the former names are taken until the next release."""
    if note is not None:
        renamed("--note", "--reason")
        return failed_for or reason, note
    if failed_for is None and reason is not None and _REASON.fullmatch(reason):
        renamed("--reason", "--failed-for")
        return reason, None
    return failed_for, reason


@click.command(short_help="Take titles out for good.")
@click.argument("words", nargs=-1, required=True, metavar="[RUN] TITLE...")
@click.option("--reason", metavar="TEXT", help="Why, for the record.")
@database_option
@json_option
def exclude(words: tuple[str, ...], reason: str | None, database: str, as_json: bool) -> None:
    """Take these titles out of a run for good, loaded ones also out of its graph; `retry TITLE` brings one back.

    Works beside a running expansion, which takes them out of the graph when it closes its next level.
    """

    async def act(client: Client) -> Excluded:
        run, titles = await _run_and_titles(client, words)
        if not titles:
            raise WikiError("give the titles to exclude, as the source spells them")
        return await exclude_titles(client, run, await find_titles(client, run, titles), note=reason)

    found = ask(app, database, act)
    if as_json:
        emit({"excluded": list(found.excluded), "left": found.left, "drawn": found.drawn})
    else:
        for key in found.excluded:
            click.echo(f"excluded {plain(key)}")
        if not found.drawn:
            click.echo("another process writes the graph: it loses them when that process closes its next level")
        for key, why in found.left.items():
            click.echo(f"ramet: {plain(key)}: {why}", err=True)
    if found.left:
        click.get_current_context().exit(2)


async def _run_and_titles(client: Client, words: Sequence[str]) -> tuple[Run, Sequence[str]]:
    """Return the run that the first word names, or else the newest, and the titles."""
    if words and words[0].startswith(PREFIX):
        try:
            return await find_run(client, words[0]), words[1:]
        except RunNotFound:
            pass
    return await find_run(client), words


@click.command(short_help="PageRank and communities of articles.")
@click.argument("run", required=False)
@click.option(
    "--graph",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A graph file instead of a run's; then no database is needed.",
)
@database_option
@json_option
def rank(run: str | None, graph: Path | None, database: str, as_json: bool) -> None:
    """Write the PageRank and the community of every article of RUN (the newest, if none is named) into its graph.

    They are of the links at this moment: give the command again when the graph has grown. An expansion that is under
    way keeps the graph for itself; wait for it to end.
    """
    with reopen_writer(graph_of(graph, database, run)) as writer:
        ranks = rank_articles(writer)
        writer.set_ranks(ranks)
        best = sorted(ranks, key=lambda one: (-one.pagerank, one.title_key))[:RANKS_SHOWN]
        titles = {one.title_key: found.title for one in best if (found := writer.find(one.title_key))}
    communities = len({one.community for one in ranks})
    if as_json:
        emit({"articles": len(ranks), "communities": communities})
        return
    click.echo(f"{counted(len(ranks), 'article')} in {counted(communities, 'community', 'communities')}")
    _show_ranks(best, titles)


def _show_ranks(best: list[ArticleRank], titles: dict[str, str]) -> None:
    rows = table(">PageRank", ">community", "*article")
    for one in best:
        rows.add_row(f"{one.pagerank:.6f}", str(one.community), Text(plain(titles[one.title_key])))
    console().print(rows)
