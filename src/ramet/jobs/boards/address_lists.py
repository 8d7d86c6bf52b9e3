"""Lists of addresses to begin with: a person's own file, and the boards of companies that ship with the package."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ramet.jobs.config.config_file import read_text
from ramet.jobs.errors import InputError

BYTES_MAX = 4 * 1024 * 1024
"""Most bytes of a file of addresses."""
LINES_MAX = 20_000
NAME_MAX = 200
"""Characters of a company's name."""
_WORD = r"[^\s,;|<>\"'\])]"
_ADDRESS = re.compile(
    rf"https?://{_WORD}+|(?<![@\w./:-])(?:[\w-]{{1,63}}\.){{1,6}}[a-z]{{2,24}}(?:/{_WORD}*)?(?![\w@])", re.IGNORECASE
)
_BETWEEN = " \t,;|-\u2013\u2014*:<>[]()\"'"
_URLS = (
    "job board",
    "board",
    "careers page",
    "careers",
    "career page",
    "jobs",
    "url",
    "link",
    "address",
    "website",
    "site",
)
_NAMES = ("company", "company name", "employer", "organization", "organisation", "name")


class NamedAddress(NamedTuple):
    """A line of a list: an address, a company, or both."""

    line: int
    """Line number, from 1; 0 where it does not come from a file."""
    url: str | None
    company: str | None


class BadLine(NamedTuple):
    """A line that names neither."""

    line: int
    text: str
    reason: str


class AddressList(NamedTuple):
    """The lines of a file."""

    entries: list[NamedAddress]
    bad: list[BadLine]


def read_addresses(path: Path) -> AddressList:
    """Read the addresses and companies of a file: a line each, or a CSV with a header.

    Empty lines and those that begin with # are passed over, and an entry that is there twice is returned once.

    Raises:
        InputError: it cannot be read, is too large, or is not UTF-8.
    """
    return parse_addresses(
        read_text(path, BYTES_MAX, unreadable="give a file of addresses", too_large="give a list of addresses only")
    )


def parse_addresses(text: str) -> AddressList:
    """Return the addresses and companies in the lines of a text."""
    lines = text.splitlines()
    if len(lines) > LINES_MAX:
        raise InputError(f"a list of {len(lines):,} lines: give at most {LINES_MAX:,}")
    found = AddressList([], [])
    seen: set[tuple[str | None, str | None]] = set()
    for one in _table(lines) or _free(lines):
        if isinstance(one, BadLine):
            found.bad.append(one)
        elif (key := (one.url, None if one.url else (one.company or "").casefold())) not in seen:
            seen.add(key)
            found.entries.append(one)
    return found


def _table(lines: Sequence[str]) -> list[NamedAddress | BadLine] | None:
    """Return the rows of a CSV; None where the first line is not a header."""
    head = next((line for line in lines if line.strip()), "")
    mark = max(",;\t", key=head.count)
    columns = [cell.strip().strip('"').casefold().replace("_", " ") for cell in head.split(mark)]
    urls = [columns.index(name) for name in _URLS if name in columns]
    names = [columns.index(name) for name in _NAMES if name in columns]
    if len(columns) < 2 and not urls:
        return None
    if not (urls or names) or any(_ADDRESS.search(cell) for cell in columns):
        return None
    found: list[NamedAddress | BadLine] = []
    reader = csv.reader(lines, delimiter=mark)
    header = True
    for row in reader:
        if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
            continue
        if header:
            header = False
            continue
        cells = [row[at].strip() if at < len(row) else "" for at in (*urls, *names)]
        url = next((match[0] for cell in cells[: len(urls)] if (match := _ADDRESS.search(cell))), None)
        company = next((cell for cell in cells[len(urls) :] if cell), None)
        found.append(_checked(reader.line_num, url, company, mark.join(row)))
    return found


def _free(lines: Sequence[str]) -> Iterator[NamedAddress | BadLine]:
    """Yield the entries of free lines: an address, a name, or a name beside an address in either order."""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _ADDRESS.search(text)
        rest = text if match is None else text[: match.start()] + " " + text[match.end() :]
        yield _checked(number, match and match[0], rest.strip(_BETWEEN) or None, text)


def _checked(number: int, url: str | None, company: str | None, text: str) -> NamedAddress | BadLine:
    company = " ".join(company.split()) if company else None
    if company is not None and len(company) > NAME_MAX:
        company = None if url else company
    if url is None and (company is None or len(company) > NAME_MAX or not any(map(str.isalpha, company))):
        return BadLine(number, text[:80], "there is neither an address nor a name in it")
    if url is None and company is not None and "://" in company:
        return BadLine(number, text[:80], "is not an address of http or https")
    return NamedAddress(number, url if url is None or "://" in url else f"https://{url}", company)


class KnownBoard(NamedTuple):
    """The board of a company, from public knowledge and unchecked."""

    field: str
    company: str
    url: str


@cache
def known_boards() -> tuple[KnownBoard, ...]:
    """Return the boards that ship, by field."""
    text = (resources.files("ramet.jobs.boards") / "companies.csv").read_text(encoding="utf-8")
    return tuple(KnownBoard(row["field"], row["company"], row["url"]) for row in csv.DictReader(text.splitlines()))


def boards_of(fields: Sequence[str]) -> list[KnownBoard]:
    """Return the boards of some fields.

    Raises:
        InputError: there is no such field.
    """
    known = list(dict.fromkeys(one.field for one in known_boards()))
    wrong = [field for field in fields if field not in (*known, "all")]
    if wrong:
        raise InputError(f"{wrong[0]!r} is not one of the fields: take {', '.join(known)}, or all")
    return [one for one in known_boards() if "all" in fields or one.field in fields]
