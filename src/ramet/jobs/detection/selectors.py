"""CSS selectors of the openings of a page without a vendor, proven on that very page. Pure.

Openings are blocks of one shape with a link to an address that speaks of a job, and a short text in it. Links in what
is around the page (menus, footers) and links to kinds of jobs instead of a job are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from ramet.jobs.detection.addresses import Address, address_of
from ramet.jobs.detection.titles import is_no_title
from ramet.jobs.text.markup import bounded
from ramet.jobs.text.places import places_of, without_arrangement

ITEMS_MIN = 3
"""Openings with a title and a link that a page must show before its selectors are believed."""
LINKS_MAX = 5_000
CLIMB_MAX = 30
TRIED_MAX = 30
"""Selectors of items that are tried for blocks of one shape."""
PROVEN_SHARE = 0.8
"""Least share of an item selector's matches that must be openings with a title and a link of their own."""

JOB_PATH = re.compile(
    r"/(?:[^/]{0,40}[-_.])?(?:jobs?|positions?|openings?|careers?|vacanc(?:y|ies)|vacatures?|stellen?(?:angebote?)?|requisitions?"
    r"|karriere|emplois?|offres?|ofertas?|empleos?|lavoro|jobb|praca|oferta|vagas?|opportunit(?:y|ies)|roles?|o|apply)"
    r"(?:[-_.][^/]{0,40})?/[^/?#]{2,}",
    re.IGNORECASE,
)
"""Something within a part of the path that speaks of jobs."""
_SAYS_JOB = re.compile(r"job|position|opening|vacanc|posting|role", re.IGNORECASE)
_OF_JOBS = re.compile(r"(?:[^/]{0,40}[-_.])?(?:job|position|opening|career|vacanc|stelle)", re.IGNORECASE)
_JOB_QUERY = re.compile(
    r"(?:^|&)(?:\w{0,20}job\w{0,20}|gh_jid|\w{0,10}req\w{0,10}|vacancy\w{0,5}|position\w{0,5}|id)=[\w-]{1,60}",
    re.IGNORECASE,
)
_KINDS = re.compile(
    r"/(?:categor(?:y|ies)|departments?|teams?|locations?|tags?|search|page|login|signin|register|alerts?|faq|about"
    r"|benefits|culture|blog|news|privacy|terms|life)(?:/[^/?]*)?/?(?:$|\?)|[?&](?:page|sort|filter)=",
    re.IGNORECASE,
)
"""Addresses of lists and of talk about jobs."""
_ENDS = frozenset({"body", "html", "main", "tbody", "table", "ul", "ol"})
_AROUND_TAGS = frozenset({"nav", "footer", "aside"})
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation)?|menu|footer|breadcrumbs?|pagination|pager|social|cookie|share)(?:$|[\s_-])"
)
_DO_IT = re.compile(
    r"(?:apply|view|read|learn|see|show|find|details?|more|mehr|ansehen|bewerben|solicitar|ver|voir|postuler|läs|ansök"
    r"|bekijk|solliciteer)(?: (?:now|more|all|here|this|the|full|our|out|about|it|online|details?|jobs?|roles?"
    r"|positions?|openings?|posting|vacancy|description|for|mehr|stelle|stellen|offre|oferta|jetzt|mer|plus)){0,5}\W{0,5}"
    r"|.{0,10}\b(?:now|more|details)\W{0,3}|[\W\d]{1,40}",
    re.IGNORECASE,
)
"""Text of a button; it is not a title."""
_CLASS = re.compile(r"-?[a-zA-Z_][\w-]{1,60}")
_CHANGING = re.compile(
    r"\d{3,}|^(?:odd|even|first|last|active|open|new|hidden|show|selected|is-\w+|row|clearfix|css-\w+)$|[0-9a-f]{6,}$"
)
"""Classes that do not name a kind of block, or change with each release."""
_FIELDS = {
    "location": (
        "[class*=location i]",
        "[class*=city i]",
        "[class*=standort i]",
        "[class*=place i]",
        "[class*=office i]",
    ),
    "department": ("[class*=department i]", "[class*=team i]", "[class*=category i]"),
    "posted_at": ("time[datetime]@datetime", "[class*=posted i]", "[class*=date i]"),
    "employment_type": ("[class*=employment i]", "[class*=job-type i]", "[class*=jobtype i]", "[class*=contract i]"),
}
_PLACE_ELEMENTS = (
    *(f"td:nth-child({number})" for number in range(2, 7)), "td:nth-child(1)", "a + span", "span:last-of-type", "span",
    "small", "a ~ em", "em", "p:last-of-type", "p", "div:last-of-type", "li:last-of-type",
)  # fmt: skip
"""Selectors of elements that may hold the place of an item that has no class for it."""
PLACE_MAX = 100
"""Characters of a place."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "[class*=title i]", "[class*=name i]", "strong")


@dataclass(frozen=True, slots=True)
class _Link:
    node: LexborNode
    item: LexborNode
    url: str


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """Return the address to which the links of a page are relative."""
    node = tree.css_first("base[href]")
    base = address_of(node.attributes.get("href") or "", url) if node is not None else None
    return base.url if base else url


def first_text(page: str, selector: str) -> str:
    """Return the text of the first element that fits; empty where none does."""
    try:
        node = LexborHTMLParser(bounded(page)).css_first(selector)
    except SelectolaxError:
        return ""
    return "" if node is None else node.text(deep=True, separator="", strip=False)


def selectors_in(tree: LexborHTMLParser, url: str, base: str | None = None) -> dict[str, Any] | None:
    """Return selectors of a page's openings: ``{"item": css, "fields": {"title": css, "url": "css@href", ...}}``.

    A field is CSS within the item, ``@name`` behind it an attribute; without CSS it is the item itself. They were tried
    on this page: at least :data:`ITEMS_MIN` openings have a title and a link.

    Args:
        base: what the page's links are relative to, if that is not the page.

    Returns:
        None where there are none.
    """
    links = _links(tree, base or url, url)
    urls = _urls_within(links)
    groups: dict[str, list[_Link]] = {}
    for link in _items(links, urls):
        groups.setdefault(_shape(link.item), []).append(link)
    for shape in sorted(groups, key=lambda shape: -len(groups[shape])):
        if len(groups[shape]) < ITEMS_MIN:
            break
        for item in islice(_item_selectors(groups[shape]), TRIED_MAX):
            found = _proven(tree, item, links, urls)
            if found is not None:
                return found
    return None


def _links(tree: LexborHTMLParser, base: str, url: str) -> list[tuple[LexborNode, str]]:
    """Return the links that may lead to an opening, in order."""
    page = address_of(url)
    found = []
    for node in tree.css("a[href]")[:LINKS_MAX]:
        address = address_of(node.attributes.get("href") or "", base)
        if address is None or page is None or (address.host, address.path, address.query) == page[1:]:
            continue
        if leads_to_opening(address) and not _is_around(node):
            found.append((node, address.url))
    return found


def leads_to_opening(address: Address) -> bool:
    """Return whether an address speaks of one opening, and not of a list of them or of work in general."""
    speaks = JOB_PATH.search(address.path) or _JOB_QUERY.search(address.query)
    return speaks is not None and not _KINDS.search(address.url)


def _is_around(node: LexborNode) -> bool:
    around: LexborNode | None = node
    for _ in range(CLIMB_MAX):
        if around is None or around.tag == "body":
            return False
        attributes = around.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if around.tag in _AROUND_TAGS or attributes.get("role") == "navigation" or _AROUND.search(named):
            return True
        around = around.parent
    return False


def _urls_within(links: list[tuple[LexborNode, str]]) -> dict[int, set[str]]:
    """Return the openings that each element leads to; of more than one, two of them."""
    urls: dict[int, set[str]] = {}
    for node, url in links:
        around: LexborNode | None = node
        for _ in range(CLIMB_MAX):
            if around is None:
                break
            known = urls.setdefault(around.mem_id, set())
            if len(known) > 1:
                break
            known.add(url)
            around = around.parent
    return urls


def _items(links: list[tuple[LexborNode, str]], urls: dict[int, set[str]]) -> list[_Link]:
    """Return each opening's first link with the largest element around it that leads to no other one."""
    found: dict[str, _Link] = {}
    for node, url in links:
        item = node
        for _ in range(CLIMB_MAX):
            parent = item.parent
            if parent is None or parent.tag in _ENDS or len(urls.get(parent.mem_id, ())) != 1:
                break
            item = parent
        found.setdefault(url, _Link(node, item, url))
    return list(found.values())


