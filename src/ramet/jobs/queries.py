"""Statements by which the commands read the domain tables, and their rows.

Columns that hold JSON are read leniently: a row that an older version wrote is shown as far as it can be.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from ramet import Client
from ramet.jobs.kinds import RUN, SOURCE_RESOURCE
from ramet.jobs.posting import unpacked
from ramet.jobs.records import OF_TEXT, TEXT, VERDICTS

LIKE_ESCAPE = "!"
AT_MOST = 10_000
"""Rows of one answer."""


def value_of(text: str | None) -> Any:
    """Return the value in a column of JSON; None where it is empty or not valid JSON."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return None


def object_of(text: str | None) -> dict[str, Any]:
    """Return the object that a column holds; an empty one for anything else."""
    found = value_of(text)
    return found if isinstance(found, dict) else {}


def list_of(text: str | None) -> list[Any]:
    """Return the list that a column holds; an empty one for anything else."""
    found = value_of(text)
    return found if isinstance(found, list) else []


def containing(text: str) -> str:
    """Return a pattern for LIKE that holds `text` as it is, in lower case."""
    for special in (LIKE_ESCAPE, "%", "_"):
        text = text.replace(special, LIKE_ESCAPE + special)
    return f"%{text.lower()}%"


# --- listings -------------------------------------------------------------------------------------------------------

_LISTING = (
    "listing_id, url, source_id, external_id, company_id, company, title, location, posted_at, salary_min, salary_max, "
    "salary_currency, facts, methods, status, quality, filter_result, reason, score, same_as, text_hash, "
    "first_seen_at, last_seen_at, closed_at, tracking_id, task_id"
)
LISTINGS = f"SELECT {_LISTING} FROM jobs_listings"  # noqa: S608 -- of constants
LISTING_BY_ID = f"{LISTINGS} WHERE listing_id = ?"
LISTINGS_BY_URL = f"{LISTINGS} WHERE url = ? LIMIT 2"
LISTINGS_BY_TASK = f"{LISTINGS} WHERE task_id = ? LIMIT 2"
HASHES = (
    "SELECT listing_id, text_hash FROM jobs_listings WHERE text_hash <> 0 AND listing_id <> ? AND closed_at IS NULL"
)

REJECTED = ("filtered", "skipped", "refused", "unscored", "unknown")
"""Status of listings that are no matches."""

_SEARCHED = ("title", "company", "location", "reason", "url")


