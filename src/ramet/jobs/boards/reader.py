"""The rest of an opening, where the list does not have all of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ramet.fetch.messages import Request, text_of_bytes
from ramet.jobs.boards.entries import (
    FEED_ROOTS,
    answer_excerpt,
    bounded_list,
    described,
    feed_entries,
    feed_root,
    json_entries,
    local_name,
    misfit_error,
    page_entries,
    parsed_json,
    parsed_xml,
    total_of,
    xml_entries,
    xml_value,
)
from ramet.jobs.boards.fields import Entry, line, places, posting_of, text_of_flag, values_of
from ramet.jobs.boards.instruction import PLACES_BY, Detail, Instruction, Rule, Rules, text_at, values_at
from ramet.jobs.boards.paging import ACCEPT, first_request, next_request
from ramet.jobs.boards.vendors import vendor_of_root
from ramet.jobs.detection.postings import jsonld_postings, posting_of_page
from ramet.jobs.detection.selectors import first_text
from ramet.jobs.errors import WrongShape
from ramet.jobs.posting import Posting

_COUNT_OF_PLACES = re.compile(r"(?:\d{1,4}|multiple|several|various) (?:more )?locations?", re.IGNORECASE)


def detail_request(instruction: Instruction, posting: Posting) -> Request | None:
    """Return the request for the rest of an opening; None: there is nothing more to fetch."""
    if posting.whole or posting.detail_url is None:
        return None
    detail = instruction.detail or Detail(url=())
    kind = "html" if detail.embedded is not None else detail.type
    return Request(posting.detail_url, headers={"Accept": ACCEPT[kind], **detail.headers})


def is_page(instruction: Instruction) -> bool:
    """Return whether the rest of an opening is on a page for people, to which robots.txt applies."""
    detail = instruction.detail
    return detail is None or detail.type == "html" or detail.embedded is not None


def read_detail(
    instruction: Instruction, posting: Posting, body: bytes, *, url: str, now: float, media_type: str = ""
) -> Posting:
    """Return the posting with the values of its own answer.

    The address, the title and the identifier stay as the list has them. Of the rest, values from the board's own
    interface replace those of the list; values from a page only fill in what is not there.

    Args:
        url: the address that answered.
        now: Unix seconds.

    Raises:
        WrongShape: the answer is not what the instruction says.
    """
    detail = instruction.detail
    if detail is None or detail.type == "html":
        return _completed(posting, posting_of_page(text_of_bytes(body, media_type), url, now))
    value = parsed_json(instruction.model_copy(update={"embedded": detail.embedded}), body, media_type)
    found = values_at(value, detail.response_path)
    if not found or not isinstance(found[0], dict):
        where = f"at {detail.response_path!r}" if detail.response_path else "at its top"
        raise misfit_error(
            instruction, f"no posting {where}, but {described(found[0] if found else value)} ({url[:200]})"
        )
    told = values_of(Entry(found[0], instruction, url), detail.fields, now)
    if not told:
        raise misfit_error(instruction, f"a posting without anything to read, but {described(found[0])} ({url[:200]})")
    extra = {**posting.extra, **told.pop("extra", {})}
    told.pop("external_id", None)
    return posting.model_copy(update={**told, "extra": extra})


def _completed(posting: Posting, page: Posting) -> Posting:
    """Return the values of the list, completed from the page."""
    found: dict[str, Any] = {
        name: getattr(page, name)
        for name in ("title", "company", "company_website", "location", "salary", "workplace", "employment_type")
        if not getattr(posting, name)
    }
    if posting.location and page.location and _COUNT_OF_PLACES.fullmatch(posting.location):
        found["location"] = page.location
    if "location" in found:
        found["places"] = page.places
    if "salary" in found:
        found["pay"] = page.pay
    if posting.country is None and len({place.country for place in page.places}) == 1:
        found["country"] = page.places[0].country
    if posting.posted_at is None:
        found["posted_at"] = page.posted_at
    if len(page.description) > len(posting.description):
        found["description"] = page.description
    return posting.model_copy(update={**found, "extra": {**page.extra, **posting.extra}})


_WORDS = "jobs?|careers?|open(?:ings?| positions?| roles?)|vacancies|job board|job openings?|current openings|"
_WORDS += "career (?:page|site)|jobs and careers|careers and jobs|hiring|home"
_MARKS = "-\u2013\u2014|:\u00b7"
_BETWEEN = rf"\s{{0,4}}[{_MARKS}]\s{{0,4}}"
_BEHIND = re.compile(rf"(?:{_BETWEEN}|\s{{1,4}})(?:{_WORDS})\s{{0,4}}$", re.IGNORECASE)
_BEFORE = re.compile(rf"^(?:(?:{_WORDS}){_BETWEEN}|(?:{_WORDS}|work|working) (?:at|with|bei|chez|hos) )", re.IGNORECASE)
_NO_NAMES = re.compile(
    rf"(?:{_WORDS}|workday|lever|ashby|gem|rippling|search|not found|page not found|404|error|sign in|login|loading)",
    re.IGNORECASE,
)


def name_request(instruction: Instruction) -> Request | None:
    """Return the request for the board's own name; None: the board does not give it.

    Where it is the same as the first request of the list, the name is in the list's answer. That this request fails
    says nothing about the board.
    """
    name = instruction.name
    if name is None:
        return None
    if name.url is None:
        return first_request(instruction)
    kind = "json" if name.path else "html"
    return Request(name.url, headers={"Accept": ACCEPT[kind]})


def read_name(instruction: Instruction, body: bytes, media_type: str = "") -> str | None:
    """Return the board's own name in the answer to :func:`name_request`; None: it is not there. Never raises."""
    name = instruction.name
    if name is None:
        return None
    if name.path is None:
        found = of_title(first_text(text_of_bytes(body, media_type), name.selector))
    else:
        found = of_title(_at(instruction, name.path, body, media_type))
    if name.match is not None:
        match = re.search(name.match, found)
        found = match[1].strip() if match and match[1] else ""
    return found or None


