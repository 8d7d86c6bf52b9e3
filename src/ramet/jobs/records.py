"""Rows of the domain tables, and the statements that write them.

Every statement can be repeated without effect, and none overwrites what is known with nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ramet import Client, Context
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.text.company_names import company_name_key

AT_ONCE = 400
"""Parameters of one statement; SQLite takes 32,766, older ones 999."""


def json_of(value: Any) -> str:
    """Return a value as it is kept in a column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def members(count: int) -> str:
    """`(?, ?, ?)`."""
    return "(" + ", ".join("?" * count) + ")"


def portions(values: Sequence[str]) -> list[Sequence[str]]:
    """Return values in parts of which each fits into one statement."""
    return [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]


def lineage_fields(ctx: Context) -> tuple[str, str, str | None, int]:
    """Return the columns of the task that made a record: tracking_id, task_id, parent_item_id, spawn_depth."""
    return ctx.tracking_id, ctx.id, ctx.parent_id, ctx.spawn_depth


def _columns(row: type[Any]) -> str:
    return ", ".join(field.name for field in fields(row))


def _named(row: type[Any], values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip((field.name for field in fields(row)), values, strict=True))


# --- companies ------------------------------------------------------------------------------------------------------

BEGIN_COMPANY = """
    INSERT INTO jobs_companies (company_id, name, name_key, website, status, note, tracking_id, task_id, parent_item_id,
                                spawn_depth, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (company_id) DO UPDATE SET status = excluded.status, note = excluded.note,
        website = COALESCE(excluded.website, jobs_companies.website), tracking_id = excluded.tracking_id,
        task_id = excluded.task_id, parent_item_id = excluded.parent_item_id, spawn_depth = excluded.spawn_depth"""
"""The record from the start: identifiers, status and tracking fields."""
NOTE_COMPANY = """
    INSERT INTO jobs_companies (company_id, name, name_key, website, status, note, tracking_id, task_id, parent_item_id,
                                spawn_depth, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (company_id) DO NOTHING"""
"""A company that is known by its name alone."""
SAVE_COMPANY = """
    UPDATE jobs_companies SET name = ?, name_key = ?, status = ?, analysis_status = ?, about = ?, culture = ?,
        mission = ?, size = ?, company_size_category = ?, headquarters_location = ?, industry = ?, founded = ?,
        tech_stack = ?, remote_first = ?, tier = ?, priority_score = ?, score_reasons = ?, completeness = ?,
        methods = ?, job_board_url = ?, job_board_kind = ?, board_confidence = ?, note = ?, updated_at = ?
    WHERE company_id = ?"""
END_COMPANY = "UPDATE jobs_companies SET status = ?, analysis_status = ?, note = ? WHERE company_id = ?"


@dataclass(frozen=True, slots=True)
class CompanyRow:
    """A company, as far as tasks need it: each field is a column."""

    company_id: str
    name: str
    website: str | None
    status: str
    note: str | None
    about: str | None
    culture: str | None
    mission: str | None
    size: str | None
    company_size_category: str | None
    headquarters_location: str | None
    industry: str | None
    founded: str | None
    tech_stack: tuple[str, ...]
    tier: str | None
    completeness: str | None
    methods: dict[str, str]
    updated_at: float

    @classmethod
    def of(cls, row: Sequence[Any]) -> CompanyRow:
        """Return the record of values that were read from the table."""
        told = _named(cls, row)
        told["tech_stack"] = tuple(json.loads(told["tech_stack"] or "[]"))
        told["methods"] = json.loads(told["methods"] or "{}")
        return cls(**told)


COMPANY_BY_ID = f"SELECT {_columns(CompanyRow)} FROM jobs_companies WHERE company_id = ?"  # noqa: S608
COMPANY_BY_NAME = f"""
    SELECT {_columns(CompanyRow)} FROM jobs_companies WHERE name_key = ?
    ORDER BY website IS NULL, company_id LIMIT 1"""  # noqa: S608


COMPANIES_OF = f"""
    SELECT {_columns(CompanyRow)} FROM jobs_companies WHERE company_id = ? OR name_key = ?
    ORDER BY CASE company_id WHEN ? THEN 0 ELSE 1 END, website IS NULL, company_id LIMIT 2"""  # noqa: S608


