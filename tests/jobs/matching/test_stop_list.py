"""Stop lists refuse by whole names, hosts and words; a title alone is refused as the whole filter would refuse it."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.matching.stop_list import stopped, stopped_host, title_refusal
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings, StopLists

URL = "https://jobs.example.com/acme/1"


@pytest.mark.parametrize(
    ("company", "stop", "reason"),
    [
        ("Meta", ["Meta"], "stop list: company Meta"),
        ("Meta Platforms, Inc.", ["meta"], "stop list: company meta"),
        ("Metabase", ["Meta"], None),
        ("ACME GmbH", ["Acme Inc."], "stop list: company Acme Inc."),
        ("Škoda Auto a.s.", ["škoda auto"], "stop list: company škoda auto"),
        ("株式会社メルカリ", ["メルカリ"], "stop list: company メルカリ"),
        (None, ["Meta"], None),
        ("", ["Meta"], None),
        ("Meta", ["", " "], None),
    ],
)
def test_companies_are_stopped_by_whole_words_of_their_names(
    company: str | None, stop: list[str], reason: str | None
) -> None:
    assert stopped("Engineer", URL, company, StopLists(companies=stop)) == reason


@pytest.mark.parametrize(
    ("url", "domain", "stops"),
    [
        ("https://acme.com/jobs/1", "acme.com", True),
        ("https://careers.ACME.com./jobs/1", "acme.com", True),
        ("https://notacme.com/", "acme.com", False),
        ("https://acme.com.evil.org/", "acme.com", False),
        ("https://user@acme.com:8443/x", "https://www.acme.com/", True),
        ("https://jobs.acme.com/", "*.acme.com", True),
        ("https://other.org/?u=acme.com", "acme.com", False),
        ("http://[broken", "acme.com", False),
        ("https://acme.com/", "", False),
    ],
)
def test_a_domain_stops_all_hosts_below_it_and_no_other(url: str, domain: str, stops: bool) -> None:
    stop = StopLists(domains=[domain])
    expected = f"stop list: domain {domain}" if stops else None
    assert stopped_host(url, stop) == expected
    assert stopped("Engineer", url, "Some", stop) == expected


@pytest.mark.parametrize(
    ("title", "url", "keyword", "stops"),
    [
        ("Engineer, Security Clearance", URL, "security clearance", True),
        ("Engineer", "https://a.org/jobs/security-clearance-engineer-7", "security clearance", True),
        ("Engineer", "https://a.org/jobs/must%20relocate", "must relocate", True),
        ("Chromatographer", URL, "hr", False),
        ("HR Partner", URL, "hr", True),
    ],
)
def test_keywords_are_looked_for_in_title_and_address(title: str, url: str, keyword: str, stops: bool) -> None:
    expected = f"stop list: keyword {keyword}" if stops else None
    assert stopped(title, url, None, StopLists(keywords=[keyword])) == expected


def refusal(title: str, **rules: Any) -> str | None:
    settings = JobsSettings.model_validate({"filter": rules, "profile": {"titles": ["engineer", "back-end"]}})
    return title_refusal(Posting(url=URL, title=title), settings)


def test_a_title_alone_is_refused_for_kind_level_and_missing_words() -> None:
    kinds = {"excluded_job_types": ["sales", "hr"], "excluded_seniority": ["intern", "entry-level"]}
    assert refusal("Sales Engineer", **kinds) == "job type: sales"
    assert refusal("Entry level Engineer", **kinds) == "level: entry-level"
    assert refusal("International Engineer", **kinds) is None
    assert refusal("Designer", **kinds) is None
    assert refusal("Designer", wanted_titles_only=True) == "title: none of the wanted words"
    assert refusal("Back End Developer", wanted_titles_only=True) is None
    assert refusal("", wanted_titles_only=True) is None
    assert refusal("Sales Engineer", enabled=False, **kinds) is None


def test_nothing_is_refused_by_the_defaults() -> None:
    settings = JobsSettings()
    assert title_refusal(Posting(url=URL, title="Sales Intern"), settings) is None
    assert stopped("Sales Intern", URL, "Acme", settings.stop) is None
