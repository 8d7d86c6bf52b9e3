"""The command `rescore`: what is stored, judged with the settings of now; and the same after a change of settings."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from ramet import Client
from ramet.commands.errors import StoreMissing
from ramet.commands.options import json_option
from ramet.commands.terminal import console, counted, emit, plain
from ramet.commands.worker import quiet_guard
from ramet.jobs.commands.terminal import NO_PROFILE, database_option
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.pipeline import app
from ramet.jobs.tasks.rescore import STORED_COUNT, Change, Rescoring, rescore_all
from ramet.jobs.tasks.tiers import ratings_of

AT_ONCE_MAX = 5_000
"""Stored listings that are judged again by themselves after a change of settings; some milliseconds each."""
CAUSE = "the settings are others"


@click.command("rescore", short_help="Judge what is stored with the settings of now.")
@click.option("--apply", "write", is_flag=True, help="Write the new verdicts down; without it they are only shown.")
@database_option
@json_option
def rescore_command(*, write: bool, database: str, as_json: bool) -> None:
    """Judge stored listings again with the profile, settings and companies of now.

    Nothing is fetched, and no model is asked: what one said before still counts. A listing keeps the age that it had
    when it was read. Listings that are closed, and matches that you have marked, stay as they are. Without --apply
    nothing is written.
    """
    asyncio.run(_apply(database, as_json=as_json) if write else _show(database, as_json=as_json))


async def _show(database: str, *, as_json: bool) -> None:
    async with app.client(database, create=False) as client:
        settings, out = await settings_in_force(client), console()
        rescoring, judged = Rescoring(client, settings), 0
        totals: Counter[str] = Counter()
        reached: str | None = ""
        while reached is not None:
            changes, reached, count = await rescoring.next(reached)
            judged += count
            for change in changes:
                totals[change.move] += 1
                if as_json:
                    emit({"event": "change", **change.as_json()})
                else:
                    out.print(Text(line_of(change)), soft_wrap=True)
        if as_json:
            rated = len(await rescoring.ratings())
            told = {"judged": judged, "changed": dict(sorted(totals.items())), "companies": rated}
            emit({"event": "end", **told, "written": False})
            return
        rated = len(await rescoring.ratings())
        click.echo(summary(judged, totals, rated))
        if totals or rated:
            click.echo("nothing is written: --apply writes it")
        if not settings.profile.given:
            click.echo(NO_PROFILE)


async def _apply(database: str, *, as_json: bool) -> None:
    async with app.client(database, create=False) as client:
        with quiet_guard():
            told = await rescore_all(client, "ramet jobs rescore")
        if as_json:
            emit({"event": "end", **told, "written": True})
        else:
            click.echo(summary(told["judged"], told["changed"], told.get("companies", 0)))


def line_of(change: Change) -> str:
    """Return a change in a line: both statuses, the listing, and the reasons."""
    title, company = plain(change.stored["title"] or change.stored["url"]), plain(change.stored["company"] or "-")
    reasons = "; ".join(plain(reason) for reason in change.reasons[:3])
    points = f" {change.verdict.points:g}" if change.verdict.score is not None else ""
    return f"{change.move}{points}: {title} · {company}: {reasons}"


def summary(judged: int, changed: Mapping[str, int], rated: int = 0) -> str:
    """Return a line that says how many were judged, and how many of them changed in which way.

    Args:
        judged: listings.
        changed: numbers of changed listings, by their old and new status.
        rated: companies whose tier, points or size changed.
    """
    total = sum(changed.values())
    companies = f"; {counted(rated, 'company', 'companies')} rated otherwise" if rated else ""
    if not total:
        return f"{counted(judged, 'listing')} judged again, no verdict is another{companies}"
    parts = ", ".join(f"{count:,} {move}" for move, count in sorted(changed.items()))
    return f"{counted(judged, 'listing')} judged again, {total:,} changed: {parts}{companies}"


async def rescored(client: Client, cause: str = CAUSE) -> str | None:
    """Judge again after a change of settings, where that is cheap; return a line about the result.

    Returns:
        None where nothing is stored, or no verdict is another.
    """
    [(stored,)] = await client.read(STORED_COUNT)
    if not stored and not await ratings_of(client, await settings_in_force(client)):
        return None
    if stored > AT_ONCE_MAX:
        return f"{stored:,} listings keep their verdicts: `ramet jobs rescore` shows what would change"
    with quiet_guard():
        told: dict[str, Any] = await rescore_all(client, cause)
    rated = told.get("companies", 0)
    return summary(told["judged"], told["changed"], rated) if told["changed"] or rated else None


async def after_setting(database: str) -> str | None:
    """Judge again after `ramet settings set jobs...`; what the command says about it."""
    try:
        async with app.client(database, create=False) as client:
            return await rescored(client)
    except StoreMissing:
        return None