async def company_by_id(client: Client, company_id: str) -> CompanyRow | None:
    """Return the company of this id, or None."""
    rows = await client.read(COMPANY_BY_ID, (company_id,))
    return CompanyRow.of(rows[0]) if rows else None


async def companies_of(client: Client, company_id: str, name_key: str) -> tuple[CompanyRow | None, CompanyRow | None]:
    """Read the rows of `company_by_id` and, if it has no website, of `company_by_name`, in one query."""
    if not name_key:
        return await company_by_id(client, company_id), None
    rows = [CompanyRow.of(row) for row in await client.read(COMPANIES_OF, (company_id, name_key, company_id))]
    by_id = next((row for row in rows if row.company_id == company_id), None)
    named = [row for row in rows if company_name_key(row.name) == name_key]
    return by_id, min(named, key=lambda row: (row.website is None, row.company_id), default=None)


async def company_by_name(client: Client, name_key: str) -> CompanyRow | None:
    """Return a company of this name, preferably one with a website; None where there is none."""
    rows = await client.read(COMPANY_BY_NAME, (name_key,)) if name_key else []
    return CompanyRow.of(rows[0]) if rows else None


# --- sources --------------------------------------------------------------------------------------------------------

PENDING, ACTIVE, DISABLED, FAILED = "pending_validation", "active", "disabled", "failed"
"""Status of a source. One whose breaker is open is disabled too, whatever its row says."""

BEGIN_SOURCE = """
    INSERT INTO jobs_sources (source_id, name, source_type, url, company_id, company_name, status, confidence,
                              discovered_via, discovered_at, allow_empty, most_listings, suspect, note, tracking_id,
                              task_id, parent_item_id, spawn_depth, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (source_id) DO UPDATE SET
        company_id = COALESCE(jobs_sources.company_id, excluded.company_id),
        company_name = COALESCE(jobs_sources.company_name, excluded.company_name)"""
SAVE_SOURCE = """
    UPDATE jobs_sources SET name = ?, source_type = ?, url = ?, instruction = ?, status = ?, confidence = ?,
        tested_at = ?, last_status = ?, last_count = ?, note = ?, updated_at = ?
    WHERE source_id = ?"""
END_SOURCE = "UPDATE jobs_sources SET status = ?, last_status = ?, note = ?, updated_at = ? WHERE source_id = ?"
FORGET_SOURCE = "DELETE FROM jobs_sources WHERE source_id = ? AND tested_at IS NULL AND last_scraped_at IS NULL"
"""One that a person named, and that turned out to be none."""
SCRAPED = """
    UPDATE jobs_sources SET last_scraped_at = ?, last_status = ?, last_count = ?, validators = ?, suspect = 0, note = ?,
        most_listings = CASE WHEN ? > most_listings THEN ? ELSE most_listings END, updated_at = ?
    WHERE source_id = ?"""
SUSPECTED = """
    UPDATE jobs_sources SET last_scraped_at = ?, last_status = 'suspect', last_count = 0, suspect = suspect + 1,
        note = ?, updated_at = ? WHERE source_id = ?"""
