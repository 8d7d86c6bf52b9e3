"""SOURCE_DISCOVERY: from an address to a source: discover, configure, test, enable."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ramet import Context, Outcome
from ramet.fetch.errors import FetchError, Gone, Refused, Trouble
from ramet.fetch.messages import Request, Response
from ramet.jobs import records
from ramet.jobs.ai.steps import discovered
from ramet.jobs.app import app, bounds_of
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import name_request, read_list, read_name
from ramet.jobs.boards.vendors import instruction_for, instructions_for
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.boards import boards_in_page
from ramet.jobs.detection.findings import GENERIC, GUESSED, Confidence, DetectedBoard
from ramet.jobs.errors import InputError, WrongShape
from ramet.jobs.kinds import QUEUE, SCRAPE_SOURCE, SOURCE_DISCOVERY, DiscoveryPayload, SourcePayload
from ramet.jobs.records import ACTIVE, DISABLED, FAILED, PENDING, json_of, lineage_fields
from ramet.jobs.settings import JobsSettings
from ramet.jobs.tasks.keys import key_of_discovery, source_id_of, task_priority
from ramet.jobs.tasks.pages import board as ask_board
from ramet.jobs.tasks.pages import content_type, page, reads_html
from ramet.jobs.text.company_names import company_fits

NOTHING = "no board and no list of openings was found at this address: give the address of the list itself"
RENAMED = "oracle_hcm"
"""Its addresses may have a name for the site (``/sites/jobs``) where its interface wants a number (``CX_3001``)."""


@dataclass(frozen=True, slots=True)
class SourceTest:
    """Result of the live check of a source."""

    count: int
    name: str | None
    """Name by which the board calls itself."""
    fits: bool
    """True where the name may be that of the company it was found for."""
    perhaps_nobodys: bool
    """True where the list is empty and the vendor gives one for any name."""


@app.task(SOURCE_DISCOVERY, key=key_of_discovery, queue=QUEUE, cycle_on="kind+key", lineage_limits=bounds_of)
async def source_discovery(ctx: Context, payload: DiscoveryPayload) -> Any:
    """Find out what board is at an address, and whether it answers."""
    settings = await settings_in_force(ctx.client)
    found = await _find(ctx, payload, settings)
    if isinstance(found, Outcome):
        return found
    source_id = source_id_of(found)
    known = await records.source_by_id(ctx.client, source_id)
    # A source that a person switched off is only switched on by a person.
    if known is not None and known.status in (ACTIVE, DISABLED) and not payload.approved:
        return ctx.skip(f"known: it is the source {source_id}, which is {known.status}")
    await _begin(ctx, source_id, found, payload)
    try:
        instruction, tested = await _tested(ctx, found, payload, settings)
    except (Gone, WrongShape, Refused, InputError) as refused:
        if payload.approved and known is None:
            ctx.write(
                records.FORGET_SOURCE, (source_id,)
            )  # The person who typed it reads why; nothing half-made stays.
        else:
            _note(ctx, source_id, FAILED, "gone" if isinstance(refused, Gone) else "error", str(refused))
        return ctx.fail(str(refused))
    except Trouble as trouble:
        # An exception drops what was buffered, and people want to read what came of the test.
        status = known.status if known is not None else PENDING
        await ctx.transaction([(records.END_SOURCE, (status, "error", str(trouble), ctx.now, source_id))])
        raise
    if payload.source_id not in (None, source_id):
        ctx.write(records.FORGET_SOURCE, (payload.source_id,))
    return await _decide(ctx, payload, found, source_id=source_id, instruction=instruction, tested=tested)


async def _find(ctx: Context, payload: DiscoveryPayload, settings: JobsSettings) -> DetectedBoard | Outcome:
    """Return the board, from the address or from the page at it."""
    if payload.selectors is not None:
        ids = {"selectors": json_of(payload.selectors)}
        return DetectedBoard(GENERIC, payload.url, None, ids, Confidence.LOW, "selectors")
    found = board_of_url(payload.url)
    address = payload.url
    if found is not None and found.kind != GENERIC and _complete(found):
        if found.kind == RENAMED:
            return await _by_number(ctx, found, payload, settings)
        if found.via != GUESSED or await _openings(ctx, found, payload, settings) is not None:
            return found
        address = found.ids.get("page", address)
    try:
        answer = await page(ctx, address, settings)
    except Refused as refused:
        return ctx.fail(str(refused))
    inside = await asyncio.to_thread(boards_in_page, answer.text, answer.url)
    # The hint may be only the kind of the page, with openings of another kind in it.
    hinted = sorted(inside, key=lambda one: one.kind != payload.type_hint)
    usable = next((one for one in hinted if _complete(one)), None)
    if usable is not None:
        return usable
    selectors = await discovered(ctx, answer.text, answer.url, settings)
    if selectors is None:
        return ctx.fail(NOTHING)
    return DetectedBoard(GENERIC, answer.url, None, {"selectors": json_of(selectors)}, Confidence.LOW, "model")


async def _by_number(
    ctx: Context, found: DetectedBoard, payload: DiscoveryPayload, settings: JobsSettings
) -> DetectedBoard:
    """Return the same board by the number on its page, where the name in its address shows no openings."""
    if await _openings(ctx, found, payload, settings):
        return found
    try:
        answer = await page(ctx, payload.url, settings)
    except Refused:
        return found
    inside = await asyncio.to_thread(boards_in_page, answer.text, answer.url)
    return next((one for one in inside if one.kind == found.kind and _complete(one)), found)


async def _openings(
    ctx: Context, found: DetectedBoard, payload: DiscoveryPayload, settings: JobsSettings
) -> int | None:
    """Return the number of openings on the first page of a board's list; None: there is no such list."""
    try:
        return (await _test(ctx, instruction_for(found), payload, settings)).count
    except (Refused, WrongShape):
        return None


