"""The posting that a page is about, and those that a page has as JSON-LD. Pure; nothing here raises for any page."""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.jobs.boards.dates import parse_posted
from ramet.jobs.detection.addresses import address_of, domain_of
from ramet.jobs.detection.labels import labelled, workplace_of
from ramet.jobs.detection.patterns import PATTERNS
from ramet.jobs.detection.schema_org import LINE_MAX, TEXT_MAX, plain, posting_of
from ramet.jobs.detection.structured import jsonld_objects, microdata_objects
from ramet.jobs.detection.titles import title_of
from ramet.jobs.posting import Posting
from ramet.jobs.text.markup import bounded, text_of

DESCRIPTION_MIN = 200
"""Characters from which on a part of a page is taken for the text of an opening."""
POSTINGS_MAX = 5_000
"""Openings of one page."""
REGIONS_MAX = 200

_AROUND = "nav,footer,aside,script,style,template,noscript,iframe,svg,[role=navigation]"
_BESIDE = "header,form,button,dialog"
_DESCRIBED = (
    "[class*='job-description' i],[class*='jobdescription' i],[class*='job_description' i],[id*='job-description' i],"
    "[id*='jobdescription' i],[id*='job_description' i],[data-automation-id='jobPostingDescription'],"
    "[class*='job-detail' i],[class*='jobdetail' i],[class*='posting-description' i],[class*='job__description' i],"
    "[class*='vacancy-description' i],[class*='position-description' i],[class*='job-content' i]"
)
_MAIN = "main,[role=main],article"
_PLACE = "[class*='job-location' i],[class*='job__location' i],[class*='posting-location' i],[class='location' i]"
_VENDORS = frozenset(pattern.kind for pattern in PATTERNS)
_ADJACENT = re.compile(r"</span>(?:\s{0,20}<!--[^>]{0,200}-->){0,20}\s{0,20}<")
"""Where a label ends and its value begins, which only a style keeps apart."""
_TEMPLATE = re.compile(r"\{\{|\{\$|<%|\$\{")


def jsonld_postings(html: str, url: str, now: float) -> list[Posting]:
    """The openings that a page has as JSON-LD, in its order; none without a title.

    Args:
        html: the page.
        url: its address.
        now: Unix seconds.
    """
    return _postings(jsonld_objects(_tree(html), "JobPosting"), url, now)


def posting_of_page(html: str, url: str, now: float) -> Posting:
    """The opening that a page is about: from its JSON-LD, else its microdata, else its marks, labels and headings.

    What is not found stays empty. What the first of these leaves open is taken from the next.

    Args:
        html: the page.
        url: its address.
        now: Unix seconds.
    """
    tree = _tree(html)
    found = _told(tree, url, now)
    names = [found.company if found and found.company else "", _site_name(tree), _host_name(url), *_VENDORS]
    title = title_of(tree, names)
    if found is None:
        found = Posting(url=url)
    missing: dict[str, Any] = {}
    _without(tree, _AROUND)
    marked = labelled(tree)
    _fill(missing, found, "title", title)
    _fill(missing, found, "external_id", marked.get("external_id"))
    _fill(missing, found, "company", marked.get("company") or _company(tree))
    _fill(missing, found, "location", _unbracketed(marked.get("location") or _place(tree)))
    _fill(missing, found, "employment_type", (marked.get("employment_type") or "").lower() or None)
    _fill(missing, found, "salary", marked.get("salary"))
    _fill(missing, found, "workplace", workplace_of(marked.get("workplace")) or _workplace_mark(tree))
    if found.posted_at is None:
        missing["posted_at"] = _posted(tree, marked.get("posted_at"), now)
    ends_at = parse_posted(marked.get("valid_through"), now)
    if ends_at is not None and "valid_through" not in found.extra:
        missing["extra"] = {**found.extra, "valid_through": ends_at}
    if not found.description:
        missing["description"] = _description(tree)
    return found.model_copy(update=missing)


def _tree(html: str) -> LexborHTMLParser:
    return LexborHTMLParser(bounded(html))


def _postings(objects: list[dict[str, Any]], url: str, now: float) -> list[Posting]:
    postings = [posting_of(item, url, now) for item in objects[:POSTINGS_MAX]]
    return [posting for posting in postings if posting.title]


