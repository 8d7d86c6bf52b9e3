"""Working on one task that a person waits for, until it has ended."""

from __future__ import annotations

from collections.abc import Sequence

from ramet import Client, Task, Worker
from ramet.commands.worker import look_on, quiet_guard, run_until
from ramet.jobs.pipeline import app

LOOK_SECONDS = 0.1
"""Between two looks at whether it has ended."""


async def work_until_ended(client: Client, task_ids: Sequence[str], kinds: Sequence[str]) -> list[Task]:
    """Work on tasks of some kinds until these have ended, whatever grew from them; then how they stand.

    A signal ends it earlier, after what is in hand.
    """

    async def look() -> list[Task]:
        found = [await client.get(task_id) for task_id in task_ids]
        return [task for task in found if task is not None]

    def have_ended(found: list[Task]) -> bool:
        return all(task.state.terminal for task in found)

    async def until_ended() -> None:
        await look_on(look, LOOK_SECONDS, is_over=have_ended)

    with quiet_guard():
        await run_until(Worker(app, client, kinds=kinds), until_ended())
    return await look()