NOTED = "UPDATE jobs_sources SET last_scraped_at = ?, last_status = ?, note = ?, updated_at = ? WHERE source_id = ?"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source, as far as tasks need it: each field is a column."""

    source_id: str
    instruction: Instruction | None
    """None: it was never tested."""
    company_id: str | None
    company_name: str | None
    status: str
    allow_empty: bool
    validators: dict[str, str]
    last_scraped_at: float | None
    last_count: int | None
    most_listings: int
    suspect: int
    """Runs in a row whose list was empty where there were openings before."""

    @classmethod
    def of(cls, row: Sequence[Any]) -> SourceRow:
        """Return the record of values that were read from the table."""
        told = _named(cls, row)
        instruction = told["instruction"]
        told["instruction"] = None if instruction is None else Instruction.of(json.loads(instruction))
        told["allow_empty"] = bool(told["allow_empty"])
        told["validators"] = json.loads(told["validators"] or "{}")
        return cls(**told)


SOURCE_BY_ID = f"SELECT {_columns(SourceRow)} FROM jobs_sources WHERE source_id = ?"  # noqa: S608


async def source_by_id(client: Client, source_id: str) -> SourceRow | None:
    """Return the source of this id, or None."""
    rows = await client.read(SOURCE_BY_ID, (source_id,))
    return SourceRow.of(rows[0]) if rows else None


# --- listings -------------------------------------------------------------------------------------------------------

BEGIN_LISTING = """
    INSERT INTO jobs_listings (listing_id, url, source_id, external_id, company_id, company, title, status,
                               first_seen_at, last_seen_at, tracking_id, task_id, parent_item_id, spawn_depth)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'analyzing', ?, ?, ?, ?, ?, ?)
    ON CONFLICT (listing_id) DO UPDATE SET status = 'analyzing', reason = NULL, source_id = excluded.source_id,
        company_id = COALESCE(jobs_listings.company_id, excluded.company_id),
        external_id = excluded.external_id, tracking_id = excluded.tracking_id, task_id = excluded.task_id,
        parent_item_id = excluded.parent_item_id, spawn_depth = excluded.spawn_depth,
        last_seen_at = excluded.last_seen_at
    WHERE jobs_listings.task_id = excluded.task_id
        OR jobs_listings.status IN ('refused', 'unscored', 'unknown', 'analyzing')"""
REFUSE_LISTING = """
    INSERT INTO jobs_listings (listing_id, url, source_id, company_id, company, title, location, posted_at, status,
                               reason, first_seen_at, last_seen_at, tracking_id, task_id, parent_item_id, spawn_depth)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'refused', ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (listing_id) DO UPDATE SET reason = excluded.reason, last_seen_at = excluded.last_seen_at
    WHERE jobs_listings.status = 'refused'"""
"""Keeps a listing that was refused before it had a task; it is judged again whenever its board shows it."""
END_LISTING = """
    UPDATE jobs_listings SET company_id = ?, company = ?, title = ?, location = ?, description = ?, requirements = ?,
        posted_at = ?, salary_min = ?, salary_max = ?, salary_currency = ?, facts = ?, methods = ?, status = ?,
        quality = ?, filter_result = ?, reason = ?, same_as = ?, score = ?, fingerprint = ?, text_hash = ?
    WHERE listing_id = ? AND task_id = ?"""
END_UNREAD = f"{END_LISTING} AND status = 'analyzing'"
"""It could not be read; what was read of it before stays."""
NAME_COMPANY = "UPDATE jobs_listings SET company_id = ? WHERE listing_id = ? AND task_id = ? AND status = 'analyzing'"
RESCORE_LISTING = """
    UPDATE jobs_listings SET company_id = COALESCE(?, company_id), status = ?, reason = ?, filter_result = ?, score = ?
    WHERE listing_id = ? AND task_id = ? AND status = ?"""
DUPLICATE_LISTING = """
    INSERT INTO jobs_listings (listing_id, url, company_id, company, title, status, reason, same_as, first_seen_at,
                               last_seen_at, tracking_id, task_id, parent_item_id, spawn_depth)
    VALUES (?, ?, ?, ?, ?, 'skipped', ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (listing_id) DO UPDATE SET status = 'skipped', reason = excluded.reason, same_as = excluded.same_as"""
ADD_MATCH = """
    INSERT INTO jobs_matches (listing_id, tracking_id, source_id, match_score, static_score, application_priority,
                              adjustments, matched_skills, missing_skills, intake, explanation, method, posted_at,
                              saved_at)
    SELECT listing_id, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION),
        CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
        CAST(? AS TEXT), CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION)
    FROM jobs_listings WHERE listing_id = ? AND task_id = ?
    ON CONFLICT (listing_id) DO UPDATE SET match_score = excluded.match_score, static_score = excluded.static_score,
        application_priority = excluded.application_priority, adjustments = excluded.adjustments,
        matched_skills = excluded.matched_skills, missing_skills = excluded.missing_skills, intake = excluded.intake,
        explanation = excluded.explanation, method = excluded.method, posted_at = excluded.posted_at,
        saved_at = excluded.saved_at"""
"""A match, unless another task has judged the listing since."""
DECIDED = "EXISTS (SELECT 1 FROM jobs_match_marks k WHERE k.listing_id = {0}.listing_id AND k.marked_by IS NOT NULL)"
"""A person has said something of it."""
DROP_MATCH = f"""
    DELETE FROM jobs_matches WHERE listing_id = ? AND EXISTS (
        SELECT 1 FROM jobs_listings l WHERE l.listing_id = jobs_matches.listing_id AND l.task_id = ?)
    AND NOT {DECIDED.format("jobs_matches")}"""  # noqa: S608 -- of constants
"""A listing that fits no more: unless another task has judged it since, or a person has said something of it."""
KEEP_VERDICT = """
    INSERT INTO jobs_verdicts (listing_id, replaced_at, replaced_by, cause, status, reason, match_score, title,
                               location, salary_min, salary_max, salary_currency)
    SELECT l.listing_id, CAST(? AS DOUBLE PRECISION), CAST(? AS TEXT), CAST(? AS TEXT), l.status, l.reason,
        m.match_score, l.title, l.location, l.salary_min, l.salary_max, l.salary_currency
    FROM jobs_listings l LEFT JOIN jobs_matches m ON m.listing_id = l.listing_id
    WHERE l.listing_id = ? AND l.task_id = ? AND l.status IN ('matched', 'skipped', 'filtered')
        AND (l.status <> ? OR COALESCE(l.reason, '') <> ? OR COALESCE(l.score, '') <> ? OR COALESCE(l.title, '') <> ?
             OR COALESCE(l.location, '') <> ?)
    ON CONFLICT (listing_id, replaced_at, replaced_by) DO NOTHING"""
"""The verdict that the next one replaces, where that is another; before the listing is written."""
CLAIM_LISTING = """
    UPDATE jobs_listings SET tracking_id = ?, task_id = ?, parent_item_id = ?, spawn_depth = ?
    WHERE listing_id = ? AND status IN ('matched', 'skipped', 'filtered')"""
"""A listing that is read again: its verdict stays until there is another."""
SAVE_READING = """
    INSERT INTO jobs_readings (listing_id, number, shown, failed, runs_left, read_at) VALUES (?, ?, ?, 0, 0, ?)
    ON CONFLICT (listing_id) DO UPDATE SET number = excluded.number,
        shown = COALESCE(excluded.shown, jobs_readings.shown),
        failed = 0, runs_left = 0, read_at = excluded.read_at
    WHERE jobs_readings.number <= excluded.number"""
SAVE_FAILED_READING = """
    INSERT INTO jobs_readings (listing_id, number, shown, failed, runs_left, read_at) VALUES (?, ?, ?, 1, 0, NULL)
    ON CONFLICT (listing_id) DO UPDATE SET number = excluded.number,
        shown = COALESCE(excluded.shown, jobs_readings.shown),
        failed = jobs_readings.failed + 1,
        runs_left = CASE jobs_readings.failed WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 3 WHEN 3 THEN 7 ELSE 15 END
    WHERE jobs_readings.number <= excluded.number"""
"""It is read again by the next run that its board shows it to, then by every second, fourth, eighth, sixteenth one."""
KEEP_TEXT = "INSERT INTO jobs_texts (listing_id, mark, text) VALUES (?, ?, ?) ON CONFLICT (listing_id, mark) DO NOTHING"
"""A text that a board shows; its mark is that of all that the board shows of the listing."""
DROP_OLD_TEXTS = """
    DELETE FROM jobs_texts WHERE listing_id = ? AND mark <> ? AND EXISTS (
        SELECT 1 FROM jobs_listings l WHERE l.listing_id = jobs_texts.listing_id AND l.task_id = ?)"""
TEXT_AT = "text:"
"""Beginning of a description that is the mark of its text."""
TEXT = "COALESCE(t.text, l.description)"
OF_TEXT = f"LEFT JOIN jobs_texts t ON t.listing_id = l.listing_id AND l.description = '{TEXT_AT}' || t.mark"
"""The text of a listing `l`, as :data:`TEXT`."""
OFFERED = """
    SELECT (SELECT text FROM jobs_texts WHERE listing_id = ? AND mark = ?),
        (SELECT MIN(listing_id) FROM jobs_listings WHERE source_id = ? AND external_id = ? AND listing_id <> ?)"""
"""The text of a listing, and another listing with the board's own number of it."""
SAME_IN_SOURCE = "SELECT listing_id FROM jobs_listings WHERE source_id = ? AND external_id = ?"
CLOSE_UNSEEN = """
    UPDATE jobs_listings SET closed_at = ?
    WHERE source_id = ? AND last_seen_at < ? AND closed_at IS NULL AND status <> 'refused'"""
