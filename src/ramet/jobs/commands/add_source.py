"""Adding lists of openings: an address, a file of them, those that ship with the package, a page by its selectors."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import click
import yaml
from pydantic import ValidationError

from ramet import InvalidKey, url_key
from ramet.commands.options import check_folder, json_option
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs.boards.address_lists import NamedAddress, boards_of, known_boards, read_addresses
from ramet.jobs.boards.instruction import Selectors
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.commands.sources import EXIT_FAILED, add_companies, company_payload, discover, work_option
from ramet.jobs.commands.terminal import database_option, show_bad
from ramet.jobs.detection.addresses import address_of, board_of_url
from ramet.jobs.detection.findings import GENERIC
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import CompanyPayload, DiscoveryPayload


@click.command("add", short_help="Add the address of a list of openings.")
@click.argument("url", required=False)
@click.option("--company", metavar="NAME", help="Whose openings they are, where the board does not tell.")
@click.option(
    "--from", "file", type=click.Path(path_type=Path), metavar="FILE",
    help="Take addresses and names of companies from a file: a line each, or a CSV with a header.",
)  # fmt: skip
@click.option(
    "--field", "fields", multiple=True, metavar="FIELD",
    help="Take the boards of companies of a field from the list that ships (`sources suggested`); all: all of them.",
)  # fmt: skip
@click.option(
    "--selectors", metavar="CSS",
    help="Where a page has its openings: '{item: li.job, title: h3, url: a, location: .place}', or a file with that.",
)  # fmt: skip
@work_option
@database_option
@json_option
def add_source(
    *,
    url: str | None,
    company: str | None,
    file: Path | None,
    fields: tuple[str, ...],
    selectors: str | None,
    no_work: bool,
    database: str,
    as_json: bool,
) -> None:
    """Find out what list of openings is at an address, test it, and enable it where it answers as it should.

    With --from, a bad line is named with its number and the others are taken. A company's own site, or its name alone,
    is added as a company. With --field, boards are enabled whose own name is the company's; the list is unchecked.
    """
    if sum((url is not None, file is not None, bool(fields))) != 1:
        raise click.UsageError("give an address, or --from FILE, or --field FIELD")
    if url is None and (company is not None or selectors is not None):
        raise click.UsageError("--company and --selectors are for one address")
    vendors()
    if file is not None:
        wanted = _of_file(file)
    elif fields:
        wanted = _Wanted([_named_payload(one.url, one.company) for one in boards_of(fields)], [], [])
    else:
        wanted = _Wanted([_payload(url or "", company, selectors)], [], [])
    check_folder(database)
    click.get_current_context().exit(_add_all(wanted, database, work=not no_work, as_json=as_json))


class _Wanted(NamedTuple):
    sources: list[DiscoveryPayload]
    companies: list[CompanyPayload]
    bad: list[str]


def _add_all(wanted: _Wanted, database: str, *, work: bool, as_json: bool) -> int:
    """Add all of it; the exit status: that something was not taken, where nothing was."""
    show_bad(wanted.bad)
    entries: list[dict[str, Any]] = []
    status = 0
    if wanted.companies:
        status = asyncio.run(add_companies(wanted.companies, database, work=work, entries=entries if as_json else None))
    if wanted.sources:
        create = not wanted.companies
        result = discover(wanted.sources, database, create=create, work=work, entries=entries if as_json else None)
        status = max(status, asyncio.run(result))
    if as_json:
        emit(entries)
    if len(wanted.sources) + len(wanted.companies) > 1:
        # Of many some always fail; each of them was named.
        status = 0
    return status if wanted.sources or wanted.companies else EXIT_FAILED


def _payload(url: str, company: str | None, selectors: str | None) -> DiscoveryPayload:
    try:
        url_key(url)
    except InvalidKey as error:
        raise InputError(f"{plain(url)[:80]} is not a valid address of a list of openings: {error}") from None
    given = None if selectors is None else _selectors(selectors)
    return DiscoveryPayload(url=url, company_name=company, approved=True, scrape=False, selectors=given)


def _named_payload(url: str, company: str) -> DiscoveryPayload:
    """Return the discovery of a board from the list that ships: its name has to be the company's."""
    return DiscoveryPayload(url=url, company_name=company, chosen=True, scrape=False)


