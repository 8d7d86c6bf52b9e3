"""Reading a board: its list page by page, the rest of an opening, and the board's own name.

Nothing here asks anybody: :func:`first_request` and :class:`Page` say what to ask, the caller asks and gives the bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ramet.fetch.messages import text_of_bytes
from ramet.fetch.request import Request
from ramet.jobs.boards.details import detail_request, is_page, read_detail
from ramet.jobs.boards.entries import (
    bounded_list,
    json_entries,
    local_name,
    parsed_json,
    parsed_xml,
    seen,
    total_of,
    wrong,
    xml_entries,
    xml_value,
)
from ramet.jobs.boards.feeds import FEED_ROOTS, feed_entries, feed_root
from ramet.jobs.boards.fields import Entry, line, places, posting_of, text_of_flag
from ramet.jobs.boards.instruction import PLACES_BY, Instruction, Rule, Rules
from ramet.jobs.boards.names import name_request, read_name
from ramet.jobs.boards.pages import page_entries
from ramet.jobs.boards.paging import first_request, next_request
from ramet.jobs.boards.paths import text_at, values_at
from ramet.jobs.boards.vendors import vendor_of_root
from ramet.jobs.detection.postings import jsonld_postings
from ramet.jobs.posting import Posting

__all__ = [
    "Page",
    "detail_request",
    "first_request",
    "is_page",
    "name_request",
    "read_detail",
    "read_list",
    "read_name",
]


@dataclass(frozen=True)
class Page:
    """What one page of a list told."""

    postings: list[Posting]
    """Each opening once, with all its places."""
    total: int | None
    """Openings of the whole board, as it says; None: it does not. Not to be trusted after the first page."""
    next: Request | None
    """What to ask for the next page; None: this was the last."""
    skipped: int
    """Entries that give no posting: not listed, or without a title or an address."""
    digest: str
    """Of the openings on it. A page with a digest that was there before is the end: the board repeats itself."""
    capped: bool = False
    """The board has more openings than it shows."""


@dataclass(frozen=True)
class _List:
    """A parsed answer."""

    instruction: Instruction
    entries: list[Any]
    value: Any
    fields: Mapping[str, Rules]
    base: str
    """What its relative addresses are relative to."""
    link: str | None = None
    """The next page's address, where the page names it."""


def read_list(
    instruction: Instruction,
    answer_body: bytes,
    *,
    request: Request,
    page: int,
    now: float,
    media_type: str = "",
    before: Collection[str] = (),
) -> Page:
    """The openings of one page.

    Args:
        answer_body: what was answered to ``request``.
        page: number of the page, from 1.
        now: Unix seconds.
        media_type: of the answer, with its parameters if they are known.
        before: digests of the run's pages before this one. A page that is one of them again has no next page.

    Raises:
        WrongShape: the answer is not what the instruction says. A list that is there and empty gives no postings.
    """
    if instruction.type == "jsonld":
        return _jsonld_page(instruction, answer_body, request, now, media_type)
    found = _list_of(instruction, answer_body, media_type, url=request.url, page=page)
    postings, skipped = _postings(found, now)
    total = total_of(instruction, found.value)
    if not found.entries and page == 1 and total:
        raise wrong(instruction, f"an empty list that says that it has {total}")
    digest = _digest(postings, found.entries)
    following = next_request(
        instruction, request, found.value, page=page, count=len(found.entries), total=total, link=found.link
    )
    most = instruction.paging.most if instruction.paging else None
    return Page(
        postings=_merged(postings),
        total=total,
        next=None if digest in before else following,
        skipped=skipped,
        digest=digest,
        capped=most is not None and total is not None and total >= most,
    )


def _postings(found: _List, now: float) -> tuple[list[Posting], int]:
    """The postings of a list's entries, and how many entries give none."""
    instruction, company = found.instruction, _company(found.instruction, found.value)
    postings: list[Posting] = []
    hidden = nameless = 0
    for row in bounded_list(instruction, found.entries):
        if any(_is_skipped(row, one.path, one.values) for one in instruction.skip):
            hidden += 1
            continue
        posting = posting_of(Entry(row, instruction, found.base), found.fields, now, company)
        if posting is None:
            nameless += 1
        else:
            postings.append(posting)
    if nameless and not postings:
        where = instruction.response_path or "the list"
        raise wrong(instruction, f"none of the {nameless} entries of {where} has a title and an address")
    return postings, hidden + nameless


