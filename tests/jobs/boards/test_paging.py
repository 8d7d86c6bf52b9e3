"""Paging ends, does not leave the board's host, and asks for what the board wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ramet.fetch.messages import Request
from ramet.jobs.boards.instruction import Instruction, Paging
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import Page, read_list
from tests.jobs.boards.sample_boards import NOW, board

PAGES_MAX = 60
"""More than any board here has: a walk that reaches it does not end by itself."""


def walked(instruction: Instruction, answer: Callable[[Request], Any]) -> tuple[list[Page], list[Request]]:
    """All pages of a board, and what was asked."""
    request: Request | None = first_request(instruction)
    pages: list[Page] = []
    asked: list[Request] = []
    while request is not None and len(pages) < PAGES_MAX:
        asked.append(request)
        value = answer(request)
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        seen = [page.digest for page in pages]
        page = read_list(instruction, body, request=request, page=len(asked), now=NOW, before=seen)
        pages.append(page)
        request = page.next
    return pages, asked


def query(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}


def titles(pages: list[Page]) -> list[str]:
    return [posting.title for page in pages for posting in page.postings]


def lever(number: int) -> dict[str, Any]:
    return {"id": str(number), "text": f"Title {number}", "hostedUrl": f"https://jobs.lever.co/acme/{number}"}


def test_lever_is_paged_by_skip_until_a_short_page() -> None:
    def answer(request: Request) -> Any:
        asked = query(request)
        assert asked["mode"] == "json"
        start = int(asked["skip"])
        return [lever(n) for n in range(start, min(start + int(asked["limit"]), 250))]

    pages, asked = walked(board("lever"), answer)
    assert titles(pages) == [f"Title {n}" for n in range(250)]
    assert [query(one)["skip"] for one in asked] == ["0", "100", "200"]


def test_a_full_last_page_is_followed_by_an_empty_one() -> None:
    pages, asked = walked(
        board("lever"), lambda one: [lever(n) for n in range(100)] if query(one)["skip"] == "0" else []
    )
    assert (len(titles(pages)), len(asked)) == (100, 2)


def test_smartrecruiters_is_paged_by_what_it_gave_up_to_its_total() -> None:
    def answer(request: Request) -> Any:
        start = int(query(request)["offset"])
        rows = [{"id": str(n), "name": f"Title {n}", "company": {"identifier": "Acme"}} for n in range(start, 230)]
        # The board gives fewer than are asked for.
        return {"content": rows[:50], "totalFound": 230, "offset": start, "limit": 50}

    pages, asked = walked(board("smartrecruiters"), answer)
    assert titles(pages) == [f"Title {n}" for n in range(230)]
    assert [query(one)["offset"] for one in asked] == ["0", "50", "100", "150", "200"]
    assert pages[0].total == 230


def workday(start: int, total: int, told: int) -> dict[str, Any]:
    rows = [
        {"title": f"Title {n}", "externalPath": f"/job/Berlin/Title_JR{n}", "bulletFields": [f"JR{n}"]}
        for n in range(start, min(start + 20, total))
    ]
    return {"total": told, "jobPostings": rows}


def test_workday_is_posted_and_its_total_is_believed_on_the_first_page_only() -> None:
    def answer(request: Request) -> Any:
        assert request.method == "POST"
        assert request.headers["Content-Type"] == "application/json"
        sent = json.loads(request.body or b"")
        assert sent["limit"] == 20
        assert sent["searchText"] == ""
        return workday(sent["offset"], 55, 55 if sent["offset"] == 0 else 0)

    pages, asked = walked(board("workday"), answer)
    assert titles(pages) == [f"Title {n}" for n in range(55)]
    assert [json.loads(one.body or b"")["offset"] for one in asked] == [0, 20, 40]
    assert {one.url for one in asked} == {"https://acme.wd5.myworkdayjobs.com/wday/cxs/acme/External/jobs"}


def test_workday_ends_where_it_shows_no_more_and_says_that_there_are_more() -> None:
    def answer(request: Request) -> Any:
        return workday(json.loads(request.body or b"")["offset"], 5_000, 2_000)

    instruction = board("workday")
    assert instruction.paging is not None
    short = instruction.model_copy(update={"paging": instruction.paging.model_copy(update={"most": 100})})
    pages, _ = walked(short, answer)
    assert len(titles(pages)) == 100
    assert pages[0].capped
    assert not walked(board("workday"), lambda _: workday(0, 20, 20))[0][0].capped


def test_workable_is_paged_by_a_token() -> None:
    def answer(request: Request) -> Any:
        token = json.loads(request.body or b"").get("token", "0")
        row = {"shortcode": f"A{token}", "title": f"Title {token}", "locations": [{"city": "Berlin"}]}
        return {"total": 3, "results": [row], **({"nextPage": str(int(token) + 1)} if token != "2" else {})}

    pages, asked = walked(board("workable_v3"), answer)
    assert titles(pages) == ["Title 0", "Title 1", "Title 2"]
    assert [json.loads(one.body or b"").get("token") for one in asked] == [None, "1", "2"]


def test_oracle_has_its_offset_in_the_middle_of_its_address() -> None:
    def answer(request: Request) -> Any:
        assert "{" not in request.url
        start = int(request.url.partition(",offset=")[2].partition(",")[0])
        rows = [{"Id": str(n), "Title": f"Title {n}"} for n in range(start, min(start + 25, 60))]
        return {"items": [{"TotalJobsCount": 60, "requisitionList": rows}]}

    pages, asked = walked(board("oracle_hcm"), answer)
    assert titles(pages) == [f"Title {n}" for n in range(60)]
    assert len(asked) == 3


def feed(number: int, following: str | None) -> dict[str, Any]:
    item = {"id": str(number), "title": f"Title {number}", "url": f"https://acme.teamtailor.com/jobs/{number}"}
    return {"items": [item], **({"next_url": following} if following else {})}


def test_a_link_to_the_next_page_is_followed_on_the_same_host() -> None:
    def answer(request: Request) -> Any:
        number = int(query(request).get("page", "1"))
        return feed(number, f"/jobs.json?page={number + 1}" if number < 3 else None)

    assert titles(walked(board("teamtailor"), answer)[0]) == ["Title 1", "Title 2", "Title 3"]


@pytest.mark.parametrize(
    "following",
    [
        "https://elsewhere.example/jobs.json",
        "http://acme.teamtailor.com/jobs.json?page=2",
        "https://acme.teamtailor.com:8443/jobs.json",
        "file:///etc/passwd",
        "//127.0.0.1/",
        "https://acme.teamtailor.com@elsewhere.example/",
        "javascript:1",
        "http://[",
        "https://acme.teamtailor.com/jobs.json",
        "",
    ],
)
def test_a_link_to_anywhere_else_or_to_the_same_page_is_not_followed(following: str) -> None:
    _, asked = walked(board("teamtailor"), lambda _: feed(1, following))
    assert len(asked) == 1


def test_pages_of_a_site_are_numbered_until_one_has_nothing() -> None:
    def answer(request: Request) -> bytes:
        number = int(query(request)["pr"])
        link = f"https://careers-acme.icims.com/jobs/{number}/chef/job?in_iframe=1"
        card = f'<li class="iCIMS_JobCardItem"><a class="iCIMS_Anchor" href="{link}"><h3>Title {number}</h3></a></li>'
        return f"<!doctype html><ul>{card if number < 3 else ''}</ul>".encode()

    pages, asked = walked(board("icims"), answer)
    assert titles(pages) == ["Title 0", "Title 1", "Title 2"]
    assert [query(one)["pr"] for one in asked] == ["0", "1", "2", "3"]


def test_a_next_link_of_a_page_is_found_by_its_selector() -> None:
    paging = Paging(by="link", selector="a.next")
    instruction = board("jobvite", paging=paging)

    def answer(request: Request) -> bytes:
        number = int(query(request).get("p", "1"))
        row = f'<tr><td><a href="/feedingamerica/job/abcd{number}">Title {number}</a></td></tr>'
        more = f'<a class="next" href="?p={number + 1}">more</a>' if number < 4 else ""
        return f"<!doctype html><table>{row}</table>{more}".encode()

    assert titles(walked(instruction, answer)[0]) == ["Title 1", "Title 2", "Title 3", "Title 4"]


@pytest.mark.parametrize("vendor", ["lever", "smartrecruiters", "workday", "workable_v3", "oracle_hcm", "icims"])
def test_a_board_that_repeats_its_first_page_for_ever_is_noticed(vendor: str) -> None:
    answers: dict[str, Any] = {
        "lever": [lever(n) for n in range(100)],
        "smartrecruiters": {"content": [{"id": "1", "name": "Title"}], "totalFound": 10_000},
        "workday": workday(0, 20, 5_000),
        "workable_v3": {"results": [{"shortcode": "A", "title": "Title"}], "nextPage": "more"},
        "oracle_hcm": {"items": [{"TotalJobsCount": 900, "requisitionList": [{"Id": "1", "Title": "T"}]}]},
        "icims": b'<li class="iCIMS_JobCardItem"><a class="iCIMS_Anchor" href="/jobs/1/a/job"><h3>T</h3></a></li>',
    }
    _, asked = walked(board(vendor), lambda _: answers[vendor])
    assert len(asked) <= 2


def test_a_board_without_paging_is_asked_once() -> None:
    rows = [{"id": n, "title": "T", "absolute_url": f"https://a.example/{n}"} for n in range(500)]
    pages, asked = walked(board("greenhouse"), lambda _: {"jobs": rows, "meta": {"total": 900}})
    assert (len(asked), len(titles(pages))) == (1, 500)


def test_a_repeated_address_is_not_asked_again_without_digests() -> None:
    instruction = board("teamtailor")
    request = Request("https://acme.teamtailor.com/jobs.json?page=2", headers=first_request(instruction).headers)
    body = json.dumps(feed(1, "?page=2")).encode()
    assert read_list(instruction, body, request=request, page=2, now=NOW).next is None


def rss(start: int, end: int) -> bytes:
    items = "".join(f"<item><title>Title {n}</title><link>/jobs/{n}</link></item>" for n in range(start, end))
    return f'<rss version="2.0"><channel>{items}</channel></rss>'.encode()


def test_a_feed_of_teamtailor_is_paged_by_offset_and_any_other_there_ends() -> None:
    def answer(request: Request) -> bytes:
        start = int(query(request)["offset"])
        return rss(start, min(start + int(query(request)["per_page"]), 130))

    pages, asked = walked(board("teamtailor_rss"), answer)
    assert titles(pages) == [f"Title {n}" for n in range(130)]
    assert len(asked) == 2
    pages, asked = walked(board("teamtailor_rss"), lambda _: rss(0, 130))
    assert len({posting.url for page in pages for posting in page.postings}) == 130
    assert len(asked) == 2