def _classes(node: LexborNode) -> list[str]:
    written = (node.attributes.get("class") or "").split()[:20]
    return [name for name in written if _CLASS.fullmatch(name) and not _CHANGING.search(name)]


def _shape(item: LexborNode) -> str:
    return ".".join([item.tag or "", *sorted(_classes(item))])


def _item_selectors(group: list[_Link]) -> Iterator[str]:
    """Yield selectors of the items, the simplest first."""
    first = group[0].item
    tag = first.tag or "*"
    shared = set(_classes(first)).intersection(*(_classes(link.item) for link in group))
    named = [f"{tag}.{name}" for name in sorted(shared, key=lambda name: (not _SAYS_JOB.search(name), name))[:8]]
    yield from named
    if len(shared) > 1:
        yield f"{tag}." + ".".join(sorted(shared))
    part = _job_part(group[0].url)
    narrowed = [*named, tag]
    path = tag
    around = first.parent
    for _ in range(3):
        if around is None or around.tag in ("html", None):
            break
        identity = around.attributes.get("id") or ""
        if _CLASS.fullmatch(identity) and not _CHANGING.search(identity):
            yield f"#{identity} > {path}"
        for name in _classes(around)[:3]:
            yield f"{around.tag}.{name} > {path}"
        path = f"{around.tag} > {path}"
        if around.tag in ("main", "body"):
            yield path
        around = around.parent
    # Blocks of the same shape lead elsewhere too: only those with such a link.
    if part is not None and tag == "a":
        yield from (f"{one}[href*='/{part}/']" for one in narrowed)
    elif part is not None:
        yield from (f"{one}:has(a[href*='/{part}/'])" for one in narrowed)


