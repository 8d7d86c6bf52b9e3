"""Working on jobs in this process, and following one until it has ended."""

from __future__ import annotations

from typing import Protocol

from ramet import Client, StoreError, Worker
from ramet.commands.options import person
from ramet.commands.worker import look_on, quiet_guard, run_watched, run_worker, tell_stopping
from ramet.engine.base.logs import own_logger
from ramet.llm.jobs import Job, find_job
from ramet.llm.pipeline import TARGET, app
from ramet.llm.polling import SCHEDULE
from ramet.llm.settings import POLL, PREFIX
from ramet.llm.status import JobStatus, status_of

CONCURRENCY = 16
LOOK_SECONDS = 0.5
"""Between two looks at how far a job is."""

log = own_logger("ramet.llm")


class View(Protocol):
    """Who is told how far a job is."""

    def look(self, status: JobStatus) -> None:
        """Where it stands now."""

    def close(self) -> None:
        """There is nothing more to tell."""


async def wake(client: Client) -> None:
    """Let the poller run now instead of at its next slot, where a job lives and it does not run already."""
    if not any(one.tracking_id.startswith(PREFIX) for one in await client.lineages(states=["running"], limit=1_000)):
        return
    [declared] = [one for one in app.schedules if one.name == SCHEDULE]
    await client.schedules.declare(declared)
    try:
        await client.schedules.run(SCHEDULE, by=person(), reason="somebody waits")
    except StoreError as error:
        # The run before is not over: it takes new items on as well.
        log.debug("the poller was not woken: %s", error)


async def has_worker(client: Client) -> bool:
    """Whether somebody works on jobs just now."""
    return any(worker.alive and POLL in worker.kinds for worker in await client.workers())


def _worker(client: Client, concurrency: int, until: Job | None) -> Worker:
    return Worker(
        app, client, target=TARGET, concurrency=concurrency, until_ended=None if until is None else until.job_id
    )


async def serve(client: Client, *, concurrency: int = CONCURRENCY, until: Job | None = None) -> list[int]:
    """Work until a signal, or until a job has ended; the signals that came."""
    await wake(client)
    with quiet_guard():
        return await run_worker(_worker(client, concurrency, until))


async def work_and_follow(client: Client, job: Job, view: View, *, concurrency: int = CONCURRENCY) -> int:
    """Work until a job has ended, telling how far it is; the signal that stopped it before, or 0."""
    await wake(client)
    try:
        with quiet_guard():
            return await run_watched(_worker(client, concurrency, job), follow(client, job.job_id, view), tell_stopping)
    finally:
        view.close()


async def follow(client: Client, name: str, view: View) -> JobStatus:
    """Tell how far a job is until it has ended; its last status."""

    async def look() -> JobStatus:
        now = await status_of(client, await find_job(client, name))
        view.look(now)
        return now

    return await look_on(look, LOOK_SECONDS, is_over=lambda now: now.over)
