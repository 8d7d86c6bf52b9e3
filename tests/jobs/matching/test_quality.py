"""A listing's record is minimal, good or neither."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.matching.score import Quality, quality_of
from ramet.jobs.settings import ListingSettings

WHOLE: dict[str, Any] = {
    "url": "https://example.org/1",
    "title": "Engineer",
    "company": "Acme",
    "description": "x" * 101,
    "location": "Oslo",
    "posted_at": 0.0,
    "requirements": "Python",
}


def quality(other: dict[str, Any], settings: ListingSettings | None = None) -> Quality:
    return quality_of(**(WHOLE | other), settings=settings or ListingSettings())


def test_a_whole_record_is_good() -> None:
    assert quality({}) is Quality.GOOD


@pytest.mark.parametrize("field", ["location", "posted_at", "requirements"])
def test_without_place_date_or_requirements_it_is_minimal(field: str) -> None:
    assert quality({field: None}) is Quality.MINIMAL


@pytest.mark.parametrize("field", ["url", "title", "company", "description"])
@pytest.mark.parametrize("value", [None, "", " \n"])
def test_without_the_first_four_it_is_neither(field: str, value: str | None) -> None:
    assert quality({field: value}) is Quality.NONE


def test_a_description_has_to_be_longer_than_the_setting() -> None:
    assert quality({"description": "x" * 100}) is Quality.NONE
    assert quality({"description": "x" * 100}, ListingSettings(description_min=99)) is Quality.GOOD
