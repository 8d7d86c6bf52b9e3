"""What a company's tier means for the tasks that belong to it."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import BlockReason, Context, text_key, url_key
from ramet.fetch.errors import Refused
from ramet.fetch.messages import Answer, Request
from ramet.jobs.app import hosts
from ramet.jobs.boards.fields import clean
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.companies.identity import company_id_of, website_of
from ramet.jobs.detection.findings import Found
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import CompanyPayload, DiscoveryPayload, ListingPayload, ScrapePayload, SourcePayload
from ramet.jobs.matching.duplicates import listing_key
from ramet.jobs.matching.stop_list import stopped_host
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings

PRIORITIES = {"S": 20, "A": 10}
"""Of tasks; all others have 0."""


def task_priority(tier: str | None) -> int:
    """The priority of the source and listing tasks of a company of a tier; S and A go before all others."""
    return PRIORITIES.get(tier or "", 0)


FULL = frozenset({BlockReason.BUDGET, BlockReason.FAN_OUT, BlockReason.DEADLINE, BlockReason.COST})


def key_of_company(payload: CompanyPayload) -> str:
    """The company's id.

    Raises:
        InputError: neither a website nor a name.
    """
    if payload.company_id:
        return text_key(payload.company_id)
    website = website_of(payload.website) if payload.website else None
    if website is None and not (payload.name or "").strip():
        raise InputError("a company needs a website or a name: give one of them")
    return company_id_of(website, payload.name)


def key_of_discovery(payload: DiscoveryPayload) -> str:
    """The address."""
    return url_key(payload.url)


def key_of_source(payload: SourcePayload) -> str:
    """The source's id."""
    return payload.source_id


def key_of_scrape(payload: ScrapePayload) -> str:
    """A lineage has one batch."""
    return "scrape"


def key_of_listing(payload: ListingPayload) -> str:
    """The listing's id: its canonical address."""
    return listing_key(payload.url)


def source_id_of(found: Found) -> str:
    """A name for a board, the same wherever it was found."""
    return found.key


BYTES_MAX = 150_000
"""Of a description as JSON. A payload takes 256 KiB; a state has a posting twice, once as what was read of it."""
ESCAPED = 6
"""Bytes of JSON that one character can take."""


def fitting(posting: Posting, characters_max: int) -> Posting:
    """The posting with a description of at most so many characters, and of a size that can be stored.

    What was cut says so at its end. Characters that no database or screen takes are gone from all of its texts.
    """
    changed = {
        name: cleaned
        for name, text in posting
        if isinstance(text, str) and (cleaned := clean(text)) != text and name != "url"
    }
    text = changed.get("description", posting.description)
    shown = _cut(text, characters_max)
    if len(shown) < len(text):
        changed["description"] = f"{shown}\n[cut here: it has {len(text)} characters]"
    return posting.model_copy(update=changed) if changed else posting


def _cut(text: str, characters_max: int) -> str:
    shown = text[:characters_max]
    if len(shown) * ESCAPED <= BYTES_MAX:
        return shown
    size, quotes = len(shown.encode()), sum(map(shown.count, '\n\t"\\'))
    while size + quotes > BYTES_MAX:
        shown = shown[: len(shown) * BYTES_MAX // (size + quotes) * 99 // 100]
        size, quotes = len(shown.encode()), sum(map(shown.count, '\n\t"\\'))
    return shown


NO_PAGES = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/octet-stream")
"""How the media types begin of what has no text to read."""


def reads_html(instruction: Instruction) -> bool:
    """Whether the list is on a page for people."""
    return instruction.type in ("html", "jsonld") or instruction.embedded is not None


def content_type(answer: Answer) -> str:
    """The media type with its parameters: the encoding may be named there alone."""
    return answer.headers.get("content-type", "")


async def page(ctx: Context, url: str, settings: JobsSettings) -> Answer:
    """A page that people read; robots.txt is kept to.

    Raises:
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        RetryAfter: the server named its time, or it is not our turn.
    """
    answer = await _asked(ctx, Request(url), settings, settings.fetch.page_bytes_max, None, robots=True)
    if answer.media_type.startswith(NO_PAGES):
        raise Refused(f"{url[:200]} is no page but {answer.media_type[:60]}")
    return answer


async def board(
    ctx: Context, request: Request, settings: JobsSettings, validators: Mapping[str, str] | None = None, *, html: bool
) -> Answer:
    """An answer of a board's interface; with ``html`` it is one of its pages, for which robots.txt holds.

    Raises:
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        RetryAfter: the server named its time, or it is not our turn.
    """
    return await _asked(ctx, request, settings, settings.fetch.list_bytes_max, validators, robots=html)


async def _asked(
    ctx: Context,
    request: Request,
    settings: JobsSettings,
    bytes_max: int,
    validators: Mapping[str, str] | None,
    *,
    robots: bool,
) -> Answer:
    def judge(url: str) -> None:
        refused = stopped_host(url, settings.stop)
        if refused is not None:
            raise Refused(refused, url=url)

    judge(request.url)
    return await hosts.ask(
        ctx, request, settings.fetch, bytes_max=bytes_max, validators=validators, robots=robots, judge=judge
    )
