"""The board's own name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import name_request, of_title, read_name
from tests.jobs.boards.sample_boards import BOARDS, board

WITH_THE_LIST: dict[str, Any] = {
    "smartrecruiters": {"content": [{"company": {"name": "Acme Inc"}}], "totalFound": 1},
    "workable": {"name": "Acme Inc", "jobs": []},
    "recruitee": {"offers": [{"company_name": "Acme Inc"}]},
    "personio": "<workzag-jobs><position><subcompany>Acme Inc</subcompany></position><position/></workzag-jobs>",
    "teamtailor": {"title": "Acme Inc", "items": []},
    "breezy": [{"company": {"name": "Acme Inc"}}],
    "rss": '<rss version="2.0"><channel><title>Acme Inc - Jobs</title></channel></rss>',
}
ELSEWHERE: dict[str, tuple[str, Any]] = {
    "greenhouse": ("https://boards-api.greenhouse.io/v1/boards/acme", {"name": "Acme Inc", "content": "x"}),
    "lever": ("https://jobs.lever.co/acme", "<html><head><title>\n Acme Inc\n</title></head></html>"),
    "ashby": ("https://jobs.ashbyhq.com/acme", "<!doctype html><title>Acme Inc Jobs</title>"),
    "bamboohr": ("https://acme.bamboohr.com/careers/company-info", {"result": {"name": "Acme Inc"}}),
    "gem": ("https://jobs.gem.com/acme", "<title>Careers at Acme Inc</title>"),
    "jobvite": ("https://jobs.jobvite.com/feedingamerica/jobs", "<title>Acme Inc Careers</title>"),
}


def encoded(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@pytest.mark.parametrize("vendor", WITH_THE_LIST)
def test_a_name_that_is_in_the_list_needs_no_second_request(vendor: str) -> None:
    instruction = board(vendor)
    assert name_request(instruction) == first_request(instruction)
    assert read_name(instruction, encoded(WITH_THE_LIST[vendor])) == "Acme Inc"


@pytest.mark.parametrize("vendor", ELSEWHERE)
def test_a_name_is_asked_for_where_the_board_has_it(vendor: str) -> None:
    url, answer = ELSEWHERE[vendor]
    instruction = board(vendor)
    request = name_request(instruction)
    assert request is not None
    assert request.url == url
    assert read_name(instruction, encoded(answer)) == "Acme Inc"


@pytest.mark.parametrize("vendor", sorted(set(BOARDS) - {"jsonld"}))
@pytest.mark.parametrize("body", [b"", b"<", b"null", b"[1]", b"\xff\x00", b"<title></title>", b'{"name": {"a": 1}}'])
def test_no_name_is_no_error(vendor: str, body: bytes) -> None:
    assert read_name(board(vendor), body) is None


def test_a_board_that_tells_no_name_is_not_asked() -> None:
    assert name_request(board("eightfold")) is None
    assert read_name(board("eightfold"), b"{}") is None


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Acme", "Acme"),
        ("Acme Jobs", "Acme"),
        ("Careers | Acme GmbH", "Acme GmbH"),
        ("Acme \u2013 Open positions", "Acme"),
        ("Jobs at Acme", "Acme"),
        ("Work with Acme | Careers", "Acme"),
        ("Dun &amp; Bradstreet", "Dun & Bradstreet"),
        ("Goodjobs", "Goodjobs"),
        ("Home", ""),
        ("Jobs", ""),
        ("Page not found", ""),
        ("", ""),
        ("a" * 10_000, "a" * 500),
    ],
)
def test_the_name_in_a_title(title: str, name: str) -> None:
    assert of_title(title) == name
