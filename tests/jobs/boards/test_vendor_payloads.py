"""What is read in the answers of vendors whose shapes others describe, and in what is none of these shapes."""

from __future__ import annotations

import json

import pytest

from ramet.fetch.messages import Request
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import detail_request, is_page, read_detail
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.errors import WrongShape
from tests.jobs.boards.sample_boards import NOW, board, read
from tests.jobs.boards.vendor_payloads import FOUND, PAYLOADS, script


@pytest.mark.parametrize("vendor", PAYLOADS)
def test_an_opening_is_read_where_the_row_says(vendor: str) -> None:
    [posting] = read(board(vendor), PAYLOADS[vendor]).postings
    assert (posting.external_id, posting.url, posting.location, posting.workplace) == FOUND[vendor]
    assert posting.title.split(" | ")[0] == "Night Cook"
    assert posting.description or posting.detail_url


DATED = sorted(set(PAYLOADS) - {"taleo", "jazzhr", "dayforce", "rippling", "softgarden"})


@pytest.mark.parametrize("vendor", DATED)
def test_the_day_of_an_opening_is_read(vendor: str) -> None:
    [posting] = read(board(vendor), PAYLOADS[vendor]).postings
    assert posting.posted_at is not None
    assert 1789800000 < posting.posted_at < 1790200000


@pytest.mark.parametrize("vendor", PAYLOADS)
def test_the_answer_of_another_board_is_another_shape_and_never_an_empty_list(vendor: str) -> None:
    others = [b"{}", b'{"error": "not found"}', b"<rss><channel/></rss>", b"<html><body>Sign in</body></html>"]
    for other in [*others, b"null", b"[[]]", b'{"jobs": {}}']:
        with pytest.raises(WrongShape, match=vendor):
            read(board(vendor), other)


AGGREGATORS = sorted(name for name, row in vendors().items() if not row.in_pages)


def test_lists_of_many_companies_name_the_company_of_each_opening() -> None:
    assert AGGREGATORS == ["arbeitnow", "hackernews", "himalayas", "remoteok", "remotive"]
    for vendor in AGGREGATORS:
        assert read(board(vendor), PAYLOADS[vendor]).postings[0].company == "Acme"


def test_pay_stays_in_its_fields() -> None:
    [posting] = read(board("himalayas"), PAYLOADS["himalayas"]).postings
    assert posting.pay is not None
    assert (posting.pay.minimum, posting.pay.maximum, posting.pay.currency) == (60000, 80000, "USD")


def test_the_next_page_is_counted_from_the_first_number_that_a_vendor_has() -> None:
    adp = board("adp")
    rows = [{**PAYLOADS["adp"]["jobRequisitions"][0], "itemID": f"{number}_1"} for number in range(20)]
    first = read(adp, {"meta": {"totalNumber": 21}, "jobRequisitions": rows})
    assert first.next is not None
    assert first.next.url.endswith("skip=21")
    last = {"meta": {"totalNumber": 21}, "jobRequisitions": rows[:1]}
    assert read(adp, last, page=2, request=first.next).next is None
    assert read(adp, {"meta": {"totalNumber": 20}, "jobRequisitions": rows}).next is None


def test_an_offset_may_be_inside_the_body_of_a_question() -> None:
    ukg = board("ukg")
    asked = first_request(ukg)
    rows = [{**PAYLOADS["ukg"]["opportunities"][0], "Id": f"id-{number}"} for number in range(50)]
    following = read(ukg, {"totalCount": 120, "opportunities": rows}).next
    assert following is not None
    assert json.loads(asked.body or b"")["opportunitySearch"]["Skip"] == 0
    assert json.loads(following.body or b"")["opportunitySearch"] == {
        "Top": 50, "Skip": 50, "QueryString": "", "Filters": [],
    }  # fmt: skip
    third = read(ukg, {"totalCount": 120, "opportunities": rows}, page=2, request=following).next
    assert third is not None
    assert json.loads(third.body or b"")["opportunitySearch"]["Skip"] == 100


def test_a_posting_may_be_json_in_its_page() -> None:
    ukg = board("ukg")
    [posting] = read(ukg, PAYLOADS["ukg"]).postings
    asked = detail_request(ukg, posting)
    assert isinstance(asked, Request)
    assert "html" in asked.headers["Accept"]
    assert is_page(ukg)
    page = script("new US.Opportunity.CandidateOpportunityDetail(", {"Description": "<p>You cook at night.</p>"}, ");")
    found = read_detail(ukg, posting, page.encode(), url=asked.url, now=NOW)
    assert found.description == "You cook at night."
    with pytest.raises(WrongShape, match="ukg"):
        read_detail(ukg, posting, b"<html>Sign in</html>", url=asked.url, now=NOW)


def test_taleo_names_its_next_page() -> None:
    following = read(board("taleo"), PAYLOADS["taleo"]).next
    assert following is not None
    assert "rowFrom=10" in following.url
