"""What tasks and records are about, in canonical form."""

from __future__ import annotations

from ramet import text_key, url_key
from ramet.jobs.companies.identity import company_id_of, website_of
from ramet.jobs.detection.findings import Found
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import CompanyPayload, DiscoveryPayload, ListingPayload, ScrapePayload, SourcePayload
from ramet.jobs.matching.duplicates import listing_key


def key_of_company(payload: CompanyPayload) -> str:
    """The company's id.

    Raises:
        InputError: neither a website nor a name.
    """
    if payload.company_id:
        return text_key(payload.company_id)
    website = website_of(payload.website) if payload.website else None
    if website is None and not (payload.name or "").strip():
        raise InputError("a company needs a website or a name: give one of them")
    return company_id_of(website, payload.name)


def key_of_discovery(payload: DiscoveryPayload) -> str:
    """The address."""
    return url_key(payload.url)


def key_of_source(payload: SourcePayload) -> str:
    """The source's id."""
    return payload.source_id


def key_of_scrape(payload: ScrapePayload) -> str:
    """A lineage has one batch."""
    return "scrape"


def key_of_listing(payload: ListingPayload) -> str:
    """The listing's id: its canonical address."""
    return listing_key(payload.url)


def source_id_of(found: Found) -> str:
    """A name for a board, the same wherever it was found."""
    return found.key