def _at(instruction: Instruction, path: str, body: bytes, media_type: str) -> str:
    from_list = instruction.name is not None and instruction.name.url is None
    try:
        if from_list and instruction.type == "xml":
            root = parsed_xml(instruction, body)
            value = xml_value(root)
            rows = next(iter(value.values()), None) if isinstance(value, dict) else None
            first = rows[0] if isinstance(rows, list) and rows else rows
            return line(text_at({local_name(root): {"position": first}}, path))
        if from_list and instruction.type == "rss":
            return line(text_at(feed_entries(instruction, body, feed_root(instruction, body))[1], path))
        plain = instruction if from_list else instruction.model_copy(update={"embedded": None})
        return line(text_at(parsed_json(plain, body, media_type), path))
    except WrongShape:
        return ""


def of_title(title: str) -> str:
    """Return the name in a page's title: without the words around it that say what kind of page it is."""
    found = line(title)
    for _ in range(3):
        shorter = _BEFORE.sub("", _BEHIND.sub("", found)).strip(f" {_MARKS}")
        if shorter == found:
            break
        found = shorter
    return "" if _NO_NAMES.fullmatch(found) else found


@dataclass(frozen=True)
class Page:
    """Content of one page of a list."""

    postings: list[Posting]
    """Each opening once, with all its places."""
    total: int | None
    """Openings of the whole board, as it says; None: it does not. Not to be trusted after the first page."""
    next: Request | None
    """Request for the next page; None: this was the last."""
    skipped: int
    """Entries that give no posting: not listed, or without a title or an address."""
    digest: str
    """Digest of the openings on it. A page with a digest that was there before is the end: the board repeats itself."""
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
    """Address to which its relative addresses are relative."""
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
    """Return the openings of one page.

    Args:
        answer_body: body of the answer to ``request``.
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
        raise misfit_error(instruction, f"an empty list that says that it has {total}")
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
    """Return the postings of a list's entries, and how many entries give none."""
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
        raise misfit_error(instruction, f"none of the {nameless} entries of {where} has a title and an address")
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
            raise misfit_error(instruction, f"no feed, but <{local_name(feed)[:60]}>")
        other = instruction.model_copy(update={"response_path": vendor.response_path, "detail": vendor.detail})
        return _List(other, xml_entries(other, feed), {local_name(feed): xml_value(feed)}, vendor.fields, url)
    entries, value = feed_entries(instruction, body, feed)
    return _List(instruction, entries, value, instruction.fields, url)


def _jsonld_page(instruction: Instruction, body: bytes, request: Request, now: float, media_type: str) -> Page:
    postings = jsonld_postings(text_of_bytes(body, media_type), request.url, now)
    if not postings and not instruction.allow_empty:
        raise misfit_error(instruction, f"no JobPosting as JSON-LD in {answer_excerpt(body)}")
    named = [one if one.company else one.model_copy(update={"company": instruction.company_name}) for one in postings]
    whole = [one for one in named if one.title]
    return Page(_merged(whole), total=None, next=None, skipped=len(named) - len(whole), digest=_digest(whole, []))


def _company(instruction: Instruction, value: Any) -> str | None:
    told = line(text_at(value, instruction.company_path)) if instruction.company_path else ""
    return told or instruction.company_name


def _is_skipped(row: Any, path: str, values: Collection[str]) -> bool:
    return any(text_of_flag(value) in values for value in values_at(row, path))


def _digest(postings: list[Posting], entries: list[Any]) -> str:
    """Return the digest of the openings of a page, in any order; without any, that of its entries."""
    keys = sorted({posting.external_id or posting.url for posting in postings})
    told = "\n".join(keys) if keys else repr(entries[:100])
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:24]


def _merged(postings: list[Posting]) -> list[Posting]:
    """Return each opening once: a board may list it once for each of its places.

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
    both = tuple(dict.fromkeys(first.places + second.places)) if first.places and second.places else ()
    return first.model_copy(update={"location": location, "places": both, "workplace": workplace})
