"""The command `rank`: PageRank and communities as properties of articles."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from ramet.commands.options import ask, json_option
from ramet.commands.terminal import console, counted, emit, plain, table
from ramet.wiki.commands.options import database_option
from ramet.wiki.graphs.base import ArticleRank
from ramet.wiki.graphs.rank import rank_articles
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from ramet.wiki.runs import find_run
from ramet.wiki.tasks.article import app

SHOWN = 10


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
    if run is not None and graph is not None:
        raise click.UsageError("give a RUN or --graph, not both")
    path = graph or Path(ask(app, database, lambda client: find_run(client, run)).settings.graph)
    # Opened for reading first, which finds out whose vectors it has, and makes no graph where there is none.
    with open_graph_reader(path) as reader:
        model_id, dimension = reader.model_id, reader.dimension
    with open_graph_writer(path, model_id=model_id, dimension=dimension) as writer:
        ranks = rank_articles(writer)
        writer.set_ranks(ranks)
        best = sorted(ranks, key=lambda one: (-one.pagerank, one.title_key))[:SHOWN]
        titles = {one.title_key: found.title for one in best if (found := writer.find(one.title_key))}
    communities = len({one.community for one in ranks})
    if as_json:
        emit({"articles": len(ranks), "communities": communities})
        return
    click.echo(f"{counted(len(ranks), 'article')} in {counted(communities, 'community', 'communities')}")
    _show(best, titles)


def _show(best: list[ArticleRank], titles: dict[str, str]) -> None:
    rows = table(">PageRank", ">community", "*article")
    for one in best:
        rows.add_row(f"{one.pagerank:.6f}", str(one.community), Text(plain(titles[one.title_key])))
    console().print(rows)
