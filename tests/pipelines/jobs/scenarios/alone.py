"""One company of the circle by itself, for a world in a process of its own: well, or in trouble for ever."""

from __future__ import annotations

from tests.pipelines.jobs.scenarios.circle import put_up, site_of
from tests.pipelines.jobs.world.plays import trouble
from tests.pipelines.jobs.world.world import World

NAME = "Alder"


def put_up_one(world: World) -> None:
    """A feed that lists the openings of its own company."""
    put_up(world, (NAME,))


def put_up_in_trouble(world: World) -> None:
    """The same, where the company's home page is an error of its server's."""
    put_up_one(world)
    world.behave(site_of(NAME), trouble(), forever=True)
