"""The commands that read a graph: `search`, `neighbors`, `mcp` and `export`, beside a running expansion."""

from __future__ import annotations

import dataclasses
import io
import sys
from pathlib import Path
from typing import Any, TextIO

import click
from rich.table import Table
from rich.text import Text

from ramet.commands.options import ask, json_option
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.wiki.commands import terminal
from ramet.wiki.commands.options import data_option, database_option, graph_of, graph_option
from ramet.wiki.embedding.registry import NONE
from ramet.wiki.errors import WikiError
from ramet.wiki.graph_access import find_article, open_graph
from ramet.wiki.graphs.base import Direction, Neighbor, SearchHit
from ramet.wiki.graphs.export import FOLDERS, Exported, ExportFormat, export_file, export_stream
from ramet.wiki.graphs.registry import open_graph_reader
from ramet.wiki.graphs.search import Ranking, SearchResult, search_graph, section_url
from ramet.wiki.graphs.vector_index import advice
from ramet.wiki.runs import find_run
from ramet.wiki.tasks.article import app

DEPTH_MAX = 100
STANDARD_OUTPUT = "-"


@click.command(short_help="Find sections by words and meaning.")
@click.argument("text")
@click.option("--limit", type=click.IntRange(1, 1_000), default=5, show_default=True, help="Results, at most.")
@click.option(
    "--follow",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="With each result, the N nearest of the articles that its article links to.",
)
@click.option("--words", "ranking", flag_value=Ranking.WORDS.value, help="By words alone.")
@click.option("--vectors", "ranking", flag_value=Ranking.VECTORS.value, help="By meaning alone.")
@click.option("--embed", "embedder", metavar="MODEL", help="With --graph: the model, as `expand` takes it.")
@graph_option
@data_option
@database_option
@json_option
def search(text: str, limit: int, graph: Path | None, data_dir: Path, **options: Any) -> None:
    """Find the sections that fit TEXT best, by its words and its meaning, in the graph of the newest run.

    Works while it grows.
    """
    embedder = options["embedder"]
    if graph is None:
        settings = ask(app, options["database"], find_run).settings
        graph, embedder = Path(settings.graph), embedder or settings.embedder
    found = search_graph(
        graph,
        text,
        limit=limit,
        data_dir=data_dir,
        follow=options["follow"],
        ranking=Ranking(options["ranking"] or Ranking.BOTH),
        embedder=None if embedder == NONE else embedder,
    )
    if found.compared:
        click.echo(f"ramet: {advice(found.compared)}", err=True)
    if options["as_json"]:
        for hit, followed in zip(found.hits, found.followed, strict=True):
            links = {"linked": [_hit_as_json(near) for near in followed]} if options["follow"] else {}
            emit({**_hit_as_json(hit), "ranking": found.ranking.value, **links})
        return
    _show_found(found, asked_for_words=options["ranking"] == Ranking.WORDS)


def _hit_as_json(hit: SearchHit) -> dict[str, Any]:
    return {**dataclasses.asdict(hit), "url": section_url(hit)}


def _show_found(found: SearchResult, *, asked_for_words: bool) -> None:
    out = console()
    for number, (hit, followed) in enumerate(zip(found.hits, found.followed, strict=True), start=1):
        for line in terminal.show_hit(hit, f"{number}. ", out.width, url=section_url(hit)):
            out.print(line)
        for near in followed:
            for line in terminal.show_hit(near, "   → ", out.width, url=section_url(near)):
                out.print(line)
    if not found.hits:
        words = found.ranking is Ranking.WORDS
        click.echo("no section holds any of these words" if words else "the graph is empty yet")
    if found.ranking is Ranking.WORDS:
        if not asked_for_words:
            out.print(Text("this graph has no vectors: these are the sections that fit your words", "yellow"))
    elif not found.semantic:
        out.print(Text("this graph was made without a model: results share words with the text, not meaning", "yellow"))