def _list_of(instruction: Instruction, body: bytes, media_type: str, *, url: str, page: int) -> _List:
    if instruction.type == "json":
        value = parsed_json(instruction, body, media_type)
        return _List(instruction, json_entries(instruction, value), value, instruction.fields, url)
    if instruction.type == "html":
        shown = page_entries(instruction, body, media_type, url=url, page=page)
        own = {name: (Rule(path=name),) for name in (instruction.selectors.fields if instruction.selectors else ())}
        return _List(instruction, shown.entries, None, {**own, **instruction.fields}, shown.base, shown.following)
    if instruction.type == "xml":
        root = parsed_xml(instruction, body)
        value = {local_name(root): xml_value(root)}
        return _List(instruction, xml_entries(instruction, root), value, instruction.fields, url)
    feed = feed_root(instruction, body)
    if feed is not None and local_name(feed) not in FEED_ROOTS:
        # Some addresses of feeds have a list of jobs in XML of their own.
        vendor = vendor_of_root(local_name(feed))
        if vendor is None:
            raise wrong(instruction, f"no feed, but <{local_name(feed)[:60]}>")
        other = instruction.model_copy(update={"response_path": vendor.response_path, "detail": vendor.detail})
        return _List(other, xml_entries(other, feed), {local_name(feed): xml_value(feed)}, vendor.fields, url)
    entries, value = feed_entries(instruction, body, feed)
    return _List(instruction, entries, value, instruction.fields, url)


def _jsonld_page(instruction: Instruction, body: bytes, request: Request, now: float, media_type: str) -> Page:
    postings = jsonld_postings(text_of_bytes(body, media_type), request.url, now)
    if not postings and not instruction.allow_empty:
        raise wrong(instruction, f"no JobPosting as JSON-LD in {seen(body)}")
    named = [one if one.company else one.model_copy(update={"company": instruction.company_name}) for one in postings]
    whole = [one for one in named if one.title]
    return Page(_merged(whole), total=None, next=None, skipped=len(named) - len(whole), digest=_digest(whole, []))


def _company(instruction: Instruction, value: Any) -> str | None:
    told = line(text_at(value, instruction.company_path)) if instruction.company_path else ""
    return told or instruction.company_name


def _is_skipped(row: Any, path: str, values: Collection[str]) -> bool:
    return any(text_of_flag(value) in values for value in values_at(row, path))


def _digest(postings: list[Posting], entries: list[Any]) -> str:
    """Of the openings of a page, in any order; where it has none that is shown, of what it has."""
    keys = sorted({posting.external_id or posting.url for posting in postings})
    told = "\n".join(keys) if keys else repr(entries[:100])
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:24]


def _merged(postings: list[Posting]) -> list[Posting]:
    """Each opening once: a board may list it once for each of its places.

    Entries that share an identifier, but neither title nor address, are different openings with a wrong identifier.
    """
    named: dict[str, list[Posting]] = {}
    for posting in postings:
        named.setdefault(posting.external_id or "", []).append(posting)
    wrong_ids = {
        name
        for name, those in named.items()
        if name and len({one.url for one in those}) > 1 and len({one.title for one in those}) > 1
    }
    found: dict[str, Posting] = {}
    for posting in postings:
        one = posting.model_copy(update={"external_id": None}) if posting.external_id in wrong_ids else posting
        key = one.external_id or one.url
        found[key] = _joined(found[key], one) if key in found else one
    return list(found.values())


def _joined(first: Posting, second: Posting) -> Posting:
    told = PLACES_BY.join(filter(None, (first.location, second.location)))
    location = places(told)
    workplace = first.workplace if first.workplace == second.workplace else first.workplace or second.workplace
    return first.model_copy(update={"location": location, "workplace": workplace})
