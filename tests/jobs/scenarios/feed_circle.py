"""Companies that point at feeds, which list openings of each other, whose companies point at feeds, in a circle.

`python -m tests.jobs.world --build tests.jobs.scenarios.feed_circle:put_up` serves it by itself.
"""

from __future__ import annotations

from email.utils import formatdate
from html import escape

from tests.jobs.world.messages import Reply
from tests.jobs.world.openings import LONG_AGO, Opening
from tests.jobs.world.pages import posting_page
from tests.jobs.world.world import World

NAMES = ("Alder", "Birch", "Cedar")
OPENINGS = 3
"""Of each company in each feed that has it."""


def site_of(name: str) -> str:
    """The company's own address."""
    return f"https://{name.lower()}.example/"


def feed_of(name: str) -> str:
    """The address of the feed that a company's careers page leads to."""
    return f"https://{name.lower()}.example/jobs/feed.rss"


def address_of(name: str, number: int) -> str:
    """Where an opening is read."""
    return f"https://{name.lower()}.example/jobs/{number}"


def put_up(world: World, names: tuple[str, ...] = NAMES) -> None:
    """Every feed lists the openings of all companies, its own included."""
    items = []
    for name in names:
        link = f'<link rel="alternate" type="application/rss+xml" title="Jobs" href="{feed_of(name)}">'
        world.company(name, site_of(name), careers=f'{link}<a href="{feed_of(name)}">Our jobs as a feed</a>')
        for number in range(OPENINGS):
            opening = Opening(str(number), f"Python Engineer {number}")
            world.page(address_of(name, number), posting_page(opening, address_of(name, number), name))
            items.append(_item(name, opening, number))
    for name in names:
        text = (
            f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>{name} jobs</title>'
            f"<link>{site_of(name)}</link><description>Jobs</description>{''.join(items)}</channel></rss>"
        )
        world.answer(feed_of(name), Reply(text.encode(), media_type="application/rss+xml", etag=True))


def _item(name: str, opening: Opening, number: int) -> str:
    return (
        f"<item><title>{escape(opening.title)}</title><company>{name}</company><guid>{address_of(name, number)}</guid>"
        f"<link>{address_of(name, number)}</link><region>{opening.location}</region>"
        f"<description><![CDATA[{opening.html}]]></description><pubDate>{formatdate(LONG_AGO)}</pubDate></item>"
    )
