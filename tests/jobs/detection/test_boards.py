"""The boards that a page speaks of, best first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ramet.jobs.detection.boards import BOARDS_MAX, best_board, boards_in_page
from ramet.jobs.detection.findings import Confidence, DetectedBoard
from tests.jobs.corpus import corpus_file

URL = "https://www.acme.example/company"

EMBEDS = {
    "<iframe src='//boards.greenhouse.io/embed/job_board?for=acme'></iframe>": ("greenhouse", "acme", "iframe"),
    "<iframe data-src='https://acme.bamboohr.com/jobs/embed2.php'></iframe>": ("bamboohr", "acme", "iframe"),
    "<div id='grnhse_app'></div><script src='https://boards.greenhouse.io/embed/job_board/js?for=acme'></script>": (
        "greenhouse",
        "acme",
        "script",
    ),
    "<div id='ashby_embed'></div><script src='https://jobs.ashbyhq.com/acme/embed?version=2'></script>": (
        "ashby",
        "acme",
        "script",
    ),
    "<div id='BambooHR' data-domain='acme.bamboohr.com'></div>": ("bamboohr", "acme", "script"),
    "<div class='jobs' data-lever-company='acme'></div>": ("lever", "acme", "script"),
    "<script>window.leverJobsOptions = {accountName: 'acme', includeCss: true};</script>": ("lever", "acme", "script"),
    '<script>widget({"company_code": "Acme1", "group_by": ""});</script>': ("smartrecruiters", "Acme1", "script"),
    "<script>const boardToken = 'acme';</script>": ("greenhouse", "acme", "script"),
    "<script>fetch('https://api.lever.co/v0/postings/acme?mode=json')</script>": ("lever", "acme", "script"),
    '<script>{"u":"https:\\/\\/acme.wd5.myworkdayjobs.com\\/en-US\\/Ext\\/job\\/1"}</script>': (
        "workday",
        "acme",
        "script",
    ),
    "<script>CX = {apiBaseUrl: 'https://abcd.fa.ocs.oraclecloud.com', siteNumber: 'CX_1'}</script>": (
        "oracle_hcm",
        "abcd",
        "script",
    ),
    "<script>whr(document).ready(function(){whr_embed(418020, {detail: 'titles'});});</script>": (
        "workable",
        "418020",
        "script",
    ),
    "<script src='https://acme.breezy.hr/embed/js?inline=true'></script>": ("breezy", "acme", "script"),
    "<a href='https://jobs.lever.co/acme'>Jobs</a>": ("lever", "acme", "link"),
    "<form action='https://apply.workable.com/acme/'></form>": ("workable", "acme", "link"),
}


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>Acme</title>{head}</head><body>{body}</body></html>"


def boards(body: str, head: str = "", url: str = URL) -> list[DetectedBoard]:
    return boards_in_page(page(body, head), url)


def named(found: DetectedBoard) -> tuple[str, str | None, str]:
    return found.kind, found.token, found.via


@pytest.mark.parametrize("body", EMBEDS)
def test_what_vendors_give_companies_to_put_into_their_pages(body: str) -> None:
    assert [named(found) for found in boards(body)] == [EMBEDS[body]]


def careers_pages() -> list[dict[str, Any]]:
    manifest = json.loads(corpus_file("MANIFEST.json").read_text(encoding="utf-8"))
    return [entry for entry in manifest["entries"] if entry["kind"] == "careers_page_embed"]


def test_every_careers_page_of_the_corpus() -> None:
    assert len(careers_pages()) == 7
    for entry in careers_pages():
        html = corpus_file(entry["file"]).read_text(encoding="utf-8")
        found = boards_in_page(html, "https://www.acme.example/careers")[0]
        assert found.kind == entry["expected"]["board_kind"], entry["file"]
        assert found.token == entry["expected"].get("board_token", found.token)
        assert (found.token is None) == (found.kind == "generic")


def test_the_best_comes_first_and_each_board_once() -> None:
    html = """
      <a href='https://jobs.lever.co/other/1'>x</a>
      <a href='https://jobs.ashbyhq.com/acme/1'>x</a><a href='https://jobs.ashbyhq.com/Acme/2'>x</a>
      <iframe src='https://acme.recruitee.com/'></iframe><a href='https://acme.recruitee.com/o/clerk'>x</a>
    """
    assert [named(found) for found in boards(html)] == [
        ("recruitee", "acme", "iframe"),
        ("ashby", "acme", "link"),
        ("lever", "other", "link"),
    ]


def test_a_board_that_the_page_loads_without_naming_it_is_the_pages() -> None:
    (found,) = boards("<div id='grnhse_app'></div>")
    assert (found.kind, found.token, found.url, found.confidence) == ("greenhouse", None, URL, Confidence.MEDIUM)
    (found,) = boards("<a href='/jobs/?gh_jid=1'>Clerk</a><a href='/jobs/?gh_jid=2'>Cook</a>")[:1]
    assert (found.kind, found.token, found.url) == ("greenhouse", None, URL)


def test_a_name_makes_findings_without_one_superfluous() -> None:
    html = "<div id='grnhse_app'></div><a href='?gh_jid=1'>x</a><script>x='//boards.greenhouse.io/acme'</script>"
    assert [named(found) for found in boards(html)] == [("greenhouse", "acme", "script")]


@pytest.mark.parametrize(
    ("head", "kind", "url"),
    [
        ("<script src='https://scripts.teamtailor-cdn.com/packs/x.js'></script>", "teamtailor", URL),
        ("<script src='https://careers-analytics.recruitee.com/x.js'></script>", "recruitee", URL),
        ("<script src='/platform/js/j2w/min/x.js'></script>", "rss", "https://www.acme.example/googlefeed.xml"),
        ("<meta property='og:image' content='https://careers.recruiteecdn.com/image/x.png'>", "recruitee", URL),
        ("<script src='https://assets.cdn.personio.de/jobs/v2/x.js'></script>", "personio", URL),
        ("<link href='//rmkcdn.successfactors.com/1/x.css'>", "rss", "https://www.acme.example/googlefeed.xml"),
    ],
)
def test_a_site_that_a_vendor_made_on_the_companys_domain(head: str, kind: str, url: str) -> None:
    (found,) = boards("", head)[:1]
    assert (found.kind, found.url, found.confidence) == (kind, url, Confidence.MEDIUM)
    assert found.ids == ({} if kind == "rss" else {"host": "www.acme.example"})


def test_a_widget_on_a_site_that_the_vendor_did_not_make() -> None:
    for source in (
        "https://scripts.teamtailor-cdn.com/widgets/eu/jobs.js",
        "https://jobs-widget.recruiteecdn.com/x.js",
    ):
        assert boards("", f"<script src='{source}'></script>") == []


def test_a_site_of_oracles_says_its_number_itself() -> None:
    base = "<base href='/en/sites/acme' data-apibaseurl='https://ab.fa.ocs.oraclecloud.com:443' data-sitenumber='CX_7'>"
    (found,) = boards("", base, "https://careers.acme.example/en/sites/acme/jobs")
    assert found.ids == {"host": "ab.fa.ocs.oraclecloud.com", "site": "CX_7"}
    assert found.confidence is Confidence.HIGH


def test_feeds_of_openings_and_not_of_news() -> None:
    head = """<link rel='alternate' type='application/rss+xml' title='Acme News' href='/feed/'>
      <link rel='alternate' type='application/rss+xml' title='Acme: open positions' href='/f/7'>"""
    found = boards("<a href='/blog/feed/'>RSS</a>", head)
    assert [(one.kind, one.url, one.via) for one in found[:1]] == [("rss", "https://www.acme.example/f/7", "feed")]
    assert len([one for one in found if one.kind == "rss"]) == 1


def test_openings_in_the_page_itself() -> None:
    posting = json.dumps({"@type": "JobPosting", "title": "Clerk"})
    body = f"<script type='application/ld+json'>{posting}</script>"
    assert [named(found) for found in boards(body)] == [("jsonld", None, "jsonld")]
    listed = "".join(f"<li><a href='/jobs/{n}-clerk'>Clerk {n}</a></li>" for n in range(4))
    (found,) = boards(f"<ul class='openings'>{listed}</ul>")
    assert named(found) == ("generic", None, "selectors")
    assert json.loads(found.ids["selectors"])["item"]
    assert found.confidence is Confidence.LOW


def test_openings_in_the_scripts_of_a_page() -> None:
    listed = ",".join(f"{{title: 'Clerk {n}', url: '/jobs/{n}-clerk', text: '{'x' * 80}'}}" for n in range(4))
    (found,) = boards(f"<script>app.openings = [{listed}];</script>")
    assert named(found) == ("generic", None, "selectors")
    assert json.loads(found.ids["embedded"])["fields"] == {"title": "title", "url": "url"}


def test_the_best_of_several_pages() -> None:
    home = boards("<a href='/careers'>Careers</a><a href='https://jobs.ashbyhq.com/investor'>x</a>")
    careers = boards("<a href='https://jobs.lever.co/acme'>x</a><a href='https://jobs.ashbyhq.com/acme-inc'>x</a>")
    found = home + careers
    assert best_board(found, "Acme Inc.") == next(one for one in found if one.token == "acme-inc")
    assert best_board(found, "Nobody") == next(one for one in found if one.token == "investor")
    embedded = boards("<iframe src='https://jobs.ashbyhq.com/other'></iframe>")
    assert best_board(found + embedded) == embedded[0]
    assert best_board([]) is None


def test_a_home_page_leads_to_the_careers_pages_of_the_same_company() -> None:
    body = """<a href='/about'>About</a><a href='/team/#x'>Careers</a><a href='https://careers.acme.example/jobs'>Jobs</a>
      <a href='https://elsewhere.example/careers'>Careers</a><a href='/jobs/4711-clerk'>Clerk</a>
      <a href='mailto:jobs@acme.example'>Jobs</a><a href='javascript:jobs()'>Jobs</a>"""
    found = boards_in_page(page(body), "https://www.acme.example/")
    assert {one.url for one in found} == {"https://www.acme.example/team/", "https://careers.acme.example/jobs"}
    assert {(one.kind, one.via) for one in found} == {("generic", "link")}


def test_pages_that_speak_of_no_board() -> None:
    for body in ("", "<a href='https://www.greenhouse.io/?utm=x'>Powered by Greenhouse</a>", "<p>lever.co</p>"):
        assert boards(body) == []
    assert boards_in_page("<a href='https://jobs.lever.co/acme'>x</a>", "javascript:x") == []


def test_a_base_moves_links_but_not_off_the_web() -> None:
    (found,) = boards("<a href='acme'>Jobs</a>", "<base href='https://jobs.lever.co/'>")
    assert named(found) == ("lever", "acme", "link")
    assert boards("<a href='acme'>x</a>", "<base href='javascript:x'>") == []


HOSTILE = {
    "links": "".join(f"<a href='https://b{n}.recruitee.com/'>x</a>" for n in range(100_000)),
    "nested": "<div>" * 100_000 + "<a href='https://jobs.lever.co/acme'>x</a>",
    "one link": "<a href='https://jobs.lever.co/acme'>x</a>" * 100_000,
    "scripts": "<script>'https://jobs.lever.co/acme'</script>" * 20_000,
    "one script": "<script>" + "lever.co " * 300_000 + "</script>",
    "script of labels": "<script>" + "a." * 1_000_000 + "lever.co/</script>",
    "jsonld": "<script type='application/ld+json'>" + '{"a":' * 50_000 + "</script>",
    "words": "<script>" + "boardToken = leverJobsOptions =" * 60_000 + "</script>",
    "oracle": "<script>" + "apiBaseUrl: 'https://a.oraclecloud.com'" * 40_000 + "</script>",
    "objects": "<script>" + "a={title:[" * 100_000 + "</script>",
    "lists": "<script>" + "".join(f"a{n}=[{{title: 1, 'x': [[1]]}}];" for n in range(50_000)) + "</script>",
    "texts": "<script>title:'" + "b=['\\\"" * 200_000 + "</script>",
    "attributes": "<a " + "href=x " * 100_000 + ">x</a>",
    "five megabytes": "<p>jobs careers openings " * 250_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_read_to_an_end(name: str) -> None:
    found = boards_in_page(HOSTILE[name], URL)
    assert len(found) <= BOARDS_MAX
    assert all(one.url.startswith("https://") for one in found)


@pytest.mark.parametrize("scheme", ["javascript:", "data:text/html,", "vbscript:", "file:///", "JaVaScRiPt:"])
def test_an_address_of_another_scheme_is_never_given_back(scheme: str) -> None:
    html = "".join(
        f"<{tag} {name}='{scheme}//jobs.lever.co/acme'></{tag}>"
        for tag, name in (("a", "href"), ("iframe", "src"), ("script", "src"), ("form", "action"), ("base", "href"))
    )
    assert boards(html) == []


@given(st.text(alphabet="<>/='\" abefhijlmoprstuvc.:?&-1{}[]\\", max_size=400))
@example("<base href='http://['><a href='//['>jobs</a><iframe src='https://[::1]/'></iframe>")
@example("<div id=BambooHR data-domain='[.'></div><div data-lever-company='..'></div>")
def test_no_page_raises(html: str) -> None:
    for found in boards_in_page(html, URL):
        assert found.url.startswith(("https://", "http://"))
