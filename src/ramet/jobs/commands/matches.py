"""The commands `matches`, `mark` and `export`: what fits, scored for its age of today, and what a person did."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ramet import Client
from ramet.commands.options import ask, json_option
from ramet.commands.output_files import harmless_cell, os_errors_as_user_errors, replaced
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs.app import app
from ramet.jobs.commands import terminal
from ramet.jobs.commands.terminal import NO_PROFILE, database_option, salary
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.match_status import (
    MatchStatus,
    ScoredMatch,
    checked_note,
    checked_status,
    listing_ids_of,
    matches,
    not_matches,
)
from ramet.jobs.queries import Match
from ramet.jobs.tasks.match_status import mark_matches, mark_shown

PRIORITIES = ("High", "Medium", "Low")
LISTED_MAX = 1_000
OTHERS_SHOWN = 2
"""Further addresses of an opening that a line names."""
STATUS_CHOICE = click.Choice([status.value for status in MatchStatus], case_sensitive=False)
status_option = click.option("--status", "statuses", multiple=True, type=STATUS_CHOICE, help="Only these (repeatable).")
all_option = click.option("--all", "with_dismissed", is_flag=True, help="Also those that you dismissed.")
score_option = click.option("--min-score", type=float, metavar="POINTS", help="Only those worth so much today.")
closed_option = click.option("--closed", "with_closed", is_flag=True,
                             help="Also those that their boards do not show any more.")  # fmt: skip


@click.command("matches", short_help="What fits.")
@click.option("--new", "only_new", is_flag=True, help="Only those that you have not seen.")
@status_option
@all_option
@score_option
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Only those.")
@closed_option
@click.option(
    "--limit", type=click.IntRange(1, LISTED_MAX), default=20, show_default=True, help="Most matches to show."
)
@click.option("--keep-new", is_flag=True, help="Leave those that are shown new.")
@database_option
@json_option
def matches_command(
    *,
    only_new: bool,
    statuses: tuple[str, ...],
    priority: str | None,
    limit: int,
    keep_new: bool,
    database: str,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Show matches: new ones first, then the best first, each scored for its age of today.

    A match that was shown is new no more. `ramet jobs mark` gives it another status; `ramet jobs why` tells all about
    one.
    """
    if only_new and statuses:
        raise click.UsageError("give either --new or --status")
    wanted = ("new",) if only_new else statuses or None

    async def show(client: Client) -> None:
        settings, now = await settings_in_force(client), time.time()
        found = await matches(client, now=now, statuses=wanted, **chosen)
        if priority is not None:
            found = [one for one in found if one.priority.lower() == priority.lower()]
        shown = found[:limit]
        if as_json:
            emit([one.as_json() for one in shown])
        else:
            if not settings.profile.given:
                click.echo(NO_PROFILE)
            if found:
                _print(shown, found, now)
            else:
                click.echo(_nothing(client, only_new=only_new))
        if not keep_new:
            await mark_shown(client, [one.match.listing_id for one in shown if one.mark is None])

    ask(app, database, show)


def _nothing(client: Client, *, only_new: bool) -> str:
    if only_new:
        return "there are no new matches: `ramet jobs run` looks for some, `ramet jobs matches` shows the others"
    return (
        f"there are no such matches in {client.place}: `ramet jobs run` looks for some, "
        "`ramet jobs rejected` shows what did not fit"
    )


STYLES = {"new": "bold green", "dismissed": "dim", "rejected": "red", "offer": "bold magenta", "seen": ""}
"""Styles of statuses; all others are steps of a person with the company."""


ID_WIDTH, SCORE_WIDTH = 7, 5


