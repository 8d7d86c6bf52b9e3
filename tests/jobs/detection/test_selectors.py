"""Where the openings of a page without a vendor are, proven on that page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import read_list
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.boards import boards_in_page
from ramet.jobs.detection.selectors import base_of, is_title, selectors_in
from ramet.jobs.text.markup import bounded
from tests.jobs.corpus import corpus_file

URL = "https://careers.acme.example/en/jobs"
TITLES = ["Clerk", "Night Porter (m/f/d)", "Cook, Pastry", "Head of Files", "Driver"]
SLUGS = ["101-clerk", "102-night-porter", "103-cook", "104-head-of-files", "105-driver"]

MENU = """<header><nav><ul>{}</ul></nav></header>""".format(
    "".join(
        f"<li><a href='/jobs/{name}-at-acme'>{name.title()}</a></li>" for name in ("students", "nurses", "managers")
    )
)
FOOTER = "<div class='site-footer'><a href='/careers/a-life'>Life</a><a href='/jobs/q'>Questions</a></div>"

CARDS = "".join(
    f"<div class='card job-card'><h3>{title}</h3><span class='job-card__location'>Oslo</span>"
    f"<time datetime='2026-11-0{n + 1}'>some days ago</time><p>A text.</p>"
    f"<a class='btn' href='/jobs/{slug}'>Apply now</a></div>"
    for n, (title, slug) in enumerate(zip(TITLES, SLUGS, strict=True))
)
ROWS = "".join(
    f"<tr><td><a href='{slug}/'>{title}</a></td><td class='city'>Oslo</td></tr>"
    for title, slug in zip(TITLES, SLUGS, strict=True)
)
LINKS = "".join(
    f"<a class='opening' href='https://careers.acme.example/position/{slug}'><strong>{title}</strong> Oslo</a>"
    for title, slug in zip(TITLES, SLUGS, strict=True)
)
LIST = "".join(
    f"<li><a href='/stellen/{slug}.html'>{title}</a></li>" for title, slug in zip(TITLES, SLUGS, strict=True)
)
GROUPS = "".join(
    f"<section><h2>Team {n}</h2><ul class='list'>"
    + "".join(f"<li class='entry'><a href='?jobId={n}{slug}'>{title} {n}</a></li>" for title, slug in part)
    + "</ul></section>"
    for n, part in enumerate([list(zip(TITLES, SLUGS, strict=True))[:3], list(zip(TITLES, SLUGS, strict=True))[3:4]])
)
NEWS = "".join(f"<div class='tile'><a href='/blog/{n}-a'>News {n}</a></div>" for n in range(9))
TILES = "".join(
    f"<div class='tile'><a href='/locations/oslo/jobs/{slug}'><img></a><a href='/team/x'>Team</a><h4>{title}</h4></div>"
    for title, slug in zip(TITLES, SLUGS, strict=True)
)
LAYOUTS = {
    "tiles among others": (f"<div>{NEWS}{TILES}</div>", 5),
    "cards": (f"<div class='jobs'>{CARDS}</div>", 5),
    "rows": (f"<base href='/en/jobs/'><table class='joblist'><tbody>{ROWS}</tbody></table>", 5),
    "links": (f"<div>{LINKS}</div>", 5),
    "list": (f"<main><ul id='stellen'>{LIST}</ul></main>", 5),
    "bare list": (f"<main><ul>{LIST}</ul></main>", 5),
    "groups": (GROUPS, 4),
}


def selectors_of(html: str, url: str) -> dict[str, Any] | None:
    """As the detection of boards asks for them."""
    tree = LexborHTMLParser(bounded(html))
    return selectors_in(tree, url, base_of(tree, url))


def taken(node: LexborNode, selector: str) -> str:
    """As the reader of boards takes a field."""
    css, _, attribute = selector.partition("@")
    found = node.css_first(css) if css else node
    if found is None:
        return ""
    return (
        found.attributes.get(attribute) or "" if attribute else " ".join(found.text(deep=True, separator=" ").split())
    )


def read(html: str, selectors: dict[str, Any]) -> list[dict[str, str]]:
    items = LexborHTMLParser(html).css(selectors["item"])
    return [{name: taken(item, css) for name, css in selectors["fields"].items()} for item in items]


def found(html: str) -> dict[str, Any]:
    selectors = selectors_of(html, URL)
    assert selectors is not None
    return selectors


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_opening_of_a_layout_is_found_and_nothing_else(layout: str) -> None:
    body, count = LAYOUTS[layout]
    html = f"<html><body>{MENU}{body}{FOOTER}</body></html>"
    rows = read(html, found(html))
    assert len(rows) == count
    for row, title, slug in zip(rows, TITLES, SLUGS, strict=False):
        assert row["title"].startswith(title)
        assert slug in row["url"]


@pytest.mark.parametrize("layout", ["cards", "links", "list", "bare list", "tiles among others"])
def test_what_is_found_is_what_the_reader_of_boards_reads(layout: str) -> None:
    html = f"<html><body>{MENU}{LAYOUTS[layout][0]}{FOOTER}</body></html>"
    (board,) = boards_in_page(html, URL)[:1]
    instruction = instruction_for(board)
    page = read_list(instruction, html.encode(), request=first_request(instruction), page=1, now=1_795_000_000.0)
    assert [posting.url.rpartition("/")[2].removesuffix(".html") for posting in page.postings] == SLUGS
    assert all(posting.title.startswith(title) for posting, title in zip(page.postings, TITLES, strict=True))


def test_place_and_date_are_found_where_they_are_named() -> None:
    html = f"<html><body>{LAYOUTS['cards'][0]}</body></html>"
    first = read(html, found(html))[0]
    assert first == {"title": "Clerk", "url": "/jobs/101-clerk", "location": "Oslo", "posted_at": "2026-11-01"}
    html = f"<html><body>{LAYOUTS['rows'][0]}</body></html>"
    assert read(html, found(html))[0]["location"] == "Oslo"


@pytest.mark.parametrize(
    "row",
    [
        "<tr><td><a href='/jobs/{n}-clerk'>Clerk of files {n}</a></td><td>Finance</td><td>{place}</td></tr>",
        "<tr><td>{place}</td><td>Sales</td><td><a href='/jobs/{n}-clerk'>Clerk of files {n}</a></td></tr>",
        "<li><a href='/jobs/{n}-clerk'>Clerk of files {n}</a> <span>{place}</span></li>",
        "<li><a href='/jobs/{n}-clerk'>Clerk of files {n}</a> <small>{place}</small></li>",
    ],
)
def test_a_place_is_found_by_what_it_says_where_no_class_names_it(row: str) -> None:
    places = ["Portland, OR", "Remote", "Berlin, Germany", "Oslo, Norway", "Austin, TX"]
    rows = "".join(row.format(n=100 + number, place=place) for number, place in enumerate(places))
    html = f"<html><body>{MENU}<table>{rows}</table>{FOOTER}</body></html>"
    if row.startswith("<li"):
        html = html.replace("table>", "ul>")
    assert [one["location"] for one in read(html, found(html))] == places


def test_a_column_without_places_is_no_place() -> None:
    row = "<tr><td><a href='/jobs/{n}-clerk'>Clerk of files {n}</a></td><td>{team}</td></tr>"
    teams = ["Data", "Sales", "Support", "Office", "Design"]
    rows = "".join(row.format(n=100 + number, team=team) for number, team in enumerate(teams))
    assert "location" not in found(f"<html><body><table>{rows}</table></body></html>")["fields"]


@pytest.mark.parametrize(
    "html",
    [
        "",
        f"<body>{MENU}{FOOTER}</body>",
        f"<body><ul>{LIST[: LIST.index('</li>') + 5]}</ul></body>",
        "<div class='menu'>" + LIST + "</div>",
        "<ul>" + "".join(f"<li><a href='/careers/teams/{n}'>Team {n}</a></li>" for n in range(9)) + "</ul>",
        "<ul>" + "".join(f"<li><a href='/blog/post-{n}'>On work {n}</a></li>" for n in range(9)) + "</ul>",
        "<ul>" + "".join(f"<li><a href='/jobs/{n}-x'>Apply now</a></li>" for n in range(9)) + "</ul>",
        "<ul>"
        + "".join(f"<li><a href='javascript:open(\"/jobs/{n}-x\")'>Clerk {n}</a></li>" for n in range(9))
        + "</ul>",
        "<ul>" + "<li><a href='/jobs/1-clerk'>Clerk</a></li>" * 9 + "</ul>",
    ],
)
def test_what_is_no_list_of_openings(html: str) -> None:
    assert selectors_of(html, URL) is None


@pytest.mark.parametrize(
    ("text", "title"),
    [("Show Producer", True), ("View job", False), ("Find out more", False), ("Mehr", False), ("Finder", True)],
)
def test_what_a_button_says_is_no_title(text: str, title: bool) -> None:
    assert is_title(text) is title


def test_two_openings_are_too_few_to_prove_anything() -> None:
    for name in ("html/icims_list.html", "html/jobvite_list.html", "html/careers_unknown_custom.html"):
        assert selectors_of(corpus_file(name).read_text(encoding="utf-8"), URL) is None


def longer(html: str, block: str, number: str) -> str:
    """A page of the corpus with its first opening ten times more."""
    first = re.search(block, html, re.DOTALL)
    assert first is not None
    more = "".join(
        first[0]
        .replace(number, f"9{n}{number}")
        .replace("Specialist", f"Specialist {n}")
        .replace("Manager,", f"Manager {n},")
        for n in range(10)
    )
    return html.replace(first[0], more + first[0])


def test_real_lists_made_longer() -> None:
    icims = longer(corpus_file("html/icims_list.html").read_text(encoding="utf-8"), r"<li class.*?</li>", "8214")
    rows = read(icims, found(icims))
    assert len(rows) == 12
    assert rows[-1]["title"] == "Payroll Support Specialist"
    assert "/jobs/8212/" in rows[-1]["url"]
    jobvite = longer(corpus_file("html/jobvite_list.html").read_text(encoding="utf-8"), r"<tr>.*?</tr>", "octxAfww")
    rows = read(jobvite, found(jobvite))
    assert len(rows) == 12
    assert rows[-1]["location"] == "Chicago, Illinois"


def test_many_links_and_elements_are_looked_at_in_time() -> None:
    links = "".join(f"<a href='https://other{n}.example/jobs/{n}-x'>Clerk {n}</a>" for n in range(100_000))
    selectors_of(links, URL)
    selectors_of("<div>" * 100_000 + LIST, URL)
    selectors_of(f"<ul>{LIST * 2_000}</ul>", URL)


@given(st.text(alphabet="<>/='\" abdhijlnoprstuv-1", max_size=300))
@example("<ul>" + "<li><a href='/jobs/1a'></a></li>" * 4)
@example("<p class='\"]'>" + "".join(f"<i class='\"] a:b'><a href='/jobs/{n}a'>Clerk {n}</a></i>" for n in range(5)))
def test_no_page_raises(html: str) -> None:
    selectors = selectors_of(html, URL)
    assert selectors is None or selectors["item"]
