"""Why a listing is where it is, from stored rows: of the listing, its task, its source, its company, its twins."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from ramet import Block, Client, Explanation
from ramet.jobs import queries
from ramet.jobs.choosing import switched_off
from ramet.jobs.kinds import LISTING
from ramet.jobs.live import settings_in_force
from ramet.jobs.matching.duplicates import listing_key, near
from ramet.jobs.matching.freshness import fresh_score
from ramet.jobs.queries import Company, Listing, Match, Source

FOUND_MAX = 10
"""Listings that words may mean before a person has to say which."""
NEAR_MAX = 3
LINEAGES_LOOKED_AT = 100
"""Newest lineages in which a refused spawn of a listing is looked for."""


@dataclass(frozen=True, slots=True)
class Why:
    """All that is stored about why a listing is where it is."""

    listing: Listing
    match: Match | None
    source: Source | None
    source_off: str | None
    """Why its source is switched off; None: it is not."""
    company: Company | None
    twin: Listing | None
    """What it is a duplicate of."""
    near: tuple[Listing, ...]
    """Others with nearly the same text, which is only a warning; at most `NEAR_MAX`."""
    near_count: int
    """All of these."""
    today: float | None
    """What a match is worth at its age of today."""
    task: Explanation | None
    """None: it had no task, or that was pruned."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What its task asked for and did not get."""
        return self.task.history.blocks if self.task is not None else ()

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        task = self.task.history.task if self.task is not None else None
        return {
            "listing": self.listing.as_json(),
            "match": self.match and self.match.as_json() | {"score_today": self.today},
            "source": self.source and dataclasses.asdict(self.source) | {"switched_off": self.source_off},
            "company": self.company and dataclasses.asdict(self.company),
            "duplicate_of": self.twin and self.twin.as_json(),
            "near_duplicates": [one.as_json() for one in self.near],
            "near_duplicate_count": self.near_count,
            "task": task and {"id": task.id, "state": task.state.value, "reason": task.reason, "error": task.error},
            "explanation": self.task and self.task.headline,
            "blocks": [dataclasses.asdict(block) for block in self.blocks],
        }


async def find_listings(client: Client, text: str) -> list[Listing]:
    """The listings that a person may mean, the surest reading first: an id or address, a task's id, words.

    Words are of title and company; all of them are in each listing that is found, at most `FOUND_MAX`.
    """
    for listing_id in (text, listing_key(text)):
        rows = await client.read(queries.LISTING_BY_ID, (listing_id,))
        if rows:
            return [Listing.of(rows[0])]
    for statement in (queries.LISTINGS_BY_URL, queries.LISTINGS_BY_TASK):
        rows = await client.read(statement, (text,))
        if rows:
            return [Listing.of(row) for row in rows]
    return await queries.listings_with(client, text.split(), FOUND_MAX) if "://" not in text else []


async def refused_spawns(client: Client, text: str) -> list[Block]:
    """Where the guard refused to create a task for an address that no listing has, the newest lineages first."""
    key, found = listing_key(text), list[Block]()
    for lineage in await client.lineages(limit=LINEAGES_LOOKED_AT):
        if lineage.blocks:
            found += await client.blocks(lineage.tracking_id, kind=LISTING, key=key)
    return found


async def why_of(client: Client, listing: Listing) -> Why:
    """Everything about one listing."""
    match = await client.read(queries.MATCH_BY_ID, (listing.listing_id,))
    source = await queries.source_by_id(client, listing.source_id) if listing.source_id else None
    off = (await switched_off(client)).get(source.source_id) if source is not None else None
    return Why(
        listing,
        Match.of(match[0]) if match else None,
        source,
        off,
        await queries.company_by_id(client, listing.company_id),
        await _by_id(client, listing.same_as),
        *await _near(client, listing),
        await _today(client, Match.of(match[0])) if match else None,
        await client.explain(listing.task_id),
    )


async def _today(client: Client, match: Match) -> float:
    score, _ = fresh_score(match.static_score, match.posted_at, await settings_in_force(client), time.time())
    return score


async def _by_id(client: Client, listing_id: str | None) -> Listing | None:
    rows = await client.read(queries.LISTING_BY_ID, (listing_id,)) if listing_id is not None else []
    return Listing.of(rows[0]) if rows else None


async def _near(client: Client, listing: Listing) -> tuple[tuple[Listing, ...], int]:
    """Open listings with nearly the same text, a few and how many there are.

    All hashes are compared, which takes a moment for a hundred thousand.
    """
    if not listing.text_hash:
        return (), 0
    bits = (await settings_in_force(client)).listing.near_bits
    rows = await client.read(queries.HASHES, (listing.listing_id,))
    ids = sorted(
        listing_id
        for listing_id, text_hash in rows
        if listing_id != listing.same_as and near(listing.text_hash, int(text_hash), bits)
    )
    found = [await _by_id(client, listing_id) for listing_id in ids[:NEAR_MAX]]
    return tuple(one for one in found if one is not None), len(ids)