def _print(found: list[ScoredMatch], listed: list[ScoredMatch], now: float) -> None:
    out = console()
    widest = max(len(one.status.value) for one in found)
    for one in found:
        table = columns(header=None)
        for width in (ID_WIDTH, SCORE_WIDTH, widest):
            table.add_column(width=width, no_wrap=True, justify="right" if width == SCORE_WIDTH else "left")
        table.add_column(overflow="fold")
        status = Text(one.status.value, style=STYLES.get(one.status.value, "bold blue"))
        table.add_row(Text(one.short_id, style="dim"), f"{one.score:g}", status, _opening(one, now))
        out.print(table)
        # By itself on its line and not folded, so that a terminal takes all of it for one address.
        out.print(Text(f"{' ' * (ID_WIDTH + 2)}{plain(one.match.url)}", style="dim"), soft_wrap=True)
    new = sum(one.mark is None for one in listed)
    shown = f"; {len(found):,} of them shown" if len(listed) > len(found) else ""
    out.print(Text(f"{counted(len(listed), 'match', 'matches')}, {new:,} new{shown}", style="dim"))
    if new:
        out.print(
            Text(f"`ramet jobs mark {found[0].short_id} applied` (or dismissed, ...) says what you did", style="dim")
        )


def _opening(one: ScoredMatch, now: float) -> Text:
    match = one.match
    parts = [plain(part) for part in (match.company, "; ".join(one.places)) if part]
    paid = terminal.salary(match.salary_min, match.salary_max, match.salary_currency)
    parts += [paid] if paid else []
    parts += [f"{one.priority} priority"]
    parts += [terminal.ago(match.posted_at, now)] if match.posted_at is not None else []
    told = Text.assemble((plain(match.title or match.url), "bold"), f"\n{' · '.join(parts)}")
    for line in (*_unsure(match), *_elsewhere(one)):
        told.append(f"\n{line}", style="dim")
    if remark := _remark(one, now):
        told.append(f"\n{remark}", style="italic")
    return told


def _unsure(match: Match) -> Iterator[str]:
    """Yield the reasons about where one may work that give no points: it is not known, or speaks against it."""
    for part in match.adjustments:
        if part.get("category") == "place" and _no_points(part):
            yield plain(str(part.get("reason")))


def _no_points(part: Mapping[str, Any]) -> bool:
    points = part.get("points")
    return isinstance(points, int | float) and points <= 0


def _elsewhere(one: ScoredMatch) -> Iterator[str]:
    """Yield the other addresses of the opening."""
    urls = [plain(other.url) for other in one.others]
    if urls:
        more = f" and {len(urls) - OTHERS_SHOWN} more" if len(urls) > OTHERS_SHOWN else ""
        yield f"also {', '.join(urls[:OTHERS_SHOWN])}{more}"


def _remark(one: ScoredMatch, now: float) -> str:
    """When a person gave it its status, the note, and that the board does not show it any more."""
    parts = []
    if one.mark is not None and one.mark.marked_by is not None:
        parts.append(f"{one.status} {terminal.ago(one.mark.marked_at, now)}")
    if one.match.closed_at is not None:
        parts.append(f"closed {terminal.ago(one.match.closed_at, now)}")
    if one.mark is not None and one.mark.note:
        parts.append(plain(one.mark.note))
    return " · ".join(parts)


@click.command("mark", short_help="Say what you did about matches.")
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@click.argument("status", metavar="STATUS")
@click.option("--note", metavar="TEXT", help="Kept with it: who you spoke with, what comes next.")
@database_option
@json_option
def mark_command(*, names: tuple[str, ...], status: str, note: str | None, database: str, as_json: bool) -> None:
    """Give matches a STATUS: seen, dismissed, applied, interviewing, offer or rejected.

    ID is that of `ramet jobs matches`, or the address of an opening; several are marked at once, or none. A dismissed
    opening is not shown any more, also when it is posted again. The history stays: `ramet jobs why ID` shows it.
    """
    said = checked_status(status.lower())
    kept = checked_note(note)

    async def write(client: Client) -> None:
        listing_ids = await listing_ids_of(client, names)
        await mark_matches(client, listing_ids, said, note=kept)
        if as_json:
            emit({"status": said.value, "note": kept, "listing_ids": listing_ids})
        else:
            click.echo(f"{counted(len(listing_ids), 'opening')} marked {said}")
            if others := await not_matches(client, listing_ids):
                which = "it was" if others == 1 else f"{others:,} of them were"
                click.echo(f"{which} no match: `ramet jobs why` shows what you said, `ramet jobs matches` does not")

    ask(app, database, write)


