"""The part of ``ramet explain`` about paths: the line before a task, and who brought it down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from ramet import Explanation, PathTask, shown_key
from ramet.cli.output import moment, prose
from ramet.cli.paths import counted_behind
from ramet.commands.terminal import counted, jsonable, plain
from ramet.model.causes import Sentence, said
from ramet.model.path_views import BEHIND_MAX, PathChain
from ramet.model.paths import path_key


def path_notes(found: Explanation) -> Iterator[str]:
    """Its place in line, in a sentence each."""
    path, task = found.path, found.history.task
    if path.chain is not None:
        yield _place(path.chain)
    if path.held_back is not None and path.held_back.tasks:
        least = "at least " if path.held_back.more else ""
        yield f"the pause of its lineage holds back {least}{counted(path.held_back.tasks, 'task')} of other lineages"
    if path.cause is not None:
        cause = path.cause
        why = f": {cause.reason}" if cause.reason else ""
        yield f"it was skipped because task {cause.id} ({cause.kind} {shown_key(cause.key)}) is {cause.state}{why}"
        if cause.state.terminal:
            yield f"ramet retry {cause.id} brings that one back, and all that were skipped because of it"
        else:
            yield f"that one is back: ramet retry {task.id} brings this one back, too"


def _place(chain: PathChain) -> str:
    one = chain.task
    scope = " of its lineage" if one.scope == "lineage" else ""
    said = [f"path {path_key(one.path)}{scope}"]
    if one.ticket is not None:
        said.append(f"ticket {one.ticket}")
        least = "at least " if chain.before >= BEHIND_MAX else ""
        said.append(f"{least}{counted(chain.before, 'task')} before it, {counted_behind(one)} behind it")
    else:
        said.append("without a ticket at present" if one.gave_up else "no ticket yet")
    return ", ".join(said)


def print_chain(screen: Console, found: Explanation, now: float) -> None:
    """Those that it waits for, one below the other."""
    path = found.path
    chain = path.chain
    if chain is None or not chain.steps or (len(chain.steps) == 1 and chain.end is not None):
        return  # The first sentence has said it.
    screen.print(Text("\nbefore it in line:"))
    for step in chain.steps:
        last = chain.end is not None and step.task_id == chain.end.task_id
        prose(screen, _step(step, path.last if last else None, now), 2)
    if chain.more:
        prose(screen, Text(f"... and at least {counted(chain.more, 'more task')}", style="dim"), 2)
        if chain.end is not None:
            prose(screen, _step(chain.end, path.last, now), 2)


def _step(step: PathTask, does: Sentence | None, now: float) -> str:
    told = "waits" if does is None else said(does, lambda when: moment(when, now))
    return f"{plain(path_key(step.path))}: task {step.task_id} ({step.kind} {shown_key(step.key)}) {told}"


def path_document(found: Explanation) -> dict[str, Any] | None:
    """All of it for machines; None for a task without a path."""
    if not found.history.task.path:
        return None
    path = found.path
    return {
        "chain": jsonable(path.chain),
        "first": None if path.first is None else said(path.first, "{:.0f}".format),
        "last": None if path.last is None else said(path.last, "{:.0f}".format),
        "cause": jsonable(path.cause),
        "held_back": jsonable(path.held_back),
    }
