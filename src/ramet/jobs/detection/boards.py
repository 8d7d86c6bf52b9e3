"""Boards that a page embeds, loads or links to. Pure; no function here raises, whatever the page."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.jobs.boards.vendor_rows import Loaded
from ramet.jobs.companies.identity import company_id_of
from ramet.jobs.detection.addresses import Address, address_of, board_of_url, token_of, vendor_board
from ramet.jobs.detection.findings import GENERIC, GUESSED, JSONLD, RSS, Confidence, DetectedBoard, confidence_of
from ramet.jobs.detection.patterns import CAREERS, WIDGET_PATH, board_address, evidence, patterns
from ramet.jobs.detection.schema_org import jsonld_objects
from ramet.jobs.detection.scripts import embedded_in
from ramet.jobs.detection.selectors import JOB_PATH, base_of, selectors_in
from ramet.jobs.errors import InputError
from ramet.jobs.text.markup import bounded

BOARDS_MAX = 20
"""Most boards that are returned for one page."""
ELEMENTS_MAX = 20_000
"""Elements of one sort that are looked at."""
SCRIPT_HITS_MAX = 500
"""Addresses in the scripts of a page that are looked at."""
CAREERS_LINKS_MAX = 3
"""Pages of the same company that may have its openings."""
JUDGED_LINKS_MAX = 50

_RANKS = {"url": 0, "iframe": 1, "script": 2, "link": 3, "feed": 4, "jsonld": 5, "selectors": 6}
_LABELS_BEFORE = re.compile(r"[a-z0-9.-]{0,100}\Z", re.IGNORECASE)
_NUMBER = re.compile(r"\d{3,}")
_REST = re.compile(r"[^\s\"'<>()`]{0,300}")


def boards_in_page(html: str, url: str) -> list[DetectedBoard]:
    """Return the boards that a page names, best first.

    The sources are its own address, its embedded parts, scripts, links, feeds and JSON-LD; then the page itself where
    it is a careers page, and its links to such pages.

    Args:
        html: the page.
        url: its address. Of a vendor that the page loads without naming the board, this is the board's address.
    """
    page = address_of(url)
    if page is None:
        return []
    tree = LexborHTMLParser(bounded(html))
    base = base_of(tree, page.url)
    evidence = [found for found in _evidence(tree, page, base) if found is not None]
    boards = _merged(evidence, page)
    own = _own_page(tree, html, page, base, boards)
    return (boards + [found for found in own if found.key not in {one.key for one in boards}])[:BOARDS_MAX]


def best_board(found: Iterable[DetectedBoard], company: str | None = None) -> DetectedBoard | None:
    """Return the board of highest confidence among those that several pages of a company name.

    Args:
        found: results of :func:`boards_in_page`, page by page.
        company: its name: of boards with the same confidence, one with this name wins.
    """
    name = _folded(company or "")
    order = list(Confidence)

    def doubt(one: DetectedBoard) -> tuple[int, bool, bool, int]:
        alike = bool(name) and bool(one.token) and _folded(one.token or "")[: len(name)] == name
        return order.index(one.confidence), _unnamed(one), not alike, _RANKS.get(one.via, len(_RANKS))

    return min(found, key=doubt, default=None)


def _folded(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _evidence(tree: LexborHTMLParser, page: Address, base: str) -> Iterator[DetectedBoard | None]:
    marked = [found for found in _marked(tree, page) if found is not None]
    itself = board_of_url(page.url)
    # A site's own settings know it better than its address: Oracle's sites have names and numbers.
    told = {found.kind for found in marked if "site" in found.ids}
    if itself is not None and itself.kind not in {GENERIC, *told} and itself.via != GUESSED:
        yield itself
    yield from marked
    for selector, names, via in (
        ("iframe,embed,object", ("src", "data-src", "data"), "iframe"),
        ("script[src]", ("src",), "script"),
        ("a[href],area[href]", ("href",), "link"),
        ("form[action]", ("action",), "link"),
    ):
        seen: dict[str, DetectedBoard | None] = {}
        for written in _written(tree, selector, names):
            if written not in seen:
                seen[written] = _board_at(written, base, via)
            yield seen[written]
    yield from _in_scripts(tree)
    yield from _made_by(tree, page, base)
    yield from _feeds(tree, base)


def _written(tree: LexborHTMLParser, selector: str, names: tuple[str, ...]) -> Iterator[str]:
    for node in tree.css(selector)[:ELEMENTS_MAX]:
        attributes = node.attributes
        written = next((attributes[name] for name in names if attributes.get(name)), None)
        if written and not written.startswith("#"):
            yield written


def _board_at(written: str, base: str, via: str) -> DetectedBoard | None:
    address = address_of(written, base)
    found = vendor_board(address, via) if address is not None else None
    # A link to any feed is none to openings: half of the web's pages have one.
    return None if found is not None and found.kind == RSS and not CAREERS.search(written) else found


def _marked(tree: LexborHTMLParser, page: Address) -> Iterator[DetectedBoard | None]:
    """Yield boards by elements that a vendor's script fills, or reads its settings from."""
    node = tree.css_first("[data-apibaseurl][data-sitenumber]")
    host = address_of(node.attributes.get("data-apibaseurl") or "") if node is not None else None
    if node is not None and host is not None:
        yield _board_words("oracle_hcm", {"host": host.host, "site": node.attributes.get("data-sitenumber") or ""})
    for kind, mark in evidence().elements:
        node = tree.css_first(mark.selector)
        if node is None:
            continue
        value = (node.attributes.get(mark.attribute) or "").strip() if mark.attribute else ""
        found = board_of_url(f"https://{value}/careers") if "." in value else None
        if found is not None and found.kind == kind:
            yield replace(found, via="script")
        elif token := token_of(value):
            yield _by_name(kind, token)
        else:
            yield DetectedBoard(kind, page.url, None, {}, confidence_of(kind, whole=False), "script")


