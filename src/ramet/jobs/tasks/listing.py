"""The rows of a listing and of a match."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ramet import Context, Outcome, TransactionRefused
from ramet.fetch.errors import Refused, Trouble
from ramet.jobs import records
from ramet.jobs.ai.steps import analysed, extracted
from ramet.jobs.app import LIMITS, app, bounds_of
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.reader import detail_request, is_page, read_detail
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.detection.postings import posting_of_page
from ramet.jobs.errors import WrongShape
from ramet.jobs.kinds import LISTING, QUEUE, ListingPayload
from ramet.jobs.matching.duplicates import fingerprint, text_hash
from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import Score, priority_word, quality_of, score_of
from ramet.jobs.matching.stop_list import stopped
from ramet.jobs.posting import Posting, fitting
from ramet.jobs.records import json_of, lineage_fields
from ramet.jobs.settings import JobsSettings
from ramet.jobs.tasks.employers import Employer, company_note, employer_of, note_company, wait_for_look
from ramet.jobs.tasks.keys import key_of_listing
from ramet.jobs.tasks.pages import board, content_type, page
from ramet.jobs.text.posting_text import Reading, read_posting


@dataclass(frozen=True, slots=True)
class ReadPosting:
    """A posting and what its text says."""

    posting: Posting
    reading: Reading
    methods: Mapping[str, str] = field(default_factory=dict)
    """What made each field: a rule or a model."""

    @property
    def fingerprint(self) -> str | None:
        """Of company, title and place; None when the company is not known."""
        return fingerprint(self.posting.company, self.posting.title, self.posting.location) or None


def save_listing(
    ctx: Context,
    payload: ListingPayload,
    gathered: ReadPosting,
    status: str,
    settings: JobsSettings,
    *,
    filter_result: dict[str, Any] | None = None,
    match: dict[str, Any] | None = None,
    company_id: str | None = None,
    reason: str | None = None,
    same_as: str | None = None,
) -> None:
    """Fill the record in; commits with the task's end."""
    posting, reading = gathered.posting, gathered.reading
    salary = reading.salary
    quality = quality_of(
        url=posting.url, title=posting.title, company=posting.company, description=posting.description,
        location=posting.location, posted_at=posting.posted_at, requirements=reading.requirements,
        settings=settings.listing,
    )  # fmt: skip
    facts = reading.as_json()
    facts.pop("requirements", None)
    analysis = match["analysis"] if match else None
    methods = {**gathered.methods, "score": analysis["method"] if analysis else "rules"}
    ctx.write(
        records.END_LISTING,
        (
            company_id or payload.company_id, posting.company, posting.title or None, posting.location,
            posting.description or None, reading.requirements or None, posting.posted_at,
            salary.minimum if salary else None, salary.maximum if salary else None,
            salary.currency if salary else None, json_of(facts), json_of(methods), status, quality.value,
            json_of(filter_result) if filter_result else None, reason, same_as,
            json_of(score_json(match)) if match else None, gathered.fingerprint,
            text_hash(posting.description, settings.listing.near_text_min), ctx.key,
            ctx.id,
        ),
    )  # fmt: skip


def score_json(match: dict[str, Any]) -> dict[str, Any]:
    """The score as it is stored with a listing, with the reason why its company is not in it."""
    note = match.get("company_note")
    return {**match["score"], **({"company_note": note} if note else {})}


def save_match(
    ctx: Context,
    payload: ListingPayload,
    gathered: ReadPosting,
    score: Score,
    *,
    points: float,
    analysis: dict[str, Any] | None,
    settings: JobsSettings,
) -> None:
    """Keep a match; commits with the task's end."""
    told = analysis or {}
    adjustments = [*score.adjustments, *told.get("adjustments", ())]
    ctx.write(
        records.ADD_MATCH,
        (
            ctx.key, ctx.tracking_id, payload.source_id, points, score.static, priority_word(points, settings.match),
            json_of(adjustments), json_of(list(score.matched_skills)), json_of(list(score.missing_skills)),
            json_of(score.intake | told.get("intake", {})), told.get("explanation"), told.get("method", "rules"),
            gathered.posting.posted_at, ctx.now,
        ),
    )  # fmt: skip


