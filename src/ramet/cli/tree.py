"""``ramet tree``: what grew from a task, or from all roots of a lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ramet import Client, Lineage, Task, TreeGroup, TreeNode, display_key, path_key
from ramet.cli.errors import CliError
from ramet.cli.options import ask, database_options, short_ids
from ramet.cli.output import STATE_STYLES, console, crop, number, outcome_words, unicode_out
from ramet.commands.terminal import counted, emit, jsonable, plain
from ramet.model.task.task import Wait

ROOTS_MAX = 1_000
GUIDES = {True: ("├─ ", "└─ ", "│  "), False: ("|- ", "`- ", "|  ")}
KEY_CELLS_MIN = 10
PATH_CELLS_MAX = 40
SUMMARIZED_MAX = 50
"""Tasks whose hidden children are summarized by kind and state."""
GROUPS_MAX = 4


class LineageTrees(NamedTuple):
    """Some roots with what grew from them."""

    nodes: list[TreeNode]
    more_roots: int
    more: dict[str, int]
    """Children that are not shown, by the parent's id."""
    links: dict[str, list[str]]
    """Ids of existing tasks that a shown task wanted and kept the edge to, by its id."""
    waits: dict[str, int]
    """Number of tasks that a shown task waits for, by its id."""
    ends: Sequence[TreeNode] = ()
    """The tasks of the lineage's ends, which run in lineages of their own."""
    summaries: Mapping[str, str] = {}
    """Kinds and states of children that are not shown, by the parent's id."""
    roots_told: str = ""
    lineage: Lineage | None = None
    newest: str = ""
    """The lineage, where none was named."""


@click.command(short_help="What grew from a task or a lineage.")
@click.argument("start_id", required=False, metavar="[TASK_ID|TRACKING_ID]")
@click.option("--depth", type=click.IntRange(0, 100), default=3, show_default=True, help="Levels below the first.")
@click.option("--width", type=click.IntRange(1, 1_000), default=10, show_default=True, help="Children of one task.")
@database_options
@short_ids("start_id")
def tree(*, start_id: str | None, depth: int, width: int, database: str, as_json: bool) -> None:
    """Show the tree below a task or a lineage: state, kind, key and id of each task, and how many more there are.

    Without an id, that of the newest lineage; a line says which it is.
    """

    async def question(client: Client) -> LineageTrees:
        newest = "" if start_id is not None else await _newest(client)
        return (await _load_forest(client, start_id or newest, depth, width))._replace(newest=newest)

    forest = ask(database, question)
    if as_json:
        emit({
            "roots": [_document(node, forest) for node in forest.nodes],
            "more_roots": forest.more_roots,
            "ends": [jsonable(node.task) for node in forest.ends],
            "outcome": None if forest.lineage is None else str(forest.lineage.outcome),
        })  # fmt: skip
        return
    screen = console()
    if forest.newest:
        screen.print(Text(f"the newest lineage, {plain(forest.newest)}; `ramet status` lists them", style="dim"))
    for node in forest.nodes:
        for line in _lines(screen, node, forest, "", ""):
            screen.print(line)
    if forest.more_roots:
        least = "at least " if len(forest.nodes) + forest.more_roots >= ROOTS_MAX else ""
        screen.print(Text(f"... and {least}{counted(forest.more_roots, 'more root')}{forest.roots_told}", style="dim"))
    for node in forest.ends:
        for line in _task_lines(screen, node.task, "at the end: ", "  "):
            screen.print(line)
    lineage = forest.lineage
    if lineage is not None and not lineage.outcome.clean:
        screen.print(
            Text(f"lineage {plain(lineage.tracking_id)} is {lineage.state}, ").append(outcome_words(lineage.outcome))
        )


async def _newest(client: Client) -> str:
    lineages = await client.lineages(limit=1)
    if not lineages:
        raise CliError("there is no lineage yet: `ramet submit` starts one")
    return lineages[0].tracking_id


async def _load_forest(client: Client, start_id: str, depth: int, width: int) -> LineageTrees:
    first = await client.tree(start_id, depth=depth, width=width)
    if first is not None:
        more = await _left_out(client, [first])
        summaries = await _child_summaries(client, [first], more)
        lineage = await client.lineage(first.task.tracking_id)
        return LineageTrees([first], 0, more, *await _beside(client, [first]), summaries=summaries, lineage=lineage)
    lineage = await client.lineage(start_id)
    if lineage is None:
        raise CliError(f"no task and no lineage {start_id}: `ramet status` lists lineages")
    roots = await client.roots(start_id)
    grown = [await client.tree(root.id, depth=depth, width=width) for root in roots[:width]]
    nodes = [node for node in grown if node is not None]
    left_out = await _left_out(client, nodes)
    ends = [
        TreeNode(end, (), 0) for ended in await client.ends(start_id) for end in await client.roots(ended.tracking_id)
    ]
    return LineageTrees(
        nodes,
        max(0, len(roots) - width),
        left_out,
        *await _beside(client, nodes),
        ends,
        await _child_summaries(client, nodes, left_out),
        groups(await client.branches(tracking_id=start_id), nodes) if len(roots) > width else "",
        lineage,
    )


