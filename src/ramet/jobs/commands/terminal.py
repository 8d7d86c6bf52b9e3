"""Options that several of the commands share, and what they say where nothing can be scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import click
from rich.table import Table
from rich.text import Text

from ramet.commands import options
from ramet.commands.terminal import columns, plain, span
from ramet.jobs.queries import Company, Listing, Source

DATABASE = "jobs.db"

database_option = options.database_option(DATABASE)

NO_PROFILE = (
    "there is no profile, so nothing can be scored: `ramet jobs init --sample` takes an example in, "
    "`ramet jobs init --from FILE` your own"
)


BAD_SHOWN_MAX = 20
"""Bad lines that are shown one by one."""


def show_bad(lines: Sequence[str]) -> None:
    """Write lines about what was not taken to standard error; of many the first, and how many more there are."""
    for line in lines[:BAD_SHOWN_MAX]:
        click.echo(line, err=True)
    if len(lines) > BAD_SHOWN_MAX:
        click.echo(f"and {len(lines) - BAD_SHOWN_MAX} more bad lines", err=True)


DAY = 86_400.0
STATUS_STYLES = {
    "matched": "green", "active": "green", "analyzing": "blue", "pending_validation": "yellow", "pending": "yellow",
    "skipped": "yellow", "unscored": "yellow", "filtered": "magenta", "refused": "magenta", "unknown": "red",
    "failed": "red", "disabled": "red", "switched off": "red", "suspect": "yellow",
}  # fmt: skip
WORDS = {"pending_validation": "to approve"}
"""Words for statuses that are named differently in the database."""


def ago(moment: float | None, now: float) -> str:
    """Return `3 d ago`; `-` for never."""
    if moment is None:
        return "-"
    return f"{span(max(0.0, now - moment))} ago" if now - moment >= 1 else "now"


def clock_time(moment: float) -> str:
    """Return a moment as `2026-11-27 14:03:12`, in the time zone of this machine."""
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def age(moment: float | None, now: float) -> str:
    """Return the age, in days or less; `-` where it is unknown."""
    return "-" if moment is None else span(max(0.0, now - moment))


def salary(low: int | None, high: int | None, currency: str | None) -> str:
    """Return `120,000 to 150,000 USD`; empty where none is known."""
    known = [f"{amount:,}" for amount in (low, high) if amount is not None]
    if not known:
        return ""
    amounts = known[0] if len(set(known)) == 1 else " to ".join(known)
    edge = "up to " if low is None else "from " if high is None else ""
    return f"{edge}{amounts} {plain(currency or 'USD')}"


def points(value: float) -> str:
    """Return points with their sign: `+15`, `-5`, `+0.5`."""
    return f"{value:+g}"


def status_of(source: Source, switched_off: Mapping[str, str]) -> str:
    """Return the actual status of a source: an open breaker counts more than its row."""
    if source.source_id in switched_off:
        return "switched off"
    return "suspect" if source.suspect and source.status == "active" else source.status


def styled(status: str) -> Text:
    """Return a status in its colour, and in words."""
    return Text(plain(WORDS.get(status, status)), style=STATUS_STYLES.get(status, ""))


def source_table(
    found: Sequence[Source], counts: Mapping[str, Mapping[str, int]], switched_off: Mapping[str, str], now: float
) -> Table:
    """Return the table of sources, a line each."""
    table = columns()
    for name in ("source", "status", "conf.", "last run", "openings", "matches"):
        right = name in ("openings", "matches")
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name != "source")
    for one in found:
        of_source = counts.get(one.source_id, {})
        run = f"{plain(one.last_status or '-')}, {ago(one.last_scraped_at, now)}" if one.last_scraped_at else "-"
        table.add_row(
            Text(plain(one.source_id)), styled(status_of(one, switched_off)),
            plain(one.confidence or "-"), run, "-" if one.last_count is None else f"{one.last_count:,}",
            f"{of_source.get('matched', 0):,}",
        )  # fmt: skip
    return table


def remarks(found: Sequence[Source], switched_off: Mapping[str, str]) -> list[str]:
    """Return remarks on sources that are not simply active, a line each."""
    told = []
    for one in found:
        why = switched_off.get(one.source_id) or one.note
        status = status_of(one, switched_off)
        if why and (status != "active" or one.note):
            told.append(f"{plain(one.source_id)}: {plain(why)}")
        if status == "switched off":
            told.append(f"  to switch it on: ramet jobs sources enable {plain(one.source_id)}")
    return told


def company_table(found: Sequence[Company], now: float) -> Table:
    """Return the table of companies, a line each."""
    table = columns()
    for name in ("company", "tier", "points", "status", "record", "looked at", "openings at"):
        table.add_column(name, justify="right" if name == "points" else "left", overflow="fold")
    for one in found:
        table.add_row(
            Text(plain(one.name)), one.tier or "-",
            "-" if one.priority_score is None else f"{one.priority_score:g}", styled(one.status),
            plain(one.completeness or "-"), ago(one.updated_at, now), Text(plain(one.job_board_url or "-")),
        )  # fmt: skip
    return table


def listing_line(one: Listing) -> Text:
    """Return a listing in a line: title, company, place."""
    parts = [plain(part) for part in (one.company, one.location) if part]
    return Text.assemble((plain(one.title or one.url), "bold"), *(f" · {part}" for part in parts))
