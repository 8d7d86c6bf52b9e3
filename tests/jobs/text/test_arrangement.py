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


@pytest.mark.parametrize(
    "text",
    [
        "Remote work is not available for this role.",
        "This role does not offer remote or hybrid arrangements.",
        "Please note that telework is not permitted.",
        "We are unable to accommodate remote candidates.",
        "You can't work from home: remote positions are not offered.",
        "This position is 100% on-site at our plant.",
        "Not eligible for remote work.",
        "Working from home will not be possible.",
    ],
)
def test_what_is_denied_overrules_a_place_that_is_kept_under_remote(text: str) -> None:
    for location in ("US, TX, Remote", "Remote", "Dallas, TX"):
        posting = Posting(url="https://a.example/1", title="Engineer", location=location)
        assert arrangement_of(posting, text.lower())[0] is Arrangement.ONSITE


@pytest.mark.parametrize(
    "text",
    [
        "Many roles are remote-first, but we are not remote-only.",
        "We cannot support remote work from Hawaii or Alaska.",
        "There are no remote restrictions within the country.",
    ],
)
def test_what_is_no_denial_leaves_a_remote_place(text: str) -> None:
    posting = Posting(url="https://a.example/1", title="Engineer", location="Remote - USA")
    assert arrangement_of(posting, text.lower())[0] is Arrangement.REMOTE


@pytest.mark.parametrize(
    "text",
    [
        "Perks: work from anywhere for 12 weeks a year.",
        "We offer four weeks a year to work from anywhere.",
        "Enjoy 20 work from anywhere days.",
        "Up to 30 days of work from anywhere each year",
        "Occasionally work from home when the weather is bad.",
    ],
)
def test_some_weeks_of_a_year_from_anywhere_are_no_arrangement(text: str) -> None:
    posting = Posting(url="https://a.example/1", title="Engineer", location="Oslo, Norway")
    assert arrangement_of(posting, text.lower()) == (Arrangement.ONSITE, "city")


@pytest.mark.parametrize(
    "text",
    [
        "Open to hire for remote work as well.",
        "Remote is possible.",
        "Remote candidates are welcome.",
        "Option to work remotely",
    ],
)
def test_remote_work_that_is_open_to_a_person_is_remote(text: str) -> None:
    posting = Posting(url="https://a.example/1", title="Engineer", location="Boxborough, MA, US")
    assert arrangement_of(posting, text.lower())[0] is Arrangement.REMOTE


@pytest.mark.parametrize(
    ("text", "arrangement"),
    [
        ("job title: analyst\nremote status: hybrid\ndepartment: data", "hybrid"),
        ("employment type\nfull time\nlocation type\nhybrid", "hybrid"),
        ("location:[remote]employment type:[full-time]", "remote"),
        ("opportunity type: remote", "remote"),
        ("sydney | full-time | on-site (5 days)\nwho we are", "onsite"),
        ("data and analytics / permanent / hybrid\nthe team", "hybrid"),
        ("employees work from the office on hybrid mode", "hybrid"),
        ("you can work up to 50% from home", "hybrid"),
        ("flexible schedules (two office days weekly)", "hybrid"),
        ("- two remote work days weekly\n- office access", "hybrid"),
        ("a work model that combines both in-person and remote work", "hybrid"),
        ("flexible remote work (hybrid)", "hybrid"),
        ("the position requires a hybrid professional with skills in both", "onsite"),
        ("we pay a remote work stipend and remote work reimbursement", "onsite"),
        ("for remote jobs associated with our office in new york only", "onsite"),
    ],
)
def test_how_pages_say_it_in_few_words(text: str, arrangement: str) -> None:
    posting = Posting(url="https://a.example/1", title="Engineer", location="Oslo, Norway")
    assert str(arrangement_of(posting, text)[0]) == arrangement


@pytest.mark.parametrize(
    ("text", "arrangement"),
    [
        ("you may start in the home office in houston before you move to the site", "onsite"),
        ("reports to our corporate home office", "onsite"),
        ("work from your home office", "remote"),
        ("remote vs. office hybrid (remote/office)\ncompany acme", "hybrid"),
        ("remote vs. office: remote only", "remote"),
        ("remote vs. office office/site only", "onsite"),
        ("benefits: working from home flexibility, gym", "hybrid"),
        ("flexibility to occasionally work from home", "hybrid"),
        ("position title: analyst\nwork setup: hybrid", "hybrid"),
        ("remote/ hybrid: hybrid\nbuild with us", "hybrid"),
        ("employment type: full-time, hybrid", "hybrid"),
        ("this role will be in-office on a hybrid schedule", "hybrid"),
        ("the position is currently remote with occasional in-person meetings", "remote"),
        ("work from one of our hubs or remotely in the united states", "remote"),
    ],
)
def test_offices_at_home_and_home_offices(text: str, arrangement: str) -> None:
    posting = Posting(url="https://a.example/1", title="Engineer", location="Oslo, Norway")
    assert str(arrangement_of(posting, text)[0]) == arrangement
