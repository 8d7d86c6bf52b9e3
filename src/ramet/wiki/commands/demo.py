"""The command `demo`: a real expansion, and what can be asked afterwards."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ramet import Block, Client
from ramet.commands.terminal import console, counted, plain
from ramet.wiki import tables
from ramet.wiki.commands import terminal
from ramet.wiki.commands.expand import ExpandArguments, work
from ramet.wiki.errors import WikiError
from ramet.wiki.graphs.search import search_graph
from ramet.wiki.pipeline import app
from ramet.wiki.recorded_links import linking_to
from ramet.wiki.runs import FETCH, MAX_ARTICLES, MAX_DEPTH, Run, RunSettings, run_of
from ramet.wiki.sources import dataset
from ramet.wiki.sources.registry import BUNDLED
from ramet.wiki.status import RunStatus, graph_of_run

SEEDS = ("Alan Turing", "Ada Lovelace")
QUESTION = "Can a machine think?"
EXPLAINED = ("done", "budget")
"""Reasons of which one block each is explained."""
LINKING_SHOWN = 3
TELLING_CHARACTERS = 4
"""Least characters of a title in an explanation: shorter ones, as of numbers, explain little."""


def demonstrate(folder: Path, data_dir: Path, database: str | None = None) -> int:
    """Expand into `folder`, show the result and return the exit status.

    Raises:
        WikiError, StoreError: it could not begin, and why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WikiError(f"cannot make the folder {folder}: {error.strerror}; give another with --folder") from error
    settings = RunSettings(
        source=BUNDLED,
        data_dir=str(data_dir.absolute()),
        graph=str((folder / "wiki.lbug").absolute()),
        max_articles=MAX_ARTICLES,
        max_depth=MAX_DEPTH,
    )
    file = folder / "wiki.db"
    wanted = ExpandArguments(SEEDS, settings, database or str(file), brief=True)
    return asyncio.run(_demonstrate(wanted, folder if database is None and file.exists() else None))


async def _demonstrate(wanted: ExpandArguments, before: Path | None) -> int:
    out = console()
    _title(out, f"Expanding {' and '.join(SEEDS)} to {MAX_ARTICLES} articles")
    out.print(
        Text(
            "Each article is a task that finds more tasks. Interrupt it as you like, kill -9\n"
            "included: the same command goes on where it was, and ends in the same graph."
        )
    )
    status, code = await work(wanted)
    if code:
        return code
    if before is not None:
        out.print(Text(f"(To see it from the beginning, delete {before} first.)", style="dim"))
    async with app.client(wanted.database, create=False) as client:
        await _show(client, out, status, wanted)
        _next_steps(out, status, client.place)
    out.print(Text(f"\n{dataset.ATTRIBUTION}", style="dim"))
    return 0


async def _show(client: Client, out: Console, status: RunStatus, wanted: ExpandArguments) -> None:
    graph, data_dir = Path(wanted.settings.graph), Path(wanted.settings.data_dir)
    _title(out, "How far it is")
    out.print(terminal.show_status(status, client.place, graph_of_run(graph)))
    _title(out, "Who led to whom (a part)")
    rows = await client.read(tables.ARTICLES, (status.run.run_id,))
    for tree in terminal.discovery_tree(rows, width=3, depth=2):
        out.print(tree)
    _title(out, "Two links that were not followed, explained")
    async for line in _explained(client, status.run):
        out.print(line)
    _title(out, f"Nearest in meaning to “{QUESTION}”")
    for number, hit in enumerate(search_graph(graph, QUESTION, limit=3, data_dir=data_dir).hits, start=1):
        for line in terminal.show_hit(hit, f"{number}. ", out.width):
            out.print(line)


async def _explained(client: Client, run: Run) -> AsyncIterator[Text]:
    """Yield one stored block of each of the reasons, in words."""
    for reason in EXPLAINED:
        blocks = await client.blocks(run.run_id, kind=FETCH, reason=reason)
        if not blocks:
            continue
        telling = [block for block in blocks if len(block.key) >= TELLING_CHARACTERS] or blocks
        block = max(telling, key=lambda block: block.count)
        asked = counted(block.count, "time")
        yield Text.assemble((plain(block.key), "bold"), f", linked {asked}: ", (reason, "yellow"))
        for line in await _explanation_lines(client, run, block):
            yield Text(f"  {plain(line)}")


async def _explanation_lines(client: Client, run: Run, block: Block) -> list[str]:
    """Return the meaning of a reason, and the articles that link there."""
    linking = await linking_to(client.read, run_of(block.tracking_id), [block.key])
    more = " and others" if len(linking) > LINKING_SHOWN else ""
    return [
        terminal.meanings_of_blocks(run.settings)[block.reason],
        f"linked from {', '.join(linking[:LINKING_SHOWN])}{more}",
    ]


def _next_steps(out: Console, status: RunStatus, place: str) -> None:
    _title(out, "Try next")
    run, here = status.run.run_id, Path(sys.executable).parent
    by_address = "://" in place
    commands = [f"export RAMET_DB={shlex.quote(place)}" + ("   # with its password" if by_address else "")]
    other = Path(status.run.settings.graph).with_name("curie.lbug")
    if Path(shutil.which("ramet") or "").parent != here:
        commands.append(f'export PATH={shlex.quote(str(here))}:"$PATH"')
    commands += [
        'ramet wiki search "women in mathematics"',
        f"ramet explain {FETCH} Computer",
        f"ramet blocks {run} --blocked-by budget",
        f"ramet tree {run}",
        f'ramet wiki expand "Marie Curie" --graph {shlex.quote(os.path.relpath(other))}',
    ]
    for command in commands:
        out.print(Text(f"  {command}"), soft_wrap=True)


def _title(out: Console, text: str) -> None:
    out.print(Text(f"\n{text}", style="bold magenta"))
