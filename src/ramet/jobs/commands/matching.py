"""The command `matches`: what fits, scored for its age of today."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import click
from rich.text import Text

from ramet import Client
from ramet.commands.options import ask, json_option
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs import queries
from ramet.jobs.app import app
from ramet.jobs.commands import terminal
from ramet.jobs.commands.options import NO_PROFILE, database_option
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.live import settings_in_force
from ramet.jobs.matching.freshness import fresh_score
from ramet.jobs.matching.score import priority_word
from ramet.jobs.queries import Match

PRIORITIES = ("High", "Medium", "Low")
LISTED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Scored:
    """A match, and what it is worth today."""

    match: Match
    score: float
    priority: str

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {"score": self.score, "priority": self.priority, **self.match.as_json()}


async def scored_matches(
    client: Client, settings: JobsSettings, now: float, *, with_closed: bool = False, min_score: float | None = None
) -> list[Scored]:
    """Matches, the best today first.

    Only the part of the score that is the listing's age changes by itself; what a profile that was changed since would
    say is not asked.
    """
    found = []
    for match in await queries.matches(client):
        if match.closed_at is not None and not with_closed:
            continue
        score, _ = fresh_score(match.static_score, match.posted_at, settings, now)
        if min_score is None or score >= min_score:
            found.append(Scored(match, score, priority_word(score, settings.match)))
    found.sort(key=lambda one: (-one.score, one.match.listing_id))
    return found


@click.command("matches", short_help="What fits.")
@click.option("--min-score", type=float, metavar="POINTS", help="Only those that are worth so much today.")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Only those.")
@click.option("--closed", "with_closed", is_flag=True, help="Also those that their boards do not show any more.")
@click.option("--limit", type=click.IntRange(1, LISTED_MAX), default=20, show_default=True, help="At most so many.")
@database_option
@json_option
def matches_command(
    *, min_score: float | None, priority: str | None, with_closed: bool, limit: int, database: str, as_json: bool
) -> None:
    """Show matches, the best first, each scored for its age of today; `ramet jobs why` tells all about one."""

    async def show(client: Client) -> None:
        settings, now = await settings_in_force(client), time.time()
        found = await scored_matches(client, settings, now, with_closed=with_closed, min_score=min_score)
        if priority is not None:
            found = [one for one in found if one.priority.lower() == priority.lower()]
        if as_json:
            emit([one.as_json() for one in found[:limit]])
            return
        if not settings.profile.given:
            click.echo(NO_PROFILE)
        if not found:
            click.echo(
                f"there are no such matches in {client.place}: `ramet jobs run` looks for some, "
                "`ramet jobs rejected` shows what did not fit"
            )
            return
        _print(found[:limit], len(found), now)

    ask(app, database, show)


def _print(found: list[Scored], total: int, now: float) -> None:
    out = console()
    table = columns()
    for name in ("score", "priority", "opening", "age"):
        table.add_column(name, justify="right" if name in ("score", "age") else "left", overflow="fold")
    for one in found:
        match = one.match
        parts = [plain(part) for part in (match.company, match.location) if part]
        paid = terminal.salary(match.salary_min, match.salary_max, match.salary_currency)
        below = " · ".join([*parts, *([paid] if paid else [])])
        opening = Text.assemble((plain(match.title or match.url), "bold"), f"\n{below}\n", (plain(match.url), "dim"))
        table.add_row(f"{one.score:g}", one.priority, opening, terminal.age(match.posted_at, now))
    out.print(table)
    shown = f"; {len(found):,} of them shown" if total > len(found) else ""
    out.print(Text(f"{counted(total, 'match', 'matches')}{shown}", style="dim"))
