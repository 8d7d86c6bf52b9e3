"""Which board an address belongs to, from the address alone. Pure; nothing here ever raises."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urljoin, urlsplit

from ramet.jobs.boards.vendor_rows import OwnSite
from ramet.jobs.companies.hosts import DIRECTORY_DOMAINS
from ramet.jobs.detection.findings import GENERIC, GUESSED, RSS, Confidence, DetectedBoard, confidence_of
from ramet.jobs.detection.patterns import (
    FEED_PATH,
    FEED_QUERY,
    HABITS,
    RESERVED,
    RESERVED_SITES,
    Habit,
    Pattern,
    domain_of,
    evidence,
    parameters,
    patterns,
)

LENGTH_MAX = 4_000
"""Characters of an address that is looked at."""

_HOST = re.compile(r"[^\W_](?:[\w-]{0,62})(?:\.[\w-]{1,63}){1,20}\.?")
_TOKEN = re.compile(r"[^\W_][\w .,&+'~-]{0,99}")
_FILE = re.compile(r".{1,100}\.(?:js|css|png|jpe?g|gif|svg|ico|xml|txt|json|map|php|html?|woff2?)", re.IGNORECASE)
_ALIKE_LOCALE = re.compile(r"[a-z]{2}[-_][a-z]{2}", re.IGNORECASE)
_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b\u2028\u2029\ufeff]+")


class Address(NamedTuple):
    """An address of the web in its parts; host in lower case, without port and credentials."""

    url: str
    host: str
    path: str
    query: str


def address_of(url: str, base: str | None = None) -> Address | None:
    """Return a text as an address, or None: no http(s), no host name, too long, malformed.

    Args:
        base: address to which a relative one is relative.
    """
    if len(url) > LENGTH_MAX:
        return None
    url = url.strip()
    if not url.isascii():
        url = url.encode("utf-8", "replace").decode("utf-8")
    if _UNSEEN.search(url):
        url = quote(_UNSEEN.sub(" ", url), safe="%/:=&?~#+!$,;'@()*[] ").replace(" ", "%20")
    try:
        parts = urlsplit(urljoin(base, url) if base else url)
        host = (parts.hostname or "").lower().rstrip(".")
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        return None
    query = f"?{parts.query}" if parts.query else ""
    return Address(f"{parts.scheme}://{host}{port}{parts.path or '/'}{query}", host, parts.path, parts.query)


def board_of_url(url: str) -> DetectedBoard | None:
    """Return the board of an address: one of the board itself, of one of its openings, or of its API.

    Returns:
        Kind ``generic`` for an address that may be a company's own careers page; None where no board can be: no
        http(s), a vendor's own pages, networks of people.
    """
    address = address_of(url)
    if address is None:
        return None
    found = vendor_board(address)
    if found is not None:
        return found
    if _is_a_vendors(address.host) or is_of(address.host, DIRECTORY_DOMAINS):
        return None
    return _habit(address) or DetectedBoard(GENERIC, address.url, None, {}, Confidence.LOW, "url")


def vendor_board(address: Address, via: str = "url") -> DetectedBoard | None:
    """Return the board of a vendor, or the feed, that an address belongs to by its form; None: neither."""
    if _is_a_vendors(address.host):
        rows = patterns()[domain_of(address.host)]
        found = next(filter(None, (_matched(pattern, address, via) for pattern in rows)), None)
        return found or (_feed(address, via) if via == "url" else None)
    if address.query:
        for name, _ in _parameters(address.query):
            if kind := parameters().get(name.lower()):
                return DetectedBoard(kind, address.url, None, {}, confidence_of(kind, whole=False), via)
    return _feed(address, via) or _own_site(address, via)


def _is_a_vendors(host: str) -> bool:
    """Return whether a host is at or below a domain of a vendor."""
    rows = patterns().get(domain_of(host), ())
    return any(host == row.domain or host.endswith("." + row.domain) for row in rows)


def is_of(host: str, domains: frozenset[str]) -> bool:
    """Return whether a host is one of the domains, or below one."""
    labels = host.split(".")
    return any(".".join(labels[first:]) in domains for first in range(max(0, len(labels) - 3), len(labels)))


def token_of(text: str | None) -> str | None:
    """Return a text, decoded, as a board's name at a vendor; None: it cannot be one (reserved, file, template)."""
    if not text:
        return None
    token = unquote(text).strip()
    if not _TOKEN.fullmatch(token) or token.lower() in RESERVED or _FILE.fullmatch(token):
        return None
    return token


