"""The corpus' list of real board addresses: which kinds the address alone tells."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable

from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.findings import GUESSED
from ramet.jobs.detection.patterns import domain_of, patterns
from tests.jobs.corpus import corpus_file

DOMAINS = {pattern.domain: pattern.kind for those in patterns().values() for pattern in those}
UNLISTED = {"avature", "comeet", "dayforce", "eightfold", "jazzhr", "jibe", "paylocity", "phenom", "softgarden"}
"""Vendors that the list does not tell from pages of a company's own."""
Row = dict[str, str]


def rows() -> list[Row]:
    with corpus_file("urls/board_urls_dev.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def kind_of(row: Row) -> str | None:
    """What we say; a feed of Teamtailor's is on the list as a feed."""
    found = board_of_url(row["url"])
    kind = found.kind if found else None
    if row["kind"] == "generic" and kind in UNLISTED:
        return "generic"
    return "rss" if kind == "teamtailor" and row["kind"] == "rss" else kind


def kind_without_guesses(row: Row) -> str | None:
    found = board_of_url(row["url"])
    return "generic" if found and found.via == GUESSED else kind_of(row)


def share(of: list[Row], kind: Callable[[Row], str | None]) -> float:
    return sum(kind(row) == row["kind"] for row in of) / len(of)


def test_kinds_of_the_list() -> None:
    listed = rows()
    misses = [(row["kind"], kind_of(row), row["url"]) for row in listed if kind_of(row) != row["kind"]]
    # The rest are pages on companies' own domains: nothing in the address says whose they are.
    assert share(listed, kind_of) >= 0.96, misses
    no_feeds = [row for row in listed if row["kind"] != "rss"]
    assert share(no_feeds, kind_without_guesses) >= 0.97


def test_no_vendor_is_missed_on_its_own_domain() -> None:
    of_vendors = [row for row in rows() if domain_of(row["url"].split("/")[2]) in DOMAINS and row["kind"] != "generic"]
    assert len(of_vendors) > 500
    assert [row["url"] for row in of_vendors if kind_of(row) != row["kind"]] == []


def test_tokens_of_the_list() -> None:
    """The list was written by hand; where it has the name of a script's host, the script's is not the board's."""
    compared = 0
    for row in rows():
        found = board_of_url(row["url"])
        config = json.loads(row["config"] or "{}")
        token = config.get("token") or config.get("slug") or config.get("company")
        if found is None or found.via == GUESSED or found.kind != row["kind"] or token in (None, "careers-analytics"):
            continue
        compared += 1
        assert found.token is not None, row
        assert found.token.casefold() == token.casefold(), row
    assert compared > 400


def test_sites_of_the_list() -> None:
    """The list has some sites in another case than their address."""
    oracle = [row for row in rows() if "oraclecloud." in row["url"] and row["config"] != "{}"]
    assert len(oracle) > 5
    for row in oracle:
        found = board_of_url(row["url"])
        assert found is not None
        assert found.ids == json.loads(row["config"])
    workday = [row for row in rows() if "myworkday" in row["url"]]
    assert len(workday) > 80
    for row in workday:
        found = board_of_url(row["url"])
        assert found is not None
        assert found.ids["site"] in row["url"]
        config = json.loads(row["config"] or "{}")
        expected = {"tenant": config.get("company"), "instance": config.get("wd_instance")}
        assert {name: found.ids[name] for name, value in expected.items() if value} == {
            name: value for name, value in expected.items() if value
        }


def test_kinds_of_postings() -> None:
    """Real addresses of openings; no truth is recorded, but a company's own page is rare among them."""
    postings = json.loads(corpus_file("urls/job_urls_dev.json").read_text(encoding="utf-8"))
    kinds = Counter(found.kind if (found := board_of_url(posting["url"])) else None for posting in postings)
    assert kinds[None] == 0
    assert kinds["generic"] <= len(postings) * 0.05