def _by_name(kind: str, token: str) -> DetectedBoard:
    """Return a vendor's board by its name alone."""
    return DetectedBoard(kind, board_address(kind, token), token, {}, confidence_of(kind, whole=True), "script")


def _in_scripts(tree: LexborHTMLParser) -> Iterator[DetectedBoard | None]:
    """Yield boards by addresses and settings in scripts."""
    left = SCRIPT_HITS_MAX
    for node in tree.css("script:not([src])")[:ELEMENTS_MAX]:
        text = node.text(deep=True)
        for written in itertools.islice(_addresses(text), left):
            left -= 1
            yield _board_at(written, "", "script")
        for kind, words in evidence().scripts:
            if told := words.search(text):
                yield _board_words(kind, told.groupdict())


def _addresses(text: str) -> Iterator[str]:
    """Yield addresses at the vendors' domains in a script."""
    for domain in sorted(patterns()):
        at = text.find(domain)
        while at >= 0:
            end = at + len(domain)
            labels = _LABELS_BEFORE.search(text[max(0, at - 100) : at])
            rest = _REST.match(text[end : end + 400].replace("\\/", "/"))
            yield f"https://{labels[0] if labels else ''}{domain}{rest[0] if rest else ''}"
            at = text.find(domain, end)


def _board_words(kind: str, groups: dict[str, str]) -> DetectedBoard | None:
    if "site" in groups:
        host, site = groups["host"], groups["site"]
        found = board_of_url(f"https://{host}/hcmUI/CandidateExperience/en/sites/{site}")
        return replace(found, via="script") if found is not None and found.kind == kind else None
    token = token_of(groups["token"])
    return _by_name(kind, token) if token is not None else None


def _made_by(tree: LexborHTMLParser, page: Address, base: str) -> Iterator[DetectedBoard | None]:
    """Yield the board of a page that belongs to a careers site that a vendor made on the company's own domain."""
    for written in _written(tree, "script[src],link[href],meta[property='og:image']", ("src", "href", "content")):
        address = address_of(written, base)
        if address is None:
            continue
        kind, maker = next(((kind, one) for kind, one in evidence().loads if _made(one, address)), ("", None))
        if maker is not None:
            feed = address_of(maker.feed, page.url) if maker.feed else None
            ids = {} if feed is not None else {"host": page.host}
            yield DetectedBoard(kind, feed.url if feed else page.url, None, ids, Confidence.MEDIUM, "script")


def _made(maker: Loaded, address: Address) -> bool:
    host = not maker.host or address.host == maker.host or address.host.endswith("." + maker.host)
    return host and address.path.startswith(maker.path) and not WIDGET_PATH.search(address.path)


def _feeds(tree: LexborHTMLParser, base: str) -> Iterator[DetectedBoard | None]:
    """Yield feeds that say that they are of openings; feeds of a company's news are left out."""
    for node in tree.css("link[rel~=alternate][href]")[:ELEMENTS_MAX]:
        attributes = node.attributes
        media = (attributes.get("type") or "").lower()
        address = address_of(attributes.get("href") or "", base)
        if address is None or not ("rss" in media or "atom" in media or "feed+json" in media):
            continue
        if CAREERS.search(address.path) or CAREERS.search(attributes.get("title") or ""):
            board = vendor_board(address, "feed")
            yield board if board is not None and board.kind != RSS else _feed(address)