STANDARD_OUTPUT = "-"
COLUMNS = (
    "score", "priority", "status", "note", "title", "company", "location", "salary_min", "salary_max",
    "salary_currency", "posted_at", "saved_at", "status_at", "closed_at", "url", "matched_skills", "missing_skills",
    "tier", "source_id", "method", "id", "listing_id", "also_at",
)  # fmt: skip
"""Columns of a CSV file, in this order. Times are dates of ISO 8601 in UTC, lists are joined by `; `."""
TIMES = ("posted_at", "saved_at", "status_at", "closed_at")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~-])")


@click.command("export", short_help="Write matches as CSV, JSON or Markdown.")
@click.argument("form", metavar="csv|json|markdown", type=click.Choice(["csv", "json", "markdown"]))
@click.option("-o", "--output", default=STANDARD_OUTPUT, show_default="standard output", metavar="FILE",
              help="Where to write.")  # fmt: skip
@status_option
@all_option
@score_option
@closed_option
@database_option
def export(*, form: str, output: str, statuses: tuple[str, ...], database: str, **chosen: Any) -> None:
    """Write matches, new ones first, then the best first, each scored for its age of today; they stay new.

    FILE is replaced when all is written.
    """
    found = ask(app, database, lambda client: matches(client, now=time.time(), statuses=statuses or None, **chosen))
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


def row_of(one: ScoredMatch) -> dict[str, Any]:
    """Return the values of a match by `COLUMNS`."""
    values = one.as_json()
    values |= {name: date_of(values[name]) for name in TIMES}
    values |= {name: "; ".join(map(str, values[name])) for name in ("matched_skills", "missing_skills")}
    values |= {"location": "; ".join(one.places) or None, "also_at": "; ".join(other.url for other in one.others)}
    return {name: values[name] for name in COLUMNS}


def date_of(moment: float | None) -> str | None:
    """Return a moment as a date of UTC; None for none, and for one that no calendar has."""
    if moment is None:
        return None
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(moment))
    except (OverflowError, OSError, ValueError):
        return None


def as_csv(found: Sequence[ScoredMatch]) -> str:
    """Return CSV: a header, and a line for each match; nothing in it is a formula."""
    out = io.StringIO(newline="")
    cells = csv.writer(out)
    cells.writerow(COLUMNS)
    for one in found:
        cells.writerow(["" if value is None else harmless_cell(value) for value in row_of(one).values()])
    return out.getvalue()


def as_json(found: Sequence[ScoredMatch]) -> str:
    """Return JSON: a list of objects with everything that is stored about each match."""
    return json.dumps([one.as_json() for one in found], indent=2, ensure_ascii=False) + "\n"


def as_markdown(found: Sequence[ScoredMatch]) -> str:
    """Return Markdown: a section for each match."""
    parts = [f"# {counted(len(found), 'match', 'matches')}\n"]
    for one in found:
        match = one.match
        parts.append(f"\n## {one.score:g} · {_text(match.title or match.url)}\n")
        facts = [_text(part) for part in (match.company, "; ".join(one.places)) if part]
        paid = salary(match.salary_min, match.salary_max, match.salary_currency)
        facts += [_text(paid)] if paid else []
        facts.append(f"{one.priority} priority")
        facts.append(one.status.value)
        posted = date_of(match.posted_at)
        facts += [f"posted {posted}"] if posted else []
        parts.append(" · ".join(facts) + "\n")
        for word, names in (("matched", match.matched_skills), ("missing", match.missing_skills)):
            if names:
                parts.append(f"\n{word}: {', '.join(_text(name) for name in names)}\n")
        if match.explanation:
            parts.append(f"\n{_text(match.explanation)}\n")
        if one.mark is not None and one.mark.note:
            parts.append(f"\nnote: {_text(one.mark.note)}\n")
        parts.append(f"\n{_link(match.url)}\n")
        parts += [f"\nalso {_link(other.url)}\n" for other in one.others]
    return "".join(parts)


def _text(value: Any) -> str:
    """Text that stays text in Markdown."""
    return _MARKUP.sub(r"\\\1", plain(value))


def _link(url: str) -> str:
    """Return an address that can be followed where it is one of the web; else the text of it."""
    if url.startswith(("https://", "http://")) and not re.search(r"[\s<>]", url) and url.isprintable():
        return f"<{url}>"
    return _text(url)
