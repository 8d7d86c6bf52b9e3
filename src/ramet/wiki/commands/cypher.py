"""The command `query`: a graph asked in Cypher. It reads beside a running expansion."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ramet import Client
from ramet.commands.options import json_option
from ramet.commands.terminal import columns, console, emit, plain
from ramet.wiki.commands.options import database_option, graph_option
from ramet.wiki.errors import WikiError
from ramet.wiki.graphs.cypher import CypherResult, as_parameter, check_query, copy_of
from ramet.wiki.graphs.registry import graph_is_there, open_graph_reader
from ramet.wiki.node_states import NodeState, node_states
from ramet.wiki.runs import find_run
from ramet.wiki.tasks.article import app

SECONDS = 30.0


@click.command(short_help="Ask the graph in Cypher.")
@click.argument("cypher")
@click.option("--param", "parameters", multiple=True, metavar="NAME=VALUE", help="Value of $NAME. Repeatable.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=1_000, show_default=True, help="Rows, at most.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3_600), default=SECONDS, show_default=True, help="Seconds, at most."
)
@graph_option
@database_option
@json_option
def query(cypher: str, graph: Path | None, database: str, as_json: bool, **options: Any) -> None:
    """Ask the graph of the newest run a question in Cypher, such as 'MATCH (a:Article) RETURN count(*)'.

    \b
    Nodes: Article, Section, Category, Alias. Edges: HAS_SECTION, IN_CATEGORY, LINKS_TO, ALIAS_OF.
    Articles have title, expansion_state, expansion_depth, retry_count, claimed_at, processed_at,
    category, word_count, as they are at this moment. A query only reads; it sees a copy.
    """
    check_query(cypher)
    parameters = dict(map(_parameter, options["parameters"]))
    states: dict[str, NodeState] = {}
    if graph is None:
        graph, states = asyncio.run(_newest(database))
    with open_graph_reader(graph) as reader, copy_of(reader, states) as copy:
        found = copy.ask(cypher, parameters, limit=options["limit"], seconds=options["timeout"])
    if as_json:
        for row in found.rows:
            emit(dict(zip(found.columns, map(_as_json, row), strict=True)))
    else:
        _show(found)
    if found.more:
        click.echo(f"there are more rows than {options['limit']:,}: --limit", err=True)


async def _newest(database: str) -> tuple[Path, dict[str, NodeState]]:
    """Return the graph of the newest run, and the states of its titles."""
    client: Client
    async with app.client(database, create=False) as client:
        run = await find_run(client)
        path = Path(run.settings.graph)
        if not graph_is_there(path):
            raise WikiError(f"{run.run_id} has no graph yet: ask again when its first articles are loaded")
        return path, await node_states(client, run)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.lstrip("$").isidentifier():
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint="--param")
    return name.lstrip("$"), as_parameter(value)


def _show(found: CypherResult) -> None:
    if not found.rows:
        click.echo("nothing found")
        return
    table = columns()
    for name in found.columns:
        table.add_column(plain(name), overflow="fold")
    for row in found.rows:
        table.add_row(*(Text(plain(_text(value))) for value in row))
    console().print(table)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):  # A node or an edge: its own name says enough in a table.
        return str(value.get("title") or value.get("heading") or value.get("name") or value.get("_LABEL") or value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_text, value))
    return str(value)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_json(one) for name, one in value.items() if name not in ("_ID", "_SRC", "_DST")}
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds") + "Z"
    return value if isinstance(value, str | int | float | bool | None) else str(value)
