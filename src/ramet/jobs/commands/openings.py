"""`ramet jobs add-openings`: openings that another program found, judged as those of boards are."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from ramet.commands.options import check_folder, json_option
from ramet.commands.terminal import counted, emit, plain
from ramet.jobs import queries
from ramet.jobs.boards.found_openings import read_openings
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.commands.sources import EXIT_FAILED, work_option, work_until_ended
from ramet.jobs.commands.terminal import database_option, show_bad
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.kinds import COMPANY, LISTING, ListingPayload
from ramet.jobs.matching.duplicates import listing_key
from ramet.jobs.pipeline import app
from ramet.jobs.posting import Posting, fitting
from ramet.jobs.queries import Listing


@click.command("add-openings", short_help="Judge openings that another program found.")
@click.argument("file", type=click.Path(path_type=Path))
@work_option
@database_option
@json_option
def add_openings(*, file: Path, no_work: bool, database: str, as_json: bool) -> None:
    """Take openings from a file of CSV, JSON or JSON lines, such as JobSpy writes, and judge them.

    Columns: title and job_url (or url); also company, location, description, date_posted, is_remote, min_amount,
    max_amount, currency, interval, job_type. A bad row is named with its line, the others are taken, all or none of
    them. Their pages are not fetched: what the file does not tell stays unknown.
    """
    found = read_openings(file, time.time())
    vendors()
    check_folder(database)
    show_bad([f"line {one.line}: {one.reason}" for one in found.bad])
    if not found.postings:
        if not found.bad:
            click.echo(f"{plain(str(file))}: there is no opening in it", err=True)
        click.get_current_context().exit(EXIT_FAILED)
    asyncio.run(_add(found.postings, database, work=not no_work, as_json=as_json))


async def _add(postings: Sequence[Posting], database: str, *, work: bool, as_json: bool) -> None:
    async with app.client(database, create=False) as client:
        most = (await settings_in_force(client)).listing.text_max
        payloads = [ListingPayload(url=one.url, posting=fitting(one, most)) for one in postings]
        asked = await client.submit_many([(LISTING, payload) for payload in payloads])
        new = [one.id for one in asked if one.created]
        if work and new:
            await work_until_ended(client, new, [LISTING, COMPANY])
        counts: Counter[str] = Counter()
        for one in payloads:
            rows = await client.read(queries.LISTING_BY_ID, (listing_key(one.url),))
            counts[Listing.of(rows[0]).status if rows else "in the queue"] += 1
        known = len(asked) - len(new)
        if as_json:
            emit({"openings": len(asked), "known": known, "statuses": dict(counts)})
            return
        statuses = ", ".join(f"{number} {status}" for status, number in counts.most_common())
        click.echo(f"{counted(len(asked), 'opening')}, {known} of them known already: {statuses}")