def _complete(found: DetectedBoard) -> bool:
    """Return whether the address alone says all that is needed."""
    try:
        instruction_for(found)
    except InputError:
        return False
    return True


async def _tested(
    ctx: Context, found: DetectedBoard, payload: DiscoveryPayload, settings: JobsSettings
) -> tuple[Instruction, SourceTest]:
    """Return the first instruction to which the board answers as it should, and the result of its test."""
    *before, last = instructions_for(found)
    for instruction in before:
        try:
            return instruction, await _test(ctx, instruction, payload, settings)
        except (Gone, WrongShape):
            continue
    return last, await _test(ctx, last, payload, settings)


async def _begin(ctx: Context, source_id: str, found: DetectedBoard, payload: DiscoveryPayload) -> None:
    """Store the record before the test."""
    now = ctx.now
    name = payload.company_name or found.token or found.url
    ctx.write(
        records.BEGIN_SOURCE,
        (
            source_id, name, found.kind, found.url, payload.company_id, payload.company_name, PENDING,
            found.confidence.value, found.via, now, None, *lineage_fields(ctx), now,
        ),
    )  # fmt: skip
    await ctx.checkpoint("test")


async def _test(
    ctx: Context, instruction: Instruction, payload: DiscoveryPayload, settings: JobsSettings
) -> SourceTest:
    """Check live that the list has the shape of the instruction, and that the board's own name fits."""
    html = reads_html(instruction)
    request = first_request(instruction)
    answer = await ask_board(ctx, request, settings, html=html)
    found = await asyncio.to_thread(
        read_list, instruction, answer.body, request=request, page=1, now=ctx.now, media_type=content_type(answer)
    )
    name = await _name(ctx, instruction, request, answer, settings)
    name = name or next((posting.company for posting in found.postings if posting.company), None)
    return SourceTest(
        count=len(found.postings),
        name=name,
        fits=company_fits(name, payload.company_name),
        perhaps_nobodys=instruction.empty_is_unknown and not found.postings,
    )


async def _name(
    ctx: Context, instruction: Instruction, listed: Request, answer: Response, settings: JobsSettings
) -> str | None:
    """Return the board's own name; None where it cannot be asked, which says nothing about the board."""
    asked = name_request(instruction)
    if asked is None:
        return None
    if asked != listed:
        try:
            answer = await ask_board(ctx, asked, settings, html="html" in asked.headers.get("Accept", ""))
        except FetchError:
            return None
    return read_name(instruction, answer.body, content_type(answer))


async def _decide(
    ctx: Context,
    payload: DiscoveryPayload,
    found: DetectedBoard,
    *,
    source_id: str,
    instruction: Instruction,
    tested: SourceTest,
) -> Any:
    """Enable a sure source that is wanted; leave any other to a person."""
    sure = payload.chosen or found.enable_confidence is Confidence.HIGH
    doubts = []
    if not sure:
        doubts.append(f"confidence is {found.enable_confidence.value}")
    if not tested.fits:
        doubts.append(f"the board calls itself {tested.name!r}, the company is {payload.company_name!r}")
    if tested.perhaps_nobodys:
        doubts.append("it has no openings, and its vendor says that of boards that do not exist too")
    if payload.validation_required:
        doubts.append("a person wants to see it first")
    enabled = payload.approved or (payload.auto_enable and not doubts)
    company = payload.company_name or tested.name
    if company and not instruction.company_name:
        instruction = instruction.model_copy(update={"company_name": company})
    note = (
        None
        if enabled
        else f"{'; '.join(doubts) or 'not to be enabled at once'}: `ramet jobs sources approve {source_id}`"
    )
    now = ctx.now
    ctx.write(
        records.SAVE_SOURCE,
        (
            company or source_id, found.kind, found.url, json_of(instruction.stored()),
            ACTIVE if enabled else PENDING, found.enable_confidence.value, now, "tested", tested.count, note, now,
            source_id,
        ),
    )  # fmt: skip
    if enabled and payload.scrape:
        known = await records.company_by_id(ctx.client, payload.company_id) if payload.company_id else None
        scrape = SourcePayload(source_id=source_id, trigger="discovery")
        ctx.spawn(SCRAPE_SOURCE, scrape, priority=task_priority(known.tier if known else None))
    return {"source": source_id, "enabled": enabled, "listings": tested.count, "note": note}


def _note(ctx: Context, source_id: str, status: str, last_status: str, note: str) -> None:
    ctx.write(records.END_SOURCE, (status, last_status, note, ctx.now, source_id))
