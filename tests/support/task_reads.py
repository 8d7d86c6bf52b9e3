"""Questions that every test of the worker asks."""

from __future__ import annotations

from ramet import Client, Task, TaskHistory


async def history(client: Client, task_id: str) -> TaskHistory:
    found = await client.history(task_id)
    assert found is not None
    return found


async def get(client: Client, task_id: str) -> Task:
    return (await history(client, task_id)).task


async def outcomes(client: Client, task_id: str) -> list[str]:
    return [attempt.outcome for attempt in (await history(client, task_id)).attempts]
