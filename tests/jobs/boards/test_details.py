"""The rest of an opening: by the board's interface, or on the posting's own page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet.jobs.boards.dates import parse_posted
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.reader import detail_request, is_page, read_detail
from ramet.jobs.errors import WrongShape
from ramet.jobs.posting import Posting
from tests.jobs.boards.sample_boards import NOW, board, read

LISTS: dict[str, Any] = {
    "smartrecruiters": {"content": [{"id": "1", "name": "Cook", "company": {"identifier": "Acme", "name": "Acme"}}]},
    "workday": {
        "jobPostings": [{"title": "Cook", "externalPath": "/job/Lyon/Cook_JR1", "locationsText": "2 Locations"}]
    },
    "bamboohr": {"result": [{"id": "1", "jobOpeningName": "Cook"}]},
    "rippling_v1": [{"uuid": "1", "name": "Cook", "url": "https://ats.rippling.com/acme/jobs/1"}],
    "oracle_hcm": {"items": [{"requisitionList": [{"Id": "1", "Title": "Cook"}]}]},
    "workable": {"name": "Acme", "jobs": [{"shortcode": "A", "title": "Cook", "url": "https://a.example/A"}]},
}
DETAILS: dict[str, tuple[str, Any]] = {
    "smartrecruiters": (
        "https://api.smartrecruiters.com/v1/companies/Acme/postings/1",
        {"jobAd": {"sections": {"jobDescription": {"title": "The job", "text": "<p>We cook.</p>"}}}},
    ),
    "workday": (
        "https://acme.wd5.myworkdayjobs.com/wday/cxs/acme/External/job/Lyon/Cook_JR1",
        {
            "jobPostingInfo": {
                "jobDescription": "<p>We cook.</p>",
                "location": "Lyon",
                "additionalLocations": ["Paris"],
                "startDate": "2026-10-01",
                "remoteType": "Remote",
                "jobReqId": "JR1",
            }
        },
    ),
    "bamboohr": (
        "https://acme.bamboohr.com/careers/1/detail",
        {"result": {"jobOpening": {"description": "<p>We cook.</p>", "datePosted": "2026-10-01"}}},
    ),
    "rippling_v1": (
        "https://api.rippling.com/platform/api/ats/v1/board/acme/jobs/1",
        {"description": {"role": "<p>We cook.</p>"}, "createdOn": "2026-10-01"},
    ),
    "oracle_hcm": (
        "https://ehle.fa.em2.oraclecloud.com/hcmRestApi/resources/latest/recruitingCEJobRequisitionDetails"
        "?expand=all&onlyData=true&finder=ById;Id=%221%22,siteNumber=CX_1",
        {"items": [{"ExternalDescriptionStr": "<p>We cook.</p>"}]},
    ),
    "workable": ("https://apply.workable.com/api/v2/accounts/acme/jobs/A", {"description": "<p>We cook.</p>"}),
}
PAGE = """<!doctype html><html><head><title>Careers</title><script type="application/ld+json">{}</script></head>
<body><h1>Cook</h1></body></html>"""


def listed(vendor: str) -> tuple[Instruction, Posting]:
    instruction = board(vendor)
    (posting,) = read(instruction, LISTS[vendor]).postings
    return instruction, posting


def detailed(instruction: Instruction, posting: Posting, answer: Any) -> Posting:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return read_detail(instruction, posting, body, url=posting.detail_url or posting.url, now=NOW)


@pytest.mark.parametrize("vendor", DETAILS)
def test_the_rest_is_asked_for_and_read(vendor: str) -> None:
    url, answer = DETAILS[vendor]
    instruction, posting = listed(vendor)
    request = detail_request(instruction, posting)
    assert request is not None
    assert (request.url, request.headers["Accept"]) == (url, "application/json")
    assert not is_page(instruction)
    whole = detailed(instruction, posting, answer)
    assert whole.description.endswith("We cook.")
    assert (whole.url, whole.title, whole.external_id) == (posting.url, posting.title, posting.external_id)
    assert detail_request(instruction, whole) is None


def test_the_details_of_workday_replace_what_the_list_did_not_really_say() -> None:
    instruction, posting = listed("workday")
    whole = detailed(instruction, posting, DETAILS["workday"][1])
    assert posting.location == "2 Locations"
    assert (whole.location, whole.workplace) == ("Lyon; Paris", "remote")
    assert whole.posted_at == parse_posted("2026-10-01", NOW)
    assert whole.extra["requisition"] == "JR1"


@pytest.mark.parametrize("vendor", DETAILS)
@pytest.mark.parametrize("answer", [b"", b"<html></html>", [], {}, {"error": "gone"}, None, 1, {"items": []}])
def test_details_of_another_shape_are_a_wrong_shape(vendor: str, answer: Any) -> None:
    instruction, posting = listed(vendor)
    with pytest.raises(WrongShape, match=vendor):
        detailed(instruction, posting, answer)


def test_a_whole_posting_has_no_rest() -> None:
    row = {"id": 1, "title": "Cook", "absolute_url": "https://a.example/1", "content": "&lt;p&gt;We cook."}
    (posting,) = read(board("greenhouse"), {"jobs": [row]}).postings
    assert detail_request(board("greenhouse"), posting) is None


def test_a_page_of_a_posting_fills_in_what_the_list_did_not_tell() -> None:
    link = '<a href="/feedingamerica/job/abcd1">Cook (Lyon)</a>'
    row = f'<tr><td>{link}</td><td class="jv-job-list-location">Lyon</td></tr>'
    instruction = board("jobvite", company_name="Acme")
    (posting,) = read(instruction, f"<!doctype html><table>{row}</table>").postings
    request = detail_request(instruction, posting)
    assert request is not None
    assert request.url == posting.url == "https://jobs.jobvite.com/feedingamerica/job/abcd1"
    assert is_page(instruction)
    told = {
        "@type": "JobPosting",
        "title": "Cook",
        "description": "<p>We cook every day of the week.</p>",
        "datePosted": "2026-10-01",
        "employmentType": "FULL_TIME",
        "hiringOrganization": {"name": "Another"},
        "jobLocation": {"address": {"addressLocality": "Lyon", "addressCountry": "FR"}},
    }
    whole = detailed(instruction, posting, PAGE.format(json.dumps(told)).encode())
    assert (whole.title, whole.location, whole.company) == ("Cook (Lyon)", "Lyon", "Acme")
    assert whole.description == "We cook every day of the week."
    assert whole.posted_at == parse_posted("2026-10-01", NOW)
    assert whole.employment_type == "full-time"
    assert whole.external_id == "abcd1"


def test_the_postings_of_a_page_with_json_ld_are_a_list() -> None:
    told = [
        {
            "@type": "JobPosting",
            "title": f"Cook {n}",
            "url": f"https://acme.example/jobs/{n}",
            "description": "We cook.",
        }
        for n in range(3)
    ]
    page = read(board("jsonld", company_name="Acme"), PAGE.format(json.dumps({"@graph": told})))
    assert [(one.title, one.company) for one in page.postings] == [(f"Cook {n}", "Acme") for n in range(3)]
    assert page.next is None


@pytest.mark.parametrize("told", ["", "{", "{}", "[]", '{"@type": "Organization"}'])
def test_a_page_without_a_posting_as_json_ld_is_a_wrong_shape(told: str) -> None:
    with pytest.raises(WrongShape, match="no JobPosting as JSON-LD"):
        read(board("jsonld"), PAGE.format(told))
    assert read(board("jsonld", allow_empty=True), PAGE.format(told)).postings == []


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("jobPostingInfo jobDescription location items description role jobAd result".split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(DETAILS)), anything)
def test_details_of_any_shape_give_a_posting_or_a_wrong_shape(vendor: str, answer: Any) -> None:
    instruction, posting = listed(vendor)
    try:
        whole = detailed(instruction, posting, answer)
    except WrongShape:
        return
    assert (whole.url, whole.title) == (posting.url, posting.title)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_a_page_of_any_bytes_gives_a_posting(body: bytes) -> None:
    instruction = board("rss")
    posting = Posting(url="https://a.example/1", title="Cook", detail_url="https://a.example/1")
    assert detailed(instruction, posting, body).title == "Cook"
