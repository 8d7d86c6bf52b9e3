"""The command `ask`: a question answered by a model, from sections of the graph and with citations."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ramet import as_usd
from ramet.commands import options as shared
from ramet.commands.options import check_folder, json_option
from ramet.commands.terminal import console, emit, plain
from ramet.commands.worker import quiet_guard
from ramet.wiki.commands.options import data_option, database_option, graph_option, model_of, model_options
from ramet.wiki.embedding.registry import NONE
from ramet.wiki.graph_access import open_graph
from ramet.wiki.question_answers import OUTPUT_TOKENS, PASSAGES, WikiAnswer, answer_question
from ramet.wiki.runs import find_run
from ramet.wiki.tasks.article import app

UNKNOWN = "the graph does not know: {}"


@click.command("ask", short_help="Answer a question from the graph, with citations.")
@click.argument("question")
@click.argument("run", required=False)
@model_options("What the answer may cost, at most.")
@click.option(
    "--passages",
    type=click.IntRange(1, 50),
    default=PASSAGES,
    show_default=True,
    help="Passages that the model is given, at most.",
)
@click.option(
    "--max-output-tokens",
    type=click.IntRange(1),
    default=OUTPUT_TOKENS,
    show_default=True,
    metavar="N",
    help="The longest answer, reasoning included; bounds the price.",
)
@click.option("--embed", "embedder", metavar="MODEL", help="With --graph: the model, as `expand` takes it.")
@graph_option
@data_option
@database_option
@json_option
def ask_command(
    question: str, run: str | None, graph: Path | None, data_dir: Path, database: str, **options: Any
) -> None:  # fmt: skip
    """Answer QUESTION from the passages that fit it best, in the graph of RUN (the newest, if none is named).

    The answer cites sections, and every citation is checked. Where the passages do not tell, it says so.
    """
    embedder = options["embedder"]
    if graph is None:
        settings = shared.ask(app, database, lambda client: find_run(client, run)).settings
        graph, embedder = Path(settings.graph), embedder or settings.embedder
    check_folder(database)
    with quiet_guard():
        found = answer_question(
            open_graph(graph, data_dir=data_dir, embedder=None if embedder == NONE else embedder),
            question,
            model=model_of(options),
            max_cost=options["max_cost"],
            database=database,
            passages=options["passages"],
            max_output_tokens=options["max_output_tokens"],
        )
    if options["as_json"]:
        emit({"question": question, "known": found.text is not None, **dataclasses.asdict(found)})
    else:
        _show(found)


def _show(found: WikiAnswer) -> None:
    out = console()
    if found.text is None:
        asked = found.model is not None
        click.echo(
            UNKNOWN.format("its passages do not answer this" if asked else "no section holds any of these words")
        )
    else:
        for line in found.text.splitlines():
            click.echo(plain(line))
        click.echo()
        for one in found.citations:
            place = " > ".join(filter(None, (one.title, one.path)))
            click.echo(plain(f"[{one.number}] {place}" + (f"  {one.url}" if one.url else "")))
    if found.model is not None:
        out.print(Text(f"{as_usd(found.cost)} · {plain(found.model)}", "dim"))
