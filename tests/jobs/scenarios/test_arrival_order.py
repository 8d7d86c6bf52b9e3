"""Listings and their companies in any order, with two workers: the same text of the same company, the same verdict."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from ramet import Client, ResourcePolicy, Worker
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE, LISTING
from tests.jobs.world.openings import PLACES, TITLES, Opening
from tests.jobs.world.pages import ABOUT, posting_page
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

FOUND = ("Alder", "Birch", "Cedar")
GONE = "Dogwood"
"""A company whose site answers nothing: its listings are judged without it."""
LISTINGS_EACH = 5
VERDICTS = (
    "SELECT listing_id, company_id, title, status, reason, filter_result, score FROM jobs_listings ORDER BY listing_id",
    "SELECT listing_id, match_score, static_score, application_priority, adjustments FROM jobs_matches "
    "ORDER BY listing_id",
)
COUNTS = {
    "jobs.match.size_points": {"large": 9, "medium": 4, "small": -6},
    "jobs.match.tier_points": {"S": 8, "A": 6, "B": 3, "C": 2, "D": -7},
    "jobs.match.min_score": 60,
    "jobs.match.preferred_office_min_score": 60,
    "jobs.filter.excluded_seniority": ["junior"],
}
"""Settings by which a company decides."""

Root = tuple[str, dict[str, Any]]


def put_up(world: World) -> list[Root]:
    """The web, and what is asked of it."""
    roots: list[Root] = []
    for place, name in enumerate((*FOUND, GONE)):
        site = f"https://{name.lower()}.example/"
        if name != GONE:
            size = ("We are 12,000 employees. ", "We are a team of 20 people. ", "We are 700 employees. ")[place]
            world.company(name, site, about=f"{size}{ABOUT}")
        roots.append((COMPANY, {"website": site, "name": name}))
        for number in range(LISTINGS_EACH):
            url = f"https://careers.{name.lower()}.example/jobs/{number}"
            title = "Junior Python Engineer" if number == 4 else TITLES[(place + number) % 6]
            opening = Opening(str(number), f"{title} {name}", location=PLACES[(place + number) % len(PLACES)])
            world.page(url, posting_page(opening, url, name))
            roots.append((LISTING, {"url": url}))
    return roots


@asynccontextmanager
async def opened(database: Path, *, create: bool = False) -> AsyncIterator[Client]:
    async with pipeline.app.client(database, create=create) as client:
        yield client


async def judged(roots: list[Root], folder: Path, seed: int) -> list[list[tuple[Any, ...]]]:
    """The verdicts after two workers met these in an order of chance, as one lineage or as many."""
    chance = random.Random(seed)
    mixed = chance.sample(roots, len(roots))
    database = folder / f"jobs-{seed}.db"
    async with opened(database, create=True) as one, opened(database) as two:
        await one.settings.set_many(sample() | COUNTS)
        await one.limit_resource(ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=0))
        await one.submit_many(mixed, limits=LIMITS, one_lineage=bool(seed % 2))
        workers = (Worker(pipeline.app, client, until_idle=True, concurrency=3) for client in (one, two))
        await asyncio.gather(*(worker.run() for worker in workers))
        return [await one.read(question) for question in VERDICTS]


async def same_in(world: World, folder: Path, orders: int) -> None:
    roots = put_up(world)
    assert len(roots) == 20 + len((*FOUND, GONE))
    first = await judged(roots, folder, 0)
    statuses = {row[3] for row in first[0]}
    assert statuses == {"matched", "skipped", "filtered"}, first[0]
    assert any("company_note" in row[6] for row in first[0] if row[6] is not None)
    assert any('"company"' in row[6] for row in first[0] if row[6] is not None)
    for seed in range(1, orders):
        found = await judged(roots, folder, seed)
        differing = [(was, now) for was, now in zip(chain(*first), chain(*found), strict=True) if was != now]
        assert not differing, f"order {seed}: {differing[0]}"


async def test_whatever_comes_first_the_verdicts_are_the_same(world: World, tmp_path: Path) -> None:
    await same_in(world, tmp_path, 4)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
async def test_in_fifty_orders_the_verdicts_are_the_same(world: World, tmp_path: Path) -> None:
    await same_in(world, tmp_path, 50)