def _told(tree: LexborHTMLParser, url: str, now: float) -> Posting | None:
    """What the page's structured data says about the opening that the page is about."""
    for objects in (jsonld_objects(tree, "JobPosting"), microdata_objects(tree, "JobPosting")):
        postings = _postings(objects, url, now)
        if len(postings) == 1:
            return postings[0].model_copy(update={"url": url})
        if postings:
            # Others are advertised beside it: the page's own one has its address or its heading.
            here = [posting for posting in postings if _place_of(posting.url) == _place_of(url)]
            if len(here) == 1:
                return here[0]
            heading = title_of(tree).casefold()
            for posting in here or postings:
                if heading and posting.title.casefold() == heading:
                    return posting.model_copy(update={"url": url})
    return None


def _place_of(url: str) -> tuple[str, str]:
    address = address_of(url)
    return (address.path.rstrip("/").casefold(), address.query) if address is not None else (url, "")


def _fill(missing: dict[str, Any], found: Posting, name: str, value: str | None) -> None:
    if value and not getattr(found, name) and not _TEMPLATE.search(value):
        missing[name] = value[:LINE_MAX]


def _meta(tree: LexborHTMLParser, *names: str) -> str:
    for name in names:
        node = tree.css_first(f"meta[property='{name}'],meta[name='{name}'],meta[itemprop='{name}']")
        content = " ".join(plain(node.attributes.get("content") or "").split()) if node is not None else ""
        if content:
            return content
    return ""


def _site_name(tree: LexborHTMLParser) -> str:
    return _meta(tree, "og:site_name", "application-name")[:LINE_MAX]


def _host_name(url: str) -> str:
    address = address_of(url)
    return domain_of(address.host).split(".")[0] if address else ""


def _company(tree: LexborHTMLParser) -> str | None:
    """The site's name, where it is no vendor's and no page's."""
    name = re.sub(r"\s{1,5}(?:careers?|jobs|karriere)$", "", _site_name(tree), flags=re.IGNORECASE).strip()
    folded = re.sub(r"[^a-z]", "", name.casefold())
    return None if folded in _VENDORS or folded in ("careers", "jobs", "career", "job") else name or None


def _place(tree: LexborHTMLParser) -> str | None:
    node = tree.css_first(_PLACE)
    text = " ".join(node.text(deep=True, separator=" ").split()) if node is not None else ""
    return text.strip(" /,;|\u00b7") or None if len(text) <= 200 else None


def _unbracketed(place: str | None) -> str | None:
    return place[1:-1].strip() if place and place.startswith("(") and place.endswith(")") else place


def _workplace_mark(tree: LexborHTMLParser) -> str | None:
    node = tree.css_first("[workplacetype]")
    return workplace_of(node.attributes.get("workplacetype")) if node is not None else None


def _posted(tree: LexborHTMLParser, labelled_as: str | None, now: float) -> float | None:
    node = tree.css_first("time[datetime][class*='post' i],time[datetime][itemprop='datePosted'],time[pubdate]")
    marks = [labelled_as, _meta(tree, "datePosted", "article:published_time", "og:article:published_time")]
    if node is not None:
        marks.append(node.attributes.get("datetime"))
    return next((posted for mark in marks if mark and (posted := parse_posted(mark, now)) is not None), None)


def _description(tree: LexborHTMLParser) -> str:
    """The text of the part of the page that describes it, else of its main part, else of all but what is beside it."""
    for selector in (_DESCRIBED, _MAIN):
        texts = [_text(node) for node in _outermost(tree, selector)[:REGIONS_MAX]]
        longest = max(texts, key=len, default="")
        if len(longest) >= DESCRIPTION_MIN and not _TEMPLATE.search(longest):
            return longest[:TEXT_MAX]
    _without(tree, _BESIDE)
    body = text_of(_ADJACENT.sub("</span> <", tree.body.html or "")) if tree.body is not None else ""
    if len(body) >= DESCRIPTION_MIN and not _TEMPLATE.search(body):
        return body[:TEXT_MAX]
    return _meta(tree, "description", "og:description", "twitter:description")[:TEXT_MAX]


def _without(tree: LexborHTMLParser, selector: str) -> None:
    """The tree loses what fits. What lies within that goes with it, and must not be touched any more."""
    for node in _outermost(tree, selector):
        node.decompose()


def _outermost(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """What fits and lies in nothing that fits."""
    fitting = tree.css(selector)
    all_of_them = {node.mem_id for node in fitting}
    return [node for node in fitting if not _is_within(node, all_of_them)]


def _is_within(node: LexborNode, others: set[int]) -> bool:
    around = node.parent
    while around is not None and around.mem_id not in others:
        around = around.parent
    return around is not None


def _text(node: LexborNode) -> str:
    return text_of(node.html or "")
