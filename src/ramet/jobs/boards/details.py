"""The rest of an opening, where the list does not have all of it."""

from __future__ import annotations

import re
from typing import Any

from ramet.fetch.messages import text_of_bytes
from ramet.fetch.request import Request
from ramet.jobs.boards.entries import described, parsed_json, wrong
from ramet.jobs.boards.fields import Entry, values_of
from ramet.jobs.boards.instruction import Detail, Instruction
from ramet.jobs.boards.paging import ACCEPT
from ramet.jobs.boards.paths import values_at
from ramet.jobs.detection.postings import posting_of_page
from ramet.jobs.posting import Posting

_COUNT_OF_PLACES = re.compile(r"(?:\d{1,4}|multiple|several|various) (?:more )?locations?", re.IGNORECASE)


def detail_request(instruction: Instruction, posting: Posting) -> Request | None:
    """What to ask for the rest of an opening; None: there is nothing more to fetch."""
    if posting.whole or posting.detail_url is None:
        return None
    detail = instruction.detail or Detail(url=())
    return Request(posting.detail_url, headers={"Accept": ACCEPT[detail.type], **detail.headers})


def is_page(instruction: Instruction) -> bool:
    """Whether the rest of an opening is on a page for people, to which robots.txt applies."""
    return instruction.detail is None or instruction.detail.type == "html"


def read_detail(
    instruction: Instruction, posting: Posting, body: bytes, *, url: str, now: float, media_type: str = ""
) -> Posting:
    """The posting with what its own answer tells.

    The address, the title and the identifier stay as the list has them. Of the rest, what the board's own interface
    tells replaces what the list told; what a page tells only fills in what is not there.

    Args:
        url: the address that answered.
        now: Unix seconds.

    Raises:
        WrongShape: the answer is not what the instruction says.
    """
    detail = instruction.detail
    if detail is None or detail.type == "html":
        return _completed(posting, posting_of_page(text_of_bytes(body, media_type), url, now))
    value = parsed_json(instruction.model_copy(update={"embedded": None}), body, media_type)
    found = values_at(value, detail.response_path)
    if not found or not isinstance(found[0], dict):
        where = f"at {detail.response_path!r}" if detail.response_path else "at its top"
        raise wrong(instruction, f"no posting {where}, but {described(found[0] if found else value)} ({url[:200]})")
    told = values_of(Entry(found[0], instruction, url), detail.fields, now)
    if not told:
        raise wrong(instruction, f"a posting without anything to read, but {described(found[0])} ({url[:200]})")
    extra = {**posting.extra, **told.pop("extra", {})}
    told.pop("external_id", None)
    return posting.model_copy(update={**told, "extra": extra})


def _completed(posting: Posting, page: Posting) -> Posting:
    """What the list told, and what it did not tell from the page."""
    found: dict[str, Any] = {
        name: getattr(page, name)
        for name in ("title", "company", "company_website", "location", "salary", "workplace", "employment_type")
        if not getattr(posting, name)
    }
    if posting.location and page.location and _COUNT_OF_PLACES.fullmatch(posting.location):
        found["location"] = page.location
    if posting.posted_at is None:
        found["posted_at"] = page.posted_at
    if len(page.description) > len(posting.description):
        found["description"] = page.description
    return posting.model_copy(update={**found, "extra": {**page.extra, **posting.extra}})
