"""Every recorded list of the corpus, read by its vendor's row and held against what the manifest expects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

from ramet.jobs.boards.dates import parse_posted
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.reader import Page
from ramet.jobs.errors import WrongShape
from ramet.jobs.posting import Posting
from tests.jobs.boards.sample_boards import NOW, board, read
from tests.jobs.corpus import CORPUS, corpus_file

SITEMAP = Instruction.model_validate(
    {
        "type": "xml",
        "vendor": "sitemap",
        "url": "https://careers.initech.example/sitemap.xml",
        "base_url": "https://careers.initech.example/",
        "response_path": "urlset.url",
        "fields": {
            "url": {"path": "loc", "match": "^(.*/JobDetail/[^/]+/[0-9]+)$"},
            "title": {"path": "loc", "match": "/JobDetail/([^/]+)/[0-9]+$"},
            "external_id": {"path": "loc", "match": "/([0-9]+)$"},
        },
    }
)
PHENOM = Instruction.model_validate(
    {
        "type": "json",
        "vendor": "phenom",
        "url": "https://careers.acme.example/search-results?from=0",
        "base_url": "https://careers.acme.example/",
        "embedded": "phApp.ddo =",
        "response_path": "eagerLoadRefineSearch.data.jobs",
        "total_path": "eagerLoadRefineSearch.totalHits",
        "fields": {
            "external_id": "jobId",
            "title": "title",
            "url": {"template": "https://careers.acme.example/job/{jobId}"},
            "location": "location",
            "posted_at": "postedDate",
        },
        "paging": {"by": "offset", "parameter": "from", "size": 10},
    }
)
ROWS: Mapping[str, Instruction | tuple[str, dict[str, Any]]] = {
    "greenhouse": ("greenhouse", {}),
    "greenhouse_departments": ("greenhouse", {"response_path": "departments[].jobs[]"}),
    "lever": ("lever", {}),
    "ashby": ("ashby", {}),
    "recruitee": ("recruitee", {}),
    "smartrecruiters": ("smartrecruiters", {}),
    "workable": ("workable", {}),
    "workday": ("workday", {}),
    "personio": ("personio", {}),
    "teamtailor_jsonfeed": ("teamtailor", {}),
    "pinpoint": ("pinpoint", {}),
    "bamboohr": ("bamboohr", {}),
    "rippling": ("rippling_v1", {}),
    "eightfold": ("eightfold", {}),
    "oracle_hcm": ("oracle_hcm", {}),
    "icims_html": ("icims", {}),
    "jobvite_html": ("jobvite", {}),
    "xml_feed_google": ("rss", {}),
    "amazon_jobs": ("amazon", {"response_path": ""}),
    "rss": ("rss", {}),
    "sitemap": SITEMAP,
    "phenom_html": PHENOM,
}
"""By the manifest's kind, the row that reads it; an instruction where nobody but the test has that board."""
NO_LISTS = {"greenhouse_invalid_organization"}


def manifest() -> list[dict[str, Any]]:
    if not (CORPUS / "MANIFEST.json").is_file():
        return []
    entries: list[dict[str, Any]] = json.loads((CORPUS / "MANIFEST.json").read_text())["entries"]
    lists = [one for one in entries if one["file"].startswith("payloads/") or one["kind"] in ROWS]
    return [one for one in lists if one["kind"] not in NO_LISTS]


def page_of(entry: dict[str, Any]) -> Page:
    row = ROWS[entry["kind"]]
    instruction = row if isinstance(row, Instruction) else board(row[0], **row[1])
    return read(instruction, corpus_file(entry["file"]).read_bytes())


ENTRIES = manifest()
EXPECTED = [one for one in ENTRIES if one["expected"].get("jobs")]


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [one["file"].rpartition("/")[2] for one in entries]


@pytest.mark.parametrize("entry", EXPECTED, ids=ids(EXPECTED))
def test_every_listing_has_the_fields_that_the_manifest_expects(entry: dict[str, Any]) -> None:
    postings = {posting.external_id: posting for posting in page_of(entry).postings}
    expected = entry["expected"]["jobs"]
    assert set(postings) == {job["id"] for job in expected}
    for job in expected:
        assert wrong_fields(postings[job["id"]], job) == {}