def _matched(pattern: Pattern, address: Address, via: str) -> DetectedBoard | None:
    """Return the board that a row finds in an address of its domain; None: the address does not match."""
    if not address.host.endswith(pattern.domain) or not (pattern.in_pages or via == "url"):
        return None
    labels = pattern.labels.fullmatch(address.host[: -len(pattern.domain)].rstrip("."))
    path = pattern.path.match(address.path) if labels else None
    if labels is None or path is None:
        return None
    parameters = dict(_parameters(address.query)) if pattern.parameter or pattern.query else {}
    told = {name: text for name, asked in pattern.query.items() if (text := parameters.get(asked))}
    if len(told) < len(pattern.query):
        return None
    groups = {**labels.groupdict(), **{name: text for name, text in path.groupdict().items() if text}, **told}
    token = token_of(parameters.get(pattern.parameter) or groups.get("token"))
    site = _site_of(groups.get("site"))
    if "site" in pattern.path.groupindex:
        token = token_of(groups.get("tenant")) if site else None
    if token is None and "token" in pattern.labels.groupindex:
        return None
    ids = {name: text or "" for name, text in groups.items() if name != "token"}
    ids |= {"host": address.host, "site": site or "", "region": (groups.get("region") or "").lstrip(".")}
    kept = {name: ids[name] for name in pattern.keeps if ids.get(name)}
    fixed = "{" not in pattern.board
    confidence = confidence_of(pattern.kind, whole=fixed or token is not None)
    if token is None and not fixed:
        return DetectedBoard(pattern.kind, address.url, None, kept, confidence, via)
    spelled = {**{name: quote(text or "") for name, text in groups.items()}, "host": address.host}
    spelled |= {"token": quote(token or ""), "site": quote(site or ""), "region": groups.get("region") or ""}
    board = pattern.board.format_map(defaultdict(str, spelled))
    return DetectedBoard(pattern.kind, board, token, kept, confidence, via)


def _site_of(text: str | None) -> str | None:
    site = unquote(text).strip() if text else ""
    if not _TOKEN.fullmatch(site) or site.lower() in RESERVED_SITES or _ALIKE_LOCALE.fullmatch(site):
        return None
    return site


def _parameters(query: str) -> Iterator[tuple[str, str]]:
    try:
        yield from parse_qsl(query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return


def _feed(address: Address, via: str) -> DetectedBoard | None:
    if FEED_PATH.search(address.path[-200:]) or (address.query and FEED_QUERY.search(address.query)):
        return DetectedBoard(RSS, address.url, None, {}, Confidence.HIGH, via)
    return None


@cache
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def _own_site(address: Address, via: str) -> DetectedBoard | None:
    """Return a vendor's site on a domain of the company's own, by the layout of its addresses."""
    for kind, site in evidence().own_sites:
        path = _lies_at(site, address)
        if path is not None:
            groups = path.groupdict()
            ids = {**groups, "host": address.host, "site": _site_of(groups.get("site")) or ""}
            kept = {name: ids[name] for name in site.keeps if ids[name]}
            return DetectedBoard(kind, address.url, None, kept, confidence_of(kind, whole=False), via)
    return None


def _lies_at(site: OwnSite | Habit, address: Address) -> re.Match[str] | None:
    if site.host and not _expression(site.host).match(address.host):
        return None
    return _expression(site.path).match(address.path)


def _habit(address: Address) -> DetectedBoard | None:
    for habit in HABITS:
        if _lies_at(habit, address) and _expression(habit.query).match(address.query):
            feed = address_of(habit.feed, address.url)
            if feed is not None:
                return DetectedBoard(RSS, feed.url, None, {"page": address.url}, Confidence.LOW, GUESSED)
    return None
