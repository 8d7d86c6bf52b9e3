"""The rows of a listing and of a match."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from ramet.jobs.matching.score import Score, quality_of, score_of
from ramet.jobs.matching.stop_list import stopped
from ramet.jobs.posting import Posting, fitting, packed, packed_part, unpacked
from ramet.jobs.records import TEXT_AT, json_of, lineage_fields
from ramet.jobs.settings import JobsSettings, MatchSettings
from ramet.jobs.tasks.employers import (
    Employer,
    company_note,
    employer_of,
    is_named_only,
    named_company_id,
    note_company,
    wait_for_look,
)
from ramet.jobs.tasks.keys import key_of_listing, listing_id_of
from ramet.jobs.tasks.pages import board, content_type, page
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.verdicts import FIELDS, Case, Verdict, mark_of, match_row, scored, verdict_of


@dataclass(frozen=True, slots=True)
class ReadPosting:
    """A posting and what its text says."""

    posting: Posting
    reading: Reading
    methods: Mapping[str, str] = field(default_factory=dict)
    """Origin of each field: a rule or a model."""

    @property
    def fingerprint(self) -> str | None:
        """Of company, title and place; None when the company is not known."""
        return fingerprint(self.posting.company, self.posting.title, self.posting.location) or None


def save_listing(
    ctx: Context,
    payload: ListingPayload,
    gathered: ReadPosting,
    verdict: Verdict,
    settings: JobsSettings,
    *,
    company_id: str | None = None,
    same_as: str | None = None,
) -> None:
    """Fill the record in, and keep the verdict that this one replaces; commits with the task's end."""
    posting, reading, listing_id = gathered.posting, gathered.reading, listing_id_of(payload)
    salary = reading.salary
    quality = quality_of(
        url=posting.url, title=posting.title, company=posting.company, description=posting.description,
        location=posting.location, posted_at=posting.posted_at, requirements=reading.requirements,
        settings=settings.listing,
    )  # fmt: skip
    facts = reading.as_facts()
    facts["posting"] = posting.model_dump(mode="json", include=FIELDS, exclude_defaults=True)
    analysis = verdict.told.get("analysis")
    methods = {**gathered.methods, "score": analysis["method"] if analysis else "rules"}
    told = json_of(verdict.told) if verdict.told else None
    ctx.write(
        records.KEEP_VERDICT,
        (
            ctx.now, ctx.id, "its board changed it" if payload.reading > 1 else "judged again", listing_id, ctx.id,
            verdict.status, verdict.reason or "", told or "", posting.title, posting.location or "",
        ),
    )  # fmt: skip
    ctx.write(
        records.END_UNREAD if verdict.status == "unknown" else records.END_LISTING,
        (
            company_id or payload.company_id, posting.company, posting.title or None, posting.location,
            f"{TEXT_AT}{payload.shown}" if payload.has_text else packed(posting.description) or None,
            packed_part(reading.requirements, posting.description) or None, posting.posted_at,
            salary.minimum if salary else None, salary.maximum if salary else None,
            salary.currency if salary else None, json_of(facts), _methods_column(methods), verdict.status,
            quality.value,
            json_of(verdict.filter_result) if verdict.filter_result else None, verdict.reason, same_as, told,
            gathered.fingerprint, text_hash(posting.description, settings.listing.near_text_min), listing_id,
            ctx.id,
        ),
    )  # fmt: skip
    if verdict.status == "unknown":
        ctx.write(records.SAVE_FAILED_READING, (listing_id, payload.reading, payload.shown))
        return
    ctx.write(records.SAVE_READING, (listing_id, payload.reading, payload.shown, ctx.now))
    if payload.reading > 1 and payload.shown is not None:
        ctx.write(records.DROP_OLD_TEXTS, (listing_id, payload.shown, ctx.id))
    if verdict.status != "matched":
        ctx.write(records.DROP_MATCH, (listing_id, ctx.id))


def _methods_column(methods: Mapping[str, str]) -> str | None:
    """Source of each field; None if all come from rules."""
    return json_of(methods) if set(methods.values()) - {"rules"} else None


def save_match(
    ctx: Context, payload: ListingPayload, gathered: ReadPosting, verdict: Verdict, rules: MatchSettings
) -> None:
    """Keep a match; commits with the task's end."""
    row = match_row(verdict, gathered.posting.posted_at, rules)
    ctx.write(
        records.ADD_MATCH,
        (ctx.tracking_id, payload.source_id, *row, ctx.now, listing_id_of(payload), ctx.id),
    )  # fmt: skip


LAST_ATTEMPT = LIMITS.max_attempts or 1

listing = app.pipeline(
    LISTING, key=key_of_listing, queue=QUEUE, cycle_on="kind+key", unique="global", lineage_limits=bounds_of
)


