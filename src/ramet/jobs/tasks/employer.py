"""Who offers an opening: a company that is known, or one that is worth asking for."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ramet import Client, Context
from ramet.jobs import records
from ramet.jobs.companies.identity import company_id_of, website_of
from ramet.jobs.detection.boards import board_of_url
from ramet.jobs.detection.findings import GENERIC
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import COMPANY, CompanyPayload, ListingPayload
from ramet.jobs.matching.score import CompanySignals
from ramet.jobs.posting import Posting
from ramet.jobs.records import CompanyRow, lineage_fields
from ramet.jobs.text.company_names import company_name_key

ALIKE_MIN = 4
"""Characters that a name and a domain have in common at their beginning, at least, when they are not equal."""
NO_WEBSITE = "no website is known: `ramet jobs company add` with its address looks at it"


@dataclass(frozen=True, slots=True)
class Employer:
    """A company as a listing names it."""

    company_id: str | None
    name: str | None
    website: str | None
    known: CompanyRow | None

    @property
    def unknown(self) -> bool:
        """Whether nobody has looked at it or is at it."""
        return self.company_id is not None and self.known is None

    @property
    def signals(self) -> CompanySignals | None:
        """What of it counts for a score."""
        row = self.known
        if row is None:
            return None
        return CompanySignals(row.company_size_category, row.tier, row.tech_stack, row.headquarters_location)


async def employer_of(client: Client, payload: ListingPayload, posting: Posting) -> Employer:
    """Find out who offers this: the company of the source, or the one that the posting names."""
    website = _website(posting)
    name = (posting.company or "").strip() or None
    if payload.company_id is not None:
        return Employer(payload.company_id, name, website, await records.company_by_id(client, payload.company_id))
    if name is None and website is None:
        return Employer(None, None, None, None)
    company_id = company_id_of(website, name)
    row = await records.company_by_id(client, company_id)
    if row is None and name is not None:
        row = await records.company_by_name(client, company_name_key(name))
    return Employer(row.company_id if row else company_id, name, website, row)


def look_for_employer(ctx: Context, employer: Employer) -> None:
    """Ask for a company that nobody knows; one without a website only gets a record, for a person to complete."""
    assert employer.company_id is not None
    if employer.website is not None:
        payload = CompanyPayload(company_id=employer.company_id, name=employer.name, website=employer.website)
        ctx.spawn(COMPANY, payload, keep_edge=True)
        return
    name = employer.name or employer.company_id
    row = (employer.company_id, name, company_name_key(name), None, "pending", NO_WEBSITE, *lineage_fields(ctx),
           ctx.now, ctx.now)  # fmt: skip
    ctx.write(records.NOTE_COMPANY, row)


def _website(posting: Posting) -> str | None:
    """The company's own site: as the posting says, or where it stands, where that host has the company's name."""
    if posting.company_website:
        try:
            return website_of(posting.company_website)
        except InputError:
            pass  # Nobody's mistake here: boards let people type anything, and the address may still tell.
    found = board_of_url(posting.url)
    if not posting.company or found is None or found.kind != GENERIC:
        return None
    parts = urlsplit(posting.url)
    try:
        website = website_of(f"{parts.scheme}://{parts.netloc}/")
    except InputError:
        return None
    # A site that lists the openings of others is not the site of one of them.
    site = company_id_of(website, None)
    return f"https://{site}/" if _named_alike(site.partition(".")[0], posting.company) else None


def _named_alike(label: str, name: str) -> bool:
    """Whether a domain's label (`acme`, `acmelabs`) may be of a company of this name."""
    key = company_name_key(name).replace(" ", "")
    label = label.replace("-", "")
    short = min(len(key), len(label))
    return bool(short) and (key == label or (short >= ALIKE_MIN and (key.startswith(label) or label.startswith(key))))
