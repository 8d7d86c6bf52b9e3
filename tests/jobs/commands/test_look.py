"""`look`: one opening judged, and forgotten unless it is to be kept."""

from __future__ import annotations

import json

import pytest

from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

URL = "https://boards.greenhouse.io/acme/jobs/77"
TEXT = "We look for a person who writes Python and TypeScript all day, and knows PostgreSQL and Docker. " * 5
POSTING = {
    "@context": "https://schema.org", "@type": "JobPosting", "title": "Senior Backend Engineer",
    "description": f"<p>{TEXT}</p>", "hiringOrganization": {"name": "Acme"}, "jobLocationType": "TELECOMMUTE",
    "applicantLocationRequirements": {"@type": "Country", "name": "US"},
}  # fmt: skip


@pytest.fixture
def opening(place: Place, world: World) -> World:
    """A web with one opening, and a database with the sample profile."""
    assert place.run("init", "--sample").exit_code == 0
    world.page(URL, f"<!doctype html><title>x</title><script type='application/ld+json'>{json.dumps(POSTING)}</script>")
    return world


def test_an_opening_is_judged_and_nothing_is_kept(place: Place, opening: World) -> None:
    result = place.run("look", URL)
    assert result.exit_code == 0, result.output
    assert "Senior Backend Engineer · Acme" in result.stdout
    assert "base" in result.stdout
    assert "it is not kept; --keep keeps it" in result.stdout
    assert place.run("why", URL).exit_code == 2
    assert place.told("look", URL)["listing"]["status"] in ("matched", "skipped")


def test_an_opening_is_kept_where_that_is_asked_for(place: Place, opening: World) -> None:
    seen = place.told("look", URL)
    kept = place.told("look", URL, "--keep")
    assert (kept["kept"], kept["listing"]["status"]) == (True, seen["listing"]["status"])
    assert kept["listing"]["score"] == seen["listing"]["score"]
    assert place.told("why", URL)["listing"]["listing_id"] == kept["listing"]["listing_id"]


def test_what_has_no_opening_says_so(place: Place, opening: World) -> None:
    opening.page("https://acme.example/jobs/1", "<!doctype html><p>Nothing.")
    result = place.run("look", "https://acme.example/jobs/1")
    assert result.exit_code == 2
    assert "could not be read" in result.stdout


@pytest.mark.parametrize("url", ["acme", "ftp://acme.example/1"])
def test_what_is_no_address_is_one_line(place: Place, url: str) -> None:
    assert "is not a valid address of an opening" in refusal(place.run("look", url))
    assert place.files() == set()


def test_without_a_database_it_says_what_makes_one(place: Place) -> None:
    assert "`ramet jobs init`" in refusal(place.run("look", URL))
