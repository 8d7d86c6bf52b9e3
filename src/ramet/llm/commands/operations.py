"""The commands on an existing job: `cancel`, `resume` and `delete`."""

from __future__ import annotations

import asyncio

import click

from ramet import Client, Worker, as_usd, new_id
from ramet.commands.options import ask, json_option, person
from ramet.commands.terminal import counted, emit
from ramet.llm.commands.options import database_option, in_nano_dollars, job_of
from ramet.llm.commands.work import has_worker, work_on
from ramet.llm.errors import LlmError
from ramet.llm.job import wake
from ramet.llm.jobs import DELETE, DeletePayload, Job
from ramet.llm.pipeline import app
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM
from ramet.llm.status import status_of

REVIVE_AT_ONCE = 500


@click.command(short_help="End a job; what was answered stays.")
@click.argument("job")
@click.option("--reason", metavar="TEXT", help="Why, for the record.")
@database_option
@json_option
def cancel(job: str, reason: str | None, database: str, as_json: bool) -> None:
    """End a job. A worker cancels at the provider what is there; what was answered stays and is paid."""

    async def act(client: Client) -> None:
        found = await job_of(client, job)
        done = await client.cancel_lineage(found.job_id, by=person(), reason=reason)
        served = await has_worker(client)
        if as_json:
            emit({"job": found.name, "cancelled": done, "served": served})
            return
        click.echo(f"cancelled job {found.name}" if done else f"job {found.name} has ended already: {_state(found)}")
        if done and not served:
            click.echo("no worker serves jobs now: `ramet llm work` cancels at the provider what is there")

    ask(app, database, act)


def _state(job: Job) -> str:
    return job.lineage.state


@click.command(short_help="Let a paused job go on, raise its ceiling, try again.")
@click.argument("job")
@click.option(
    "--max-cost", callback=in_nano_dollars, metavar="DOLLARS", help="What it may cost in all: more or less than now."
)
@click.option("--retry-failed", is_flag=True, help="Ask items that failed or were cancelled again.")
@click.option("--work", is_flag=True, help="Work on it here until it has ended.")
@database_option
@json_option
def resume(*, job: str, max_cost: int | None, retry_failed: bool, work: bool, database: str, as_json: bool) -> None:
    """Let a job go on that was paused: by the provider's refusal, which a person has put right, or by a person."""

    async def act() -> int:
        async with app.client(database, create=False) as client:
            found = await job_of(client, job)
            if max_cost is not None:
                await client.set_max_cost(found.job_id, max_cost, by=person())
            revived = await _revive(client, found) if retry_failed else 0
            resumed = await client.resume_lineage(found.job_id, by=person())
            found = await job_of(client, job)
            if not as_json:
                _tell(found, resumed=resumed, revived=revived, retry_failed=retry_failed, max_cost=max_cost)
            if found.lineage.ended_at is None:
                if work:
                    return await work_on(client, found, as_json=as_json)
                await wake(client)
            if as_json:
                now = (await status_of(client, found)).as_json()
                emit({"event": "resumed", "resumed": resumed, "revived": revived, **now})
            return 0

    click.get_current_context().exit(asyncio.run(act()))


async def _revive(client: Client, job: Job) -> int:
    """Revive items that ended without an answer, then the lanes that send them."""
    seconds = job.settings.limits.lineage_seconds
    states = ["failed", "skipped", "cancelled"]
    if job.lineage.state in ("cancelled", "failed"):
        states.append("pending")  # The end of a job reaches its tasks one after another; reviving waits for it.
    count = 0
    for kind in (BATCH_ITEM, ITEM, BATCH):
        if kind == BATCH and not count:
            break
        ids = [task.id async for task in client.all_tasks(tracking_id=job.job_id, kind=kind, states=states)]
        for start in range(0, len(ids), REVIVE_AT_ONCE):
            part = ids[start : start + REVIVE_AT_ONCE]
            revived = await client.revive(part, by=person(), reason="retry of what failed", extend_seconds=seconds)
            count += 0 if kind == BATCH else len(revived)
    return count


def _tell(job: Job, *, resumed: bool, revived: int, retry_failed: bool, max_cost: int | None) -> None:
    if max_cost is not None:
        now = job.lineage.max_cost or 0
        rest = "" if now <= max_cost else ": so much is spent and reserved already"
        click.echo(f"job {job.name} may cost {as_usd(now)} in all{rest}")
    if retry_failed:
        click.echo(f"{counted(revived, 'item')} of job {job.name} will be asked again")
    if resumed:
        click.echo(f"job {job.name} goes on")
    elif not revived and max_cost is None:
        state = "it runs" if job.lineage.ended_at is None else f"it has ended: {_state(job)}; see --retry-failed"
        click.echo(f"job {job.name} was not paused: {state}")


@click.command(short_help="Cancel a job and forget it.")
@click.argument("job")
@click.option("--reason", metavar="TEXT", help="Why, for the record.")
@database_option
@json_option
def delete(job: str, reason: str | None, database: str, as_json: bool) -> None:
    """Cancel a job and take it out of every listing. Its rows stay until `ramet prune` removes them."""

    async def act(client: Client) -> None:
        found = await job_of(client, job)
        if found.lineage.ended_at is None:
            await client.cancel_lineage(found.job_id, by=person(), reason=reason or "deleted")
        noted = await client.submit(DELETE, DeletePayload(job_id=found.job_id, reason=reason), tracking_id=new_id())
        await Worker(app, client, kinds=[DELETE], until_ended=noted.tracking_id).run()
        task = await client.get(noted.id)
        if task is None or task.state != "success":
            raise LlmError(f"job {found.name} was cancelled but not deleted: {task and task.why}; try again")
        if as_json:
            emit({"job": found.name, "deleted": True})
            return
        click.echo(f"deleted job {found.name}")
        if found.lineage.ended_at is None and not await has_worker(client):
            click.echo("no worker serves jobs now: `ramet llm work` cancels at the provider what is there")

    ask(app, database, act)
