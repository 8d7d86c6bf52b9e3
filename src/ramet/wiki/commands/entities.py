"""The commands `extract` and `entities`: what a model finds named in the sections of a graph."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from rich.text import Text

from ramet import Client, TaskOptions, Worker, as_usd
from ramet.commands.options import check_folder, json_option
from ramet.commands.terminal import ProgressLines, console, counted, emit, plain, table
from ramet.commands.worker import look_on, quiet_guard, run_watched, tell_stopping
from ramet.wiki.commands.options import database_option, graph_of, graph_option, model_of, model_options
from ramet.wiki.errors import NotInGraph, WikiError
from ramet.wiki.graph_access import entities_called
from ramet.wiki.graphs.entities import Entity, SectionFinding, merge, names_of_articles
from ramet.wiki.graphs.registry import Graph, open_graph_reader, reopen_writer

if TYPE_CHECKING:
    from ramet.llm import Model
    from ramet.llm.asking.single import Bill
    from ramet.wiki.tasks.extraction import Part

CONCURRENCY = 8
LIKELY_OUTPUT_TOKENS = 400
"""Tokens of an answer, for the estimate: a guess, no model was measured."""
LOOK_SECONDS = 1.0
"""Seconds between two looks at how far it is."""
SHOWN = 50


class Wanted(NamedTuple):
    """Arguments of the command."""

    path: Path
    model: Model
    max_cost: int | None
    confirmed: bool
    concurrency: int
    as_json: bool


@click.command("extract", short_help="Entities and relations by a model.")
@click.argument("run", required=False)
@model_options("What it may cost, at most.")
@click.option("--yes", is_flag=True, help="Begin without asking whether the estimate is all right.")
@click.option("--concurrency", type=click.IntRange(1, 1_000), default=CONCURRENCY, show_default=True, hidden=True)
@graph_option
@database_option
@json_option
def extract_command(run: str | None, graph: Path | None, database: str, as_json: bool, **options: Any) -> None:
    """Find the people, places, works, ... that the sections of RUN (the newest, if none is named) name.

    A model reads each section once; the answers are kept, so that the same command goes on where it stopped, and what
    did not change since costs nothing. The cost is estimated and shown before.
    """
    from ramet.llm.asking.single import check_model

    path = graph_of(graph, database, run)
    check_folder(database)
    model = model_of(options)
    check_model(model)
    wanted = Wanted(path.absolute(), model, options["max_cost"], options["yes"], options["concurrency"], as_json)
    with quiet_guard():
        code = asyncio.run(_extract(wanted, database))
    click.get_current_context().exit(code)


async def _extract(wanted: Wanted, database: str) -> int:
    from ramet.wiki.tasks.extraction import app

    _writable(wanted.path)
    async with app.client(database) as client:
        number = await _newest(client, wanted)
        live = await _live(client, wanted, number)
        if live is None:
            live = await _begin(client, wanted, number + 1)
        elif not wanted.as_json:
            click.echo(f"going on with {live}, under the ceiling that it began with", err=True)
        stopped = await _work(client, wanted, live) if live is not None else 0
        if stopped:
            return 128 + stopped
        return await _write(client, wanted, live)


def _writable(path: Path) -> None:
    """Refuse a graph that another process writes, before anything is paid for."""
    reopen_writer(path).close()


def _lineage_name(wanted: Wanted) -> str:
    name = "\n".join([str(wanted.path), wanted.model.place, wanted.model.api, wanted.model.name])
    return f"extract-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


async def _live(client: Client, wanted: Wanted, newest: int) -> str | None:
    """Return the newest extraction of this graph and model if it has not ended."""
    lineage = await client.lineage(f"{_lineage_name(wanted)}.{newest}")
    return lineage.tracking_id if lineage is not None and lineage.ended_at is None else None


async def _newest(client: Client, wanted: Wanted) -> int:
    """Return the number of the newest extraction of this graph and model, or 0."""
    number = 0
    while await client.lineage(f"{_lineage_name(wanted)}.{number + 1}") is not None:
        number += 1
    return number


async def _begin(client: Client, wanted: Wanted, number: int) -> str | None:
    """Submit a task for each article with sections that were not asked yet; None where there is none."""
    from ramet.wiki.tasks.extraction import KIND, KNOWN, ExtractPayload, model_as_json

    known = {key for (key,) in await client.read(KNOWN)}
    keys, bill = await asyncio.to_thread(_unasked, wanted, known)
    if not keys:
        return None
    _confirm(wanted, bill)
    told = model_as_json(wanted.model)
    tracking_id = f"{_lineage_name(wanted)}.{number}"
    await client.submit_many(
        [
            (KIND, ExtractPayload(title_key=key, graph=str(wanted.path), model=told), TaskOptions(key=key))
            for key in keys
        ],
        one_lineage=True,
        tracking_id=tracking_id,
        limits={"max_cost": wanted.max_cost or 0, "max_tasks": len(keys) + 1, "max_fan_out": len(keys) + 1},
        may_raise=True,
    )
    return tracking_id


def _unasked(wanted: Wanted, known: set[str]) -> tuple[list[str], Bill]:
    """Return the articles with sections that were not asked yet, and what asking them costs."""
    from ramet.llm.asking.single import Bill
    from ramet.wiki.tasks.extraction import FORM, OUTPUT_TOKENS

    keys: dict[str, None] = {}
    bill = Bill(wanted.model, FORM, OUTPUT_TOKENS, LIKELY_OUTPUT_TOKENS)
    for part in _all_parts(wanted.path):
        if part.content_key(wanted.model) not in known:
            keys[part.title_key] = None
            bill.add(part.messages)
    return list(keys), bill


def _all_parts(path: Path) -> Iterator[Part]:
    """Yield the parts of a graph that are asked, article by article: all texts together may not fit into memory."""
    from ramet.wiki.tasks.extraction import parts_of

    with open_graph_reader(path) as graph:
        for key in graph.article_keys():
            article = graph.find(key)
            if article is not None and article.loaded:
                yield from parts_of(key, article.title, graph.sections(key))


def _confirm(wanted: Wanted, bill: Bill) -> None:
    """Say what it will cost, and ask a person at the terminal whether that is all right.

    Raises:
        WikiError: the ceiling is missing or too low to ask anything, or it was not confirmed.
    """
    sections = counted(bill.questions, "section")
    words = f"{sections} for {plain(wanted.model.name)}: about {as_usd(bill.likely)}, at most {as_usd(bill.most)}"
    if bill.most and wanted.max_cost is None:
        raise WikiError(f"{words}; say with --max-cost how many dollars it may cost")
    if wanted.max_cost is not None and bill.largest > wanted.max_cost:
        low = f"--max-cost {as_usd(wanted.max_cost)} is too low"
        raise WikiError(f"{low}: one section reserves up to {as_usd(bill.largest)}")
    ceiling = "" if wanted.max_cost is None else f"; ends at {as_usd(wanted.max_cost)}"
    click.echo(f"{words}{ceiling}", err=True)
    if not bill.most or wanted.confirmed:
        return
    if not sys.stdin.isatty() or not click.confirm("Ask?", err=True):
        raise WikiError("nothing was asked: give --yes if that is all right")


async def _work(client: Client, wanted: Wanted, tracking_id: str) -> int:
    """Work until the extraction has ended; the signal that stopped it before, or 0."""
    from ramet.wiki.tasks.extraction import KIND, app

    lines = ProgressLines()

    async def look() -> None:
        lineage = await client.lineage(tracking_id)
        if lineage is None or wanted.as_json:
            return
        left = f"{counted(lineage.live, 'article')} to go · {as_usd(lineage.spent)}"
        state = ""
        if lineage.paused_at is not None:
            reason = plain(lineage.paused_reason or "by a person")
            state = f" · paused ({reason}): `ramet lineage resume {tracking_id}` goes on"
        if lines.is_due(left + state):
            click.echo(left + state, err=True)

    worker = Worker(
        app, client, target="ramet.wiki.tasks.extraction:app", kinds=[KIND], concurrency=wanted.concurrency,
        until_ended=tracking_id,
    )  # fmt: skip
    return await run_watched(worker, look_on(look, LOOK_SECONDS), tell_stopping)


async def _write(client: Client, wanted: Wanted, tracking_id: str | None) -> int:
    """Put what all answers say of the sections of the graph into it; 1 if sections are left that were not asked."""
    from ramet.wiki.tasks.extraction import ANSWERS

    answers = {key: (answer, refused) for key, answer, refused in await client.read(ANSWERS)}
    findings, refusals, unasked = await asyncio.to_thread(_findings, wanted, answers)
    entities, relations = await asyncio.to_thread(_replace, wanted.path, findings)
    lineage = None if tracking_id is None else await client.lineage(tracking_id)
    spent = 0 if lineage is None else lineage.spent
    told = {
        "entities": entities, "relations": relations, "sections": len(findings), "refused": len(refusals),
        "not_asked": unasked, "cost": spent, "lineage": tracking_id,
    }  # fmt: skip
    if wanted.as_json:
        emit(told)
    else:
        _show_written(told, refusals, ended=None if lineage is None else lineage.state)
    return 1 if unasked else 0


def _findings(
    wanted: Wanted, answers: Mapping[str, tuple[str, str]]
) -> tuple[list[SectionFinding], list[tuple[Part, str]], int]:
    """Return the findings, the sections of unusable answers with the reasons, and the number without an answer."""
    from ramet.wiki.tasks.extraction import finding_of

    findings: list[SectionFinding] = []
    refusals: list[tuple[Part, str]] = []
    unasked = 0
    for part in _all_parts(wanted.path):
        answer, refused = answers.get(part.content_key(wanted.model), (None, ""))
        finding = finding_of(part, answer) if answer else None
        if answer is None:
            unasked += 1
        elif finding is None:
            refusals.append((part._replace(text=""), refused or "the answer is not within bounds"))
        else:
            findings.append(finding)
    return findings, refusals, unasked


def _replace(path: Path, findings: list[SectionFinding]) -> tuple[int, int]:
    with reopen_writer(path) as graph:
        titles, ids = [], {}
        for node in graph.nodes():
            if node.label == "Article":
                titles.append((node.node_id.partition(":")[2], str(node.properties["title"])))
            elif node.label == "Alias":
                ids[node.node_id] = str(node.properties["title"])
        leads = [
            (ids[edge.source_id], edge.target_id.partition(":")[2])
            for edge in graph.edges()
            if edge.label == "ALIAS_OF"
        ]
        mentions, relations = merge(findings, names_of_articles(titles, leads))
        graph.set_entities(mentions, relations)
        counts = graph.counts()
        return counts.entities, counts.relations


def _show_written(written: dict[str, Any], refusals: list[tuple[Part, str]], *, ended: str | None) -> None:
    click.echo(
        f"{counted(written['entities'], 'entity', 'entities')} and {counted(written['relations'], 'relation')} "
        f"of {counted(written['sections'], 'section')} · {as_usd(written['cost'])}"
    )
    for part, reason in refusals[:SHOWN]:
        place = " > ".join(filter(None, (part.title, part.heading)))
        click.echo(plain(f"no answer that can be used for {place}: {reason}"), err=True)
    if written["not_asked"]:
        click.echo(
            f"{counted(written['not_asked'], 'section')} not asked, "
            f"as the lineage {written['lineage']} ended as {ended}: "
            "give the command again, with more for --max-cost if that was used up",
            err=True,
        )


@click.command("entities", short_help="What is named so, and how it is related.")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Entities, at most.")
@graph_option
@database_option
@json_option
def entities_command(name: str, limit: int, graph: Path | None, database: str, as_json: bool) -> None:
    """Show the entities called NAME, by name or alias, or else whose names hold it, with relations and sections."""
    with open_graph_reader(graph_of(graph, database)) as reader:
        if not reader.counts().entities:
            raise NotInGraph("this graph has no entities: give the command `ramet wiki extract` first")
        found = entities_called(reader, name)[:limit]
        if not found:
            raise NotInGraph(f"no entity is called {name!r}")
        headings = _Headings(reader)
        for entity in found:
            _show_entity(reader, entity, headings, as_json=as_json)


class _Headings:
    """Headings of a graph's sections; each article is read once, however many of its sections are named."""

    def __init__(self, reader: Graph) -> None:
        self._reader = reader
        self._of: dict[str, list[str]] = {}

    def name(self, title_key: str, position: int) -> str:
        """Return `Title > Heading` of a section, or the title alone of a lead."""
        if title_key not in self._of:
            self._of[title_key] = [one.path or one.heading for one in self._reader.sections(title_key)]
        known = self._of[title_key]
        return " > ".join(filter(None, (title_key, known[position] if position < len(known) else "")))


def _show_entity(reader: Graph, entity: Entity, headings: _Headings, *, as_json: bool) -> None:
    names = {entity.entity_key: entity.name}
    relations = []
    for one in reader.relations(entity.entity_key):
        for key in (one.source_key, one.target_key):
            if key not in names:
                names[key] = next((other.name for other in reader.entities(key)), key)
        relations.append(
            {
                "source": names[one.source_key],
                "kind": one.kind,
                "target": names[one.target_key],
                "section": headings.name(one.title_key, one.position),
            }
        )
    sections = [headings.name(key, position) for key, position in entity.sections]
    if as_json:
        emit({**dataclasses.asdict(entity), "sections": sections, "relations": relations})
        return
    out = console()
    out.print(Text(plain(entity.name), "bold"), Text(plain(entity.kind), "dim"))
    if entity.aliases:
        click.echo(plain(f"also {', '.join(entity.aliases)}"))
    rows = table("*from", "*relation", "*to", "*section")
    for relation in relations[:SHOWN]:
        rows.add_row(*(Text(plain(relation[column])) for column in ("source", "kind", "target", "section")))
    if relations:
        out.print(rows)
    click.echo(plain(f"in {'; '.join(sections[:SHOWN])}"))
