"""Working on jobs in this process, and following one until it has ended."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from typing import Protocol

import click

from ramet import Client, StoreError, Worker
from ramet.pipelines.llm.jobs import Job, find_job
from ramet.pipelines.llm.options import person
from ramet.pipelines.llm.pipeline import TARGET, app
from ramet.pipelines.llm.polling import SCHEDULE
from ramet.pipelines.llm.settings import POLL, PREFIX
from ramet.pipelines.llm.status import JobStatus, status_of
from ramet.pipelines.llm.terminal import counted

CONCURRENCY = 16
LOOK_SECONDS = 0.5
"""Between two looks at how far a job is."""
LOOK_SHARE = 30.0
"""The pause after a look is at least so many times as long as the look took."""

log = logging.getLogger("ramet.llm")


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


async def serve(client: Client, *, concurrency: int = CONCURRENCY, until: Job | None = None) -> list[int]:
    """Work until a signal, or until a job has ended; the signals that came."""
    worker = Worker(
        app, client, target=TARGET, concurrency=concurrency, until_ended=None if until is None else until.job_id
    )
    await wake(client)
    return await _run(worker)


async def work_and_follow(client: Client, job: Job, view: View, *, concurrency: int = CONCURRENCY) -> int:
    """Work until a job has ended, telling how far it is; the signal that stopped it before, or 0."""
    watching = asyncio.create_task(follow(client, job.job_id, view))
    try:
        heard = await serve(client, concurrency=concurrency, until=job)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        view.close()
    return heard[0] if heard else 0


async def follow(client: Client, name: str, view: View) -> JobStatus:
    """Tell how far a job is until it has ended; its last status."""
    while True:
        began_at = time.monotonic()
        now = await status_of(client, await find_job(client, name))
        view.look(now)
        if now.over:
            return now
        # A large job takes a while to count; looking must not take more than a fraction of the work.
        await asyncio.sleep(max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - began_at)))


async def _run(worker: Worker) -> list[int]:
    """Run a worker, which the first signal drains and a second stops; the signals that came."""
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(number)
        again = len(heard) > 1
        tasks = counted(worker.in_hand, "task")
        told = "stopping now" if again else f"stopping after the {tasks} in hand; Ctrl-C again stops now"
        click.echo(told, err=True)
        if again:
            worker.stop()
        else:
            worker.drain()

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, hear, number)
    try:
        await worker.run()
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
    return heard