async def _child_summaries(client: Client, nodes: Sequence[TreeNode], more: Mapping[str, int]) -> dict[str, str]:
    """Return the kinds and states of children that are not shown, for the first parents that have some."""
    having = [node for top in nodes for node in _every(top) if more.get(node.task.id)]
    return {
        node.task.id: groups(await client.branches(parent_id=node.task.id), node.children)
        for node in having[:SUMMARIZED_MAX]
    }


def groups(branches: Sequence[TreeGroup], shown: Sequence[TreeNode]) -> str:
    """Return the largest branches without what is shown of them: ``: 4,800 success page, 190 failed page``."""
    seen = Counter((node.task.kind, node.task.state.value) for node in shown)
    left = [(branch.tasks.number - seen[branch.kind, branch.state], branch) for branch in branches]
    named = [f"{number(count)} {branch.state} {crop(branch.kind, 24)}" for count, branch in left if count > 0]
    if not named:
        return ""
    least = "at least " if any(branch.tasks.more for branch in branches) else ""
    if len(named) > GROUPS_MAX:
        named[GROUPS_MAX:] = ["..."]
    return f": {least}{', '.join(named)}"


async def _beside(client: Client, nodes: Sequence[TreeNode]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the existing tasks that shown ones asked for, and how many tasks each waits for."""
    shown = [node.task for top in nodes for node in _every(top)]
    waiting = [task.id for task in shown if task.wait == Wait.TASKS]
    links = await client.edges(shown[0].tracking_id, [task.id for task in shown]) if shown else {}
    return links, await client.waiting_for(waiting) if waiting else {}


async def _left_out(client: Client, nodes: Sequence[TreeNode]) -> dict[str, int]:
    """Count the children of each node that are not among the nodes."""
    shown = {node.task.id: len(node.children) for top in nodes for node in _every(top) if node.more}
    there = await client.child_counts(shown)
    return {task_id: there.get(task_id, 0) - count for task_id, count in shown.items()}


def _every(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _every(child)


def _document(node: TreeNode, forest: LineageTrees) -> dict[str, Any]:
    return {
        "task": jsonable(node.task),
        "children": [_document(child, forest) for child in node.children],
        "more": forest.more.get(node.task.id, 0),
        "links": forest.links.get(node.task.id, []),
        "waits_for": forest.waits.get(node.task.id),
    }


def _lines(screen: Console, node: TreeNode, forest: LineageTrees, guide: str, below: str) -> Iterator[Text]:
    fork, corner, bar = GUIDES[unicode_out()]
    more = forest.more.get(node.task.id, 0)
    under = below + (bar if node.children or more else "   ")
    yield from _task_lines(screen, node.task, guide, under, forest.waits.get(node.task.id))
    for link in forest.links.get(node.task.id, ()):
        yield Text(f"{under}-> {plain(link)}", style="dim")
    for at, child in enumerate(node.children, start=1):
        last = at == len(node.children) and not more
        yield from _lines(screen, child, forest, below + (corner if last else fork), below + ("   " if last else bar))
    if more:
        summary = forest.summaries.get(node.task.id, "")
        yield Text(f"{below}{corner}... {counted(more, 'more child', 'more children')}{summary}", style="dim")


def _task_lines(screen: Console, task: Task, guide: str, under: str, waits_for: int | None = None) -> Iterator[Text]:
    """Yield lines of guide, state, kind, key, id, path; on a terminal the key is cut so that the id stays whole.

    Where there is no room for both, id and path have a line of their own behind ``under``.
    """
    state, kind = task.state.value, crop(task.kind, 24)
    if waits_for is not None:
        state = f"waiting for {counted(waits_for, 'task')}"
    path = f"  on {crop(path_key(task.path), PATH_CELLS_MAX)}" if task.path else ""
    place = plain(task.id) + path
    room = screen.width - sum(map(cell_len, (guide, state, kind))) - 2
    beside = room - cell_len(place) - 3
    apart = screen.is_terminal and beside < KEY_CELLS_MIN
    shown = display_key(task.key)
    key = crop(shown, max(KEY_CELLS_MIN, room if apart else beside)) if screen.is_terminal else plain(shown)
    line = Text.assemble((guide, "dim"), (state, STATE_STYLES.get(task.state.value, "")), " ", (kind, "bold"), " ", key)
    if apart:
        yield line
        yield Text(under + place, style="dim")
    else:
        yield line.append(f"  {place}", style="dim")