@listing.stage("job_data")
async def scrape(ctx: Context, payload: ListingPayload) -> Any:
    """Have the whole posting and read it; the record exists from here on."""
    settings = await settings_in_force(ctx.client)
    offered, same_id = await _offered(ctx, payload)
    if offered is None and payload.posting is not None:
        return ctx.skip("its board shows it otherwise since it was asked for")
    known = offered or _read_there(ctx, payload, settings)
    posting = known or Posting(url=payload.url)
    same = await _begin(ctx, payload, posting, same_id)
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
                end=ctx.fail("the page has no title: it is not a posting"),
                settings=settings,
            )
    reading, methods = await extracted(ctx, posting, read_posting(posting), settings)
    if posting is offered and payload.reading == 1 and not (settings.model.reads or settings.model.judges):
        dropped = await _dropped_at_once(ctx, payload, ReadPosting(posting, reading, methods), settings)
        if dropped is not None:
            return dropped
    return {
        "reading": reading.as_json(),
        "methods": methods,
        # A posting in the payload need not be kept twice.
        "posting": None if posting is offered else posting.model_dump(mode="json", exclude_defaults=True),
    }


@listing.stage("filter_result")
async def filter_(ctx: Context, payload: ListingPayload) -> Any:
    """Drop what a person refuses, with every reason."""
    settings = await settings_in_force(ctx.client)
    gathered = await _gathered(ctx, payload)
    result = judge(gathered.posting, gathered.reading, settings, ctx.now)
    found = result.as_json()
    if not result.passed:
        verdict = Verdict("filtered", result.rejection_summary, found)
        save_listing(ctx, payload, gathered, verdict, settings)
        return ctx.filter(result.rejection_summary)
    return found


@listing.stage("match_result")
async def analyze(ctx: Context, payload: ListingPayload) -> Any:
    """Say how well it fits, after the look at its company."""
    settings = await settings_in_force(ctx.client)
    gathered = await _gathered(ctx, payload)
    employer = await employer_of(ctx.client, payload, gathered.posting)
    if employer.awaited:
        wait = wait_for_look(ctx, employer)
        if wait is not None:
            return wait
    _note_employer(ctx, payload, employer)
    score = score_of(gathered.posting, gathered.reading, employer.signals, settings, ctx.now)
    return {
        "company_id": employer.company_id,
        "company_note": company_note(ctx, employer),
        "score": score.as_json(),
        "analysis": await analysed(ctx, gathered.posting, gathered.reading, score, settings),
        "judged_by": mark_of(settings),
    }


@listing.stage()
async def save(ctx: Context, payload: ListingPayload) -> Any:
    """Keep the listing, and the match when it is one; judge it again where the settings are others by now."""
    settings = await settings_in_force(ctx.client)
    gathered = await _gathered(ctx, payload)
    match = ctx.state["match_result"]
    case = Case(
        gathered.posting, gathered.reading, match["company_id"], None, match.get("company_note"), match["analysis"]
    )
    # A record that came of a name since then has been looked at: the look's end does not know this listing yet.
    since = await employer_of(ctx.client, payload, gathered.posting) if is_named_only(case.company_id) else None
    if match.get("judged_by") != mark_of(settings) or (since is not None and since.company_id != case.company_id):
        employer = since or await employer_of(ctx.client, payload, gathered.posting)
        case = replace(
            case, company_id=employer.company_id, signals=employer.signals, company_note=company_note(ctx, employer)
        )
        verdict = verdict_of(case, settings, ctx.now)
    else:
        verdict = scored(case, ctx.state["filter_result"], Score.from_json(match["score"]), settings)
    save_listing(ctx, payload, gathered, verdict, settings, company_id=case.company_id)
    reason = verdict.reason or ""
    if verdict.status == "matched":
        save_match(ctx, payload, gathered, verdict, settings.match)
        return {"listing": listing_id_of(payload), "match_score": verdict.points}
    if verdict.status == "unscored":
        ctx.hold_key(0.0)  # No profile says what fits: the next run offers it again.
    return ctx.filter(reason) if verdict.status == "filtered" else ctx.skip(reason)


async def _dropped_at_once(
    ctx: Context, payload: ListingPayload, gathered: ReadPosting, settings: JobsSettings
) -> Outcome | None:
    """End a listing that rules drop, in the transaction of its end alone; None: the stages go on, each durable.

    Nothing was fetched and nothing was paid, so a crash costs only the reading. Most listings of a board end here. The
    record names the company before that is looked up, so a look that ends meanwhile finds this listing at work.
    """
    employer = await employer_of(ctx.client, payload, gathered.posting)
    case = Case(gathered.posting, gathered.reading, employer.company_id, employer.signals, company_note(ctx, employer))
    verdict = verdict_of(case, settings, ctx.now)
    if verdict.status == "filtered":
        save_listing(ctx, payload, gathered, verdict, settings)
        return ctx.filter(verdict.reason or "")
    if verdict.status != "skipped" or employer.awaited:
        return None
    _note_employer(ctx, payload, employer)
    save_listing(ctx, payload, gathered, verdict, settings, company_id=employer.company_id)
    return ctx.skip(verdict.reason or "")


