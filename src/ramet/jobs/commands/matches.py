"""The command `export`: matches as CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ramet import Client
from ramet.commands.options import ask
from ramet.commands.output_files import harmless_cell, replaced, told
from ramet.commands.terminal import counted, plain
from ramet.jobs.app import app
from ramet.jobs.commands.matching import Scored, scored_matches
from ramet.jobs.commands.options import database_option
from ramet.jobs.commands.terminal import salary
from ramet.jobs.live import settings_in_force

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
        with told("standard output"):
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