def wrong_fields(posting: Posting, job: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Of a posting, what differs: what it is, and what is expected."""
    wrong: dict[str, tuple[Any, Any]] = {}

    def compare(name: str, got: Any, wanted: Any) -> None:
        if got != wanted:
            wrong[name] = (got, wanted)

    compare("title", posting.title, " ".join(job["title"].split()))
    if "url" in job:
        compare("url", posting.url, job["url"])
    if "path" in job:
        compare("path", posting.url.endswith(job["path"]), True)
    if "location" in job:
        compare("location", job["location"] in (posting.location or "").split("; "), True)
    if "company" in job:
        compare("company", posting.company, job["company"].strip() if job["company"] else None)
    if "posted_ms" in job:
        compare("posted", posting.posted_at, job["posted_ms"] / 1000)
    if "posted" in job or "posted_text" in job:
        compare("posted", posting.posted_at, parse_posted(job.get("posted", job.get("posted_text")), NOW))
    if "workplace" in job:
        compare("workplace", posting.workplace, job["workplace"])
    if "remote" in job:
        compare("remote", posting.extra["remote"], str(job["remote"]).lower())
    if job.get("salary", ...) is None:
        compare("salary", posting.salary, None)
    return wrong


LISTS: Mapping[str, tuple[str, str]] = {
    "teamtailor_jsonfeed": ("items", "title"),
    "pinpoint": ("data", "title"),
    "bamboohr": ("result", "jobOpeningName"),
    "rippling": ("", "name"),
    "eightfold": ("positions", "name"),
    "amazon_jobs": ("", "title"),
    "workday": ("jobPostings", "title"),
}
TITLES: Mapping[str, str] = {
    "xml_feed_google": r"<job>.*?<title>(.*?)</title>",
    "rss": r"<item>\s*<title><!\[CDATA\[(.*?)\]\]>",
    "icims_html": r"<h3>(.*?)</h3>",
    "jobvite_html": r"<a [^>]*>(.*?)</a>",
    "phenom_html": r'"title":"(.*?)"',
    "sitemap": r"<loc>[^<]*/JobDetail/([^/<]+)/\d+</loc>",
    "personio": r"<name>(.*?)</name>",
    "oracle_hcm": r'"Title": ?"(.*?)"',
    "greenhouse_departments": r'"title": ?"(.*?)"',
}


def titles_in(entry: dict[str, Any]) -> set[str]:
    """The titles of an answer, found without the product's code."""
    text = corpus_file(entry["file"]).read_text()
    if entry["kind"] in LISTS:
        path, name = LISTS[entry["kind"]]
        value = json.loads(text)
        return {" ".join(one[name].split()) for one in (value[path] if path else value)}
    return set(re.findall(TITLES[entry["kind"]], text, re.DOTALL))


OTHERS = [one for one in ENTRIES if one["kind"] in {*LISTS, *TITLES}]


@pytest.mark.parametrize("entry", OTHERS, ids=ids(OTHERS))
def test_every_listing_of_the_others_is_found(entry: dict[str, Any]) -> None:
    page = page_of(entry)
    assert {posting.title for posting in page.postings} == titles_in(entry) != set()
    assert all(posting.url.startswith("http") for posting in page.postings)
    assert len({posting.external_id for posting in page.postings} - {None}) == len(page.postings)


def test_every_list_of_the_corpus_is_read() -> None:
    corpus_file("MANIFEST.json")
    assert {one["kind"] for one in ENTRIES} <= set(ROWS)
    assert {one["file"] for one in ENTRIES} == {one["file"] for one in [*EXPECTED, *OTHERS]}
    assert len(ENTRIES) >= 23


def test_places_dates_and_more_of_the_feeds_without_expectations() -> None:
    jobs = {one.external_id: one for one in page_of(entry_of("xml_feed_google")).postings}
    root = ElementTree.fromstring(corpus_file("payloads/google_careers_feed.xml").read_text())
    for job in root.iter("job"):
        posting = jobs[job.findtext("jobid")]
        assert posting.url == job.findtext("url")
        assert posting.company == job.findtext("employer")
        assert posting.workplace == job.findtext("remote")
        assert posting.posted_at == parse_posted(job.findtext("published"), NOW)
        assert len((posting.location or "").split("; ")) == len(job.findall("locations/location"))
        assert len(posting.description) > 200
        assert "<" not in posting.description
    feed = page_of(entry_of("rss")).postings
    assert all(one.posted_at and one.detail_url == one.url for one in feed)
    assert {one.workplace for one in page_of(entry_of("pinpoint")).postings} == {"remote", "hybrid"}
    assert all(re.match(r"\$\d", one.salary or "") for one in page_of(entry_of("pinpoint")).postings)
    assert all(one.location and one.posted_at for one in page_of(entry_of("oracle_hcm")).postings)
    assert all(one.location and one.posted_at for one in page_of(entry_of("eightfold")).postings)
    assert all(one.location and len(one.description) > 300 for one in page_of(entry_of("amazon_jobs")).postings)


def entry_of(kind: str) -> dict[str, Any]:
    corpus_file("MANIFEST.json")
    return next(one for one in ENTRIES if one["kind"] == kind)


def test_texts_are_whole_and_plain() -> None:
    corpus_file("MANIFEST.json")
    for entry in EXPECTED:
        if entry["kind"] not in ("greenhouse", "lever", "ashby", "recruitee"):
            continue
        for posting in page_of(entry).postings:
            assert len(posting.description) > 2_000
            assert not re.search(r"<(p|div|li|ul|strong|br)\b|&(amp|nbsp|lt|gt|quot);", posting.description)


def test_the_error_of_an_unknown_board_is_no_list() -> None:
    body = corpus_file("payloads/greenhouse_404_invalid_board.txt").read_bytes()
    with pytest.raises(WrongShape, match="greenhouse acme: no list at 'jobs', but an object with error"):
        read(board("greenhouse"), body)
