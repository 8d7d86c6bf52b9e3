"""Sites of which every page was written by somebody, and which a crawl must see whole."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from tests.hostile.pages import Reply, Site

LISTED = 50
"""Pages that one page of a listing links to."""
PER_SHAPE = 900
WORDS = (
    "amber birch cedar dune ember fjord grove heath inlet jetty knoll larch meadow north orchard pine quarry ridge "
    "spruce tundra upland valley willow yarrow"
).split()
NAMED = len(WORDS) ** 2
"""Pages that an author named: each is a shape of its own."""
SECTIONS: Mapping[str, str] = {
    "product": "/product/{}",
    "review": "/product/{}/reviews",
    "news": "/news/2024/05/{}-what-happened",
    "people": "/people/u{}.html",
    "forum": "/forum?topic={}",
    "media": "/media/album-{}/index",
}
"""How the pages of a section are numbered; each is one shape."""


def honest(pages: int = 5_000) -> Site:
    """So many pages (700 to 5,500) of mixed shapes, at most `PER_SHAPE` of each: named, and numbered in six sections.

    Nothing of it is deeper than four links from the home page: that links to all listings, and these to all pages.
    Every page links to the home page, its listing and its neighbours, as sites do.
    """
    host = "honest.example"
    numbered = pages - 1 - NAMED
    each = {name: numbered // len(SECTIONS) for name in SECTIONS}
    listings = {name: f"/{name}/list?page={{}}" for name in SECTIONS}
    # A listing is a page too.
    each = {name: count - -(-count // LISTED) for name, count in each.items()}
    found: dict[str, Reply] = {}
    home: list[str] = []
    for name, pattern in SECTIONS.items():
        members = [pattern.format(number) for number in range(1, each[name] + 1)]
        home += _listed(found, members, listings[name])
    first = [f"/guide/{one}-{other}" for one in WORDS for other in WORDS]
    left = pages - 1 - len(found) - NAMED
    first += [f"/about/{WORDS[number]}" for number in range(left)]
    _linked(found, first, "/")
    found["/"] = Reply((*home, *first))
    assert len(found) == pages
    return _of(host, found)


def monotonous(pages: int = 5_000) -> Site:
    """A home page, and so many pages of one shape to which it links."""
    members = [f"/item/{number}" for number in range(1, pages + 1)]
    found: dict[str, Reply] = {}
    _linked(found, members, "/")
    found["/"] = Reply(tuple(members))
    return _of("monotonous.example", found)


def _listed(found: dict[str, Reply], members: list[str], listing: str) -> list[str]:
    """Make the pages and their listings; return the listings."""
    made = []
    for at in range(0, len(members), LISTED):
        here = listing.format(at // LISTED + 1)
        part = members[at : at + LISTED]
        _linked(found, part, here)
        found[here] = Reply(("/", *part))
        made.append(here)
    return made


def _linked(found: dict[str, Reply], members: list[str], listing: str) -> None:
    for at, page in enumerate(members):
        found[page] = Reply(("/", listing, members[at - 1], members[(at + 1) % len(members)]))


def _of(host: str, found: Mapping[str, Reply]) -> Site:
    def answer(_: str, target: str) -> Reply:
        parts = urlsplit(target)
        return found.get(parts.path + (f"?{parts.query}" if parts.query else ""), Reply(status=404))

    return Site(host, answer, len(found))