LAST_ATTEMPT = LIMITS.max_attempts or 1
NO_PROFILE = "unscored: there is no profile to compare it with, make one with `ramet jobs init`"

listing = app.pipeline(
    LISTING, key=key_of_listing, queue=QUEUE, cycle_on="kind+key", unique="global", lineage_limits=bounds_of
)


@listing.stage("job_data")
async def scrape(ctx: Context, payload: ListingPayload) -> Any:
    """Have the whole posting and read it; the record exists from here on."""
    settings = await settings_in_force(ctx.client)
    known = payload.posting or _read_there(ctx, payload, settings)
    posting = known or Posting(url=payload.url)
    same = await _begin(ctx, payload, posting)
    if same is not None:
        return same
    stop = stopped(posting.title, posting.url, posting.company, settings.stop)
    if stop is not None:
        return _unread(ctx, payload, posting, "filtered", end=ctx.filter(stop), settings=settings)
    if known is None or not known.whole:
        try:
            posting = fitting(await _fetched(ctx, payload, posting, settings), settings.listing.text_max)
        except (Refused, WrongShape) as refused:
            return _unread(ctx, payload, posting, "unknown", end=ctx.fail(str(refused)), settings=settings)
        except Trouble as trouble:
            if ctx.attempt < LAST_ATTEMPT:
                raise
            return _unread(ctx, payload, posting, "unknown", end=ctx.fail(str(trouble)), settings=settings)
        if not posting.title:
            return _unread(
                ctx,
                payload,
                posting,
                "unknown",
                end=ctx.fail("the page has no title: it is no posting"),
                settings=settings,
            )
    reading, methods = await extracted(ctx, posting, read_posting(posting), settings)
    if posting is payload.posting and not (settings.model.reads or settings.model.judges):
        end = await _dropped_at_once(ctx, payload, ReadPosting(posting, reading, methods), settings)
        if end is not None:
            return end
    return {
        "reading": reading.as_json(),
        "methods": methods,
        # What the payload has need not be kept twice.
        "posting": None if posting is payload.posting else posting.model_dump(mode="json", exclude_defaults=True),
    }


@listing.stage("filter_result")
async def filter_(ctx: Context, payload: ListingPayload) -> Any:
    """Drop what a person refuses, with every reason."""
    settings = await settings_in_force(ctx.client)
    found, end = _filtered(ctx, payload, _gathered(ctx, payload), settings)
    return found if end is None else end


@listing.stage("match_result")
async def analyze(ctx: Context, payload: ListingPayload) -> Any:
    """Say how well it fits, after the look at its company."""
    settings = await settings_in_force(ctx.client)
    gathered = _gathered(ctx, payload)
    duplicate = await _duplicate(ctx, payload, gathered, settings, ctx.state["filter_result"])
    if duplicate is not None:
        return duplicate
    employer = await employer_of(ctx.client, payload, gathered.posting)
    if employer.awaited:
        wait = wait_for_look(ctx, employer)
        if wait is not None:
            return wait
    elif employer.company_id is not None and employer.known is None:
        note_company(ctx, employer)
    score = score_of(gathered.posting, gathered.reading, employer.signals, settings, ctx.now)
    return _match_result(ctx, employer, score, await analysed(ctx, gathered.posting, gathered.reading, score, settings))


