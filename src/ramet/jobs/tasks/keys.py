"""Keys and priorities of the pipeline's tasks."""

from __future__ import annotations

from ramet import BlockReason, text_key, url_key
from ramet.jobs.companies.identity import company_id_of, website_of
from ramet.jobs.detection.findings import DetectedBoard
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import CompanyPayload, DiscoveryPayload, ListingPayload, ScrapePayload, SourcePayload
from ramet.jobs.matching.duplicates import listing_key

PRIORITIES = {"S": 20, "A": 10}
"""Priority of tasks by tier; all others have 0."""


def task_priority(tier: str | None) -> int:
    """Return the priority of the source and listing tasks of a company of a tier; S and A go before all others."""
    return PRIORITIES.get(tier or "", 0)


AGAIN = " again:"
"""Separator in the key of a further look at a company, behind its id."""
FULL = frozenset({BlockReason.BUDGET, BlockReason.FAN_OUT, BlockReason.DEADLINE, BlockReason.COST})
"""Reasons of blocks that say that a lineage takes no more."""


def key_of_company(payload: CompanyPayload) -> str:
    """Return the company's id.

    Raises:
        InputError: neither a website nor a name.
    """
    company_id = _company_id(payload)
    return f"{company_id}{AGAIN}{payload.again}" if payload.again else company_id


def company_of(key: str) -> str:
    """Return the company's id of a task's key."""
    return key.partition(AGAIN)[0]


def _company_id(payload: CompanyPayload) -> str:
    if payload.company_id:
        return text_key(payload.company_id)
    website = website_of(payload.website) if payload.website else None
    if website is None and not (payload.name or "").strip():
        raise InputError("a company needs a website or a name: give one of them")
    return company_id_of(website, payload.name)


def key_of_discovery(payload: DiscoveryPayload) -> str:
    """Return the address, as one of its spellings."""
    return url_key(payload.url)


def key_of_source(payload: SourcePayload) -> str:
    """Return the source's id."""
    return payload.source_id


def key_of_scrape(payload: ScrapePayload) -> str:
    """Return the one key of a lineage's batch."""
    return "scrape"


def key_of_listing(payload: ListingPayload) -> str:
    """Return the listing's id, its canonical address, with the number of the reading from the second on."""
    listing_id = listing_key(payload.url)
    return listing_id if payload.reading == 1 else text_key(f"{listing_id} reading {payload.reading}")


def listing_id_of(payload: ListingPayload) -> str:
    """Return the listing's id, whichever of its readings this is."""
    return listing_key(payload.url)


def source_id_of(found: DetectedBoard) -> str:
    """Return the name of a board, the same wherever it was found."""
    return found.key