@click.command(short_help="What an article links to, or is linked from.")
@click.argument("title")
@click.option(
    "--direction",
    type=click.Choice([way.value for way in Direction]),
    default=Direction.OUT.value,
    show_default=True,
    help="Follow its links, the links to it, or both.",
)
@click.option(
    "--depth", type=click.IntRange(1, DEPTH_MAX), default=1, show_default=True, help="Links to go along, at most."
)
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Articles, at most.")
@click.option(
    "--sort",
    type=click.Choice(["distance", "rank"]),
    default="distance",
    show_default=True,
    help="The nearest first, or those of the highest PageRank (`ramet wiki rank`).",
)
@graph_option
@database_option
@json_option
def neighbors(title: str, direction: str, depth: int, limit: int, graph: Path | None, **options: Any) -> None:
    """Show the articles around TITLE, which may be a redirect's: nearest first. Works while the graph grows."""
    with open_graph_reader(graph_of(graph, options["database"])) as reader:
        article = find_article(reader, title)
        found = reader.neighbors(
            article.title_key,
            direction=Direction(direction),
            depth=depth,
            limit=limit,
            by_rank=options["sort"] == "rank",
        )
    if options["sort"] == "rank" and found and all(one.pagerank is None for one in found):
        raise WikiError("this graph was not ranked yet: give the command `ramet wiki rank` first")
    if options["as_json"]:
        for neighbor in found:
            emit(dataclasses.asdict(neighbor))
        return
    out = console()
    out.print(Text(plain(article.title), style="bold"))
    if not found:
        click.echo({"in": "nothing links to it", "out": "it links to nothing"}.get(direction, "it has no links"))
    out.print(_table(found))
    if len(found) == limit:
        which = "the highest" if options["sort"] == "rank" else "the nearest"
        click.echo(f"{which} {counted(limit, 'article')}; there may be more: --limit")


def _table(found: list[Neighbor]) -> Table:
    table = columns(header=None)
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    table.add_column(style="dim")
    for neighbor in found:
        title = Text(plain(neighbor.title), style="" if neighbor.loaded else "dim")
        table.add_row(str(neighbor.distance), title, plain(neighbor.url) if neighbor.loaded else "not loaded")
    return table


@click.command(short_help="Serve a graph to agents, by MCP.")
@click.argument("graph", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--embed", "embedder", metavar="MODEL", help="The model of its vectors, as `expand` takes it.")
@data_option
def mcp(graph: Path, embedder: str | None, data_dir: Path) -> None:
    """Serve the file GRAPH by the Model Context Protocol on standard input and output, until the input ends.

    Its tools search, read and neighbors only read, and see the graph as it is at each call.
    """
    from ramet.wiki.mcp_server import make_server

    make_server(open_graph(graph, data_dir=data_dir, embedder=embedder)).run()


@click.command(short_help="Write the graph as GraphML, JSON Lines, CSV or Parquet.")
@click.argument("form", metavar="graphml|jsonl|csv|parquet", type=click.Choice([form.value for form in ExportFormat]))
@click.option(
    "--out",
    metavar="FILE|DIR|-",
    help="Where to: a file, for csv and parquet a folder, - for standard output.  [default: named as the graph]",
)
@graph_option
@database_option
@json_option
def export(form: str, out: str | None, graph: Path | None, database: str, as_json: bool) -> None:
    """Write every node and edge; as Parquet, the passages with their vectors, too.

    An earlier export there is replaced when all is written. Parquet needs the extra `parquet`.
    """
    chosen = ExportFormat(form)
    if out == STANDARD_OUTPUT and (chosen in FOLDERS or as_json):
        reason = f"{form} is several files: give a folder" if chosen in FOLDERS else "--json is for the summary"
        raise click.BadParameter(f"- is not possible here, {reason}", param_hint="--out")
    place = graph_of(graph, database)
    with open_graph_reader(place) as reader:
        if out == STANDARD_OUTPUT:
            _tell(export_stream(reader, _standard_output(), chosen), "standard output")
            return
        path = Path(out) if out else Path(f"{place.stem}-{form}" if chosen in FOLDERS else f"{place.stem}.{form}")
        exported = export_file(reader, path, chosen)
    if as_json:
        emit({**dataclasses.asdict(exported), "paths": [str(written) for written in exported.paths]})
    else:
        _tell(exported, " and ".join(map(str, exported.paths)))


def _standard_output() -> TextIO:
    # Whatever the language of the terminal: the file says that it is UTF-8.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    return sys.stdout


def _tell(exported: Exported, place: str) -> None:
    """Say what was written, beside the export itself."""
    nodes, edges = counted(exported.nodes, "node"), counted(exported.edges, "edge")
    click.echo(f"wrote {nodes} and {edges} to {plain(place)}", err=True)
    if exported.dropped:
        characters = counted(exported.dropped, "character")
        click.echo(f"left out {characters} that XML forbids", err=True)
