"""What two workers are given at once, each with companies of its own, and the web that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ramet.jobs.kinds import COMPANY, LISTING
from tests.jobs.scenarios.feed_circle import address_of, put_up, site_of
from tests.jobs.world.faults import trouble
from tests.jobs.world.world import World


@dataclass(frozen=True)
class Story:
    """Roots, and the companies that they lead to."""

    names: tuple[str, ...]
    """Their feeds list the openings of all of them."""
    roots: list[tuple[str, dict[str, Any]]]
    one_lineage: bool = True
    in_trouble: bool = False
    """The home page of the first company is an error of its server's, for ever."""


def listings_of(name: str, count: int) -> list[tuple[str, dict[str, Any]]]:
    """So many openings of a company, by their addresses."""
    return [(LISTING, {"url": address_of(name, number)}) for number in range(count)]


STORIES = {
    "circle": Story(("Alder", "Birch", "Cedar"), [(COMPANY, {"website": site_of("Alder"), "name": "Alder"})]),
    "back": Story(("Elm", "Fir", "Gorse"), listings_of("Elm", 1)),
    "three": Story(("Hazel",), listings_of("Hazel", 3)),
    "three runs": Story(("Ivy",), listings_of("Ivy", 3), one_lineage=False),
    "trouble": Story(("Juniper",), listings_of("Juniper", 3), one_lineage=False, in_trouble=True),
}


def put_up_all(world: World) -> None:
    """The companies of every story."""
    for story in STORIES.values():
        put_up(world, story.names)
        if story.in_trouble:
            world.behave(site_of(story.names[0]), trouble(), forever=True)
