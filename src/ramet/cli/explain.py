"""``ramet explain``: why a task is where it is, or why a key has no task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ramet import AttemptLog, Block, Cause, Client, Explanation, KeyExplanation, ParentBlockCount, PathTask, display_key
from ramet.cli.errors import CliError
from ramet.cli.options import ask, compared, database_options, lineage_of, short_ids
from ramet.cli.output import at, console, database_clock, moment, number, prose, styled_state
from ramet.cli.paths import counted_behind
from ramet.commands.terminal import counted, emit, jsonable, plain, story, table
from ramet.engine.explain.ends import NO_RETRY
from ramet.model.causes import Sentence, sentence_text
from ramet.model.paths import BEHIND_MAX, PathChain, path_key

RESULT_SHOWN = 500
"""Characters of a result's JSON that a person is shown."""


@click.command(short_help="Why a task is where it is.")
@click.argument("words", nargs=-1, required=True, metavar="TASK_ID | KIND KEY")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="Look for KIND KEY only there.")
@database_options
@short_ids("words", "tracking_id")
def explain(*, words: tuple[str, ...], tracking_id: str | None, database: str, as_json: bool) -> None:
    """Explain why a task is where it is; or, for a kind and key, who has them and which spawns were refused."""
    if len(words) > 2:
        raise click.UsageError("give a task id, or a kind and a key: quote a key with spaces")
    if len(words) == 1:
        _explain_task(words[0], database, as_json)
    else:
        _explain_key(words[0], words[1], tracking_id, database, as_json)


# --- a task


def _explain_task(task_id: str, database: str, as_json: bool) -> None:
    async def question(client: Client) -> tuple[Explanation, list[AttemptLog]]:
        found = await client.explain(task_id)
        if found is None:
            raise CliError(f"no task {task_id}: `ramet tree TRACKING_ID` lists tasks with their ids")
        return found, await client.task_log(task_id)

    found, logs = ask(database, question)
    if as_json:
        document = {"headline": found.headline, "timeline": _timeline(found), "path": path_document(found)}
        causes = {"why": causes_document(found.why), "refused": causes_document(found.refused)}
        emit({**document, **causes, **jsonable(found.history), "wanted": jsonable(found.wanted), "log": jsonable(logs)})
        return
    screen = console()
    _print_task(screen, found)
    _print_log(screen, logs)
    print_refused(screen, found)


def _print_task(screen: Console, found: Explanation) -> None:
    task, now = found.history.task, database_clock.now()
    prose(screen, Text.assemble(("task ", "dim"), task.id, "  ", styled_state(task.state)))
    prose(screen, Text(f"{plain(task.kind)} {plain(display_key(task.key))}", style="bold"))
    for cause in found.why:
        _print_cause(screen, cause, now)
    for line in _notes(found, now):
        prose(screen, line)
    print_chain(screen, found, now)
    screen.print(Text("\ntimeline:"))
    made = table("at", "what", "*detail")
    for event in _timeline(found):
        made.add_row(at(event["at"]), plain(event["what"]), plain(event["detail"]))
    screen.print(made)
    _print_traceback(screen, found)
    if found.history.cut:
        prose(screen, Text(f"more is stored than is shown here: {', '.join(found.history.cut)}", style="dim"))


def _print_traceback(screen: Console, found: Explanation) -> None:
    """Print the traceback of the newest attempt that has one. Lines are not wrapped: people copy paths from them."""
    known = [attempt for attempt in found.history.attempts if attempt.traceback is not None]
    if not known:
        return
    last = known[-1]
    others = sum(attempt.traceback != last.traceback for attempt in known)
    more = f" ({counted(others, 'other')} with --json)" if others else ""
    screen.print(Text(f"\ntraceback of claim {last.fence}{more}:"))
    for line in (last.traceback or "").splitlines():
        screen.print(Text(f"  {plain(line)}"))


def _print_log(screen: Console, logs: Sequence[AttemptLog]) -> None:
    """Print the log of the newest attempt, if its kind keeps logs."""
    for log in logs[-1:]:
        others = f" ({counted(len(logs) - 1, 'other')} with --json)" if len(logs) > 1 else ""
        left_out = f", {log.left_out:,} before it left out" if log.left_out else ""
        screen.print(Text(f"\nlog of claim {log.fence}{left_out}{others}:"))
        for line in log.lines:
            message = plain(line.message)
            screen.print(Text(f"  {at(line.at)} {line.level:7} {plain(line.logger)}: {message}"))