@dataclass(frozen=True, slots=True)
class Listing:
    """One opening as it is stored, without its texts."""

    listing_id: str
    url: str
    source_id: str | None
    external_id: str | None
    company_id: str | None
    company: str | None
    title: str | None
    location: str | None
    posted_at: float | None
    salary_min: int | None
    salary_max: int | None
    salary_currency: str | None
    facts: dict[str, Any]
    methods: dict[str, Any]
    status: str
    quality: str | None
    filter_result: dict[str, Any] | None
    reason: str | None
    score: dict[str, Any] | None
    same_as: str | None
    text_hash: int
    first_seen_at: float
    last_seen_at: float
    closed_at: float | None
    tracking_id: str
    task_id: str

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """Return a row of `_LISTING`."""
        values = list(row)
        values[12], values[13] = object_of(values[12]), object_of(values[13])
        values[16], values[18] = object_of(values[16]) or None, object_of(values[18]) or None
        values[20] = int(values[20] or 0)
        return cls(*values)

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON, for programs."""
        told = asdict(self)
        del told["text_hash"]
        return told


def searching(words: Sequence[str], columns: Sequence[str]) -> tuple[str, list[str]]:
    """Return a condition that every word is in one of the columns, in any case of ASCII letters; and its parameters."""
    one = " OR ".join(f"LOWER(COALESCE({column}, '')) LIKE ? ESCAPE '{LIKE_ESCAPE}'" for column in columns)
    parameters = [containing(word) for word in words for _ in columns]
    return " AND ".join(f"({one})" for _ in words) or "1 = 1", parameters


async def listings_with(client: Client, words: Sequence[str], limit: int) -> list[Listing]:
    """Return the listings whose title or company has all of these words, the ones last seen first."""
    condition, parameters = searching(words, ("title", "company"))
    rows = await client.read(
        f"{LISTINGS} WHERE {condition} ORDER BY last_seen_at DESC, listing_id LIMIT ?", (*parameters, limit)
    )
    return [Listing.of(row) for row in rows]


async def rejected(
    client: Client, words: Sequence[str], statuses: Sequence[str], limit: int
) -> tuple[list[Listing], dict[str, int]]:
    """Return listings that are not matches and have all of these words in title, company, place, reason or address.

    Returns:
        The ones last seen first, and how many there are of each status.
    """
    condition, parameters = searching(words, _SEARCHED)
    among = ", ".join("?" for _ in statuses)
    where = f"status IN ({among}) AND {condition}"
    counts = await client.read(
        f"SELECT status, COUNT(*) FROM jobs_listings WHERE {where} GROUP BY status",  # noqa: S608 -- only placeholders
        (*statuses, *parameters),
    )
    rows = await client.read(
        f"{LISTINGS} WHERE {where} ORDER BY last_seen_at DESC, listing_id LIMIT ?", (*statuses, *parameters, limit)
    )
    return [Listing.of(row) for row in rows], {status: int(count) for status, count in counts}


@dataclass(frozen=True, slots=True)
class FormerVerdict:
    """A verdict on a listing that another one has replaced, with what was read of it then."""

    replaced_at: float
    cause: str
    """Cause of the next one."""
    status: str
    reason: str | None
    match_score: float | None
    title: str | None
    location: str | None
    salary_min: int | None
    salary_max: int | None
    salary_currency: str | None


async def former_verdicts(client: Client, listing_id: str, limit: int) -> tuple[FormerVerdict, ...]:
    """Return the latest replaced verdicts of a listing, the newest first."""
    return tuple(FormerVerdict(*row) for row in await client.read(VERDICTS, (listing_id, limit)))


# --- matches --------------------------------------------------------------------------------------------------------

_MATCH = f"""
    SELECT m.listing_id, m.match_score, m.static_score, m.application_priority, m.adjustments, m.matched_skills,
        m.missing_skills, m.intake, m.explanation, m.method, m.saved_at, m.tracking_id, l.url, l.title, l.company,
        l.location, l.posted_at, l.salary_min, l.salary_max, l.salary_currency, l.closed_at, l.source_id, c.tier,
        c.website, {TEXT}, l.fingerprint, l.text_hash
    FROM jobs_matches m JOIN jobs_listings l ON l.listing_id = m.listing_id
    LEFT JOIN jobs_companies c ON c.company_id = l.company_id {OF_TEXT}"""  # noqa: S608 -- of constants
MATCHES = f"{_MATCH} ORDER BY m.match_score DESC, m.listing_id LIMIT ?"
MATCH_BY_ID = f"{_MATCH} WHERE m.listing_id = ?"


@dataclass(frozen=True, slots=True)
class Match:
    """One opening that fits, as it is stored."""

    listing_id: str
    match_score: float
    """When it was saved."""
    static_score: float
    """Score without the points of its age."""
    application_priority: str
    adjustments: list[dict[str, Any]]
    matched_skills: list[str]
    missing_skills: list[str]
    intake: dict[str, Any]
    explanation: str | None
    method: str
    saved_at: float
    tracking_id: str
    url: str
    title: str | None
    company: str | None
    location: str | None
    posted_at: float | None
    salary_min: int | None
    salary_max: int | None
    salary_currency: str | None
    closed_at: float | None
    source_id: str | None
    tier: str | None
    website: str | None
    description: str | None
    fingerprint: str | None
    text_hash: int

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """Return a row of `_MATCH`."""
        values = list(row)
        for place in (4, 5, 6):
            values[place] = list_of(values[place])
        values[7] = object_of(values[7])
        values[-1] = int(values[-1] or 0)
        values[-3] = _text(values[-3])
        return cls(*values)

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON, for programs, without the text."""
        hidden = ("description", "fingerprint", "text_hash")
        return {name: value for name, value in asdict(self).items() if name not in hidden}


def _text(stored: str | None) -> str | None:
    try:
        return None if stored is None else unpacked(stored)
    except ValueError:
        return None  # The row is damaged: the rest of it is shown.


async def matches(client: Client) -> list[Match]:
    """Return all matches, the best at the time of saving first; at most `AT_MOST`."""
    return [Match.of(row) for row in await client.read(MATCHES, (AT_MOST,))]


# --- sources and companies ------------------------------------------------------------------------------------------

_SOURCE = """
    SELECT s.source_id, s.name, s.source_type, s.url, s.company_id, s.company_name, s.status, s.confidence,
        s.discovered_via, s.discovered_at, s.tested_at, s.allow_empty, s.last_scraped_at, s.last_status, s.last_count,
        s.most_listings, s.suspect, s.note, CASE WHEN s.instruction IS NULL THEN 0 ELSE 1 END, c.tier
    FROM jobs_sources s LEFT JOIN jobs_companies c ON c.company_id = s.company_id"""
SOURCES = f"{_SOURCE} ORDER BY s.name, s.source_id LIMIT ?"
SOURCE_BY_ID = f"{_SOURCE} WHERE s.source_id = ?"
SOURCES_BY_URL = f"{_SOURCE} WHERE s.url = ? LIMIT 2"
LISTINGS_OF_SOURCES = "SELECT source_id, status, COUNT(*) FROM jobs_listings GROUP BY source_id, status"


