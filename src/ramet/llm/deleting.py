"""Deleting a job is a note: its rows stay until they are pruned, but no sweep, listing or command sees it."""

from __future__ import annotations

from pydantic import BaseModel

from ramet import Context
from ramet.llm import tables
from ramet.llm.app import app

DELETE = "llm.delete"
QUEUE = "llm.delete"
"""Of its own: the command that deletes writes the note itself."""


class DeletePayload(BaseModel):
    """Which job, and why."""

    job_id: str
    reason: str | None = None


@app.task(DELETE, queue=QUEUE)
async def delete(ctx: Context, payload: DeletePayload) -> None:
    """Note that a job was deleted; it was cancelled before."""
    ctx.write(tables.DELETE_JOB, (payload.job_id, "cancelled", payload.reason, ctx.now, ctx.now))
