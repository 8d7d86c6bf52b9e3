"""The pipeline on a virtual clock, on either store, with a web of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ramet import Client, Limits, ResourcePolicy, Task
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS, fetchers
from ramet.jobs.config.config_file import sample
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE, SCRAPE_SOURCE, SOURCE_DISCOVERY
from ramet.jobs.posting import unpacked
from ramet.jobs.tasks import pages
from ramet.testing import FakeClock, drain, fresh_client
from tests.jobs.world.openings import LONG_AGO
from tests.jobs.world.world import World
from tests.support.backends import BACKENDS

NOW = LONG_AGO + 3_600.0
"""An hour after the openings of the world were posted."""
EAGER: dict[str, Any] = {"match__min_score": 0, "match__preferred_office_min_score": 0}
"""Everything that passes the filter is a match."""


def _shown(value: Any) -> Any:
    """A value of a row, with a packed text as what it was."""
    return unpacked(value) if isinstance(value, str) else value


@dataclass
class Desk:
    """A database with the pipeline, and a web."""

    client: Client
    clock: FakeClock
    world: World

    async def set(self, **settings: Any) -> None:
        """Settings, as `match__min_score=70`."""
        for name, value in settings.items():
            await self.client.settings.set("jobs." + name.replace("__", "."), value)
        await self.client.settings.refresh(0.0)

    async def run(self, kind: str, payload: Any, *, limits: Limits = LIMITS, **options: Any) -> Task:
        """A lineage of its own, worked off; its root."""
        root = await self.client.submit(kind, payload, limits=limits, **options)
        await drain(pipeline.app, self.client)
        found = await self.client.get(root.id)
        assert found is not None
        return found

    async def company(self, site: str = "https://acme.example/", name: str = "Acme", **more: Any) -> Task:
        """Look at a company, with all that comes of it."""
        return await self.run(COMPANY, {"website": site, "name": name, **more})

    async def discover(self, url: str, **more: Any) -> Task:
        """Look at an address, with all that comes of it."""
        return await self.run(SOURCE_DISCOVERY, {"url": url, **more})

    async def scrape(self, source_id: str, **limits: Any) -> Task:
        """A run over a source, with all that comes of it."""
        return await self.run(SCRAPE_SOURCE, {"source_id": source_id}, limits=replace(LIMITS, **limits))

    async def rows(self, table: str, columns: str, where: str = "1 = 1") -> list[tuple[Any, ...]]:
        """Of a domain table, in order of the columns."""
        rows = await self.client.read(f"SELECT {columns} FROM {table} WHERE {where}")
        return sorted((tuple(map(_shown, row)) for row in rows), key=repr)

    async def one(self, table: str, columns: str, where: str = "1 = 1") -> tuple[Any, ...]:
        """The only row."""
        [row] = await self.rows(table, columns, where)
        return row

    async def listings(self) -> dict[str, str]:
        """Status by title."""
        return dict(await self.rows("jobs_listings", "title, status"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    """The address of a PostgreSQL database, or None for a file."""
    made = BACKENDS[request.param](tmp_path)
    yield made.address if request.param == "postgres" else None
    made.close()


@pytest.fixture
async def desk(
    backend: str | None, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    """The pipeline on either store, with the sample's profile and hosts that may be asked at any pace."""
    # A process remembers busy hosts by database, and the server's databases are used again.
    monkeypatch.setattr(pages, "busy_hosts", pages.BusyHosts())
    clock = FakeClock(NOW)
    async with fresh_client(pipeline.app, clock=clock, folder=tmp_path, database=backend) as client:
        await client.limit_resource(ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=0))
        await client.settings.set_many(sample())
        await client.settings.refresh(0.0)
        yield Desk(client, clock, world)
        await fetchers.close()