def _feed(address: Address) -> DetectedBoard:
    return DetectedBoard(RSS, address.url, None, {}, Confidence.HIGH, "feed")


def _merged(evidence: Iterable[DetectedBoard], page: Address) -> list[DetectedBoard]:
    """Return the best finding of each board; one without a name only where its vendor has none with a name."""
    best: dict[str, DetectedBoard] = {}
    count: dict[str, int] = {}
    for seen in evidence:
        # Links to a company's openings with a vendor's parameter: the board is shown on its own pages.
        of_page = seen.token is None and seen.via == "link" and seen.kind != RSS and not seen.ids
        found = replace(seen, url=page.url) if of_page else seen
        count[found.key] = count.get(found.key, 0) + 1
        if found.key not in best or _RANKS[found.via] < _RANKS[best[found.key].via]:
            best[found.key] = found
    named = {found.kind for found in best.values() if found.token is not None}
    kept = [found for found in best.values() if found.token is not None or found.kind not in named or found.kind == RSS]
    return sorted(kept, key=lambda found: (_unnamed(found), _RANKS[found.via], -count[found.key]))


def _unnamed(found: DetectedBoard) -> bool:
    return found.token is None and found.kind != RSS


def _own_page(
    tree: LexborHTMLParser, html: str, page: Address, base: str, boards: list[DetectedBoard]
) -> Iterator[DetectedBoard]:
    """Yield the page itself as a board, and careers pages of the same company that it links to.

    Nothing is yielded beside a board that the page embeds.
    """
    if any(found.via in ("url", "iframe", "script") and not _unnamed(found) for found in boards):
        return
    if jsonld_objects(tree, "JobPosting"):
        yield DetectedBoard(JSONLD, page.url, None, {}, Confidence.LOW, "jsonld")
    if selectors := selectors_in(tree, page.url, base):
        yield DetectedBoard(GENERIC, page.url, None, {"selectors": json.dumps(selectors)}, Confidence.LOW, "selectors")
    elif embedded := embedded_in(tree, html, page.url):
        yield DetectedBoard(GENERIC, page.url, None, {"embedded": json.dumps(embedded)}, Confidence.LOW, "selectors")
    elif _is_careers(tree, page):
        yield DetectedBoard(GENERIC, page.url, None, {}, Confidence.LOW, "url")
    yield from _careers_links(tree, page, base)


def _is_careers(tree: LexborHTMLParser, page: Address) -> bool:
    if CAREERS.search(page.path) or CAREERS.match(page.host):
        return True
    return any(CAREERS.search(node.text(deep=True)[:300]) for node in tree.css("title,h1")[:5])


def _careers_links(tree: LexborHTMLParser, page: Address, base: str) -> Iterator[DetectedBoard]:
    found: set[str] = set()
    judged = 0
    for node in tree.css("a[href]")[:ELEMENTS_MAX]:
        written = node.attributes.get("href") or ""
        if not _leads_to_careers(written, node):
            continue
        address = address_of(written, base)
        if address is None or address.url in found or address[1:] == page[1:]:
            continue
        judged += 1
        if judged > JUDGED_LINKS_MAX or len(found) >= CAREERS_LINKS_MAX:
            return
        if _same_site(address, page):
            found.add(address.url)
            yield DetectedBoard(GENERIC, address.url, None, {}, Confidence.LOW, "link")


def _leads_to_careers(written: str, node: LexborNode) -> bool:
    """Return whether a link leads to a page about openings, and not to one of them."""
    path = written.partition("?")[0].partition("#")[0].rstrip("/")
    last = path.rpartition("/")[2]
    if _NUMBER.search(path) or len(last) > 40:
        return False
    text = " ".join(node.text(deep=True).split())
    return bool(CAREERS.search(last)) or (len(text) <= 40 and bool(CAREERS.search(text)) and not JOB_PATH.search(path))


def _same_site(one: Address, other: Address) -> bool:
    below = "." + other.host.removeprefix("www.")
    if one.host == other.host or one.host.endswith(below):
        return True
    try:
        return company_id_of(one.url, None) == company_id_of(other.url, None)
    except InputError:
        return False
