"""A real run of the jobs pipeline: companies' sites and boards on loopback, with the texts of the shared corpus."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

from ramet import Client, ResourcePolicy
from ramet.jobs.app import LIMITS, fetchers
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE, SCRAPE_SOURCE
from ramet.jobs.pipeline import app
from ramet.testing import drain, fresh_client
from tests.jobs.corpus import CORPUS
from tests.jobs.scenarios.feed_circle import put_up, site_of
from tests.jobs.world.faults import trouble
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import World
from tests.web.runs.clock import TickingClock

BOARDS = {"greenhouse": "harbour", "lever": "lantern", "ashby": "mooring"}
RECORDED = {"ashby": CORPUS / "payloads" / "ashby_highlightta.json"}
"""What a real board answered, instead of openings that are made up."""
IN_TROUBLE = "https://wreck.example/"
"""A company whose server answers with errors only."""


@asynccontextmanager
async def desk(folder: Path, clock: TickingClock) -> AsyncIterator[tuple[Client, World]]:
    """The pipeline with the sample's profile, and a web."""
    with patch.dict(os.environ), World() as world:
        os.environ.update(world.environment())
        async with fresh_client(app, clock=clock, folder=folder) as client:
            await client.settings.set_many(sample() | {"jobs.match.min_score": 40}, by="ada")
            await client.settings.refresh(0.0)
            await client.limit_resource(
                ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=3, cooldown_seconds=1_800.0), by="ada"
            )
            try:
                yield client, world
            finally:
                await fetchers.close()


def build(world: World, openings: int) -> None:
    """Companies in a circle, one in trouble, and three whose careers pages lead to a vendor's board."""
    put_up(world)
    for kind, name in BOARDS.items():
        board = world.board(kind, name, made_up(openings), company=name.capitalize(), recorded=RECORDED.get(kind))
        link = f'<a href="{board.url}">All openings</a>'
        world.company(name.capitalize(), f"https://{name}.example/", careers=link, links=[site_of("Alder")])
    world.company("Wreck", IN_TROUBLE)
    world.behave(IN_TROUBLE, trouble(), forever=True)


async def look(folder: Path, clock: TickingClock, openings: int) -> list[str]:
    """Look at every company, then scrape each source that was found once more; the lineages."""
    async with desk(folder, clock) as (client, world):
        build(world, openings)
        sites = [
            ("Alder", site_of("Alder")),
            *((name.capitalize(), f"https://{name}.example/") for name in BOARDS.values()),
        ]
        tracking_ids = []
        for name, site in [*sites, ("Wreck", IN_TROUBLE)]:
            payload = {"website": site, "name": name}
            made = await client.submit(COMPANY, payload, limits=LIMITS, tracking_id=f"jobs-company-{name.lower()}")
            await drain(app, client)
            tracking_ids.append(made.tracking_id)
        rows = await client.read("SELECT source_id FROM jobs_sources WHERE status = 'active' ORDER BY source_id")
        for number, (source_id,) in enumerate(rows):
            made = await client.submit(
                SCRAPE_SOURCE, {"source_id": source_id}, limits=LIMITS, tracking_id=f"jobs-run-{number}"
            )
            tracking_ids.append(made.tracking_id)
        await drain(app, client)
        return tracking_ids