@dataclass(frozen=True, slots=True)
class Source:
    """A board or feed as it is stored, without how it is read."""

    source_id: str
    name: str
    source_type: str
    url: str
    company_id: str | None
    company_name: str | None
    status: str
    confidence: str | None
    discovered_via: str | None
    discovered_at: float
    tested_at: float | None
    allow_empty: bool
    last_scraped_at: float | None
    last_status: str | None
    last_count: int | None
    most_listings: int
    suspect: int
    note: str | None
    is_readable: bool
    """Whether it is known how it is read: it was tested."""
    tier: str | None
    """Tier of its company."""

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """Return a row of `_SOURCE`."""
        values = list(row)
        values[11], values[18] = bool(values[11]), bool(values[18])
        return cls(*values)


async def sources(client: Client) -> list[Source]:
    """Return all sources by name; at most `AT_MOST`."""
    return [Source.of(row) for row in await client.read(SOURCES, (AT_MOST,))]


async def source_by_id(client: Client, source_id: str) -> Source | None:
    """Return the source of this id, or None."""
    rows = await client.read(SOURCE_BY_ID, (source_id,))
    return Source.of(rows[0]) if rows else None


async def listings_of_sources(client: Client) -> dict[str, dict[str, int]]:
    """Return the number of listings of each status, by source."""
    found: dict[str, dict[str, int]] = {}
    for source_id, status, count in await client.read(LISTINGS_OF_SOURCES):
        if source_id is not None:
            found.setdefault(source_id, {})[status] = int(count)
    return found


COMPANIES = """
    SELECT company_id, name, website, status, tier, priority_score, completeness, job_board_url, board_confidence, note,
        updated_at FROM jobs_companies ORDER BY COALESCE(priority_score, -1) DESC, name, company_id LIMIT ?"""
COMPANY = """
    SELECT company_id, name, website, status, tier, priority_score, completeness, job_board_url, board_confidence, note,
        updated_at FROM jobs_companies WHERE company_id = ?"""


@dataclass(frozen=True, slots=True)
class Company:
    """A company as it is stored, without its texts."""

    company_id: str
    name: str
    website: str | None
    status: str
    tier: str | None
    priority_score: float | None
    completeness: str | None
    job_board_url: str | None
    board_confidence: str | None
    note: str | None
    updated_at: float


async def companies(client: Client) -> list[Company]:
    """Return all companies, those of the highest priority first; at most `AT_MOST`."""
    return [Company(*row) for row in await client.read(COMPANIES, (AT_MOST,))]


async def company_by_id(client: Client, company_id: str | None) -> Company | None:
    """Return the company of this id, or None."""
    rows = await client.read(COMPANY, (company_id,)) if company_id is not None else []
    return Company(*rows[0]) if rows else None


ENABLED = """
    SELECT s.source_id, c.tier, s.last_scraped_at FROM jobs_sources s
    LEFT JOIN jobs_companies c ON c.company_id = s.company_id
    WHERE s.status = 'active'"""
TIERS = "SABCD"
RESOURCES_MAX = 10_000
LIVE_MAX = 20


class ChosenSource(NamedTuple):
    """A source that a run takes on."""

    source_id: str
    tier: str | None
    """Tier of its company."""


async def sources_to_scrape(
    client: Client, wanted: Sequence[str] | None, at_most: int | None, not_since: float | None = None
) -> list[ChosenSource]:
    """Return enabled sources whose breaker is closed: by tier, then by the longest time since their scrape.

    Args:
        not_since: Unix seconds; sources that were scraped then or later are left out.
    """
    off = await switched_off(client)
    rows = [
        row
        for row in await client.read(ENABLED)
        if row[0] not in off
        and (wanted is None or row[0] in wanted)
        and (not_since is None or row[2] is None or row[2] < not_since)
    ]
    rows.sort(key=lambda row: (TIERS.index(row[1]) if row[1] else len(TIERS), row[2] or 0.0, row[0]))
    return [ChosenSource(source_id, tier) for source_id, tier, _ in rows[:at_most]]


async def live_tasks(client: Client, kinds: Sequence[str]) -> list[str]:
    """Return the keys of live tasks of these kinds; at most `LIVE_MAX` of a kind."""
    found: list[str] = []
    for kind in kinds:
        page = await client.tasks(kind=kind, states=["pending", "processing"], limit=LIVE_MAX)
        found += [task.key for task in page.tasks]
    return found


async def switched_off(client: Client) -> dict[str, str]:
    """Return sources whose breaker is open, with the reason."""
    return {
        found.name.removeprefix(SOURCE_RESOURCE): found.opened_reason or f"switched off by {found.opened_by}"
        for found in await client.resources(limit=RESOURCES_MAX)
        if found.opened_at is not None and found.name.startswith(SOURCE_RESOURCE)
    }


RUNS_LOOKED_AT = 1_000


async def live_run(client: Client, *, but: str = "") -> str | None:
    """Return the tracking id of the newest live run other than `but`, from the schedule or a command."""
    found = await client.lineages(states=["running", "paused"], limit=RUNS_LOOKED_AT)
    runs = (one.tracking_id for one in found if one.tracking_id.startswith(RUN))
    return next((tracking_id for tracking_id in runs if tracking_id != but), None)
