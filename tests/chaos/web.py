"""The web that chaos looks at: companies in pairs, whose feeds list each other's openings. Every fifth is in trouble.

``python -m tests.pipelines.jobs.world --build tests.chaos.web:put_up_pairs`` serves it by itself.
"""

from __future__ import annotations

from tests.pipelines.jobs.scenarios.circle import put_up, site_of
from tests.pipelines.jobs.world.plays import bomb, cut_off, garbled, trouble
from tests.pipelines.jobs.world.world import Action, World

PAIRS = 300
TROUBLES: tuple[Action, ...] = (trouble(), cut_off(), garbled(), bomb(20))
IN_TROUBLE = 5
"""Every so-manieth pair."""


def pair(number: int) -> tuple[str, str]:
    """The names of two companies."""
    return f"Oak{number}", f"Yew{number}"


def put_up_pairs(world: World) -> None:
    """All of them."""
    for number in range(PAIRS):
        put_up(world, pair(number))
        if number % IN_TROUBLE == 0:
            world.behave(site_of(pair(number)[1]), TROUBLES[number // IN_TROUBLE % len(TROUBLES)], forever=True)
