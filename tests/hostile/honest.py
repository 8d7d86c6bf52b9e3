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
    """So many pages (600 to 5,600) of mixed shapes, at most `PER_SHAPE` of each: named, and numbered in sections.

    No page is deeper than three links from the home page: that links to all listings and named pages, and a listing to
    its pages. Every page links to the home page, its listing and its neighbour, as sites do.
    """
    found: dict[str, Reply] = {}
    home: list[str] = []
    left = pages - 1 - NAMED
    for name, pattern in SECTIONS.items():
        # So many that their listings have room too.
        count = max(0, min(PER_SHAPE, left - -(-left // (LISTED + 1))))
        listings = _listed(found, [pattern.format(number) for number in range(1, count + 1)], f"/{name}/list?page={{}}")
        home += listings
        left -= count + len(listings)
    named = [f"/guide/{one}-{other}" for one in WORDS for other in WORDS]
    named += [f"/about/{word}" for word in WORDS[:left]]
    _linked(found, named, "/")
    found["/"] = Reply((*home, *named))
    assert len(found) == pages, f"there is no such site of {pages} pages"
    return _of("honest.example", found)


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
        found[page] = Reply(("/", listing, members[(at + 1) % len(members)]))


def _of(host: str, found: Mapping[str, Reply]) -> Site:
    def answer(_: str, target: str) -> Reply:
        parts = urlsplit(target)
        return found.get(parts.path + (f"?{parts.query}" if parts.query else ""), Reply(status=404))

    return Site(host, answer, len(found))
