"""The web that chaos looks at: sites without an end, and companies in pairs, whose feeds list each other's openings.

Both are served by processes of their own. ``python -m tests.jobs.world --build tests.chaos.web:put_up_pairs``
serves the companies by itself; every fifth pair is in trouble.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.crash.process import PROJECT
from tests.hostile.crawler import MAPPING
from tests.jobs.scenarios.feed_circle import put_up, site_of
from tests.jobs.world.faults import bomb, cut_off, garbled, trouble
from tests.jobs.world.process import world_process
from tests.jobs.world.world import Action, World

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


@contextmanager
def whole_web() -> Iterator[dict[str, str]]:
    """The environment that leads there."""
    sites = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.site"],
        cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert sites.stdout is not None
        mapping = sites.stdout.readline().strip()
        with world_process("--build", "tests.chaos.web:put_up_pairs") as environment:
            yield {**environment, MAPPING: mapping}
    finally:
        sites.kill()
        sites.communicate()
