"""Marks of matches become rows by a task, since only tasks write domain rows.

It has a queue of its own: the process that marks does the work itself, whether or not a worker runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from ramet import Client, Context, Statement
from ramet.commands.options import person
from ramet.jobs.app import app, work_here
from ramet.jobs.errors import JobsError, NotFound
from ramet.jobs.match_status import TOLD, MatchStatus, checked_note, checked_status, unknown_listings

MARK = "jobs.mark"
LISTINGS_MAX = 1_000
"""Most listings of one call."""

ADD_MARK = """
    INSERT INTO jobs_match_marks (listing_id, mark_id, status, note, marked_by, marked_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (listing_id, mark_id) DO NOTHING"""
ADD_SHOWN = f"""
    INSERT INTO jobs_match_marks (listing_id, mark_id, status, note, marked_by, marked_at)
    SELECT l.listing_id, ?, 'seen', NULL, NULL, ? FROM jobs_listings l
    WHERE l.listing_id = ? AND NOT EXISTS (
        SELECT 1 FROM jobs_match_marks k WHERE k.listing_id = l.listing_id AND k.status <> '{TOLD}')
    ON CONFLICT (listing_id, mark_id) DO NOTHING"""  # noqa: S608 -- of constants
"""That a match was shown changes nothing that was said of it."""


class MarkPayload(BaseModel):
    """Which listings, and what is said of them."""

    listing_ids: list[str]
    status: MatchStatus
    note: str | None = None
    by: str | None = None
    """None: they were shown."""


@app.task(MARK, key=lambda payload: "marks", queue=MARK, probation=False)
async def mark(ctx: Context, payload: MarkPayload) -> Any:
    """Write all marks, or none."""
    if payload.by is None:
        written = [Statement(ADD_SHOWN, (ctx.id, ctx.now, one)) for one in payload.listing_ids]
    else:
        said = (payload.status.value, payload.note, payload.by, ctx.now)
        written = [Statement(ADD_MARK, (one, ctx.id, *said)) for one in payload.listing_ids]
    await ctx.transaction(written)
    return {"marked": len(payload.listing_ids)}


async def mark_matches(
    client: Client, listing_ids: Sequence[str], status: MatchStatus | str, *, note: str | None = None,
    by: str | None = None,
) -> None:  # fmt: skip
    """Give matches a status, all of them or none. Durable when it returns; the former status stays in the history.

    Args:
        client: a client of ``ramet.jobs.pipeline.app``.
        listing_ids: ids of listings, at most 1,000.
        status: ``seen``, ``dismissed``, ``applied``, ``interviewing``, ``offer`` or ``rejected``.
        note: kept with the status, at most 2,000 characters.
        by: the person; the user of this process, if none is given.

    Raises:
        InputError: the status or the note is invalid.
        NotFound: an id is unknown; nothing was marked.
        JobsError: it could not be written.
    """
    wanted = list(dict.fromkeys(listing_ids))
    said = checked_status(status)
    unknown = await unknown_listings(client, wanted)
    if unknown:
        raise NotFound(f"there is no listing {unknown[0][:200]!r}: nothing was marked")
    await _write(client, MarkPayload(listing_ids=wanted, status=said, note=checked_note(note), by=by or person()))


async def mark_shown(client: Client, listing_ids: Sequence[str]) -> None:
    """Remember that these matches were shown: they are new no more.

    Raises:
        JobsError: it could not be written.
    """
    await _write(client, MarkPayload(listing_ids=list(listing_ids), status=MatchStatus.SEEN))


async def _write(client: Client, payload: MarkPayload) -> None:
    if not payload.listing_ids:
        return
    if len(payload.listing_ids) > LISTINGS_MAX:
        raise JobsError(f"{len(payload.listing_ids):,} matches are too many at once: give at most {LISTINGS_MAX:,}")
    await work_here(client, MARK, payload, failed="the matches stayed as they were")
