"""The command `matches`: what fits, scored for its age of today."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ramet import Client
from ramet.commands.options import ask, json_option
from ramet.commands.output_files import harmless_cell, os_errors_as_user_errors, replaced
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs import queries
from ramet.jobs.app import app
from ramet.jobs.commands import terminal
from ramet.jobs.commands.terminal import NO_PROFILE, database_option, salary
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.matching.caps import ceiling_of
from ramet.jobs.matching.score import fresh_score, priority_word
from ramet.jobs.queries import Match
from ramet.jobs.settings import JobsSettings

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
        ceiling = ceiling_of(match.adjustments)
        score, _ = fresh_score(match.static_score, match.posted_at, settings, now, ceiling)
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


STANDARD_OUTPUT = "-"
COLUMNS = (
    "score", "priority", "title", "company", "location", "salary_min", "salary_max", "salary_currency", "posted_at",
    "url", "matched_skills", "missing_skills", "tier", "source_id", "method", "listing_id",
)  # fmt: skip
"""Of a CSV file, in this order. Times are dates of ISO 8601 in UTC, lists are joined by `; `."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~-])")


@click.command("export", short_help="Write matches as CSV, JSON or Markdown.")
@click.argument("form", metavar="csv|json|markdown", type=click.Choice(["csv", "json", "markdown"]))
@click.option("-o", "--output", default=STANDARD_OUTPUT, show_default="standard output", metavar="FILE",
              help="Where to write.")  # fmt: skip
@click.option("--min-score", type=float, metavar="POINTS", help="Only those that are worth so much today.")
@click.option("--closed", "with_closed", is_flag=True, help="Also those that their boards do not show any more.")
@database_option
def export(*, form: str, output: str, min_score: float | None, with_closed: bool, database: str) -> None:
    """Write all matches, the best first, scored for their age of today. FILE is replaced when all is written."""

    async def find(client: Client) -> list[Scored]:
        settings = await settings_in_force(client)
        return await scored_matches(client, settings, time.time(), with_closed=with_closed, min_score=min_score)

    found = ask(app, database, find)
    text = {"csv": as_csv, "json": as_json, "markdown": as_markdown}[form](found)
    # Half a surrogate pair, which UTF-8 has no bytes for, becomes an escape.
    content = text.encode(errors="backslashreplace")
    if output == STANDARD_OUTPUT:
        with os_errors_as_user_errors("standard output"):
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
        return
    with replaced(Path(output)) as file:
        file.write(content)
    click.echo(f"wrote {counted(len(found), 'match', 'matches')} to {plain(output)}", err=True)


def row_of(one: Scored) -> dict[str, Any]:
    """The values of a match by `COLUMNS`."""
    match = one.match
    values = match.as_json() | {
        "score": one.score,
        "priority": one.priority,
        "posted_at": date_of(match.posted_at),
        "matched_skills": "; ".join(map(str, match.matched_skills)),
        "missing_skills": "; ".join(map(str, match.missing_skills)),
    }
    return {name: values[name] for name in COLUMNS}


def date_of(moment: float | None) -> str | None:
    """A moment as a date of UTC; None for none, and for one that no calendar has."""
    if moment is None:
        return None
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(moment))
    except (OverflowError, OSError, ValueError):
        return None


def as_csv(found: Sequence[Scored]) -> str:
    """A header, and a line for each match; nothing in it is a formula."""
    out = io.StringIO(newline="")
    cells = csv.writer(out)
    cells.writerow(COLUMNS)
    for one in found:
        cells.writerow(["" if value is None else harmless_cell(value) for value in row_of(one).values()])
    return out.getvalue()


def as_json(found: Sequence[Scored]) -> str:
    """A list of objects with everything that is stored about each match."""
    return json.dumps([one.as_json() for one in found], indent=2, ensure_ascii=False) + "\n"


def as_markdown(found: Sequence[Scored]) -> str:
    """A section for each match."""
    parts = [f"# {counted(len(found), 'match', 'matches')}\n"]
    for one in found:
        match = one.match
        parts.append(f"\n## {one.score:g} · {_text(match.title or match.url)}\n")
        facts = [_text(part) for part in (match.company, match.location) if part]
        paid = salary(match.salary_min, match.salary_max, match.salary_currency)
        facts += [_text(paid)] if paid else []
        facts.append(f"{one.priority} priority")
        posted = date_of(match.posted_at)
        facts += [f"posted {posted}"] if posted else []
        parts.append(" · ".join(facts) + "\n")
        for word, names in (("matched", match.matched_skills), ("missing", match.missing_skills)):
            if names:
                parts.append(f"\n{word}: {', '.join(_text(name) for name in names)}\n")
        if match.explanation:
            parts.append(f"\n{_text(match.explanation)}\n")
        parts.append(f"\n{_link(match.url)}\n")
    return "".join(parts)


def _text(value: Any) -> str:
    """Text that stays text in Markdown."""
    return _MARKUP.sub(r"\\\1", plain(value))


def _link(url: str) -> str:
    """An address that can be followed where it is one of the web; else the text of it."""
    if url.startswith(("https://", "http://")) and not re.search(r"[\s<>]", url) and url.isprintable():
        return f"<{url}>"
    return _text(url)
