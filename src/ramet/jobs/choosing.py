"""Which sources a run takes on, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ramet import Client
from ramet.jobs.kinds import SOURCE_RESOURCE

ENABLED = """
    SELECT s.source_id, c.tier, s.last_scraped_at FROM jobs_sources s
    LEFT JOIN jobs_companies c ON c.company_id = s.company_id
    WHERE s.status = 'active'"""
TIERS = "SABCD"
RESOURCES_MAX = 10_000


class Chosen(NamedTuple):
    """A source that a run takes on."""

    source_id: str
    tier: str | None
    """Of its company."""


async def sources_to_scrape(client: Client, wanted: Sequence[str] | None, at_most: int | None) -> list[Chosen]:
    """Enabled sources whose breaker is closed: by tier, then those that were not scraped for the longest time."""
    off = await switched_off(client)
    rows = [row for row in await client.read(ENABLED) if row[0] not in off and (wanted is None or row[0] in wanted)]
    rows.sort(key=lambda row: (TIERS.index(row[1]) if row[1] else len(TIERS), row[2] or 0.0, row[0]))
    return [Chosen(source_id, tier) for source_id, tier, _ in rows[:at_most]]


async def switched_off(client: Client) -> dict[str, str]:
    """Sources whose breaker is open, with the reason."""
    return {
        found.name.removeprefix(SOURCE_RESOURCE): found.opened_reason or f"switched off by {found.opened_by}"
        for found in await client.resources(limit=RESOURCES_MAX)
        if found.opened_at is not None and found.name.startswith(SOURCE_RESOURCE)
    }
