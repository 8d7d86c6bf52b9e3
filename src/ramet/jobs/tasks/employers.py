"""The company that offers a listing: which one it is, what is known of it, and waiting for the look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from ramet import Client, Context, Outcome
from ramet.jobs import records
from ramet.jobs.companies.identity import NAME_PREFIX, company_id_of, website_of
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.findings import GENERIC
from ramet.jobs.errors import InputError
from ramet.jobs.kinds import COMPANY, CompanyPayload, ListingPayload
from ramet.jobs.matching.score import CompanySignals
from ramet.jobs.posting import Posting
from ramet.jobs.records import CompanyRow, lineage_fields
from ramet.jobs.text.company_names import company_name_key, is_named_alike

NO_WEBSITE = "no website is known: `ramet jobs company add` with its address looks at it"
LOOK_SECONDS = 2.0
"""Between two questions whether another task has looked at a company; twice as long each time."""
LOOK_SECONDS_MAX = 30.0
LOOKS_MAX = 40
"""Questions after which a listing is judged without its company; the end of the look judges it again."""


@dataclass(frozen=True, slots=True)
class Employer:
    """A company as a listing names it."""

    company_id: str | None
    name: str | None
    website: str | None
    known: CompanyRow | None

    @property
    def awaited(self) -> bool:
        """True where a look at it can tell more: there was none yet, or one is under way."""
        return self.website is not None and (self.known is None or self.known.status == "analyzing")

    @property
    def signals(self) -> CompanySignals | None:
        """Facts of it that count for a score."""
        row = self.known
        if row is None:
            return None
        return CompanySignals(row.company_size_category, row.tier, row.tech_stack)


async def employer_of(client: Client, payload: ListingPayload, posting: Posting) -> Employer:
    """Find out who offers this: the company of the source, or the one that the posting names."""
    website = _website(posting.company_website, posting.url, posting.company)
    name = (posting.company or "").strip() or None
    if payload.company_id is not None:
        row = await records.company_by_id(client, payload.company_id)
        return Employer(payload.company_id, name, website or (row.website if row else None), row)
    if name is None and website is None:
        return Employer(None, None, None, None)
    company_id = company_id_of(website, name)
    row, named = await records.companies_of(client, company_id, company_name_key(name))
    # A record of the name alone must not hide the company whose address this posting tells.
    if (row is None or row.website is None) and named is not None and (named.website is not None or website is None):
        row = named
    return Employer(row.company_id if row else company_id, name, website or (row.website if row else None), row)


def wait_for_look(ctx: Context, employer: Employer) -> Outcome | None:
    """Ask for a look at the company and wait for its end, so that a verdict does not depend on the order.

    Where the guard refuses the look since another task looks at it, that one is waited for, for a bounded time.

    Returns:
        The outcome of this call of the listing's task; None: there is nothing to wait for any more.
    """
    if ctx.joined is None:
        payload = CompanyPayload(company_id=employer.company_id, name=employer.name, website=employer.website)
        ctx.spawn(COMPANY, payload, keep_edge=True)
        return ctx.join()
    look = ctx.joined.first[0] if ctx.joined.first else None
    if look is None or look.state is None or look.state.terminal or ctx.snoozes >= LOOKS_MAX:
        return None
    seconds = min(LOOK_SECONDS_MAX, LOOK_SECONDS * 2.0 ** min(ctx.snoozes, 10))
    return ctx.snooze(seconds, f"waits for the look at its company {employer.company_id}", uses_time=False)


def is_named_only(company_id: str | None) -> bool:
    """Return whether it is the id of a company of which no website is known."""
    return company_id is not None and company_id.startswith(NAME_PREFIX)


def named_company_id(payload: ListingPayload, posting: Posting) -> str | None:
    """Return the id of the company from a posting, without a lookup; None where it names none."""
    if payload.company_id is not None or not company_name_key(posting.company):
        return payload.company_id
    website = _website(posting.company_website, posting.url, posting.company)
    return company_id_of(None, posting.company) if website is None else None


def note_company(ctx: Context, employer: Employer) -> None:
    """Keep a company that has no website for a person to complete."""
    name = employer.name or employer.company_id or ""
    row = (employer.company_id, name, company_name_key(name), None, "pending", NO_WEBSITE, *lineage_fields(ctx),
           ctx.now, ctx.now)  # fmt: skip
    ctx.write(records.NOTE_COMPANY, row)


def company_note(ctx: Context, employer: Employer) -> str | None:
    """Return why a listing was judged without its company, in words; None where it was not."""
    row = employer.known
    if employer.company_id is None or (row is not None and row.completeness is not None):
        return None
    if employer.website is None:
        return f"{employer.company_id}: {NO_WEBSITE}"
    look = ctx.joined.first[0] if ctx.joined is not None and ctx.joined.first else None
    if row is not None and row.status != "analyzing":  # The row first: what a join shows is from before.
        why = row.note or f"it is {row.status}"
    elif look is not None and look.state is not None and not look.state.terminal:
        why = "the look at it has not ended"
    elif look is not None and look.state is None:
        why = f"the look at it was refused: {look.refused}"
    else:
        why = (look and (look.reason or look.error)) or "nothing was found"
    return f"{employer.company_id}: {why}"


@lru_cache(maxsize=256)
def _website(told: str | None, url: str, company: str | None) -> str | None:
    """Return the company's own site: from its posting, or the posting's host where that has the company's name.

    Remembered: the task of a listing asks several times.
    """
    if told:
        try:
            return website_of(told)
        except InputError:
            pass  # Not an error here: boards let people type anything, and the address may still tell.
    found = board_of_url(url) if company else None
    if not company or found is None or found.kind != GENERIC:
        return None
    parts = urlsplit(url)
    try:
        website = website_of(f"{parts.scheme}://{parts.netloc}/")
    except InputError:
        return None
    # A site that lists the openings of others is not the site of one of them.
    site = company_id_of(website, None)
    return f"https://{site}/" if is_named_alike(site.partition(".")[0], company) else None
