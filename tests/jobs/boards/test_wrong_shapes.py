"""What is no list of openings is a wrong shape, on one line; an empty list is an empty page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet.jobs.boards.reader import Page, name_request, read_name
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.errors import WrongShape
from tests.jobs.boards.sample_boards import BOARDS, board, read

pytestmark = pytest.mark.proof

EMPTY: dict[str, Any] = {
    "greenhouse": {"jobs": [], "meta": {"total": 0}},
    "lever": [],
    "ashby": {"jobs": [], "apiVersion": "1"},
    "smartrecruiters": {"content": [], "totalFound": 0},
    "workable": {"name": "Acme", "jobs": []},
    "workable_v3": {"total": 0, "results": []},
    "recruitee": {"offers": []},
    "personio": "<workzag-jobs></workzag-jobs>",
    "workday": {"total": 0, "jobPostings": []},
    "teamtailor": {"version": "https://jsonfeed.org/version/1.1", "items": []},
    "breezy": [],
    "bamboohr": {"meta": {"totalCount": 0}, "result": []},
    "rippling": {"items": [], "totalItems": 0},
    "rippling_v1": [],
    "pinpoint": {"data": []},
    "oracle_hcm": {"items": [{"TotalJobsCount": 0, "requisitionList": []}]},
    "gem": [],
    "eightfold": {"positions": [], "count": 0},
    "eightfold_search": {"data": {"positions": [], "count": 0}},
    "successfactors": "<Job-Listing></Job-Listing>",
    "jibe": {"jobs": [], "totalCount": 0},
    "ukg": {"opportunities": [], "totalCount": 0},
    "adp": {"jobRequisitions": [], "meta": {"totalNumber": 0}},
    "paylocity": "<script>window.pageData = {Jobs: []};</script>",
    "comeet": "<script>COMPANY_POSITIONS_DATA = [];</script>",
    "remotive": {"job-count": 0, "jobs": []},
    "himalayas": {"jobs": [], "totalCount": 0},
    "arbeitnow": {"data": []},
    "hackernews": {"children": []},
    "rss": '<rss version="2.0"><channel><title>Acme</title></channel></rss>',
    "xml": "<jobs><updated>2026-10-08</updated></jobs>",
}
PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Welcome</h1></body></html>"


@pytest.mark.parametrize("vendor", EMPTY)
def test_a_valid_and_empty_list_is_an_empty_page(vendor: str) -> None:
    page = read(board(vendor), EMPTY[vendor])
    assert (page.postings, page.next, page.skipped) == ([], None, 0)


@pytest.mark.parametrize("vendor", BOARDS)
def test_a_page_for_people_instead_of_a_list_is_a_wrong_shape(vendor: str) -> None:
    with pytest.raises(WrongShape) as caught:
        read(board(vendor), PAGE)
    message = str(caught.value)
    assert message.startswith(vendor)
    assert "\n" not in message
    assert "asked at https://" in message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"true",
        b'"jobs"',
        b"12",
        b"{}",
        b'{"jobs": null}',
        b'{"jobs": {}}',
        b'{"jobs": "none"}',
        b'{"error": "no such board"}',
        b'{"jobs": [1, 2, 3]}',
        b'{"jobs": [null]}',
        b'{"jobs": [{}]}',
        b'{"jobs": [{"title": "A"}]}',
        b'{"jobs": [{"title": "A", "absolute_url": "javascript:alert(1)"}]}',
        b'{"jobs": [{"title": {"a": 1}, "absolute_url": "https://a.example/1"}]}',
        b'{"jobs": [',
        b"[]",
        b"[[[]]]",
        b"[" * 200_000,
        b'{"jobs":' * 50_000,
        b"9" * 1_000_000,
        b'{"jobs": ' + b"9" * 1_000_000 + b"}",
        b"\xff\xfe\x00\x01",
        b"\x00" * 1_000,
        b'{"jobs": [], "meta": {"total": 12}}',
    ],
    ids=range(26),
)
def test_json_of_another_shape_is_a_wrong_shape(body: bytes) -> None:
    with pytest.raises(WrongShape) as caught:
        read(board("greenhouse"), body)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("vendor", ["personio", "xml", "rss"])
@pytest.mark.parametrize(
    "body",
    [
        '<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><workzag-jobs>&b;</workzag-jobs>',
        '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><jobs><job><title>&f;</title></job></jobs>',
        '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><rss version="2.0"><channel><item><title>&f;',
    ],
    ids=["bomb", "outside", "outside-and-broken"],
)
def test_entities_are_never_read(vendor: str, body: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        with pytest.raises(WrongShape):
            read(board(vendor), body.encode(encoding))


@pytest.mark.parametrize("vendor", ["personio", "xml"])
def test_broken_or_other_xml_is_a_wrong_shape(vendor: str) -> None:
    for body in ("<workzag-jobs><position>", "<html></html>", "<a>" * 100_000, '{"jobs": []}'):
        with pytest.raises(WrongShape):
            read(board(vendor), body)


def test_deep_xml_is_read_as_far_as_an_opening_goes() -> None:
    deep = "<job><title>A</title><url>https://a.example/1</url>" + "<x>" * 5_000 + "</x>" * 5_000 + "</job>"
    assert [one.title for one in read(board("xml"), f"<jobs>{deep}</jobs>").postings] == ["A"]


def test_a_feed_that_is_no_sound_xml_is_read() -> None:
    feed = '<rss version="2.0"><channel><title>R & D</title><item><title>Chef & Cook</title>'
    feed += "<link>https://a.example/1</link></item></channel></rss>"
    assert [one.title for one in read(board("rss"), feed).postings] == ["Chef & Cook"]


@pytest.mark.parametrize(
    "body",
    [
        "<rss version='2.0'><channel>" + "<" * 1_000_000,
        "<rss version='2.0'><channel><item><title>" + "&" * 1_000_000,
        "<rss version='2.0'><channel>" + "".join(f"<a{n}:b xmlns:a{n}='u{n}'/>" for n in range(20_000)),
        "<rss version='2.0'><channel>" + "<item>" * 50_000,
        "<rss version='2.0'><channel>" + "<x>" * 5_000 + "</x>" * 5_000 + "</channel></rss>",
        "<rss version='2.0'><channel><item><title>a " + "b" * 5_000_000,
    ],
    ids=range(6),
)
def test_hostile_feeds_end(body: str) -> None:
    try:
        assert read(board("rss"), body).postings == []
    except WrongShape as error:
        message = str(error)
    else:
        message = "no postings"
    assert len(message) < 600


def test_a_sound_feed_with_very_many_namespaces_is_read() -> None:
    names = "".join(f"<a{n}:b xmlns:a{n}='u{n}'/>" for n in range(20_000))
    item = "<item><title>A</title><link>https://a.example/1</link></item>"
    page = read(board("rss"), f"<rss version='2.0'><channel>{names}{item}</channel></rss>")
    assert [one.title for one in page.postings] == ["A"]


def test_entries_without_a_title_or_an_address_are_counted() -> None:
    jobs = [{"id": 1, "title": "A", "absolute_url": "https://a.example/1"}, {"id": 2}, 7, {"title": "no address"}]
    page = read(board("greenhouse"), {"jobs": jobs})
    assert ([one.title for one in page.postings], page.skipped) == (["A"], 3)


def test_an_endless_list_is_a_wrong_shape() -> None:
    with pytest.raises(WrongShape, match="a list of 60000 entries"):
        read(board("lever"), b"[" + b",".join([b"{}"] * 60_000) + b"]")
    with pytest.raises(WrongShape, match="a list of 60000 entries"):
        read(board("icims"), '<li class="iCIMS_JobCardItem"></li>' * 60_000)


def test_a_board_of_nothing_but_openings_that_are_not_listed_is_empty() -> None:
    page = read(board("ashby"), {"jobs": [{"id": "1", "title": "A", "jobUrl": "https://a.example", "isListed": False}]})
    assert (page.postings, page.skipped) == ([], 1)


def test_a_page_without_any_opening_is_right_only_where_that_was_said() -> None:
    assert read(board("jobvite", allow_empty=True), PAGE).postings == []
    with pytest.raises(WrongShape, match="nothing fits"):
        read(board("jobvite"), PAGE)
    assert read(board("icims"), PAGE, page=2).postings == []


def test_hostile_pages_end() -> None:
    for body in ("<div>" * 200_000, "<a " + "x=1 " * 200_000, "<li><a href='/job/1'>" * 50_000, "\x00" * 100_000):
        with pytest.raises(WrongShape):
            read(board("icims"), body)


def test_what_cannot_be_stored_is_not_in_a_posting() -> None:
    row = {
        "id": "1\x00\ud800",
        "text": "Chef\x00 \ud800de\u0007 cuisine",
        "hostedUrl": "https://a.example/1\x00",
        "descriptionPlain": "a\x00b\ud83d",
        "createdAt": 1e308,
        "categories": {"location": "Par\x00is", "team": "\udfff"},
    }
    (posting,) = read(board("lever"), [row]).postings
    assert posting.title == "Chef de cuisine"
    assert posting.location == "Paris"
    assert posting.posted_at is None
    assert "\x00" not in posting.model_dump_json()
    posting.model_dump_json().encode()


def names() -> st.SearchStrategy[str]:
    """The names that the rows look for: parts of their paths."""
    words: set[str] = set()
    for vendor in vendors().values():
        text = json.dumps(vendor.stored())
        words |= {word for word in text.replace('"', ".").replace("[", ".").split(".") if word.isidentifier()}
    return st.sampled_from(sorted(words))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["https://a.example/1", "2026-01-01", "<p>x</p>", "\x00", "\ud800", "//", "http://["]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | names(), inner, max_size=6),
    max_leaves=30,
)


def shaped(path: str, value: Any) -> Any:
    """A value where the row looks for its list."""
    for step in reversed([step.replace("[]", "") for step in path.split(".") if step]):
        value = [value] if step.isdecimal() else {step: value}
    return value


JSON_BOARDS = sorted(name for name in BOARDS if vendors()[name].type == "json" and not vendors()[name].embedded)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(JSON_BOARDS), anything, st.booleans())
def test_json_of_any_shape_gives_a_page_or_a_wrong_shape(vendor: str, value: Any, inside: bool) -> None:
    instruction = board(vendor)
    body = json.dumps(shaped(instruction.response_path, value) if inside else value).encode()
    try:
        page = read(instruction, body)
    except WrongShape:
        return
    assert isinstance(page, Page)
    assert all(one.title and one.url.startswith("http") for one in page.postings)
    for one in page.postings:
        one.model_dump_json().encode()
    read_name(instruction, body)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from(sorted(BOARDS)),
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
)
def test_bytes_of_any_kind_give_a_page_or_a_wrong_shape(vendor: str, body: bytes) -> None:
    instruction = board(vendor)
    try:
        message = f"{read(instruction, body).skipped} skipped"
    except WrongShape as error:
        message = str(error)
    assert "\n" not in message
    if name_request(instruction) is not None:
        assert read_name(instruction, body) != ""
