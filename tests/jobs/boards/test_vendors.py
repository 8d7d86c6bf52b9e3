"""The rows of the vendors, and the instructions that come of them."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from ramet.jobs.boards.instruction import Instruction, Paging, is_valid
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.findings import Confidence, DetectedBoard
from ramet.jobs.errors import InputError, WrongShape
from tests.jobs.boards.sample_boards import BOARDS, board, read

URLS = {
    "greenhouse": "https://boards-api.greenhouse.io/v1/boards/acme/jobs?content=true",
    "lever": "https://api.lever.co/v0/postings/acme?mode=json&skip=0&limit=100",
    "lever_eu": "https://api.eu.lever.co/v0/postings/acme?mode=json&skip=0&limit=100",
    "ashby": "https://api.ashbyhq.com/posting-api/job-board/acme?includeCompensation=true",
    "smartrecruiters": "https://api.smartrecruiters.com/v1/companies/Acme/postings?limit=100&offset=0",
    "workable": "https://apply.workable.com/api/v1/widget/accounts/acme?details=true",
    "workable_v3": "https://apply.workable.com/api/v3/accounts/acme/jobs",
    "recruitee": "https://acme.recruitee.com/api/offers",
    "personio": "https://acme.jobs.personio.de/xml?language=en",
    "workday": "https://acme.wd5.myworkdayjobs.com/wday/cxs/acme/External/jobs",
    "workday_shared": "https://wd5.myworkdaysite.com/wday/cxs/acme/External/jobs",
    "teamtailor": "https://acme.teamtailor.com/jobs.json",
    "breezy": "https://acme.breezy.hr/json",
    "bamboohr": "https://acme.bamboohr.com/careers/list",
    "jobvite": "https://jobs.jobvite.com/feedingamerica/jobs",
}


@pytest.mark.parametrize("vendor", BOARDS)
def test_every_row_gives_a_whole_instruction(vendor: str) -> None:
    instruction = board(vendor)
    assert is_valid(instruction) == []
    assert instruction.vendor == vendor
    request = first_request(instruction)
    assert "{" not in request.url
    assert request.url.startswith("https://")
    if vendor in URLS:
        assert request.url == URLS[vendor]


@pytest.mark.parametrize("vendor", BOARDS)
def test_an_instruction_is_the_same_after_it_was_stored(vendor: str) -> None:
    instruction = board(vendor)
    assert Instruction.of(json.loads(json.dumps(instruction.stored()))) == instruction


def test_every_row_is_tried_here() -> None:
    assert set(vendors()) == {*BOARDS, "generic"}


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://job-boards.greenhouse.io/acme/jobs/123", URLS["greenhouse"]),
        ("https://jobs.eu.lever.co/acme/3f", URLS["lever_eu"]),
        ("https://jobs.ashbyhq.com/acme%20inc", URLS["ashby"].replace("acme", "acme%20inc")),
        ("https://acme.wd5.myworkdayjobs.com/en-US/External/job/Berlin/Chef_JR1", URLS["workday"]),
        ("https://wd5.myworkdaysite.com/en-US/recruiting/acme/External", URLS["workday_shared"]),
        ("https://acme.jobs.personio.com/job/12", "https://acme.jobs.personio.com/xml?language=en"),
        ("https://acme.recruitee.com/o/chef", URLS["recruitee"]),
        ("https://acme.breezy.hr/p/12", URLS["breezy"]),
        ("https://careers.smartrecruiters.com/Acme", URLS["smartrecruiters"]),
    ],
)
def test_what_detection_found_becomes_the_boards_own_request(url: str, asked: str) -> None:
    found = board_of_url(url)
    assert found is not None
    assert first_request(instruction_for(found)).url == asked


def test_a_board_on_a_companys_own_host_is_asked_there() -> None:
    found = DetectedBoard("recruitee", "https://jobs.acme.example/o/chef", None, {}, Confidence.MEDIUM, "link")
    assert instruction_for(found).url == "https://jobs.acme.example/api/offers"
    named = DetectedBoard("personio", "https://careers.acme.example", "acme", {}, Confidence.MEDIUM, "link")
    assert instruction_for(named).url == "https://acme.jobs.personio.de/xml?language=en"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            DetectedBoard("greenhouse", "https://acme.example/?gh_jid=1", None, {}, Confidence.MEDIUM, "url"),
            "the token",
        ),
        (
            DetectedBoard("workday", "https://acme.example/", "acme", {}, Confidence.MEDIUM, "url"),
            "the host and the tenant",
        ),
        (DetectedBoard("oracle_hcm", "https://a.oraclecloud.com/", None, {}, Confidence.MEDIUM, "url"), "the site"),
        (DetectedBoard("generic", "https://acme.example/jobs", None, {}, Confidence.LOW, "selectors"), "the selectors"),
        (
            DetectedBoard("monster", "https://monster.example/", "a", {}, Confidence.LOW, "url"),
            "monster is not a board",
        ),
        (DetectedBoard("lever", "https://jobs.lever.co/a/b", "a/../b", {}, Confidence.LOW, "url"), "the token"),
        (
            DetectedBoard(
                "generic", "https://a.example", None, {"selectors": '{"item": 1}'}, Confidence.LOW, "selectors"
            ),
            "generic: ",
        ),
        (
            DetectedBoard(
                "generic",
                "https://a.example",
                None,
                {"selectors": '{"item": "li", "fields": {"title": "h3"}}'},
                Confidence.LOW,
                "selectors",
            ),
            "a selector of the url is missing",
        ),
    ],
    ids=range(8),
)
def test_what_is_missing_is_said_on_one_line(found: DetectedBoard, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        instruction_for(found)
    assert "\n" not in str(caught.value)


def test_a_page_is_read_by_discovered_selectors() -> None:
    selectors = {"item": "li.opening", "fields": {"title": "h3", "url": "a@href", "location": ".where"}}
    ids = {"selectors": json.dumps(selectors)}
    found = DetectedBoard("generic", "https://acme.example/careers/", None, ids, Confidence.LOW, "selectors")
    instruction = instruction_for(found, company_name="Acme")
    item = '<li class="opening"><h3>Chef &amp; Cook</h3><a href="1">more</a><i class="where">Lyon</i></li>'
    (posting,) = read(instruction, f"<!doctype html><ul>{item}</ul>").postings
    assert (posting.title, posting.url) == ("Chef & Cook", "https://acme.example/careers/1")
    assert (posting.location, posting.company) == ("Lyon", "Acme")
    assert posting.detail_url == posting.url


def test_relative_addresses_of_a_page_are_relative_to_its_base() -> None:
    ids = {"selectors": json.dumps({"item": "li", "fields": {"title": "a", "url": "a@href"}})}
    found = DetectedBoard("generic", "https://acme.example/careers/", None, ids, Confidence.LOW, "selectors")
    whole = instruction_for(found).model_copy(update={"paging": Paging(by="link", selector="a.more")})
    page = '<!doctype html><base href="/board/en/"><ul><li><a href="jobs/1">Chef</a></ul><a class="more" href="p2">'
    listed = read(whole, page)
    assert [posting.url for posting in listed.postings] == ["https://acme.example/board/en/jobs/1"]
    assert listed.next is not None
    assert listed.next.url == "https://acme.example/board/en/p2"
    assert [posting.url for posting in read(whole, page.replace("<base", "<bass")).postings] == [
        "https://acme.example/careers/jobs/1"
    ]


def test_openings_in_a_script_of_a_page_are_read() -> None:
    embedded = {
        "embedded": "window.app['jobs'] = ",
        "response_path": "list",
        "fields": {"title": "title", "url": "link", "location": "place"},
        "base_url": "https://jobs.acme.example/",
    }
    found = DetectedBoard(
        "generic", "https://acme.example/jobs", None, {"embedded": json.dumps(embedded)}, Confidence.LOW, "x"
    )
    instruction = instruction_for(found)
    assert Instruction.of(instruction.stored()) == instruction
    assert "html" in first_request(instruction).headers["Accept"]
    value = "{list: [{title: 'Cook \\'R\\' us', link: '/1', place: \"Lyon\",},]}"
    (posting,) = read(instruction, f"<!doctype html><script>window.app['jobs'] = {value};</script>").postings
    assert (posting.title, posting.url, posting.location) == ("Cook 'R' us", "https://jobs.acme.example/1", "Lyon")
    assert posting.detail_url == posting.url
    with pytest.raises(WrongShape, match=r"window\.app"):
        read(instruction, "<!doctype html><script>window.other = []</script>")
    with pytest.raises(InputError):
        instruction_for(
            DetectedBoard("generic", "https://a.example", None, {"embedded": '{"url": "x"}'}, Confidence.LOW, "x")
        )


def test_the_item_itself_may_be_the_link() -> None:
    ids = {"selectors": json.dumps({"item": "a.opening", "fields": {"title": "", "url": "@href"}})}
    found = DetectedBoard("generic", "https://acme.example/careers/", None, ids, Confidence.LOW, "selectors")
    (posting,) = read(instruction_for(found), '<!doctype html><a class="opening" href="/jobs/1">Chef</a>').postings
    assert (posting.title, posting.url) == ("Chef", "https://acme.example/jobs/1")


def test_a_company_is_told_by_the_title_where_the_row_says_so() -> None:
    item = "<item><title>Acme GmbH: Senior Chef: Nights</title><link>https://weworkremotely.com/1</link></item>"
    page = read(board("weworkremotely"), f'<rss version="2.0"><channel>{item}</channel></rss>')
    assert [(one.company, one.title) for one in page.postings] == [("Acme GmbH", "Senior Chef: Nights")]


@pytest.mark.parametrize(
    "row",
    [
        {"type": "json", "vendor": "a", "url": "https://a.example", "fields": {"title": "a..b"}},
        {"type": "json", "vendor": "a", "url": "https://a.example", "response_path": "a[b"},
        {"type": "json", "vendor": "a", "url": "https://a.example", "fields": {"title": {"path": "a", "match": "("}}},
        {"type": "json", "vendor": "a", "url": "https://a.example", "fields": {"title": {"path": "a", "match": "a"}}},
        {"type": "html", "vendor": "a", "url": "https://a.example", "selectors": {"item": "li[[", "fields": {}}},
        {"type": "html", "vendor": "a", "url": "https://a.example", "selectors": {"item": "", "fields": {}}},
        {
            "type": "html",
            "vendor": "a",
            "url": "https://a.example",
            "selectors": {"item": "a", "fields": {"url": "::"}},
        },
        {"type": "soap", "vendor": "a", "url": "https://a.example"},
        {"type": "json", "vendor": "a", "url": "https://a.example", "class": "Reader"},
    ],
    ids=range(9),
)
def test_a_row_with_a_mistake_is_none(row: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Instruction.of(row)


def test_what_is_missing_in_an_instruction_is_listed() -> None:
    empty = Instruction(type="json", vendor="mine", url="ftp://a.example")
    assert len(is_valid(empty)) == 4
    assert is_valid(Instruction(type="html", vendor="mine", url="https://a.example")) == [
        "selectors of the openings on the page"
    ]
    assert is_valid(Instruction(type="rss", vendor="mine", url="https://a.example/feed")) == []
