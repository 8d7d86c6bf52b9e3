"""What ``ramet explain`` tells of spawns that a task asked for and did not get: why, and what was in their way."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ramet import Explanation, shown_key
from ramet.cli.output import number, prose, styled_state, table
from ramet.commands.terminal import counted, plain

SHOWN_MAX = 20
"""Refused spawns on one screen; `ramet blocks` lists all."""


def print_refused(screen: Console, found: Explanation) -> None:
    """The refused spawns of a task, and existing tasks that it asked for."""
    history = found.history
    if history.links:
        _print_wanted(screen, found)
    if history.blocks:
        _print_blocks(screen, found)
    for more in history.more_blocks:
        times = counted(more.times, "time")
        prose(screen, f"\nbeyond the rows that its lineage may have: {more.kind} refused {times}, reason {more.reason}")
    if found.lineage.blocks and not (history.blocks or history.links or history.more_blocks) and history.attempts:
        tip = f"refused spawns of its lineage, each with the first and last task that asked: {_list_of(found)}"
        prose(screen, Text(f"\n{tip}", style="dim"))


def _list_of(found: Explanation) -> str:
    return f"ramet blocks {plain(found.history.task.tracking_id)}"


def _print_wanted(screen: Console, found: Explanation) -> None:
    links, here = found.history.links, found.history.task.tracking_id
    screen.print(Text(f"\nalso wanted {counted(len(links), 'task')} that existed already:"))
    made = table("task", "state", "refused as", "kind", "*key")
    for task in found.wanted:
        named = plain(task.id) + ("" if task.tracking_id == here else f" of {plain(task.tracking_id)}")
        made.add_row(
            named, styled_state(task.state), " or ".join(task.reasons), plain(task.kind), plain(shown_key(task.key))
        )
    screen.print(made)
    looked_at = {task.id for task in found.wanted}
    for link in [link for link in links if link not in looked_at][:SHOWN_MAX]:
        screen.print(Text(f"  {plain(link)}"))
    if len(links) - len(looked_at) > SHOWN_MAX:
        screen.print(Text(f"... and {counted(len(links) - len(looked_at) - SHOWN_MAX, 'more task')}: --json"))


def _print_blocks(screen: Console, found: Explanation) -> None:
    blocks = found.history.blocks
    screen.print(Text(f"\nspawns refused to it ({counted(len(blocks), 'key')}):"))
    made = table(">refused", "reason", "kind", "*key", "*why")
    for block in blocks[:SHOWN_MAX]:
        made.add_row(
            number(block.count), block.reason, plain(block.kind), plain(shown_key(block.key)), plain(block.detail)
        )
    screen.print(made)
    if len(blocks) > SHOWN_MAX:
        screen.print(Text(f"... and {counted(len(blocks) - SHOWN_MAX, 'more key')}: {_list_of(found)}"))