def _of_file(file: Path) -> _Wanted:
    listed = read_addresses(file)
    wanted = _Wanted([], [], [])
    bad = [(one.line, f"line {one.line}: {plain(one.text)!r} {one.reason}") for one in listed.bad]
    for one in listed.entries:
        try:
            payload = _of_line(one)
        except InputError as error:
            bad.append((one.line, f"line {one.line}: {error}"))
            continue
        if isinstance(payload, DiscoveryPayload):
            wanted.sources.append(payload)
        else:
            wanted.companies.append(payload)
    wanted.bad.extend(line for _, line in sorted(bad))
    if not (wanted.sources or wanted.companies or wanted.bad):
        raise InputError(f"{file}: there is no address and no company in it: give a line each")
    return wanted


def _of_line(one: NamedAddress) -> DiscoveryPayload | CompanyPayload:
    """Return the task that a line asks for: a board, or a company where there is only its site or its name.

    Raises:
        InputError: its address is of no use.
    """
    if one.url is None:
        return company_payload(one.company or "")
    found, address = board_of_url(one.url), address_of(one.url)
    if found is not None and (found.kind != GENERIC or (address is not None and address.path.strip("/"))):
        return _payload(one.url, one.company, None)
    return company_payload(one.url, one.company)


def _selectors(text: str) -> dict[str, Any]:
    """Return the selectors that a person gave, as text or as a file.

    Raises:
        InputError: they are not valid, on one line.
    """
    path = Path(text)
    if not text.lstrip().startswith("{"):
        try:
            text = path.read_text(encoding="utf-8-sig")[:100_000]
        except (OSError, ValueError) as error:
            raise InputError(f"--selectors: {plain(str(path))[:80]} cannot be read as a file ({error})") from None
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"--selectors: is not valid YAML ({' '.join(str(error).split())[:120]})") from None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise InputError("--selectors: give `{item: CSS, title: CSS, url: CSS}`, each selector a text")
    missing = [
        name for name in ("item", "title", "url") if not value.get(name) and not (name != "item" and name in value)
    ]
    if missing:
        raise InputError(f"--selectors: the {missing[0]} is missing: give `{{item: CSS, title: CSS, url: CSS}}`")
    made = {"item": value.pop("item"), "fields": value}
    try:
        return Selectors.model_validate(made).stored()
    except ValidationError as error:
        raise InputError(f"--selectors: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


@click.command("suggested", short_help="Show boards of companies to begin with.")
@click.option("--field", "fields", multiple=True, metavar="FIELD", help="Only these.")
@json_option
def suggested(*, fields: tuple[str, ...], as_json: bool) -> None:
    """Show the boards of companies that ship with the package, by field: `sources add --field FIELD` adds them.

    The addresses are from public knowledge and unchecked.
    """
    found = boards_of(fields or ("all",))
    if as_json:
        emit([one._asdict() for one in found])
        return
    table = columns()
    for name in ("field", "companies") if not fields else ("company", "board"):
        table.add_column(name, overflow="fold")
    if fields:
        for one in found:
            table.add_row(one.company, one.url)
    else:
        for field in dict.fromkeys(one.field for one in found):
            table.add_row(field, ", ".join(one.company for one in found if one.field == field))
    console().print(table)
    click.echo(
        f"{counted(len(found), 'board')} of {len(known_boards())}, unchecked; to add them: "
        f"`ramet jobs sources add {' '.join(f'--field {field}' for field in fields or ('FIELD',))}`"
    )
