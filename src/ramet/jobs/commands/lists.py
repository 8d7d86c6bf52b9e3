"""The commands that only look at sources, companies and what was rejected."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ramet import Client
from ramet.commands.options import ask, json_option
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs import queries
from ramet.jobs.app import app
from ramet.jobs.boards.vendor_rows import Vendor, own_file, vendors
from ramet.jobs.commands import terminal
from ramet.jobs.commands.terminal import database_option
from ramet.jobs.kinds import COMPANY, SOURCE_DISCOVERY
from ramet.jobs.queries import REJECTED, Listing, live_tasks, switched_off

LISTED_MAX = 1_000
STATUSES = ("active", "pending_validation", "disabled", "failed", "suspect", "switched off")


@click.command("list", short_help="Show sources and how they do.")
@click.option("--status", type=click.Choice(STATUSES), help="Only these.")
@database_option
@json_option
def list_sources(status: str | None, database: str, as_json: bool) -> None:
    """Show boards and feeds: whether they are scraped, what the last run said, and what a person has to do."""

    async def show(client: Client) -> None:
        off = await switched_off(client)
        counts = await queries.listings_of_sources(client)
        found = [
            one for one in await queries.sources(client) if status in (None, one.status, terminal.status_of(one, off))
        ]
        if as_json:
            emit(
                [
                    dataclasses.asdict(one)
                    | {
                        "status": terminal.status_of(one, off),
                        "switched_off": off.get(one.source_id),
                        "listings": counts.get(one.source_id, {}),
                    }
                    for one in found
                ]
            )
            return
        looked_for = [] if status else await live_tasks(client, (COMPANY, SOURCE_DISCOVERY))
        if not found and not looked_for:
            click.echo("there are no such sources" if status else _no_sources(client))
            return
        out = console()
        for one in looked_for:
            click.echo(f"{plain(one)} is still being looked for: `ramet jobs run`, or `ramet jobs work`, does it")
        if not found:
            return
        out.print(terminal.source_table(found, counts, off, time.time()))
        for line in terminal.remarks(found, off):
            out.print(Text(f"\n{line}" if not line.startswith(" ") else line), soft_wrap=True)

    ask(app, database, show)


def _no_sources(client: Client) -> str:
    return (
        f"there are no sources in {client.place}: `ramet jobs company add` looks for some, "
        "`ramet jobs sources add` takes the address of a list of openings"
    )


@click.command("list", short_help="Show companies.")
@database_option
@json_option
def list_companies(database: str, as_json: bool) -> None:
    """Show companies, those of the highest priority first, and what is known of them."""

    async def show(client: Client) -> None:
        found = await queries.companies(client)
        if as_json:
            emit([dataclasses.asdict(one) for one in found])
        elif found:
            console().print(terminal.company_table(found, time.time()))
        else:
            click.echo(f"there are no companies in {client.place}: `ramet jobs company add acme.com` adds one")

    ask(app, database, show)


@click.command("rejected", short_help="What did not fit, and why in a few words.")
@click.option("--search", metavar="WORDS", default="", help="All in title, company, place, reason or address.")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(REJECTED),
    help="filtered: by rules. skipped: score too low, or a duplicate. refused: by title or stop list. "
    "unscored: there was no profile. unknown: could not be read.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1, LISTED_MAX), default=20, show_default=True, help="Lines, at most.")
@database_option
@json_option
def rejected_command(*, search: str, statuses: tuple[str, ...], limit: int, database: str, as_json: bool) -> None:
    """Show listings that are no matches, the ones last seen first; `ramet jobs why` tells all about one."""

    async def show(client: Client) -> None:
        words = search.split()
        found, counts = await queries.rejected(client, words, statuses or REJECTED, limit)
        if as_json:
            emit({"counts": counts, "listings": [one.as_json() for one in found]})
            return
        total = sum(counts.values())
        if not total:
            click.echo("nothing was rejected" + (f" that has {plain(search)!r} in it" if words else ""))
            return
        out = console()
        for one in found:
            _print(out, one)
        parts = ", ".join(f"{counts[status]:,} {status}" for status in REJECTED if status in counts)
        shown = f"; {len(found):,} of them shown" if total > len(found) else ""
        out.print(Text(f"{counted(total, 'listing')}: {parts}{shown}", style="dim"))

    ask(app, database, show)


def _print(out: Console, one: Listing) -> None:
    out.print(terminal.listing_line(one), soft_wrap=True)
    why = Text.assemble("  ", terminal.styled(one.status), ": ", plain(one.reason or "no reason was stored"))
    out.print(why, soft_wrap=True)
    out.print(Text(f"  {plain(one.url)}", style="dim"), soft_wrap=True)


SOURCES = {
    "recorded": "answers that were recorded",
    "documented": "the vendor's documentation",
    "described": "descriptions by others, unchecked",
    "own": "your own file",
}
"""Words for the origins of a row's shape."""


@click.command("vendors", short_help="Show which vendors of boards are known.")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@json_option
def list_vendors(*, words: tuple[str, ...], as_json: bool) -> None:
    """Show the vendors whose boards can be read, and where what is known of their answers is from.

    WORDs leave those that have one of them in their name or address. A vendor of your own is a row in the file that the
    last line names; the guide on jobs tells what it says.
    """
    rows = [vendor_entry(row) for row in vendors().values() if row.vendor == row.kind or row.source == "own"]
    wanted = [word.casefold() for word in words]
    found = [row for row in rows if not wanted or any(word in f"{row['vendor']} {row['at']}" for word in wanted)]
    if as_json:
        emit(found)
        return
    table = columns()
    for name in ("vendor", "at", "sure", "known from"):
        table.add_column(name, overflow="fold")
    for row in found:
        known = f"{SOURCES[row['source']]}; {row['note']}" if row["note"] else SOURCES[row["source"]]
        table.add_row(Text(plain(row["vendor"])), Text(plain(row["at"])), row["confidence"], Text(plain(known)))
    console().print(table)
    file = own_file()
    click.echo(f"rows of your own: {plain(file)}" + ("" if file.exists() else ", which is not there yet"))


def vendor_entry(row: Vendor) -> dict[str, Any]:
    """Return the fields of a row that people see."""
    domains = dict.fromkeys(one.domain for one in row.addresses)
    return {
        "vendor": row.vendor,
        "at": ", ".join(domains) or ("sites of companies' own" if row.own_domains or row.loads else "-"),
        "confidence": row.confidence,
        "source": row.source,
        "note": row.note,
    }