def _note_employer(ctx: Context, payload: ListingPayload, employer: Employer) -> None:
    """Keep what is known of the company by its name, and that this listing named it."""
    if employer.company_id is None:
        return
    if employer.known is None and not employer.awaited:
        note_company(ctx, employer)
    if employer.website is None:
        ctx.write(records.NAME_COMPANY, (employer.company_id, listing_id_of(payload), ctx.id))


async def _offered(ctx: Context, payload: ListingPayload) -> tuple[Posting | None, str | None]:
    """Return the posting as its board's list has it, and another listing that has its number there.

    Returns:
        No posting where the list had none, or where a later reading has replaced its text.
    """
    posting, number = payload.posting, payload.posting.external_id if payload.posting is not None else None
    if not payload.has_text and (number is None or payload.source_id is None):
        return posting, None
    listing_id = listing_id_of(payload)
    [(text, same)] = await ctx.read(records.OFFERED, (listing_id, payload.shown, payload.source_id, number, listing_id))
    if posting is not None and payload.has_text:
        posting = None if text is None else posting.model_copy(update={"description": unpacked(text)})
    return posting, same


async def _begin(ctx: Context, payload: ListingPayload, posting: Posting, same: str | None) -> Outcome | None:
    """Store the record before the posting is read; return an end where the board's own number is stored already."""
    now, number = ctx.now, posting.external_id
    if same is None:
        company_id = named_company_id(payload, posting)
        lineage = lineage_fields(ctx)
        row = (listing_id_of(payload), payload.url, payload.source_id, number, company_id, posting.company,
               posting.title or None, now, now, *lineage)  # fmt: skip
        try:
            claim = [(records.CLAIM_LISTING, (*lineage, listing_id_of(payload)))] if payload.reading > 1 else []
            await ctx.transaction([(records.BEGIN_LISTING, row), *claim])
            return None
        except TransactionRefused:
            # Another task began the same number at this very moment: the table's constraint let one of them in.
            same = await _same_in_source(ctx, payload, number)
            if same is None:
                raise
    reason = f"duplicate: its board shows it as {same} too"
    ctx.write(
        records.DUPLICATE_LISTING,
        (listing_id_of(payload), payload.url, payload.company_id, posting.company, posting.title or None, reason, same,
         now, now,
         *lineage_fields(ctx)),
    )  # fmt: skip
    ctx.write(records.SAVE_READING, (listing_id_of(payload), payload.reading, payload.shown, now))
    return ctx.skip(reason)


async def _same_in_source(ctx: Context, payload: ListingPayload, number: str | None) -> str | None:
    if number is None or payload.source_id is None:
        return None
    rows = await ctx.read(records.SAME_IN_SOURCE, (payload.source_id, number))
    return next((str(listing_id) for (listing_id,) in rows if listing_id != listing_id_of(payload)), None)


def _read_there(ctx: Context, payload: ListingPayload, settings: JobsSettings) -> Posting | None:
    """Return the posting that the job finder of an imported task had read (``import_states`` of the app)."""
    told = ctx.state.get("posting")
    return None if told is None else fitting(Posting(**told, url=payload.url), settings.listing.text_max)


def _unread(
    ctx: Context, payload: ListingPayload, posting: Posting, status: str, *, end: Outcome, settings: JobsSettings
) -> Outcome:
    """End before the posting was read: its known fields are kept for a person to look at."""
    read = ReadPosting(posting, read_posting(posting))
    save_listing(ctx, payload, read, Verdict(status, end.reason, {}), settings)
    return end


async def _fetched(ctx: Context, payload: ListingPayload, posting: Posting, settings: JobsSettings) -> Posting:
    """Return the posting with the fields of its own page or its board's detail call."""
    instruction = await _instruction(ctx, payload) if payload.source_id and payload.posting is not None else None
    request = detail_request(instruction, posting) if instruction is not None else None
    if instruction is not None and request is not None:
        answer = await board(ctx, request, settings, html=is_page(instruction))
        return await asyncio.to_thread(
            read_detail, instruction, posting, answer.body, url=answer.url, now=ctx.now, media_type=content_type(answer)
        )
    answer = await page(ctx, payload.url, settings)
    found = await asyncio.to_thread(posting_of_page, answer.text, answer.url, ctx.now)
    # Fields of the list stay where the page tells nothing.
    told = posting.model_dump(exclude_defaults=True) | found.model_dump(exclude_defaults=True)
    return Posting.model_validate(told | {"url": payload.url})


async def _instruction(ctx: Context, payload: ListingPayload) -> Instruction | None:
    source = await records.source_by_id(ctx.client, payload.source_id or "")
    return None if source is None else source.instruction


async def _gathered(ctx: Context, payload: ListingPayload) -> ReadPosting:
    """Return the results of the stages before."""
    kept = ctx.state["job_data"]
    offered = (await _offered(ctx, payload))[0] if kept["posting"] is None else None
    # Without its text: a later reading has replaced it, and keeps this one from writing.
    posting = offered or payload.posting if kept["posting"] is None else Posting.model_validate(kept["posting"])
    assert posting is not None, "a posting that was not fetched came with the task"
    return ReadPosting(posting, Reading.from_json(kept["reading"]), kept["methods"])