VERDICTS = """
    SELECT replaced_at, cause, status, reason, match_score, title, location, salary_min, salary_max, salary_currency
    FROM jobs_verdicts WHERE listing_id = ? ORDER BY replaced_at DESC LIMIT ?"""
SEEN_UNCHANGED = "UPDATE jobs_listings SET last_seen_at = ?, closed_at = NULL WHERE source_id = ? AND last_seen_at >= ?"
MATCHES = """
    SELECT COUNT(DISTINCT COALESCE(l.fingerprint, m.listing_id))
    FROM jobs_matches m JOIN jobs_listings l ON l.listing_id = m.listing_id
    WHERE m.tracking_id = ? AND m.match_score >= ?"""
"""One opening in one place on several boards counts once."""
NOT_BEGUN = frozenset({"refused", "unscored"})
"""Status of listings without a task that read them, or with one that had nothing to judge by: offered at every run."""
UNFINISHED = frozenset({"analyzing", "unknown"})
"""Status of listings without a verdict: their tasks are live, have failed, or ended with their lineage."""
SHOWN_FIRST = """
    INSERT INTO jobs_readings (listing_id, number, shown, failed, runs_left, read_at) VALUES (?, 1, ?, 0, 0, NULL)
    ON CONFLICT (listing_id) DO UPDATE SET shown = excluded.shown WHERE jobs_readings.shown IS NULL"""
