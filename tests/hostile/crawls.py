"""A crawl of one or several sites, and what the database tells about it afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from ramet import App, BlockReason, Client, Limits, Lineage, Worker
from ramet.model.causes import BOUNDS
from ramet.model.lineage.guard import REOFFERABLE
from tests.hostile.crawler import KIND, Source, add_crawler
from tests.hostile.pages import Site
from tests.invariants.check import violations
from tests.support.backends import Backend

DUPLICATES = frozenset({"in_flight", "done", "cycle"})
"""Refusals by which no page is lost: a task has it already."""


class Crawled(NamedTuple):
    """The lineage of one site at its end."""

    lineage: Lineage
    refused: Mapping[str, int]
    """How often spawns were refused, by reason."""
    failures: frozenset[str]
    """Why its tasks failed, in the first words of each reason."""

    @property
    def bounds(self) -> frozenset[str]:
        """The reasons of refusals by which pages were left out."""
        return frozenset(self.refused) - DUPLICATES


@asynccontextmanager
async def crawl(
    backend: Backend, source: Source, sites: Iterable[Site], limits: Limits, *, check: bool = True
) -> AsyncIterator[Crawls]:
    """Crawl every site in a lineage of its own, all at once, to the end.

    Args:
        check: look through the whole database afterwards; of thousands of tasks that takes as long as the crawl.
    """
    app = App()
    add_crawler(app, source)
    async with app.client(backend.address) as client:
        for site in sites:
            await client.submit(KIND, site.seed, tracking_id=site.host, limits=limits)
        crawls = Crawls(app, client)
        await crawls.go_on()
        yield crawls
        if check:
            found = await violations(client.store)
            assert found == [], "\n".join(found)


class Crawls:
    """Crawls that ended."""

    def __init__(self, app: App, client: Client) -> None:
        self._app = app
        self.client = client

    async def go_on(self) -> None:
        """Work until nothing is left to do; only the test's own time-out ends it before."""
        await Worker(self._app, self.client, until_idle=True, poll_seconds=0.05, sweep_seconds=0.05).run()

    async def of(self, site: Site) -> Crawled:
        """How the lineage of a site ended; every refusal and every failure of it is explained."""
        client = self.client
        lineage = await client.lineage(site.host)
        assert lineage is not None
        refused = {reason: count for (_, reason), count in (await client.block_totals(site.host)).items()}
        for reason in refused:
            stored = await client.blocks(site.host, reason=reason, limit=1)
            if not stored:
                # Duplicates have half as many rows as the lineage may have tasks; of the others it keeps counts.
                assert BlockReason(reason) not in REOFFERABLE
                assert lineage.blocks >= (lineage.max_tasks + 1) // 2
                continue
            told = await client.explain_key(KIND, stored[0].key, site.host)
            assert told is not None
            [why] = [cause for cause in told.why if cause.code == f"refused_{reason}"]
            if bound := BOUNDS.get(BlockReason(reason)):
                assert why.facts["limit_name"] == bound.limit_name
                option = "--allow-shape" if reason == BlockReason.TRAP else bound.option
                assert option in str(why.remedy)
        failures = set()
        async for task in client.all_tasks(tracking_id=site.host, states=["failed"]):
            explained = await client.explain(task.id)
            assert explained is not None
            assert explained.why, task
            assert task.reason, task
            failures.add(task.reason.partition(":")[0])
        return Crawled(lineage, refused, frozenset(failures))
