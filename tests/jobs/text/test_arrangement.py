"""Remote, hybrid or on site: which rule decides, and what no rule may take for it."""

from __future__ import annotations

import pytest

from ramet.jobs.posting import Posting
from ramet.jobs.text.arrangement import Arrangement, arrangement_of

REMOTE, HYBRID, ONSITE, UNKNOWN = Arrangement.REMOTE, Arrangement.HYBRID, Arrangement.ONSITE, Arrangement.UNKNOWN


def read(text: str = "", **told: str) -> tuple[Arrangement, str]:
    return arrangement_of(Posting(url=told.pop("url", "https://acme.example/1"), **told), text.lower())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "text", "arrangement", "rule"),
    [
        ({"workplace": "remote", "location": "Berlin (On-site)"}, "Hybrid role", REMOTE, "field"),
        ({"workplace": "on_site"}, "fully remote", ONSITE, "field"),
        ({"title": "Engineer (Remote)", "location": "Austin, TX"}, "", REMOTE, "title"),
        ({"title": "Engineer - Hybrid", "location": "Austin, TX"}, "", HYBRID, "title"),
        ({"location": "Remote - US"}, "#LI-Hybrid", REMOTE, "place"),
        ({"location": "Portland, OR (Hybrid)"}, "remote-first", HYBRID, "place"),
        ({"location": "In-Office"}, "", ONSITE, "place"),
        ({"location": "San Francisco, CA; Remote, US"}, "", REMOTE, "place"),
        ({"location": "Hybrid - London; Remote"}, "", REMOTE, "place"),
        ({"location": "Anywhere in the World"}, "", REMOTE, "place"),
        ({"location": "Boston, MA"}, "Great job. #LI-RemoteAcme pays", REMOTE, "tag"),
        ({"location": "Boston, MA"}, "#LI-Hybrid", HYBRID, "tag"),
        ({"location": "Boston, MA"}, "#LI-Onsite and fully remote teams", ONSITE, "tag"),
        ({"location": "Boston, MA"}, "Location: Hybrid from Boston", HYBRID, "label"),
        ({"location": "Boston, MA"}, "Work Location: Any Location / Remote", REMOTE, "label"),
        ({"location": "Boston, MA"}, "This role is remote.", REMOTE, "position"),
        ({"location": "Boston, MA"}, "You work 3 days per week in the office.", HYBRID, "position"),
        ({"location": "Boston, MA"}, "required to be in the office 3 days per week", HYBRID, "position"),
        ({"location": "Boston, MA"}, "Must be in our office 5 days a week.", ONSITE, "position"),
        ({"location": "Boston, MA"}, "This role is collaborative and in-person.", ONSITE, "position"),
        ({"location": "Boston, MA"}, "A 100% remote Senior Engineer is wanted", REMOTE, "position"),
        ({"location": "Boston, MA"}, "follows a hybrid schedule", HYBRID, "phrase"),
        ({"location": "Boston, MA"}, "We are a remote-first company.", REMOTE, "phrase"),
        ({"location": "", "url": "https://weworkremotely.com/remote-jobs/x"}, "", REMOTE, "board"),
        ({"location": "US"}, "", REMOTE, "country"),
        ({"location": "United States"}, "", REMOTE, "country"),
        ({"location": "Canada; Argentina; Brazil"}, "", REMOTE, "country"),
        ({"location": "EMEA"}, "", REMOTE, "country"),
        ({"location": "Northeast - United States; Canada"}, "", REMOTE, "country"),
        ({"location": "3 Locations"}, "", UNKNOWN, "none"),
        ({"location": "Multiple Locations"}, "", UNKNOWN, "none"),
        ({"location": "Boston, MA"}, "", ONSITE, "city"),
        ({"location": "Boston, MA; New York, NY"}, "", UNKNOWN, "none"),
        ({"location": "Texas, United States"}, "", UNKNOWN, "none"),
        ({"location": ""}, "", UNKNOWN, "none"),
    ],
)
def test_rules(told: dict[str, str], text: str, arrangement: Arrangement, rule: str) -> None:
    assert read(text, **told) == (arrangement, rule)


@pytest.mark.parametrize(
    "text",
    [
        "Experience with hybrid cloud and hybrid environments on-premises",
        "Supports remote troubleshooting and remote procedure calls",
        "While many roles at Acme are remote-first, we are not remote-only.",
        "work flexibly across environments, from in-office, to office-flex, to fully remote",
        "An allowance for fully remote and hybrid employees",
        "You know Microsoft Office. Our offices have dogs.",
        "Experience with remote teams",
        "For positions with Remote-US locations the range may differ",
    ],
)
def test_no_word_on_this_position(text: str) -> None:
    assert read(text, location="Boston, MA; Denver, CO") == (UNKNOWN, "none")


def test_not_remote_is_not_remote() -> None:
    assert read("", location="New York (not remote)")[0] is ONSITE
    assert read("", title="Engineer, no remote")[0] is ONSITE


def test_addresses_that_are_none() -> None:
    assert read("", url="http://[broken") == (UNKNOWN, "none")
