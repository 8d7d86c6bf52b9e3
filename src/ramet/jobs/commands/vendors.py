"""The command that shows which vendors are known, and how far their rows can be trusted."""

from __future__ import annotations

from typing import Any

import click
from rich.text import Text

from ramet.commands.options import json_option
from ramet.commands.terminal import columns, console, emit, plain
from ramet.jobs.boards.vendor_rows import Vendor, own_file, vendors

SOURCES = {
    "recorded": "answers that were recorded",
    "documented": "the vendor's documentation",
    "described": "descriptions by others, unchecked",
    "own": "your own file",
}
"""Where a row's shape is from, in words."""


@click.command("vendors", short_help="Show which vendors of boards are known.")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@json_option
def list_vendors(*, words: tuple[str, ...], as_json: bool) -> None:
    """Show the vendors whose boards can be read, and where what is known of their answers is from.

    WORDs leave those that have one of them in their name or address. A vendor of your own is a row in the file that the
    last line names; the guide on jobs tells what it says.
    """
    rows = [told(row) for row in vendors().values() if row.vendor == row.kind or row.source == "own"]
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


def told(row: Vendor) -> dict[str, Any]:
    """Return what people are told of a row."""
    domains = dict.fromkeys(one.domain for one in row.addresses)
    return {
        "vendor": row.vendor,
        "at": ", ".join(domains) or ("sites of companies' own" if row.own_domains or row.loads else "-"),
        "confidence": row.confidence,
        "source": row.source,
        "note": row.note,
    }
