"""Openings that another program found: rows of CSV, JSON or JSON lines, with the columns of JobSpy or alike."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ramet.jobs.boards.address_lists import BadLine
from ramet.jobs.boards.dates import parse_posted
from ramet.jobs.boards.fields import absolute, line, plain, workplace_of
from ramet.jobs.boards.salary_text import pay_of, salary_text
from ramet.jobs.config.config_file import read_text
from ramet.jobs.errors import InputError
from ramet.jobs.posting import Posting, clean, without_login

BYTES_MAX = 64 * 1024 * 1024
"""Most bytes of a file of openings."""
ROWS_MAX = 10_000
_EMPTY = frozenset({"", "nan", "none", "null"})
_BASE = "https://invalid.invalid/"
URLS = ("job_url_direct", "job_url", "url", "link", "apply_url")
"""Columns of an address, the employer's own first."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "position", "job_title"),
    "company": ("company", "company_name", "employer"),
    "location": ("location", "place", "city"),
    "description": ("description", "text"),
    "posted_at": ("date_posted", "posted_at", "posted", "date"),
    "workplace": ("work_from_home_type", "workplace", "workplace_type"),
    "employment_type": ("job_type", "employment_type"),
    "external_id": ("id",),
    "website": ("company_url_direct", "company_website"),
    "minimum": ("min_amount", "salary_min"),
    "maximum": ("max_amount", "salary_max"),
    "currency": ("currency", "salary_currency"),
    "period": ("interval", "salary_period"),
    "salary": ("salary",),
}
"""Field -> the columns of which the first that has something is taken."""


class FoundOpenings(NamedTuple):
    """The openings of a file."""

    postings: list[Posting]
    bad: list[BadLine]


def read_openings(path: Path, now: float) -> FoundOpenings:
    """Read the openings of a file; values that its columns do not have stay unknown.

    Args:
        now: Unix seconds.

    Raises:
        InputError: it cannot be read, is too large, or is not such a file: one line.
    """
    text = read_text(path, BYTES_MAX, unreadable="give a file of openings", too_large="give it in parts")
    found = FoundOpenings([], [])
    seen: set[str] = set()
    for number, row in _rows(path, text):
        if len(found.postings) + len(found.bad) >= ROWS_MAX:
            raise InputError(f"{path}: has more than {ROWS_MAX:,} openings: give it in parts")
        posting = None if isinstance(row, str) else _posting(row, now)
        if posting is None:
            reason = row if isinstance(row, str) else "an opening needs a title and an address of http or https"
            found.bad.append(BadLine(number, "", reason))
        elif posting.url not in seen:
            seen.add(posting.url)
            found.postings.append(posting)
    return found


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the number and the columns of each row; a text: why it is not valid."""
    start = text.lstrip()[:1]
    if start == "[":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: is not valid JSON ({error})") from None
        for number, row in enumerate(value, 1):
            yield number, row if isinstance(row, dict) else "is not an object"
    elif start == "{":
        for number, written in enumerate(text.splitlines(), 1):
            if written.strip():
                yield number, _object(written)
    else:
        # A cell may have lines of its own, and be as long as a description.
        csv.field_size_limit(BYTES_MAX)
        reader = csv.DictReader(text.splitlines(keepends=True))
        names = {name.strip().lower() for name in reader.fieldnames or () if name}
        if not names & {*URLS} or not names & {*COLUMNS["title"]}:
            raise InputError(f"{path}: its first line does not name the columns title and job_url (or url)")
        for row in reader:
            yield reader.line_num, {(name or "").strip().lower(): value for name, value in row.items()}


def _object(written: str) -> dict[str, Any] | str:
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        return "is not valid JSON"
    return value if isinstance(value, dict) else "is not an object"


def _text(row: Mapping[str, Any], columns: tuple[str, ...]) -> str:
    for column in columns:
        value = row.get(column)
        text = "" if value is None or isinstance(value, dict | list) else str(value).strip()
        if text.lower() not in _EMPTY:
            return text
    return ""


def _posting(row: Mapping[str, Any], now: float) -> Posting | None:
    told = {name: _text(row, columns) for name, columns in COLUMNS.items()}
    url = next((found for name in URLS if (found := absolute(_text(row, (name,)), _BASE))), None)
    title = line(told["title"])
    if url is None or url.startswith(_BASE) or not title:
        return None
    pay = pay_of(told["minimum"], told["maximum"], told["currency"], told["period"])
    remote = "remote" if _text(row, ("is_remote", "remote")).lower() in ("true", "1", "yes") else None
    website = absolute(told["website"], _BASE) if told["website"] else None
    return Posting(
        url=without_login(url),
        title=title,
        company=line(told["company"]) or None,
        company_website=None if website is None or website.startswith(_BASE) else website,
        location=line(told["location"]) or None,
        description=clean(plain(told["description"], "html" if "</" in told["description"] else "text")),
        posted_at=parse_posted(told["posted_at"], now) if told["posted_at"] else None,
        salary=salary_text(pay) or line(told["salary"]) or None,
        pay=pay,
        workplace=workplace_of(told["workplace"]) or remote,
        employment_type=line(told["employment_type"]) or None,
    )
