"""The corpus' pages of openings, against what its manifest says of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from ramet.jobs.boards.dates import parse_posted
from ramet.jobs.detection.postings import jsonld_postings, posting_of_page
from ramet.jobs.posting import Posting
from tests.jobs.corpus import corpus_file

NOW = datetime(2026, 11, 22, tzinfo=UTC).timestamp()
URL = "https://careers.acme.example/jobs/7"
JOB_PAGES = {"job_page_html", "jobposting_microdata", "jobposting_jsonld"}


def entries(*kinds: str) -> list[dict[str, Any]]:
    manifest = json.loads(corpus_file("MANIFEST.json").read_text(encoding="utf-8"))
    return [entry for entry in manifest["entries"] if entry["kind"] in kinds]


def page(name: str) -> str:
    return corpus_file(name).read_text(encoding="utf-8")


def posting(name: str) -> Posting:
    return posting_of_page(page(name), URL, NOW)


def test_every_page_of_an_opening_has_what_the_manifest_says() -> None:
    of_openings = entries(*JOB_PAGES)
    assert {entry["kind"] for entry in of_openings} == JOB_PAGES
    for entry in of_openings:
        found = posting(entry["file"])
        expected = entry["expected"]
        assert found.title, entry["file"]
        assert found.title == expected.get("title", found.title)
        assert found.title.startswith(expected.get("title_prefix", ""))
        assert len(found.description) > 400, entry["file"]
        if "posted_text" in expected:
            assert found.posted_at == parse_posted(expected["posted_text"], NOW)
        if expected.get("ld_json_valid") == 0:
            assert jsonld_postings(page(entry["file"]), URL, NOW) == []


def test_a_real_page_with_jsonld() -> None:
    found = posting("html/jsonld_meta_software_engineer.html")
    assert (found.company, found.company_website) == ("Meta", "https://www.meta.com/")
    assert found.location is not None
    assert found.location.startswith("Sunnyvale, CA; Bellevue, WA; ")
    assert found.posted_at == datetime(2025, 6, 10, 20, 7, 44, tzinfo=UTC).timestamp()
    assert "Responsibilities\n" in found.description


def test_a_real_page_with_microdata() -> None:
    found = posting("html/smartrecruiters_posting_microdata.html")
    assert (found.company, found.workplace, found.employment_type) == ("Initech", "remote", "full-time")
    assert found.location == "Santa Clara, California, United States"
    assert found.description.count("Node.js") == 1


def test_real_pages_with_labels_only() -> None:
    shop = posting("html/talentclue_decathlon.html")
    assert (shop.location, shop.workplace) == ("Albacete (España)", "onsite")
    assert shop.description.startswith("DECATHLON\nSomos una marca")
    assert "gtm" not in shop.description
    loans = posting("html/peoplestrong_bajaj.html")
    assert loans.location == "Amritsar, PUNJAB, India"
    assert "Posted On 08 May 2026" in loans.description
