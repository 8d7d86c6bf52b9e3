"""COMPANY: a company's own pages, in one pass: fetch, extract, analyze, save."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ramet import Context, Outcome, RetryAfter
from ramet.fetch.errors import FetchError, Refused, Trouble
from ramet.jobs import records
from ramet.jobs.ai.steps import filled
from ramet.jobs.app import app, bounds_of
from ramet.jobs.companies.extraction import read_company
from ramet.jobs.companies.facts import CompanyFacts, Completeness, Priority, WebPage, completeness, merged, priority_of
from ramet.jobs.companies.identity import company_urls, website_of
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.detection.boards import best_board, boards_in_page
from ramet.jobs.detection.findings import Confidence, DetectedBoard
from ramet.jobs.kinds import COMPANY, QUEUE, RESCORE, SOURCE_DISCOVERY, CompanyPayload, DiscoveryPayload, RescorePayload
from ramet.jobs.matching.stop_list import stopped
from ramet.jobs.records import CompanyRow, json_of, lineage_fields
from ramet.jobs.settings import JobsSettings
from ramet.jobs.tasks.keys import company_of, key_of_company, source_id_of, task_priority
from ramet.jobs.tasks.pages import page
from ramet.jobs.tasks.tiers import KEEP_SIGNALS, NO_PROFILE, signals_of
from ramet.jobs.text.company_names import company_name_key
from ramet.jobs.text.markup import text_of

DAY = 86_400.0
HELD_SECONDS_MAX = 366 * DAY
"""Longest time for which a company that was looked at stays looked at; how long it really is, the setting says."""
PAGE_CHARACTERS_MIN = 200
"""A page with less text than this says nothing."""


@app.task(
    COMPANY,
    key=key_of_company,
    queue=QUEUE,
    cycle_on="kind+key",
    lineage_limits=bounds_of,
    unique="global",
    unique_seconds=HELD_SECONDS_MAX,
)
async def company(ctx: Context, payload: CompanyPayload) -> Any:
    """Look at a company and keep what its pages say."""
    settings = await settings_in_force(ctx.client)
    now, company_id = ctx.now, company_of(ctx.key)
    before = await records.company_by_id(ctx.client, company_id)
    if before is None and payload.name:
        before = await records.company_by_name(ctx.client, company_name_key(payload.name))
    website = website_of(payload.website) if payload.website else (before.website if before else None)
    name = payload.name or (before.name if before else None)
    alone = _left_alone(ctx, payload, before, name=name or _name_of(company_id), website=website, settings=settings)
    if alone is not None:
        return alone
    await _begin(ctx, name, website, now)
    if website is None:
        return _ended(ctx, ctx.skip("insufficient data: no website is known"), "pending")
    pages = await _fetch(ctx, website, settings)
    if isinstance(pages, Outcome):
        return pages
    telling = await asyncio.to_thread(_telling, pages)
    facts = await asyncio.to_thread(read_company, telling, name, settings.company)
    if before is not None and before.completeness is not None:
        facts = merged(before, facts, settings.company)
    if not facts.name:
        # Neither the payload nor a page has it.
        facts = replace(facts, name=_name_of(company_id), methods={**facts.methods, "name": "address"})
    facts = await filled(ctx, facts, telling, settings)
    level = completeness(facts.name, website, facts.about, facts.culture, settings.company)
    if level is Completeness.NONE:
        return _ended(ctx, ctx.skip("insufficient data: " + _lacks(facts)), "failed")
    board = await _board(pages, facts.name)
    priority = priority_of(facts, settings.company, settings.profile)
    _save(ctx, CompanyFindings(facts, level, board, priority), now)
    if board is not None:
        await _follow(ctx, board, facts.name, priority, now, scrape=payload.scrape)
    if not _counts_as_before(before, facts, priority):
        # Listings that were judged without it, or by what was known before.
        again = RescorePayload(company_id=company_id, cause="its company was looked at", asked_by=ctx.id)
        ctx.spawn(RESCORE, again)
    ctx.hold_key(settings.company.fresh_days * DAY if level is Completeness.GOOD else 0.0)
    return {
        "company": facts.name,
        "completeness": level.value,
        "tier": priority.tier if priority else None,
        "job_board": board.url if board else None,
    }


@dataclass(frozen=True, slots=True)
class CompanyFindings:
    """Findings of a look at a company."""

    facts: CompanyFacts
    level: Completeness
    board: DetectedBoard | None
    priority: Priority | None


def _counts_as_before(before: CompanyRow | None, facts: CompanyFacts, priority: Priority | None) -> bool:
    """Return whether the look found nothing that changes the score of a listing."""
    if before is None or before.completeness is None:
        return False
    tier = priority.tier if priority else None
    found = (facts.name, facts.company_size_category, tier, tuple(facts.tech_stack))
    return found == (before.name, before.company_size_category, before.tier, before.tech_stack)


def _name_of(company_id: str) -> str:
    """Return a company's name from its address: the part before the dot."""
    return company_id.removeprefix("name:").partition(".")[0].capitalize()