def _job_part(url: str) -> str | None:
    """Return the part of an address that speaks of jobs, where CSS can have it."""
    address = address_of(url)
    parts = address.path.split("/")[1:-1] if address is not None else []
    return next((part for part in parts if _CLASS.fullmatch(part) and _OF_JOBS.match(part)), None)


def _proven(
    tree: LexborHTMLParser, item: str, links: list[tuple[LexborNode, str]], urls: dict[int, set[str]]
) -> dict[str, Any] | None:
    """Return the selectors that begin with the items', if they hold on the page."""
    try:
        items = tree.css(item)[: 2 * LINKS_MAX]
    except ValueError:
        return None
    first: dict[str, LexborNode] = {}
    for node, address in links:
        first.setdefault(address, node)
    known = []
    for node in items:
        within = urls.get(node.mem_id, set())
        if len(within) == 1:
            known += [_Link(first[address], node, address) for address in within]
    if len(known) < max(ITEMS_MIN, PROVEN_SHARE * len(items)) or len({link.url for link in known}) < ITEMS_MIN:
        return None
    url, title = _url_selector(known), _title_selector(known)
    if url is None or title is None:
        return None
    fields = {"title": title, "url": url}
    nodes = [link.item for link in known]
    for name, candidates in _FIELDS.items():
        fields |= _field(nodes, name, candidates, title)
    if "location" not in fields:
        fields |= _place_field(nodes, title)
    return {"item": item, "fields": fields}


def _url_selector(links: list[_Link]) -> str | None:
    """Return the selector of the link in its item that holds for nearly all."""
    first = links[0].node
    if all(link.node.mem_id == link.item.mem_id for link in links):
        return "@href"
    candidates = ["a@href", *(f"a.{name}@href" for name in _classes(first))]
    part = _job_part(links[0].url)
    if part is not None:
        candidates.append(f"a[href*='/{part}/']@href")
    for candidate in candidates:
        css = candidate.partition("@")[0]
        right = sum(
            (node := link.item.css_first(css)) is not None and node.mem_id == link.node.mem_id for link in links
        )
        if right >= PROVEN_SHARE * len(links):
            return candidate
    return None


def _title_selector(links: list[_Link]) -> str | None:
    """Return the selector of the title in its item: a heading, else the link's own text."""
    items = [link.item for link in links]
    own = "" if links[0].node.mem_id == links[0].item.mem_id else "a"
    for candidate in (*_HEADINGS, own):
        texts = [_text(item, candidate) for item in items]
        titles = [text for text in texts if is_title(text)]
        if len(titles) >= max(ITEMS_MIN, PROVEN_SHARE * len(items)) and len(set(titles)) * 2 >= len(titles):
            return candidate
    return None


def is_title(text: str) -> bool:
    """Return whether a short text may be the title of an opening."""
    return 3 <= len(text) <= 200 and not _DO_IT.fullmatch(text) and not is_no_title(text)


def _field(items: list[LexborNode], name: str, candidates: tuple[str, ...], title: str) -> dict[str, str]:
    """Return the selector of a field that more than half of the items have, beside their title, by the field's name."""
    for candidate in candidates:
        texts = [_text(item, candidate) for item in items]
        own = [_text(item, title) for item in items]
        good = [text for text, beside in zip(texts, own, strict=True) if text and len(text) <= 150 and text != beside]
        if len(good) * 2 > len(items) and not (name == "posted_at" and not _with_number(good)):
            return {name: candidate}
    return {}


def _place_field(items: list[LexborNode], title: str) -> dict[str, str]:
    """Return the selector of the place, where no class names it: an element that is a known place in most items."""
    own = [_text(item, title) for item in items]
    for candidate in _PLACE_ELEMENTS:
        texts = [_text(item, candidate) for item in items]
        known = [
            text
            for text, beside in zip(texts, own, strict=True)
            if text and text != beside and len(text) <= PLACE_MAX and _is_place(text)
        ]
        if len(known) * 3 > len(items) * 2:
            return {"location": candidate}
    return {}


def _is_place(text: str) -> bool:
    """Return whether a text names a place whose country is known, or only says how work is done."""
    places = places_of(text)
    return all(place.country for place in places) if places else not without_arrangement(text)


def _with_number(texts: list[str]) -> bool:
    return Counter(any(map(str.isdigit, text)) for text in texts).most_common(1)[0][0]


def _text(item: LexborNode, selector: str) -> str:
    css, _, attribute = selector.partition("@")
    node = item.css_first(css) if css else item
    if node is None:
        return ""
    text = node.attributes.get(attribute) or "" if attribute else node.text(deep=True, separator=" ")
    return " ".join(text.split())
