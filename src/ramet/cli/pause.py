"""``ramet pause`` and ``ramet resume``: hold a queue or a lineage, and let it go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from ramet import Client, HeldBack, Lineage, LineageState, Queue, TaskState
from ramet.cli.errors import CliError
from ramet.cli.options import ask, lineage_of, operator_options
from ramet.cli.output import moment
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, plain


def _one_of(queue: str | None, tracking_id: str | None) -> None:
    if (queue is None) == (tracking_id is None):
        raise CliError("give either --queue or --lineage")


def _named(queue: str | None, tracking_id: str | None) -> str:
    return f"queue {plain(queue)}" if queue is not None else f"lineage {plain(tracking_id or '')}"


async def _held(client: Client, queue: str | None, tracking_id: str | None) -> tuple[int, int]:
    """How many tasks wait and how many run in it."""
    if tracking_id is not None:
        found = await client.counts(tracking_id)
        waiting = sum(item.tasks for item in found if item.state == TaskState.PENDING)
        return waiting, sum(item.tasks for item in found if item.state == TaskState.PROCESSING)
    rows = dict(
        await client.read("SELECT state, COUNT(*) FROM ramet_live WHERE queue = ? GROUP BY state", (queue or "",))
    )
    return rows.get(TaskState.PENDING, 0), rows.get(TaskState.PROCESSING, 0)


@click.command(short_help="Claim nothing more of a queue or lineage.")
@click.option("--queue", metavar="QUEUE", help="All tasks of this queue.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="All tasks of this lineage.")
@operator_options
def pause(*, queue: str | None, tracking_id: str | None, reason: str | None, database: str, as_json: bool) -> None:
    """Claim nothing more of a queue or a lineage, and stop its clocks, for at most 30 days.

    Handlers that run go on to their end; what they spawn waits. Tasks of a lineage keep their places in line on their
    paths: it is told how many tasks of other lineages that holds back.
    """
    _one_of(queue, tracking_id)

    async def question(client: Client) -> tuple[bool, int, int, HeldBack]:
        back = HeldBack(0, False)
        if tracking_id is not None:
            lineage = await lineage_of(client, tracking_id)
            if lineage.state not in (LineageState.RUNNING, LineageState.PAUSED):
                raise CliError(f"lineage {tracking_id} is {lineage.state}: only a running one can be paused")
            done = await client.pause_lineage(tracking_id, by=person(), reason=reason)
            back = await client.held_back(tracking_id)
        else:
            done = await client.pause_queue(queue or "", by=person(), reason=reason)
        return (done, *await _held(client, queue, tracking_id), back)

    done, waiting, running, back = ask(database, question)
    if as_json:
        told = {"paused": done, "queue": queue, "tracking_id": tracking_id, "waiting": waiting, "processing": running}
        emit(told | {"holds_back": back.tasks, "holds_back_more": back.more})
        return
    what = _named(queue, tracking_id)
    said = "paused" if done else "was paused before:"
    click.echo(f"{said} {what}: {counted(waiting, 'task')} held, {running} running to their end")
    if back.tasks or back.more:
        least = "at least " if back.more else ""
        verb = "waits" if back.tasks == 1 else "wait"
        click.echo(f"{least}{counted(back.tasks, 'task')} of other lineages {verb} behind its places in line")


@click.command(short_help="Let a paused queue or lineage go on.")
@click.option("--queue", metavar="QUEUE", help="A paused queue.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="A paused lineage.")
@operator_options
def resume(*, queue: str | None, tracking_id: str | None, reason: str | None, database: str, as_json: bool) -> None:
    """Claim from a paused queue or lineage again. Its deadlines move by the time it was paused."""
    _one_of(queue, tracking_id)

    async def question(client: Client) -> tuple[bool, int, int]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
            done = await client.resume_lineage(tracking_id, by=person(), reason=reason)
        else:
            done = await client.resume_queue(queue or "", by=person(), reason=reason)
        return (done, *await _held(client, queue, tracking_id))

    done, waiting, running = ask(database, question)
    if as_json:
        emit({"resumed": done, "queue": queue, "tracking_id": tracking_id, "waiting": waiting, "processing": running})
        return
    what = _named(queue, tracking_id)
    click.echo(f"resumed {what}: {counted(waiting, 'task')} waiting" if done else f"{what} is not paused")


def paused(queues: Sequence[Queue], lineages: Sequence[Lineage], now: float) -> Iterator[str]:
    """A line for every pause: what, since when, by whom and why."""
    for queue in queues:
        if queue.paused_at is not None:
            by, why = queue.paused_by, queue.paused_reason
            yield _told(_named(queue.name, None), moment(queue.paused_at, now), by, why)
    for lineage in lineages:
        if lineage.paused_at is not None:
            by, why = lineage.paused_by, lineage.paused_reason
            yield _told(_named(None, lineage.tracking_id), moment(lineage.paused_at, now), by, why)


def _told(what: str, since: str, by: str | None, why: str | None) -> str:
    return f"{what} paused {since} by {plain(by or '')}" + (f": {plain(why)}" if why else "")