def _left_alone(
    ctx: Context,
    payload: CompanyPayload,
    before: CompanyRow | None,
    *,
    name: str,
    website: str | None,
    settings: JobsSettings,
) -> Outcome | None:
    """Return an end without a look: a stop list names it, or its record is good and young; None: it needs a look."""
    stop = stopped("", website or "", name, settings.stop)
    if stop is not None:
        ctx.hold_key(0.0)  # It may be taken off the list.
        return ctx.skip(stop)
    if before is not None and before.company_id != company_of(ctx.key) and not payload.website:
        ctx.hold_key(0.0)
        return ctx.skip(f"known: it is the company {before.company_id}")
    left = _fresh_seconds(before, settings, ctx.now)
    if left > 0 and not payload.again:
        ctx.hold_key(left)
        return ctx.skip(f"fresh: looked at {(ctx.now - _at(before)) / DAY:.0f} days ago, and the record is good")
    return None


def _at(row: CompanyRow | None) -> float:
    return row.updated_at if row is not None else 0.0


def _fresh_seconds(row: CompanyRow | None, settings: JobsSettings, now: float) -> float:
    """Return the seconds for which a good record is still fresh."""
    if row is None or row.completeness != Completeness.GOOD:
        return 0.0
    return row.updated_at + settings.company.fresh_days * DAY - now


def _lacks(facts: CompanyFacts) -> str:
    about, culture = len(facts.about or ""), len(facts.culture or "")
    return f"{about} characters about the company and {culture} about its culture were found"


async def _begin(ctx: Context, name: str | None, website: str | None, now: float) -> None:
    """Store the record before the look: other tasks see that it is under way."""
    company_id = company_of(ctx.key)
    known_as = name or website or company_id
    row = (company_id, known_as, company_name_key(known_as), website, "analyzing", None, *lineage_fields(ctx), now, now)
    ctx.write(records.BEGIN_COMPANY, row)
    await ctx.checkpoint("fetch")


def _ended(ctx: Context, end: Outcome, status: str) -> Outcome:
    """End without a usable record; the key is free, so that it can be tried again."""
    ctx.write(records.END_COMPANY, (status, "incomplete", end.reason, company_of(ctx.key)))
    ctx.hold_key(0.0)
    return end


async def _fetch(ctx: Context, website: str, settings: JobsSettings) -> list[WebPage] | Outcome:
    """Fetch the company's pages. Some may be missing; without any, the task ends."""
    pages: list[WebPage] = []
    refusals: list[FetchError] = []
    for url in company_urls(website):
        try:
            answer = await page(ctx, url, settings)
        except Refused as refused:
            refusals.append(refused)
            continue
        except Trouble as trouble:
            if not pages and not refusals:
                # An exception drops the buffered writes; a person may look before the next attempt, or after the last.
                status = (records.END_COMPANY, ("failed", "incomplete", str(trouble), company_of(ctx.key)))
                await ctx.transaction([status])
                raise
            refusals.append(trouble)
            continue
        except RetryAfter:
            # Coming back would begin with the first page again, and perhaps meet the same answer.
            if not pages:
                raise
            break
        pages.append(WebPage(answer.url, answer.text))
    if not pages:
        return _ended(ctx, ctx.fail(f"{website} shows none of the pages of a company: {refusals[0]}"), "failed")
    return pages


def _telling(pages: Sequence[WebPage]) -> list[WebPage]:
    """Return the pages with more than a few words. A careers page without any may still lead to a board."""
    return [page for page in pages if len(text_of(page.html)) > PAGE_CHARACTERS_MIN]


async def _board(pages: Sequence[WebPage], name: str | None) -> DetectedBoard | None:
    """Return the surest board that the pages lead to; None when there is none."""
    found: list[DetectedBoard] = []
    for one in pages:
        found += await asyncio.to_thread(boards_in_page, one.html, one.url)
    return best_board(found, name)


def _save(ctx: Context, looked: CompanyFindings, now: float) -> None:
    facts, board, priority = looked.facts, looked.board, looked.priority
    company_id = company_of(ctx.key)
    ctx.write(KEEP_SIGNALS, (company_id, signals_of(facts)))
    name = facts.name or company_id
    ctx.write(
        records.SAVE_COMPANY,
        (
            name, company_name_key(name), "active", "complete", facts.about, facts.culture, facts.mission, facts.size,
            facts.company_size_category, facts.headquarters_location, facts.industry, facts.founded,
            json_of(list(facts.tech_stack)), int(facts.remote_first), priority.tier if priority else None,
            priority.score if priority else None, json_of(priority.reasons) if priority else None, looked.level.value,
            json_of(facts.methods), board.url if board else None, board.kind if board else None,
            board.confidence.value if board else None, None if priority else NO_PROFILE, now, company_id,
        ),
    )  # fmt: skip


async def _follow(
    ctx: Context, board: DetectedBoard, name: str | None, priority: Priority | None, now: float, *, scrape: bool
) -> None:
    """Test a board that is sure; keep another one for a person to approve; leave a known one alone."""
    source_id, company_id = source_id_of(board), company_of(ctx.key)
    if await records.source_by_id(ctx.client, source_id) is not None:
        return
    if board.confidence is Confidence.HIGH:
        payload = DiscoveryPayload(
            url=board.url, type_hint=board.kind, company_id=company_id, company_name=name,
            confidence=board.confidence.value, scrape=scrape,
        )  # fmt: skip
        tier = priority.tier if priority else None
        ctx.spawn(SOURCE_DISCOVERY, payload, priority=task_priority(tier), keep_edge=True)
        return
    note = f"found with {board.confidence.value} confidence: `ramet jobs sources approve {source_id}` tests it"
    ctx.write(
        records.BEGIN_SOURCE,
        (
            source_id, name or company_id, board.kind, board.url, company_id, name, records.PENDING,
            board.confidence.value, "company", now, note, *lineage_fields(ctx), now,
        ),
    )  # fmt: skip
