"""Every lineage on every trap ends within its budget, and the database tells why (promises I5, I6 and I8)."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ramet import Limits
from tests.hostile.crawler import REDIRECTS_MAX, OverHttp
from tests.hostile.crawls import crawl
from tests.hostile.site import TRAPS, HostileSites
from tests.support.backends import Backend

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [fetch] is not installed")

SMALL = Limits(max_tasks=60, max_shape=12)
LARGE = Limits(max_tasks=1_200)
"""Larger than the bound of one shape, so that this is what most of them meet."""
REQUESTS_MAX = 2 * (REDIRECTS_MAX + 1)
"""For one task: two attempts, each with its redirects."""


class End(NamedTuple):
    """How a crawl of a trap ends."""

    bounds: frozenset[str] = frozenset()
    """What refused pages, beside duplicates."""
    failures: frozenset[str] = frozenset()


def ends(*bounds: str, failures: tuple[str, ...] = ()) -> End:
    return End(frozenset(bounds), frozenset(failures))


ENDS: dict[str, End] = {
    "calendar": ends("trap"),
    "sessions": ends(),
    "tokens": ends("trap"),
    "ring": ends(failures=("permanent_error",)),
    "hops": ends(failures=("permanent_error",)),
    "twins": ends("budget"),
    "repeats": ends("budget"),
    "cases": ends("trap"),
    "subdomains": ends("budget", "trap"),
    "ports": ends("trap"),
    "drip": ends(failures=("attempts_exhausted",)),
    "endless": ends(failures=("permanent_error",)),
    "partners": ends("trap"),
    "canonical": ends(),
    "spellings": ends(),
}
"""By `SMALL`."""


async def check_all_end(backend: Backend, limits: Limits) -> dict[str, End]:
    """Crawl all traps at once; each ends within its limits, and asked its server for no more than its tasks may."""
    found = {}
    async with (
        HostileSites(TRAPS.values()) as server,
        crawl(backend, OverHttp(server.mapping), TRAPS.values(), limits) as crawls,
    ):
        for name, site in TRAPS.items():
            crawled = await crawls.of(site)
            lineage = crawled.lineage
            assert (lineage.state, lineage.live) == ("finished", 0), name
            assert lineage.tasks <= limits.max_tasks, name
            assert server.asked[site.host] <= REQUESTS_MAX * lineage.tasks, name
            found[name] = End(crawled.bounds, crawled.failures)
    return found


async def test_every_trap_ends_within_its_limits_and_says_which_held(backend: Backend) -> None:
    assert await check_all_end(backend, SMALL) == ENDS


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
async def test_every_trap_ends_within_the_default_bound_of_a_shape(backend: Backend) -> None:
    found = await check_all_end(backend, LARGE)
    assert {name for name, end in found.items() if not end.bounds | end.failures} == {
        "sessions",
        "spellings",
        "canonical",
    }
    assert {name for name, end in found.items() if "trap" in end.bounds} >= {"calendar", "cases"}
