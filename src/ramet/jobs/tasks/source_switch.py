"""A person's decision on a source becomes a row by a task, since only tasks write domain rows.

It has a queue of its own: the command that switches does the work itself, whether or not a worker runs.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ramet import Client, Context, Statement, TransactionRefused
from ramet.commands.options import person
from ramet.jobs.app import app, bounds_of, work_here
from ramet.jobs.kinds import SOURCE_RESOURCE

SWITCH = "jobs.switch"
SWITCHING = "jobs.switch"

ENABLE = """
    UPDATE jobs_sources SET status = 'active', suspect = 0, note = ?, updated_at = ?,
        allow_empty = CASE WHEN ? = 1 THEN 1 ELSE allow_empty END
    WHERE source_id = ? AND instruction IS NOT NULL"""
DISABLE = "UPDATE jobs_sources SET status = 'disabled', note = ?, updated_at = ? WHERE source_id = ?"


class SwitchPayload(BaseModel):
    """A source, and a person's decision on it."""

    source_id: str
    enable: bool
    allow_empty: bool = False
    """True where a list without openings is valid from now on."""
    by: str
    reason: str | None = None


@app.task(SWITCH, key=lambda payload: payload.source_id, queue=SWITCHING, probation=False, lineage_limits=bounds_of)
async def switch(ctx: Context, payload: SwitchPayload) -> Any:
    """Store the decision."""
    word = "enabled" if payload.enable else "disabled"
    note = f"{word} by {payload.by}" + (f": {payload.reason}" if payload.reason else "")
    wanted = (
        Statement(ENABLE, (note, ctx.now, int(payload.allow_empty), payload.source_id), expect_rows=1)
        if payload.enable
        else Statement(DISABLE, (note, ctx.now, payload.source_id), expect_rows=1)
    )
    try:
        await ctx.transaction([wanted])
    except TransactionRefused:
        return ctx.fail("there is no such source, or it was never tested")
    return {"source": payload.source_id, "enabled": payload.enable}


async def enable_source(client: Client, source_id: str, *, allow_empty: bool, reason: str | None) -> None:
    """Let a source be scraped again that was switched off, by a person or by five failed runs.

    The row comes first: after an end in between the source is still off, and can be enabled again.

    Raises:
        JobsError: the decision could not be stored.
    """
    by = person()
    await _write(client, SwitchPayload(source_id=source_id, enable=True, allow_empty=allow_empty, by=by, reason=reason))
    await client.close_breaker(SOURCE_RESOURCE + source_id, by=by, reason=reason)


async def disable_source(client: Client, source_id: str, *, reason: str | None) -> None:
    """Let a source be; what waits for it is skipped.

    Raises:
        JobsError: it could not be written down.
    """
    await _write(client, SwitchPayload(source_id=source_id, enable=False, by=person(), reason=reason))


async def _write(client: Client, payload: SwitchPayload) -> None:
    await work_here(client, SWITCH, payload, failed=f"{payload.source_id} stayed as it was")
