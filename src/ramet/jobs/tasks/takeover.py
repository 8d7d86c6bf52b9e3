"""Records of another job finder become rows by a task, since only tasks write domain rows.

Known records stay as they are, so that the same file can be taken over again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from ramet import Client, Context, Statement, new_id
from ramet.jobs import records
from ramet.jobs.app import app, work_here
from ramet.jobs.companies.facts import Completeness, completeness
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.findings import GENERIC, Confidence
from ramet.jobs.kinds import SOURCE_DISCOVERY, DiscoveryPayload
from ramet.jobs.matching.duplicates import fingerprint, listing_key, text_hash
from ramet.jobs.posting import fitting, packed, packed_part
from ramet.jobs.records import DISABLED, PENDING, json_of, lineage_fields
from ramet.jobs.settings import JobsSettings
from ramet.jobs.takeover import CompanyRecord, MatchRecord, Records, SourceRecord
from ramet.jobs.tasks.keys import source_id_of
from ramet.jobs.tasks.match_status import ADD_MARK
from ramet.jobs.text.company_names import company_name_key
from ramet.jobs.text.posting_text import read_posting

TAKE_OVER = "jobs.take_over"
BYTES_AT_ONCE = 60_000
"""Most bytes of the records of one task, as JSON; a single match may have more."""
IMPORTED = "imported"

ADD_COMPANY = """
    INSERT INTO jobs_companies (company_id, name, name_key, website, status, analysis_status, about, culture, mission,
        size, company_size_category, headquarters_location, industry, founded, tech_stack, remote_first, tier,
        priority_score, completeness, methods, note, tracking_id, task_id, parent_item_id, spawn_depth, created_at,
        updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (company_id) DO NOTHING"""
ADD_LISTING = """
    INSERT INTO jobs_listings (listing_id, url, company_id, company, title, location, description, requirements,
        posted_at, salary_min, salary_max, salary_currency, facts, methods, status, fingerprint, text_hash,
        first_seen_at, last_seen_at, tracking_id, task_id, parent_item_id, spawn_depth)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'matched', ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (listing_id) DO NOTHING"""
ADD_MATCH = """
    INSERT INTO jobs_matches (listing_id, tracking_id, source_id, match_score, static_score, application_priority,
        adjustments, matched_skills, missing_skills, intake, explanation, method, posted_at, saved_at)
    SELECT ?, ?, NULL, CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION), ?, '[]', ?, ?, ?, ?, 'imported',
        CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION)
    WHERE EXISTS (SELECT 1 FROM jobs_listings WHERE listing_id = ? AND task_id = ?)
    ON CONFLICT (listing_id) DO NOTHING"""
"""Only of a listing that this import made: what was judged here stays judged."""


class TakeOverPayload(BaseModel):
    """Some of the records of a file."""

    companies: list[CompanyRecord] = []
    sources: list[SourceRecord] = []
    matches: list[MatchRecord] = []


@app.task(TAKE_OVER, key=lambda payload: new_id(), queue=TAKE_OVER, probation=False)
async def take_over(ctx: Context, payload: TakeOverPayload) -> Any:
    """Write all of these records, or none."""
    settings = await settings_in_force(ctx.client)
    written = [_company(ctx, one, settings) for one in payload.companies]
    written += [one for source in payload.sources if (one := _source(ctx, source)) is not None]
    for match in payload.matches:
        written += _match(ctx, match, settings)
    if written:
        await ctx.transaction(written)
    return {"rows": len(written)}


def _company(ctx: Context, one: CompanyRecord, settings: JobsSettings) -> Statement:
    level = completeness(one.name, one.website, one.about, one.culture, settings.company)
    complete = level is not Completeness.NONE
    at = min(one.at or ctx.now, ctx.now)
    return Statement(
        ADD_COMPANY,
        (
            one.company_id, one.name, company_name_key(one.name), one.website, "active" if complete else "pending",
            "complete" if complete else None, one.about, one.culture, one.mission, one.size,
            one.company_size_category, one.headquarters_location, one.industry, one.founded, json_of(one.tech_stack),
            one.tier, one.priority_score, level.value, json_of({"about": IMPORTED}),
            "imported from another job finder", *lineage_fields(ctx), at, at,
        ),
    )  # fmt: skip


def _source(ctx: Context, one: SourceRecord) -> Statement | None:
    """Return the record of a board that its address names; any other board needs a look first."""
    found = board_of_url(one.url)
    if found is None or (one.active and found.kind == GENERIC):
        return None
    source_id = source_id_of(found)
    was = "active" if one.active else "switched off"
    note = f"imported, {was} there: `ramet jobs sources approve {source_id}` tests and enables it"
    return Statement(
        records.BEGIN_SOURCE,
        (
            source_id, one.name, found.kind, found.url, one.company_id, one.company_name,
            PENDING if one.active else DISABLED, Confidence.MEDIUM.value, IMPORTED, ctx.now, note,
            *lineage_fields(ctx), ctx.now,
        ),
    )  # fmt: skip


def _match(ctx: Context, one: MatchRecord, settings: JobsSettings) -> list[Statement]:
    posting = fitting(one.posting, settings.listing.text_max)
    reading = read_posting(posting)
    facts = reading.as_facts()
    salary, listing_id = reading.salary, listing_key(posting.url)
    at = min(one.at or ctx.now, ctx.now)
    added = Statement(
        ADD_LISTING,
        (
            listing_id, posting.url, one.company_id, posting.company, posting.title or None, posting.location,
            packed(posting.description) or None, packed_part(reading.requirements, posting.description) or None,
            posting.posted_at,
            salary.minimum if salary else None, salary.maximum if salary else None,
            salary.currency if salary else None, json_of(facts), json_of({"score": IMPORTED}),
            fingerprint(posting.company, posting.title, posting.location) or None,
            text_hash(posting.description, settings.listing.near_text_min), at, at, *lineage_fields(ctx),
        ),
    )  # fmt: skip
    match = Statement(
        ADD_MATCH,
        (
            listing_id, ctx.tracking_id, one.score, one.static_score, one.priority, json_of(one.matched_skills),
            json_of(one.missing_skills), json_of(one.intake), one.explanation, posting.posted_at, at, listing_id,
            ctx.id,
        ),
    )  # fmt: skip
    if one.status is None:
        return [added, match]
    # Under one id, so that the same file says it once.
    mark = Statement(ADD_MARK, (listing_id, IMPORTED, one.status, one.note, IMPORTED, at))
    return [added, match, mark]


async def take_over_records(client: Client, found: Records) -> int:
    """Write these records, and ask for a test of the boards that were active. Durable when it returns.

    Returns:
        How many boards the next run tests.

    Raises:
        JobsError: something could not be written; what is there stays, and the same file can be taken over again.
    """
    for payload in _portions(found):
        await work_here(client, TAKE_OVER, payload, failed="the records could not be written", remedy="run it again")
    asked = 0
    for source in found.sources:
        if source.active and not await _is_tested(client, source):
            wanted = DiscoveryPayload(
                url=source.url, type_hint=source.type_hint, company_id=source.company_id,
                company_name=source.company_name, approved=True, scrape=False,
            )  # fmt: skip
            await client.submit(SOURCE_DISCOVERY, wanted)
            asked += 1
    return asked


async def _is_tested(client: Client, source: SourceRecord) -> bool:
    found = board_of_url(source.url)
    known = None if found is None else await records.source_by_id(client, source_id_of(found))
    return known is not None and known.instruction is not None


def _portions(found: Records) -> Iterator[TakeOverPayload]:
    """Yield the records in payloads that can be stored, companies first."""
    payload, size = TakeOverPayload(), 0
    for name in ("companies", "sources", "matches"):
        for one in getattr(found, name):
            own = len(one.model_dump_json())
            if size and size + own > BYTES_AT_ONCE:
                yield payload
                payload, size = TakeOverPayload(), 0
            getattr(payload, name).append(one)
            size += own
    if size:
        yield payload
