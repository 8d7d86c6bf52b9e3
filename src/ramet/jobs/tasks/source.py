"""SCRAPE_SOURCE: one run over a source: page after page, new openings become listings, in bulk.

The run is resumed at its last checkpoint. An opening that a limit leaves out is not marked as seen, so the next run
offers it again. The breaker of the source counts failed runs; a wait that the server asked for is not a failure.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from ramet import Context, Outcome, PayloadTooLarge
from ramet.fetch.errors import Gone, Refused, Trouble
from ramet.fetch.messages import Request
from ramet.jobs import records
from ramet.jobs.app import app, bounds_of
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import Page, read_list
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.errors import WrongShape
from ramet.jobs.kinds import LISTING, QUEUE, SCRAPE_SOURCE, SOURCE_RESOURCE, ListingPayload, SourcePayload
from ramet.jobs.matching.duplicates import listing_key
from ramet.jobs.matching.stop_list import stopped, title_refusal
from ramet.jobs.posting import Posting, fitting, packed, shown_mark
from ramet.jobs.records import ACTIVE, DISABLED, SourceRow, json_of, lineage_fields
from ramet.jobs.settings import REFUSING, JobsSettings
from ramet.jobs.tasks.keys import FULL, key_of_source, task_priority
from ramet.jobs.tasks.pages import StillBusy, board, content_type, reads_html
from ramet.jobs.text.company_names import same_company

DAY = 86_400.0
BYTES_AT_ONCE = 4 * 1024 * 1024
"""Most bytes of postings that wait for a checkpoint; more would only cost memory."""
JUDGED_BY = "judged_by"
"""Key beside the validators of a list: the mark of the settings by which it was judged."""


class Progress(BaseModel):
    """Progress of a run: its pipeline_state."""

    model_config = ConfigDict(extra="ignore")

    request: dict[str, Any] | None = None
    """The next page; None: the first."""
    page: int = 0
    """Pages that were read."""
    began_at: float
    seen: int = 0
    """Postings that the board showed."""
    known: int = 0
    """Postings among these with a listing of an earlier run."""
    refused: int = 0
    """Postings among these that were refused by title or stop list."""
    spawned: int = 0
    left_out: int = 0
    """Refused by a limit; the next run offers them again."""
    blocked: dict[str, int] = {}
    """Refused spawns by reason."""
    known_pages: int = 0
    """Pages in a row with mostly known openings."""
    validators: dict[str, str] = {}
    digests: list[str] = []
    """Digests of the pages so far: boards repeat themselves."""
    capped: bool = False
    """The board has more openings than it shows."""
    ended: str | None = None
    """Why there are no more pages; None: there are."""


@app.task(
    SCRAPE_SOURCE,
    key=key_of_source,
    queue=QUEUE,
    cycle_on="kind+key",
    lineage_limits=bounds_of,
    resource=lambda payload: SOURCE_RESOURCE + payload.source_id,
)
async def scrape_source(ctx: Context, payload: SourcePayload) -> Any:
    """Scrape a source once."""
    settings = await settings_in_force(ctx.client)
    source = await records.source_by_id(ctx.client, payload.source_id)
    if source is None or source.instruction is None:
        return ctx.fail(f"there is no tested source {payload.source_id}: `ramet jobs sources list` shows them")
    if source.status != ACTIVE:
        return ctx.skip(f"the source is {source.status}: `ramet jobs sources enable {source.source_id}` enables it")
    run = Run(ctx, settings, source, source.instruction)
    await run.prepare()
    try:
        return await run.through()
    except Gone as gone:
        reason = f"the board is gone: {gone}"
        ctx.switch_off(reason)
        ctx.write(records.END_SOURCE, (DISABLED, "gone", reason, ctx.now, source.source_id))
        return ctx.fail(reason)
    except StillBusy as busy:
        # It has not failed: its breaker does not count it.
        ctx.write(records.NOTED, (ctx.now, "busy", str(busy), ctx.now, source.source_id))
        return ctx.skip(str(busy))
    except (WrongShape, Refused) as wrong:
        ctx.write(records.NOTED, (ctx.now, "error", str(wrong), ctx.now, source.source_id))
        return ctx.fail(str(wrong))
    except Trouble as trouble:
        # An exception drops what was buffered, and people want to read what came of the run.
        await ctx.transaction([(records.NOTED, (ctx.now, "error", str(trouble), ctx.now, source.source_id))])
        raise


def judged_by(settings: JobsSettings) -> str:
    """Return a mark of the settings by which openings are refused or left unscored.

    When they have changed, an unchanged list is read as well, since its openings are judged again.
    """
    return settings.mark(REFUSING)


class Run:
    """One run over a source."""

    def __init__(self, ctx: Context, settings: JobsSettings, source: SourceRow, instruction: Instruction) -> None:
        self._ctx = ctx
        self._settings = settings
        self._source = source
        self._instruction = instruction
        self._at = Progress.model_validate({"began_at": ctx.now} | ctx.state)
        self._priority = 0
        self._bytes = 0
        self._waiting = 0
        self._readings: dict[str, int] = {}
        """Number of the next reading of stored listings, by key."""
        self._judged: set[str] = set()
        """Keys of listings that have a verdict."""
        self._some_due = False
        """True where listings that could not be read are to be tried again, whatever the list says of itself."""
        self._shown: set[tuple[str, str]] = set()
        """Numbers and listings of this run, in this process: boards repeat themselves."""

    async def prepare(self) -> None:
        """Look up what the whole run needs."""
        [(due,)] = await self._ctx.client.read(records.DUE_AGAIN, (self._source.source_id,))
        self._some_due = bool(due)
        if self._source.company_id:
            company = await records.company_by_id(self._ctx.client, self._source.company_id)
            self._priority = task_priority(company.tier if company else None)

    async def through(self) -> Any:
        """Page after page, then the end."""
        while self._at.ended is None:
            request = self._request()
            answer = await board(
                self._ctx, request, self._settings, self._validators(), html=reads_html(self._instruction)
            )
            if answer.unchanged:
                return self._unchanged()
            page = await asyncio.to_thread(
                read_list, self._instruction, answer.body, request=request, page=self._at.page + 1, now=self._ctx.now,
                media_type=content_type(answer), before=self._at.digests,
            )  # fmt: skip
            if self._at.page == 0:
                if not page.postings and not page.skipped and self._was_fuller():
                    return self._suspect()
                told = answer.validators if page.next is None else {}
                self._at.validators = {**told, JUDGED_BY: judged_by(self._settings)} if told else {}
            await self._take(page)
        await self._checkpoint()
        return self._end()

    def _request(self) -> Request:
        kept = self._at.request
        if kept is None:
            return first_request(self._instruction)
        body = kept.get("body")
        return Request(kept["url"], kept["method"], None if body is None else body.encode(), kept["headers"])

    def _validators(self) -> dict[str, str] | None:
        # Kept only of boards of one page: no other can say as a whole that nothing changed.
        kept = self._source.validators
        if self._some_due or self._at.page or not self._instruction.conditional:
            return None
        if kept.get(JUDGED_BY) != judged_by(self._settings):
            return None
        return {name: value for name, value in kept.items() if name != JUDGED_BY}

    def _was_fuller(self) -> bool:
        """Return whether an empty list is odd: not on a board of few openings, where the runs before say the same."""
        source, rules = self._source, self._settings.source
        if source.allow_empty or self._instruction.allow_empty or source.most_listings == 0:
            return False
        if source.last_count == 0 and source.suspect == 0:
            return False  # The run before has believed it.
        return source.most_listings > rules.few_openings or source.suspect + 1 < rules.empty_runs

    # --- a page

    async def _take(self, page: Page) -> None:
        at = self._at
        shown = [(listing_key(posting.url), posting) for posting in page.postings]
        keyed = [(key, posting) for key, posting in shown if self._first(key, posting)]
        known = await self._known(dict(keyed))
        for key, posting in keyed:
            if key in known:
                continue
            # One that has a verdict gets the next by its task, whatever it is.
            refusal = (None if key in self._judged else self._refusal(posting)) or self._spawn(posting, key)
            if refusal is not None:
                at.refused += 1
                self._ctx.write(records.REFUSE_LISTING, self._refused_row(key, posting, refusal))
            if self._waiting >= self._settings.source.spawn_batch or self._bytes >= BYTES_AT_ONCE:
                # The page is read again after a crash: what was created is refused as a duplicate then.
                await self._checkpoint()
                if at.left_out:
                    break
        at.page += 1
        at.digests.append(page.digest)
        at.capped = at.capped or page.capped
        at.seen += len(keyed)
        at.known += len(known)
        self._after(page, len(known), len(keyed))

    def _first(self, key: str, posting: Posting) -> bool:
        # Two rows of one address are one listing: taken in turn, it would seem to change with every run.
        marks = {("number", posting.external_id or posting.url), ("listing", key)}
        if marks & self._shown:
            return False
        self._shown |= marks
        return True

    async def _known(self, keys: Mapping[str, Posting]) -> set[str]:
        """Return the keys of listings that need no task; mark the rows of all that had one as seen.

        An unfinished listing is offered again: where its task lives, the guard refuses. So is a listing that its board
        shows otherwise than when it was read.
        """
        numbers = {posting.external_id: key for key, posting in keys.items() if posting.external_id}
        known: set[str] = set()
        rows_of = self._ctx.client.read
        listed: list[str] = []
        waiting: list[str] = []
        for some in records.portions(list(keys)):
            for row in await rows_of(records.known_by_id(len(some)), some):
                stored = records.KnownListing(*row)
                listing_id, shown = stored.listing_id, shown_mark(keys[stored.listing_id])
                self._readings[listing_id] = stored.next_reading
                if stored.status not in records.NOT_BEGUN:
                    listed.append(listing_id)
                    if stored.status not in records.UNFINISHED:
                        self._judged.add(listing_id)
                if stored.runs_left:
                    waiting.append(listing_id)
                if not stored.is_due(self._source.source_id, shown):
                    known.add(listing_id)
                    if stored.shown is None and stored.source_id == self._source.source_id:
                        self._ctx.write(records.SHOWN_FIRST, (listing_id, shown))
        for some in records.portions(list(numbers)):
            for number, listing_id in await rows_of(
                records.known_by_number(len(some)), (self._source.source_id, *some)
            ):
                listed.append(listing_id)
                # Under another address it was moved by its board.
                if listing_id != numbers[number]:
                    known.add(numbers[number])
        for some in records.portions(sorted(set(listed))):
            self._ctx.write(records.seen_again(len(some)), (self._ctx.now, *some))
        for some in records.portions(sorted(waiting)):
            self._ctx.write(records.waited_a_run(len(some)), some)
        return known

    def _refusal(self, posting: Posting) -> str | None:
        company = posting.company or self._source.company_name
        return stopped(posting.title, posting.url, company, self._settings.stop) or title_refusal(
            posting, self._settings
        )

    def _refused_row(self, key: str, posting: Posting, reason: str) -> tuple[Any, ...]:
        now = self._ctx.now
        return (
            key, posting.url, self._source.source_id, self._source.company_id,
            posting.company or self._source.company_name, posting.title, posting.location, posting.posted_at, reason,
            now, now, *lineage_fields(self._ctx),
        )  # fmt: skip

    def _spawn(self, posting: Posting, key: str) -> str | None:
        """Ask for a listing's task; why there can be none."""
        source, shown = self._source, shown_mark(posting)
        posting = fitting(posting, self._settings.listing.text_max)
        if not posting.company and source.company_name:
            posting = posting.model_copy(update={"company": source.company_name})
        # A company's feed can have openings of others.
        own = not posting.company or not source.company_name or same_company(posting.company, source.company_name)
        text = posting.description
        payload = ListingPayload(
            url=posting.url, source_id=source.source_id, company_id=source.company_id if own else None,
            posting=posting.model_copy(update={"description": ""}) if text else posting,
            reading=self._readings.get(key, 1), shown=shown, has_text=bool(text),
        )  # fmt: skip
        try:
            self._ctx.spawn(LISTING, payload, priority=self._priority)
        except PayloadTooLarge:
            return "its board says more of it than can be kept"
        if text:
            self._ctx.write(records.KEEP_TEXT, (key, shown, packed(text)))
        self._waiting += 1
        self._bytes += len(text)
        return None

    async def _checkpoint(self) -> None:
        """Create the gathered listings, and store the run's progress, in one transaction."""
        answers = await self._ctx.checkpoint("scrape", self._at.model_dump())
        self._waiting = self._bytes = 0
        at = self._at
        refused = Counter(answer.reason for answer in answers if answer.reason is not None)
        at.spawned += len(answers) - refused.total()
        at.left_out += sum(count for reason, count in refused.items() if reason in FULL)
        for reason, count in refused.items():
            at.blocked[reason.value] = at.blocked.get(reason.value, 0) + count
        await self._ctx.progress(at.seen, None, f"page {at.page}: {at.spawned} new listings")

    def _after(self, page: Page, known: int, shown: int) -> None:
        """Note the next page, or why there is none."""
        at = self._at
        at.known_pages = at.known_pages + 1 if shown and known >= self._settings.source.known_share * shown else 0
        at.request = None
        if at.left_out:
            at.ended = "full"
        elif page.next is None:
            at.ended = "last page"
        elif at.page >= self._settings.source.pages_max:
            at.ended = f"{at.page} pages"
        elif self._instruction.newest_first and at.known_pages >= self._settings.source.known_pages:
            at.ended = "nothing newer"
        else:
            body = page.next.body
            at.request = {
                "url": page.next.url,
                "method": page.next.method,
                "body": None if body is None else body.decode(),
                "headers": dict(page.next.headers),
            }

    # --- ends

    def _end(self) -> dict[str, Any]:
        at, now, source_id = self._at, self._ctx.now, self._source.source_id
        if at.left_out:
            at.ended = "full"
        note = f"{at.left_out} listings were left out by a limit and come with the next run" if at.left_out else None
        if at.capped:
            note = "; ".join(filter(None, (note, "the board has more openings than it shows")))
        validators = json_of(at.validators) if at.validators and not at.left_out else None
        # Openings that were left out have to be offered again even when the board has not changed.
        self._ctx.write(
            records.SCRAPED, (at.began_at, "success", at.seen, validators, note, at.seen, at.seen, now, source_id)
        )
        if at.ended == "last page" and not at.capped:
            self._close_unseen()
        return at.model_dump(include={"page", "seen", "known", "refused", "spawned", "left_out", "blocked", "ended"})

    def _close_unseen(self) -> None:
        """Close the openings that the board has not shown for some days."""
        before = self._at.began_at - self._settings.source.closed_after_days * DAY
        self._ctx.write(records.CLOSE_UNSEEN, (self._ctx.now, self._source.source_id, before))

    def _unchanged(self) -> dict[str, Any]:
        """End a run without changes: all openings of the last run are still there."""
        now, source = self._ctx.now, self._source
        self._ctx.write(records.WAIT_A_RUN, (source.source_id,))
        self._ctx.write(records.SEEN_UNCHANGED, (now, source.source_id, source.last_scraped_at or now))
        self._close_unseen()
        self._ctx.write(
            records.SCRAPED,
            (
                self._at.began_at,
                "unchanged",
                source.last_count,
                json_of(source.validators),
                None,
                0,
                0,
                now,
                source.source_id,
            ),
        )
        return {"ended": "unchanged", "seen": source.last_count or 0, "spawned": 0}

    def _suspect(self) -> Outcome:
        """End at a valid list that is empty where there were listings: the board may have moved; nothing is closed."""
        now = self._ctx.now
        reason = (
            f"suspect: the board shows no openings and had {self._source.most_listings} before; "
            f"if that is right, `ramet jobs sources enable {self._source.source_id} --allow-empty`"
        )
        self._ctx.write(records.SUSPECTED, (now, reason, now, self._source.source_id))
        return self._ctx.skip(reason)
