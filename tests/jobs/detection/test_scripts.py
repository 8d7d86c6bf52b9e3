"""Openings that a page has in its scripts only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import read_list
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.boards import boards_in_page
from ramet.jobs.detection.scripts import embedded_in, value_in_script
from tests.jobs.corpus import corpus_file

URL = "https://careers.acme.example/jobs"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{}", {}),
        ("[1, -2.5, 1e3, true, null]", [1, -2.5, 1000.0, True, None]),
        ("{a: 'x', 'b': \"y\", `c`: `z`, 7: 8,}", {"a": "x", "b": "y", "c": "z", "7": 8}),
        (r"['McDonald\u0027s', '\x41\n', 'it\'s', '\u{1F600}', '\ud800']", ["McDonald's", "A\n", "it's", "😀", "�"]),
        ("{/* a */ a: 1, // b\n b: [/* c */]}", {"a": 1, "b": []}),
        (
            "{a: new Date('2026', {x: 1}), b: f(1, [2]), c: d + 'e', f: undefined}",
            {"a": None, "b": None, "c": None, "f": None},
        ),
        ("{a: x ? {b: 1} : 2, c: !0}", {"a": None, "c": 0}),
        ("{url: 'https://a.example/?x=1//2'}", {"url": "https://a.example/?x=1//2"}),
        ("[[], [[]], {a: {}}]", [[], [[]], {"a": {}}]),
    ],
)
def test_values_as_people_write_them(written: str, value: Any) -> None:
    found, end = value_in_script(f"x = {written}; more({{}})", 4)
    assert found == value
    assert end == 4 + len(written)


@pytest.mark.parametrize(
    "written", ["", "x", "7", "'a'", "{", "[1, 2", "{a: f(", "[" * 1_000 + "]" * 1_000, "{'a", "/*"]
)
def test_what_has_no_end_or_is_no_value(written: str) -> None:
    with pytest.raises(ValueError, match=r"begins here|no end|too deep"):
        value_in_script(written)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=6), values, max_size=4))
def test_what_is_json_is_read_as_json_even_where_it_is_not_quite(value: Any) -> None:
    written = json.dumps(value)
    assert value_in_script(written)[0] == value
    # A comma at the end is no JSON any more.
    loose = f"[{written},]"
    assert value_in_script(loose) == ([value], len(loose))


@given(st.text(alphabet="{}[](),:'\"`\\/*abu0 \n+.$", max_size=200))
@example("{a:" * 300)
@example("[" + "'\\" * 50)
def test_no_script_raises_anything_else(text: str) -> None:
    try:
        value, end = value_in_script(text)
    except ValueError:
        return
    assert isinstance(value, dict | list | str | int | float | None)
    assert end <= len(text)


def opening(number: int) -> dict[str, Any]:
    return {"id": number, "title": f"Clerk {number}", "url": f"/jobs/{number}-clerk", "location": {"name": "Oslo"}}


def of_page(html: str, url: str) -> dict[str, Any] | None:
    return embedded_in(LexborHTMLParser(html), html, url)


def of_script(text: str, kind: str = "") -> dict[str, Any] | None:
    return of_page(f"<html><body><script {kind}>{text}</script></body></html>", URL)


def test_data_of_a_page() -> None:
    data = {"props": {"filters": [{"name": "Oslo"}] * 4, "jobs": [opening(n) for n in range(5)]}}
    assert of_script(json.dumps(data), "id='__NEXT_DATA__' type='application/json'") == {
        "embedded": "script#__NEXT_DATA__",
        "response_path": "props.jobs",
        "fields": {"title": "title", "url": "url", "external_id": "id", "location": "location.name"},
        "base_url": URL,
    }


def test_what_a_script_assigns() -> None:
    found = of_script(f"var a = 1; window.app['list'] = {json.dumps([opening(n) for n in range(5)])}; run(a)")
    assert found is not None
    assert (found["embedded"], found["response_path"]) == ("window.app['list'] = ", "")


@pytest.mark.parametrize(
    "listed",
    [
        [opening(1), opening(2)],
        [opening(1)] * 9,
        [{**opening(n), "url": f"/blog/{n}-news"} for n in range(9)],
        [{**opening(n), "title": "Apply now"} for n in range(9)],
        [{"id": n, "title": f"Clerk {n}", "note": "x" * 50} for n in range(9)],
        [{**opening(n), "url": f"javascript:open('/jobs/{n}-x')"} for n in range(9)],
    ],
)
def test_what_is_no_list_of_openings(listed: list[dict[str, Any]]) -> None:
    assert of_script(f"window.things = {json.dumps(listed)};" + " " * 300) is None


def test_a_real_page_that_has_its_openings_in_a_script() -> None:
    html = corpus_file("html/jobylon_mcdonalds_se.html").read_text(encoding="utf-8")
    found = of_page(html, "https://cdn.jobylon.com/jobs/companies/1955/embed/v2/")
    assert found is not None
    assert (found["response_path"], found["base_url"]) == ("", "https://emp.jobylon.com")
    listed, _ = value_in_script(html, html.index(found["embedded"]) + len(found["embedded"]))
    fields = found["fields"]
    assert len(listed) == html.count("url: '/jobs/") == 125
    assert all(one[fields["title"]] and one[fields["url"]].startswith("/jobs/") for one in listed)
    first = {name: listed[0][path] for name, path in fields.items()}
    assert first == {
        "title": "Kopia av McDonald's Varberg Nord söker nya glada medarbetare",
        "url": "/jobs/355795-mcdonalds-sverige-kopia-av-mcdonalds-varberg-nord-soker-nya-glada-medarbetare/",
        "external_id": "355795",
        "location": "Varberg",
        "posted_at": "21 april 2026",
        "employment_type": "Deltid",
    }


def test_that_page_from_its_address_to_all_of_its_openings() -> None:
    html = corpus_file("html/jobylon_mcdonalds_se.html").read_text(encoding="utf-8")
    (board,) = boards_in_page(html, "https://cdn.jobylon.com/jobs/companies/1955/embed/v2/")[:1]
    instruction = instruction_for(board)
    page = read_list(instruction, html.encode(), request=first_request(instruction), page=1, now=1_777_000_000.0)
    assert len(page.postings) == 125
    assert all(posting.url.startswith("https://emp.jobylon.com/jobs/") for posting in page.postings)
    assert all(posting.title for posting in page.postings)
    assert sum(posting.location is not None for posting in page.postings) == 124
