"""Patterns of boards' addresses: the rows of vendors, by what detection looks them up by; and what no vendor owns.

The expressions are matched without regard to case. Texts that their groups take are checked before use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ramet.jobs.boards.vendor_rows import Loaded, OwnSite, Vendor, VendorElement, expression, main_row, vendors


def domain_of(host: str) -> str:
    """Return the last two labels of a host, which are enough to look vendors up."""
    return ".".join(host.rsplit(".", 2)[-2:])


class Pattern(NamedTuple):
    """One kind of address of a vendor."""

    kind: str
    domain: str
    labels: re.Pattern[str]
    path: re.Pattern[str]
    parameter: str
    query: Mapping[str, str]
    board: str
    keeps: tuple[str, ...]
    in_pages: bool


def _pattern(row: Vendor, at: int) -> Pattern:
    one = row.addresses[at]
    return Pattern(
        kind=row.kind,
        domain=one.domain,
        labels=re.compile(one.labels),
        path=re.compile(one.path, re.IGNORECASE),
        parameter=one.parameter,
        query=one.query,
        board=one.board or row.board,
        keeps=row.keeps if one.keeps is None else one.keeps,
        in_pages=row.in_pages,
    )


@cache
def patterns() -> Mapping[str, tuple[Pattern, ...]]:
    """Return kinds of addresses by the last two labels of their host, in the order in which they are tried."""
    found: dict[str, list[Pattern]] = {}
    for row in vendors().values():
        for at, one in enumerate(row.addresses):
            found.setdefault(domain_of(one.domain), []).append(_pattern(row, at))
    return {domain: tuple(those) for domain, those in found.items()}


@cache
def vendor_names() -> frozenset[str]:
    """Return the kinds that have addresses of their own."""
    return frozenset(pattern.kind for those in patterns().values() for pattern in those)


@cache
def parameters() -> Mapping[str, str]:
    """Return kinds by a parameter in addresses of a company's own pages."""
    return {name: row.kind for row in vendors().values() for name in row.parameters}


class Evidence(NamedTuple):
    """Signs of a vendor in pages and addresses of companies' own sites; each with its kind."""

    own_sites: tuple[tuple[str, OwnSite], ...]
    elements: tuple[tuple[str, VendorElement], ...]
    scripts: tuple[tuple[str, re.Pattern[str]], ...]
    loads: tuple[tuple[str, Loaded], ...]


@cache
def evidence() -> Evidence:
    """Return all signs of vendors, in the order of the rows."""
    rows = vendors().values()
    return Evidence(
        own_sites=tuple((row.kind, one) for row in rows for one in row.own_sites),
        elements=tuple((row.kind, one) for row in rows for one in row.elements),
        scripts=tuple((row.kind, re.compile(one)) for row in rows for one in row.scripts),
        loads=tuple((row.kind, one) for row in rows for one in row.loads),
    )


def board_address(kind: str, token: str) -> str:
    """Return the address of a vendor's board for people, by the board's name alone."""
    row = main_row(kind)
    return ("" if row is None else row.board).format(token=token, region="", host="", site="", tenant="")


RESERVED = frozenset(
    "api app apply apps asset assets attachments blog board boards candidate careers careers-analytics cdn companies"
    " company css dashboard developer developers docs embed error favicon fonts graphql help hire hr images img"
    " internal j job jobs js login mail my null oauth oneclick-ui postings privacy resources robots scripts search"
    " signin signup sitemap sso static status support terms undefined users view widget widgets www".split()
)
"""Words in the place of a token that are not tokens, at any vendor but Workday, whose sites may have any name."""
RESERVED_SITES = frozenset({"wday", "login", "favicon.ico", "robots.txt", "sitemap.xml"})
"""Words in the place of a site that are not sites, at Workday and Oracle."""

_CAREERS_HOST = expression("{careers}")

FEED_PATH = re.compile(
    r"(?:\.(?:rss|atom|rdf)|/(?:rss|atom|feed)(?:\.xml|\.php|\.aspx)?|/[^/]{0,60}(?:feed|rss|jobs?)[^/]{0,20}\.xml)/?$",
    re.IGNORECASE,
)
"""End of a path that says that it is a feed."""
FEED_QUERY = re.compile(r"(?:^|&)(?:format|feed|output|type)=(?:rss2?|atom)(?:&|$)", re.IGNORECASE)


class Habit(NamedTuple):
    """Usual address of the feed on the sites of a maker. Addresses alone do not identify the maker with certainty."""

    host: str
    path: str
    query: str
    feed: str


HABITS: tuple[Habit, ...] = (
    Habit(r"[a-z0-9-]{1,63}\.jobs2web\.", "", "", "/googlefeed.xml"),
    Habit("", r"/viewalljobs/?$", "", "/googlefeed.xml"),
    Habit(_CAREERS_HOST + r"|.{1,60}careers\.", r"/search/?$", r"(?!.)|(?:.*&)?locale=", "/googlefeed.xml"),
    Habit(_CAREERS_HOST, "/?$", r"(?:.*&)?locale=[a-z]{2}_[a-z]{2}(?:&|$)", "/googlefeed.xml"),
    Habit(_CAREERS_HOST, r"/jobs/?$", r"(?!.)", "/jobs.rss"),
)
"""SAP SuccessFactors (``/search/``, ``/viewalljobs/``, ``?locale=en_GB``) and Teamtailor (``/jobs``)."""


WIDGET_PATH = re.compile(r"/widgets?/", re.IGNORECASE)
"""Path of a script that shows a board on a site of another maker."""

CAREERS = re.compile(
    r"(?:^|[^a-z])(?:careers?|jobs?|joblist|vacanc(?:y|ies)|vacatures?|openings?|open[-_ ]?(?:positions|roles)"
    r"|positions|hiring|join[-_ ]?(?:us|our[-_ ]?team)|work[-_ ](?:with|for|at)[-_ ]\w{1,30}|karriere"
    r"|stellen(?:angebote|markt)?|emplois?|recrutement|carrieres?|empleos?|trabaj\w{1,20}|lavora|carriere"
    r"|werken[-_ ]?bij|jobb|lediga[-_ ]jobb|praca|kariera|kariery|vagas|talents?)(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Words in an address, a link or a title that leads to openings."""