def _notes(found: Explanation, now: float) -> Iterable[str]:
    task, lineage = found.history.task, found.lineage
    most = "no limit" if task.max_attempts is None else f"of {task.max_attempts}"
    yield f"attempts {task.attempts} {most}, lost {task.losses}, snoozed {task.snoozes}, continued {task.chain_depth}"
    yield f"lineage {lineage.tracking_id} is {lineage.state}, its deadline {moment(lineage.deadline_at, now)}"
    parent = f"parent {task.parent_id}" if task.parent_id else "a root"
    yield f"{parent}, depth {task.spawn_depth} of {task.max_spawn_depth}, queue {task.queue}, priority {task.priority}"
    yield from path_notes(found)
    if task.result is not None:
        result = json.dumps(task.result, ensure_ascii=False)
        cut = f"{result[:RESULT_SHOWN]}... (all of it: `ramet tasks --json`)" if len(result) > RESULT_SHOWN else result
        yield f"result {cut}"
    if not task.state.terminal and task.deadline_at is not None:
        yield f"its own deadline {moment(task.deadline_at, now)}"


def _print_cause(screen: Console, cause: Cause, now: float) -> None:
    line = cause.said(lambda when: moment(when, now))
    prose(screen, f"no retry: {line}" if cause.code in NO_RETRY else line)
    if cause.remedy is not None:
        prose(screen, Text(plain(cause.remedy), style="dim"), 2)


def _timeline(found: Explanation) -> list[dict[str, Any]]:
    """Return the events of a task: when (Unix seconds), what, in detail."""
    return [
        {
            "at": event.at,
            "what": f"is {event.what}" if event.is_end else event.what,
            "detail": "; ".join(part for part in (event.detail, event.error) if part),
        }
        for event in story(found.history)
    ]


def causes_document(causes: Iterable[Cause]) -> list[dict[str, Any]]:
    """Return causes for machines: code, words with moments in Unix seconds, facts, subject, remedy."""
    return [{**jsonable(cause), "words": cause.said()} for cause in causes]


# --- a kind and key


def _explain_key(kind: str, key: str, tracking_id: str | None, database: str, as_json: bool) -> None:
    async def question(client: Client) -> KeyExplanation:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        found = await client.explain_key(kind, key, tracking_id)
        if found is None:
            where = f"lineage {tracking_id}" if tracking_id else "the newest lineages"
            tried = compared(client, kind, key)
            raise CliError(f"no task and no refused spawn of kind {kind!r}, {tried} in {where}: see `ramet tree`")
        return found

    known = ask(database, question)
    if as_json:
        emit({**jsonable(known), "why": causes_document(known.why)})
        return
    screen = console()
    prose(screen, Text(f"{plain(kind)} {plain(display_key(known.key))}", style="bold"))
    _print_holders(screen, known)
    for block, cause in zip(known.blocks, known.why, strict=True):
        _print_block(screen, block, cause)
    print_unnamed(screen, known.unnamed)
    if known.more:
        prose(screen, Text("\nthere may be more: --lineage TRACKING_ID looks at all of one lineage", style="dim"))


def _print_holders(screen: Console, known: KeyExplanation) -> None:
    if known.holder is not None:
        holder = known.holder
        how = "lives" if holder.state is None else f"ended as {holder.state}"
        gone = ", and its lineage was pruned" if known.holder_pruned else ""
        prose(screen, f"over all lineages held by task {holder.id} of lineage {holder.tracking_id}, which {how}{gone}")
        if holder.held_until is not None:
            prose(screen, f"held until {moment(holder.held_until)}", 2)
    if not known.tasks:
        ending = "; if it was wanted, it is among those below" if known.unnamed else ""
        ending = ": every spawn of it was refused" if known.blocks else ending
        prose(screen, f"no task has this identity{ending}")
        return
    for task in known.tasks:
        prose(screen, Text.assemble("held by task ", task.id, " ", styled_state(task.state)))
        prose(screen, f"lineage {task.tracking_id}", 2)
        prose(screen, f"depth {task.spawn_depth}, since {moment(task.created_at)}", 2)
        if task.reason:
            prose(screen, f"reason: {task.reason}", 2)
        prose(screen, f"more: ramet explain {task.id}", 2)