@listing.stage()
async def save(ctx: Context, payload: ListingPayload) -> Any:
    """Keep the listing, and the match when it is one."""
    settings = await settings_in_force(ctx.client)
    gathered = _gathered(ctx, payload)
    match = ctx.state["match_result"]
    score = Score.from_json(match["score"])
    kept = {"filter_result": ctx.state["filter_result"], "company_id": match["company_id"]}
    if not settings.profile.given:
        # Nobody has said what fits: the next run meets it again.
        ctx.hold_key(0.0)
        save_listing(ctx, payload, gathered, "unscored", settings, reason=NO_PROFILE, match=match, **kept)
        return ctx.skip(NO_PROFILE)
    points, threshold = _final(score, match["analysis"]), score.threshold
    if points < threshold:
        return _too_low(ctx, payload, gathered, settings, match=match, filter_result=ctx.state["filter_result"])
    save_listing(ctx, payload, gathered, "matched", settings, match=match, **kept)
    save_match(ctx, payload, gathered, score, points=points, analysis=match["analysis"], settings=settings)
    return {"listing": ctx.key, "match_score": points}


async def _dropped_at_once(
    ctx: Context, payload: ListingPayload, gathered: ReadPosting, settings: JobsSettings
) -> Outcome | None:
    """End a listing that rules drop, in the transaction of its end alone; None: the stages go on, each durable.

    Nothing was fetched and nothing paid, so a crash costs only the reading: most listings of a board end here, and what
    their stages made would be written for nobody.
    """
    found, end = _filtered(ctx, payload, gathered, settings)
    end = end or await _duplicate(ctx, payload, gathered, settings, found)
    if end is not None:
        return end
    employer = await employer_of(ctx.client, payload, gathered.posting)
    if employer.awaited or not settings.profile.given:
        return None
    score = score_of(gathered.posting, gathered.reading, employer.signals, settings, ctx.now)
    if _final(score, None) >= score.threshold:
        return None
    if employer.company_id is not None and employer.known is None:
        note_company(ctx, employer)
    match = _match_result(ctx, employer, score, None)
    return _too_low(ctx, payload, gathered, settings, match=match, filter_result=found)


def _filtered(
    ctx: Context, payload: ListingPayload, gathered: ReadPosting, settings: JobsSettings
) -> tuple[dict[str, Any], Outcome | None]:
    """What the filter found, and the end of a listing that does not pass."""
    result = judge(gathered.posting, gathered.reading, settings, ctx.now)
    found = result.as_json()
    if result.passed:
        return found, None
    reason = result.rejection_summary
    save_listing(ctx, payload, gathered, "filtered", settings, filter_result=found, reason=reason)
    return found, ctx.filter(reason)


async def _duplicate(
    ctx: Context, payload: ListingPayload, gathered: ReadPosting, settings: JobsSettings, filter_result: dict[str, Any]
) -> Outcome | None:
    twin = await _same_elsewhere(ctx, gathered, payload.source_id)
    if twin is None:
        return None
    reason = f"duplicate: same company, title and place as {twin}"
    save_listing(
        ctx, payload, gathered, "skipped", settings, filter_result=filter_result, reason=reason, same_as=twin
    )  # fmt: skip
    return ctx.skip(reason)


def _match_result(ctx: Context, employer: Employer, score: Score, analysis: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "company_id": employer.company_id,
        "company_note": company_note(ctx, employer),
        "score": score.as_json(),
        "analysis": analysis,
    }


def _too_low(
    ctx: Context,
    payload: ListingPayload,
    gathered: ReadPosting,
    settings: JobsSettings,
    *,
    match: dict[str, Any],
    filter_result: dict[str, Any],
) -> Outcome:
    score = Score.from_json(match["score"])
    reason = f"score {_final(score, match['analysis']):g} is below {score.threshold:g}"
    save_listing(ctx, payload, gathered, "skipped", settings, filter_result=filter_result, match=match,
                 company_id=match["company_id"], reason=reason)  # fmt: skip
    return ctx.skip(reason)


