"""Which company an opening is of, where the posting says little or something that is none."""

from __future__ import annotations

import pytest

from ramet.jobs.kinds import ListingPayload
from ramet.jobs.posting import Posting
from ramet.jobs.tasks.employers import employer_of
from tests.jobs.running.conftest import Desk

pytestmark = pytest.mark.network

OWN = "https://careers.acme.example/jobs/1"
VENDOR = "https://job-boards.greenhouse.io/acme/jobs/1"


@pytest.mark.parametrize(
    ("posting", "company_id", "website"),
    [
        (Posting(url=OWN), None, None),
        (Posting(url=OWN, company="Acme"), "acme.example", "https://acme.example/"),
        (Posting(url=OWN, company="Acme Labs GmbH"), "acme.example", "https://acme.example/"),
        (Posting(url=OWN, company="Quite Another Bakery"), "name:quite another bakery", None),
        (Posting(url=VENDOR, company="Acme"), "name:acme", None),
        (Posting(url=VENDOR, company="Acme", company_website="https://acme.example/x"), "acme.example",
         "https://acme.example/"),
        (Posting(url=VENDOR, company="Acme", company_website="https://www.linkedin.com/company/acme"), "name:acme",
         None),
        (Posting(url=OWN, company="Acme", company_website="none of your business"), "acme.example",
         "https://acme.example/"),
        (Posting(url="https://127.0.0.1/jobs/1", company="Acme"), "name:acme", None),
        (Posting(url="https://[broken/1", company="Acme"), "name:acme", None),
    ],
)  # fmt: skip
async def test_the_company_of_an_opening(
    desk: Desk, posting: Posting, company_id: str | None, website: str | None
) -> None:
    found = await employer_of(desk.client, ListingPayload(url=posting.url), posting)
    assert (found.company_id, found.website) == (company_id, website)


async def test_the_company_of_the_source_goes_before_the_name_in_the_posting(desk: Desk) -> None:
    payload = ListingPayload(url=OWN, company_id="bakery.example")
    found = await employer_of(desk.client, payload, Posting(url=OWN, company="Acme"))
    assert found.company_id == "bakery.example"
    assert found.awaited
    assert found.signals is None
