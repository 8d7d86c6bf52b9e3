"""`matches`, `export` and `why` show an opening once, with its places and its other addresses."""

from __future__ import annotations

import csv
import io
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.commands.conftest import Place

OWN = "https://boards.greenhouse.io/acme/jobs/1"
AGAIN = "https://boards.greenhouse.io/acme/jobs/2"
FEED = "https://weworkremotely.com/remote-jobs/acme-senior-python-engineer"
TEXT_HASH = 0x1234_5678_9ABC_DEF0
PLACES = {OWN: "Remote", AGAIN: "Toronto, Canada", FEED: "Anywhere in the World"}


def add(place: Place, urls: Sequence[str], **values: Any) -> None:
    for url in urls:
        place.add_match(url, 90, location=PLACES[url], text_hash=TEXT_HASH, source_id=url[:20], **values)


@pytest.mark.parametrize("order", list(itertools.permutations((OWN, AGAIN, FEED)))[::2])
def test_one_opening_is_one_match_of_the_best_source_with_all_places(place: Place, order: Sequence[str]) -> None:
    add(place, order)
    [one] = place.told("matches", "--keep-new")
    assert one["url"] == OWN
    assert one["places"] == ["Remote", "Toronto, Canada", "Anywhere in the World"]
    assert [other["url"] for other in one["others"]] == [AGAIN, FEED]
    shown = place.run("matches").stdout
    assert "Remote; Toronto, Canada; Anywhere in the World" in " ".join(shown.split())
    assert "1 match, 1 new" in shown
    assert "also " in shown


def test_export_has_one_row_with_places_and_other_addresses(place: Place) -> None:
    add(place, (FEED, OWN, AGAIN))
    [row] = csv.DictReader(io.StringIO(place.run("export", "csv").stdout, newline=""))
    assert (row["url"], row["also_at"]) == (OWN, f"{AGAIN}; {FEED}")
    assert row["location"] == "Remote; Toronto, Canada; Anywhere in the World"
    told = place.run("export", "markdown").stdout
    assert told.startswith("# 1 match\n")
    assert f"also <{FEED}>" in told


def test_why_names_the_other_listings_of_the_opening(place: Place) -> None:
    add(place, (FEED, OWN, AGAIN))
    told = place.told("why", OWN)["opening"]
    assert [other["url"] for other in told["others"]] == [AGAIN, FEED]
    shown = " ".join(place.run("why", FEED).stdout.split())
    assert f"shown as {OWN}" in shown
    assert f"same opening Toronto, Canada {AGAIN}" in shown


def test_a_duplicate_that_was_never_judged_is_named_too(place: Place) -> None:
    add(place, (OWN,))
    place.add_listing(FEED, status="skipped", same_as=OWN, location="Anywhere")
    [one] = place.told("matches", "--keep-new")
    assert one["places"] == ["Remote", "Anywhere"]
    assert one["others"][0]["url"] == FEED


def test_what_a_person_said_of_one_listing_holds_for_the_opening(place: Place) -> None:
    add(place, (AGAIN,))
    assert place.run("mark", AGAIN, "dismissed").exit_code == 0
    add(place, (OWN, FEED))
    assert place.told("matches") == []
    [one] = place.told("matches", "--all")
    assert (one["url"], one["status"]) == (OWN, "dismissed")


def test_an_open_listing_stands_before_a_closed_one(place: Place) -> None:
    add(place, (OWN,), closed_at=time.time())
    add(place, (FEED,))
    [one] = place.told("matches", "--closed", "--keep-new")
    assert (one["url"], one["closed_at"]) == (FEED, None)
    [one] = place.told("matches")
    assert (one["url"], one["others"]) == (FEED, [])


def test_what_is_not_known_of_the_place_is_told_beside_the_score(place: Place) -> None:
    unknown = {"category": "place", "reason": "it is not said from where one may work", "points": 0}
    known = {"category": "place", "reason": "may be done from France, by its place", "points": 5}
    place.add_match(OWN, 90, adjustments=[unknown])
    place.add_match(FEED, 80, adjustments=[known], title="Other")
    shown = place.run("matches").stdout
    assert "it is not said from where one may work" in shown
    assert "may be done from" not in shown


def test_a_cap_holds_for_the_score_of_today(place: Place) -> None:
    cap = {"category": "cap", "reason": "at most 84: hybrid work, wanted: remote", "points": 0, "cap": 84}
    place.add_match(OWN, 84, adjustments=[cap], posted_at=time.time())
    [one] = place.told("matches")
    assert one["score"] == 84
    assert place.told("why", OWN)["match"]["score_today"] == 84


def test_folding_needs_no_more_than_the_rows(place: Place) -> None:
    assert isinstance(place.folder, Path)
    place.add_match(OWN, 90, company=None)
    place.add_match(FEED, 80, company=None)
    assert [one["url"] for one in place.told("matches")] == [OWN, FEED]