async def _begin(ctx: Context, payload: ListingPayload, posting: Posting) -> Outcome | None:
    """The record, before anything was read; an end when the board's own number says that we have this one."""
    now, number = ctx.now, posting.external_id
    same = await _same_in_source(ctx, payload, number)
    if same is None:
        row = (ctx.key, payload.url, payload.source_id, number, payload.company_id, posting.company,
               posting.title or None, now, now, *lineage_fields(ctx))  # fmt: skip
        try:
            await ctx.transaction([(records.BEGIN_LISTING, row)])
            return None
        except TransactionRefused:
            # Another task began the same number at this very moment: the table's constraint let one of them in.
            same = await _same_in_source(ctx, payload, number)
            if same is None:
                raise
    reason = f"duplicate: its board shows it as {same} too"
    ctx.write(
        records.DUPLICATE_LISTING,
        (ctx.key, payload.url, payload.company_id, posting.company, posting.title or None, reason, same, now, now,
         *lineage_fields(ctx)),
    )  # fmt: skip
    return ctx.skip(reason)


async def _same_in_source(ctx: Context, payload: ListingPayload, number: str | None) -> str | None:
    if number is None or payload.source_id is None:
        return None
    rows = await ctx.read(records.SAME_IN_SOURCE, (payload.source_id, number))
    return next((str(listing_id) for (listing_id,) in rows if listing_id != ctx.key), None)


async def _same_elsewhere(ctx: Context, gathered: ReadPosting, source_id: str | None) -> str | None:
    """The same opening on another board, which came first. Within one board its own numbers tell openings apart."""
    if not gathered.fingerprint:
        return None
    rows = await ctx.read(records.SAME_ELSEWHERE, (gathered.fingerprint, ctx.key, source_id or ""))
    return str(rows[0][0]) if rows else None


def _read_there(ctx: Context, payload: ListingPayload, settings: JobsSettings) -> Posting | None:
    """What the job finder that the task was imported from had read (``import_states`` of the app)."""
    told = ctx.state.get("posting")
    return None if told is None else fitting(Posting(**told, url=payload.url), settings.listing.text_max)


def _unread(
    ctx: Context, payload: ListingPayload, posting: Posting, status: str, *, end: Outcome, settings: JobsSettings
) -> Outcome:
    """An end before the posting was read: what is known of it is kept, for somebody to look at."""
    save_listing(ctx, payload, ReadPosting(posting, read_posting(posting)), status, settings, reason=end.reason)
    return end


async def _fetched(ctx: Context, payload: ListingPayload, posting: Posting, settings: JobsSettings) -> Posting:
    """The posting with what its own page or its board's detail call tells."""
    instruction = await _instruction(ctx, payload) if payload.source_id and payload.posting is not None else None
    request = detail_request(instruction, posting) if instruction is not None else None
    if instruction is not None and request is not None:
        answer = await board(ctx, request, settings, html=is_page(instruction))
        return await asyncio.to_thread(
            read_detail, instruction, posting, answer.body, url=answer.url, now=ctx.now, media_type=content_type(answer)
        )
    answer = await page(ctx, payload.url, settings)
    found = await asyncio.to_thread(posting_of_page, answer.text, answer.url, ctx.now)
    # What the list told stays where the page tells nothing.
    told = posting.model_dump(exclude_defaults=True) | found.model_dump(exclude_defaults=True)
    return Posting.model_validate(told | {"url": payload.url})


async def _instruction(ctx: Context, payload: ListingPayload) -> Instruction | None:
    source = await records.source_by_id(ctx.client, payload.source_id or "")
    return None if source is None else source.instruction


def _gathered(ctx: Context, payload: ListingPayload) -> ReadPosting:
    """What the stages before have gathered."""
    kept = ctx.state["job_data"]
    posting = payload.posting if kept["posting"] is None else Posting.model_validate(kept["posting"])
    assert posting is not None, "a posting that was not fetched came with the task"
    return ReadPosting(posting, Reading.from_json(kept["reading"]), kept["methods"])


def _final(score: Score, analysis: dict[str, Any] | None) -> float:
    """The score with what a model added or took."""
    return max(0.0, min(100.0, score.final + (analysis["points"] if analysis else 0.0)))