"""Keeps the mark that a board shows of a listing without one."""
DUE_AGAIN = """
    SELECT COUNT(*) FROM jobs_listings l LEFT JOIN jobs_readings r ON r.listing_id = l.listing_id
    WHERE l.source_id = ? AND l.closed_at IS NULL AND COALESCE(r.runs_left, 0) = 0
        AND (l.status = 'unknown' OR r.failed > 0)"""
"""Listings that could not be read, and are to be tried again by this run."""
WAIT_A_RUN = """
    UPDATE jobs_readings SET runs_left = runs_left - 1 WHERE runs_left > 0
        AND listing_id IN (SELECT listing_id FROM jobs_listings WHERE source_id = ?)"""


class KnownListing(NamedTuple):
    """A listing that is stored, and how it was read last."""

    listing_id: str
    status: str
    source_id: str | None
    number: int | None
    """Number of the last reading that ended; None for one by an older version, and without a reading."""
    shown: str | None
    failed: int | None
    """Readings in a row that failed."""
    runs_left: int | None
    """Runs of its source before it is tried again."""

    @property
    def next_reading(self) -> int:
        """Number of the next reading."""
        if self.number is not None:
            return self.number + 1
        return 1 if self.status in ("refused", "analyzing") else 2

    def is_due(self, source_id: str, shown: str) -> bool:
        """Return whether a run of this source, which shows this, reads it."""
        if self.failed or self.status == "unknown":
            return not self.runs_left
        if self.status in UNFINISHED or self.status in NOT_BEGUN:
            return True
        # Of two sources that show it in their own words, the one that it was read from tells of changes.
        return self.source_id == source_id and self.shown is not None and self.shown != shown


def known_by_id(count: int) -> str:
    """Return SQL for (listing ids): those of them that are stored, as `KnownListing`."""
    among = f"l.listing_id IN {members(count)}"
    return f"""
        SELECT l.listing_id, l.status, l.source_id, r.number, r.shown, r.failed, r.runs_left
        FROM jobs_listings l LEFT JOIN jobs_readings r ON r.listing_id = l.listing_id WHERE {among}"""  # noqa: S608


def known_by_number(count: int) -> str:
    """Return SQL for (source, external ids): those of them that have or had a task, with the listing."""
    among = f"external_id IN {members(count)} AND status NOT IN ('refused', 'unscored')"
    return f"SELECT external_id, listing_id FROM jobs_listings WHERE source_id = ? AND {among}"  # noqa: S608


def waited_a_run(count: int) -> str:
    """Return SQL for (listing ids): a run of their board has gone by."""
    return f"UPDATE jobs_readings SET runs_left = runs_left - 1 WHERE runs_left > 0 AND listing_id IN {members(count)}"  # noqa: S608


def seen_again(count: int) -> str:
    """Return SQL for (now, listing ids): their board still shows them."""
    among = members(count)
    return f"UPDATE jobs_listings SET last_seen_at = ?, closed_at = NULL WHERE listing_id IN {among}"  # noqa: S608
