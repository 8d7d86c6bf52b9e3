"""Records of the job finder that this pipeline took over from: its companies, sources and matches, as its tables or a
JSON document have them. Pure: rows in, what is stored out. A row that cannot be taken is named, and the others are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ramet.jobs.companies.identity import company_id_of, website_of
from ramet.jobs.errors import InputError
from ramet.jobs.posting import Posting, fitting, without_login

COMPANIES, SOURCES, LISTINGS, MATCHES, QUEUE = "companies", "job_sources", "job_listings", "job_matches", "job_queue"
TABLES = (COMPANIES, SOURCES, LISTINGS, MATCHES)
"""Tables that have records; listings are read for the matches that name them."""
BOARD_ADDRESSES = {
    "greenhouse": "https://boards.greenhouse.io/{}",
    "lever": "https://jobs.lever.co/{}",
    "ashby": "https://jobs.ashbyhq.com/{}",
}
"""Address of a board with its token, by their type of a source."""
ADDRESS_FIELDS = ("url", "careers_url", "feed_url", "base_url", "api_endpoint")
STATUSES = {
    "applied": "applied", "acknowledged": "applied", "interviewing": "interviewing", "offered": "offer",
    "offer": "offer", "denied": "rejected", "rejected": "rejected", "ignored": "dismissed",
}  # fmt: skip
"""Their status of a match in our words; any other says nothing."""
TIERS = "SABCD"
PRIORITIES = ("High", "Medium", "Low")
TEXT_MAX = 10_000
DESCRIPTION_MAX = 100_000
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class CompanyRecord(BaseModel):
    """A company as it was known there."""

    company_id: str
    name: str
    website: str | None = None
    about: str | None = None
    culture: str | None = None
    mission: str | None = None
    size: str | None = None
    company_size_category: str | None = None
    headquarters_location: str | None = None
    industry: str | None = None
    founded: str | None = None
    tech_stack: list[str] = []
    tier: str | None = None
    priority_score: float | None = None
    at: float | None = None


class SourceRecord(BaseModel):
    """A board or feed as it was set up there; how it is read is found out again."""

    url: str
    name: str
    type_hint: str | None = None
    company_id: str | None = None
    company_name: str | None = None
    active: bool = True


class MatchRecord(BaseModel):
    """An opening that fitted there, with what a person said of it."""

    posting: Posting
    company_id: str | None = None
    score: float
    static_score: float
    priority: str
    matched_skills: list[str] = []
    missing_skills: list[str] = []
    intake: dict[str, Any] = {}
    explanation: str | None = None
    status: str | None = None
    """Our word; None where nothing was said."""
    note: str | None = None
    at: float | None = None


@dataclass(slots=True)
class Records:
    """Records of a file."""

    companies: list[CompanyRecord] = field(default_factory=list)
    sources: list[SourceRecord] = field(default_factory=list)
    matches: list[MatchRecord] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    """Rows that are left out, a line each."""


Record = TypeVar("Record")


def records_of(tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> Records:
    """Understand the rows of these tables; a table that is not there has none."""
    found = Records()
    ids: dict[str, str] = {}
    """Our id of a company by theirs."""

    def taken(table: str, read: Callable[[dict[str, Any]], Record]) -> list[Record]:
        kept = []
        for number, row in enumerate(tables.get(table, ()), start=1):
            try:
                kept.append(read({_CAMEL.sub("_", name).lower(): value for name, value in row.items()}))
            except (InputError, ValidationError, ValueError, TypeError) as error:
                first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error).split("\n")[0]
                found.bad.append(f"row {number} of {table}: {first}")
        return kept

    def company(row: dict[str, Any]) -> CompanyRecord:
        one = _company(row)
        ids[str(row.get("id"))] = one.company_id
        return one

    found.companies = taken(COMPANIES, company)
    found.sources = taken(SOURCES, lambda row: _source(row, ids))
    listings = dict(taken(LISTINGS, lambda row: (str(row["id"]), row)))
    found.matches = taken(MATCHES, lambda row: _match(row, listings, ids))
    return found


def _company(row: dict[str, Any]) -> CompanyRecord:
    name = _text(row, "name", 200)
    if not name:
        raise ValueError("it has no name")
    try:
        website = website_of(str(row["website"])) if row.get("website") else None
    except InputError:
        website = None  # A page of a directory, say: the name is known all the same.
    tier, score = _text(row, "tier"), row.get("priority_score")
    return CompanyRecord(
        company_id=company_id_of(website, name), name=name, website=website, about=_text(row, "about"),
        culture=_text(row, "culture"), mission=_text(row, "mission"), size=_text(row, "size"),
        company_size_category=_text(row, "company_size_category"),
        headquarters_location=_text(row, "headquarters_location"), industry=_text(row, "industry"),
        founded=_text(row, "founded"), tech_stack=_texts(row.get("tech_stack")),
        tier=tier if tier is not None and tier in TIERS else None,
        priority_score=None if score in (None, "") else float(score), at=_moment(row, "updated_at", "created_at"),
    )  # fmt: skip


def _source(row: dict[str, Any], ids: Mapping[str, str]) -> SourceRecord:
    config = _object(row.get("config_json") or row.get("config"))
    kind = (_text(row, "source_type") or "").lower()
    token = str(config.get("board_token") or config.get("token") or "").strip()
    url = BOARD_ADDRESSES[kind].format(token) if token and kind in BOARD_ADDRESSES else None
    url = url or next((str(config[name]) for name in ADDRESS_FIELDS if str(config.get(name) or "").strip()), None)
    if url is None or not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"{_text(row, 'name') or 'it'} has no address")
    status = (_text(row, "status") or "").lower()
    active = status == "active" if status else bool(row.get("enabled", True))
    name = _text(row, "name", 200) or url
    return SourceRecord(
        url=url, name=name, type_hint=kind if kind in BOARD_ADDRESSES else None,
        company_id=ids.get(str(row.get("company_id"))), company_name=_text(row, "company_name", 200), active=active,
    )  # fmt: skip


def _match(row: dict[str, Any], listings: Mapping[str, dict[str, Any]], ids: Mapping[str, str]) -> MatchRecord:
    listed = listings.get(str(row.get("job_listing_id") or row.get("listing_id")), {})
    of = listed | {name: value for name, value in row.items() if value not in (None, "")}
    url = _text(of, "url", 2_000)
    if not url:
        raise ValueError("its listing is not there, so it has no address")
    posting = Posting(
        url=without_login(url), title=_text(of, "job_title", 500) or _text(of, "title", 500) or "",
        company=_text(of, "company_name", 200), location=_text(of, "location", 500),
        description=str(of.get("job_description") or of.get("description") or ""),
        posted_at=_moment(of, "posted_date", "posted_at"),
    )  # fmt: skip
    posting = fitting(posting, DESCRIPTION_MAX)
    score = float(of["match_score"])
    priority = _text(of, "application_priority") or ""
    told = [*_texts(of.get("match_reasons")), *_texts(of.get("key_strengths"))]
    return MatchRecord(
        posting=posting, company_id=ids.get(str(of.get("company_id"))), score=score,
        static_score=float(of.get("static_score") or score),
        priority=priority if priority in PRIORITIES else "High" if score >= 85 else "Medium" if score >= 70 else "Low",
        matched_skills=_texts(of.get("matched_skills")), missing_skills=_texts(of.get("missing_skills")),
        intake=_object(of.get("resume_intake_json") or of.get("resume_intake")),
        explanation="; ".join(told)[:TEXT_MAX] or None, status=STATUSES.get((_text(row, "status") or "").lower()),
        note=_text(of, "status_note", 2_000) or _text(of, "notes", 2_000),
        at=_moment(of, "applied_at", "ignored_at", "updated_at", "analyzed_at", "created_at"),
    )  # fmt: skip


def _text(row: Mapping[str, Any], name: str, length_max: int = TEXT_MAX) -> str | None:
    value = row.get(name)
    text = "" if value is None or isinstance(value, dict | list) else str(value).replace("\0", "").strip()
    return text[:length_max] or None


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in ("[", "{") else value
    except ValueError:
        return None


def _texts(value: Any) -> list[str]:
    found = _parsed(value)
    if isinstance(found, str):
        found = found.split(",")
    return [str(one).strip() for one in found if str(one).strip()] if isinstance(found, list) else []


def _object(value: Any) -> dict[str, Any]:
    found = _parsed(value)
    return found if isinstance(found, dict) else {}


def _moment(row: Mapping[str, Any], *names: str) -> float | None:
    """Return the first of these that can be read: a date of ISO 8601, Unix seconds, or an object with ``_seconds``."""
    for name in names:
        value = row.get(name)
        if isinstance(value, Mapping):
            value = value.get("_seconds", value.get("seconds"))
        try:
            if isinstance(value, str):
                moment = datetime.fromisoformat(value.strip())
                return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value) / 1_000 if value > 1e11 else float(value)
        except (ValueError, OverflowError):
            continue
    return None