def _print_block(screen: Console, block: Block, cause: Cause) -> None:
    prose(screen, Text.assemble("\nrefused ", counted(block.count, "time"), ", reason ", (plain(block.reason), "bold")))
    prose(screen, block.detail, 2)
    prose(screen, f"lineage {block.tracking_id}", 2)
    prose(screen, f"first {moment(block.first_at)}, to task {block.first_parent}", 2)
    if block.count > 1:
        prose(screen, f"last {moment(block.last_at)}, to task {block.last_parent}", 2)
    if block.reoffered_at is not None:
        prose(screen, f"offered again {moment(block.reoffered_at)}, by {block.reoffered_by}", 2)
    if block.winner:
        state = "which was pruned" if cause.facts["winner_pruned"] else f"{cause.facts['winner_state']}"
        prose(screen, f"in its way: task {block.winner}, {state}", 2)
    if cause.remedy is not None:
        prose(screen, f"what would help: {cause.remedy}", 2)


SHOWN_MAX = 20
"""Refused spawns on one screen; `ramet blocks` lists all."""


def print_unnamed(screen: Console, found: Sequence[ParentBlockCount]) -> None:
    """Print refusals that no stored row names, by the task that asked."""
    if not found:
        return
    most = {one.rows_max for one in found}
    rows = f"{number(most.pop())} rows" if len(most) == 1 else "rows"
    prose(screen, f"\nrefused beyond the {rows} that its lineage keeps, counted without keys:")
    made = table(">refused", "reason", "limit", "kind", "*by task", "*lineage")
    for one in found[:SHOWN_MAX]:
        parent = f"{plain(one.parent_kind)} {plain(display_key(one.parent_key))}"
        limit = "" if one.limit is None else f"{one.limit_name} {number(one.limit)}"
        made.add_row(number(one.times), one.reason, limit, plain(one.kind), parent, plain(one.tracking_id))
    screen.print(made)
    if len(found) > SHOWN_MAX:
        screen.print(Text(f"... and {counted(len(found) - SHOWN_MAX, 'more task')}: --json"))


def print_refused(screen: Console, found: Explanation) -> None:
    """Print the refused spawns of a task, and the existing tasks that it asked for."""
    history = found.history
    if history.links:
        _print_existing_tasks(screen, found)
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


def _print_existing_tasks(screen: Console, found: Explanation) -> None:
    links, here = found.history.links, found.history.task.tracking_id
    screen.print(Text(f"\nalso wanted {counted(len(links), 'task')} that existed already:"))
    made = table("task", "state", "refused as", "kind", "*key")
    for task in found.wanted:
        named = plain(task.id) + ("" if task.tracking_id == here else f" of {plain(task.tracking_id)}")
        made.add_row(
            named, styled_state(task.state), " or ".join(task.reasons), plain(task.kind), plain(display_key(task.key))
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
            number(block.count), block.reason, plain(block.kind), plain(display_key(block.key)), plain(block.detail)
        )
    screen.print(made)
    if len(blocks) > SHOWN_MAX:
        screen.print(Text(f"... and {counted(len(blocks) - SHOWN_MAX, 'more key')}: {_list_of(found)}"))


def path_notes(found: Explanation) -> Iterator[str]:
    """Yield sentences about the place of a task on its path."""
    path, task = found.path, found.history.task
    if path.chain is not None:
        yield _place(path.chain)
    if path.held_back is not None and path.held_back.tasks:
        least = "at least " if path.held_back.more else ""
        yield f"the pause of its lineage holds back {least}{counted(path.held_back.tasks, 'task')} of other lineages"
    if path.cause is not None:
        cause = path.cause
        why = f": {cause.reason}" if cause.reason else ""
        yield f"it was skipped because task {cause.id} ({cause.kind} {display_key(cause.key)}) is {cause.state}{why}"
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
    """Print the tasks that a task waits for, one below the other."""
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
    state = "waits" if does is None else sentence_text(does, lambda when: moment(when, now))
    return f"{plain(path_key(step.path))}: task {step.task_id} ({step.kind} {display_key(step.key)}) {state}"


def path_document(found: Explanation) -> dict[str, Any] | None:
    """Return the path of a task for machines; None for a task without a path."""
    if not found.history.task.path:
        return None
    path = found.path
    return {
        "chain": jsonable(path.chain),
        "first": None if path.first is None else sentence_text(path.first, "{:.0f}".format),
        "last": None if path.last is None else sentence_text(path.last, "{:.0f}".format),
        "cause": jsonable(path.cause),
        "held_back": jsonable(path.held_back),
    }
