"""How sure a finding is, and what makes two of them the same board."""

from __future__ import annotations

import pytest

from ramet.jobs.detection.findings import Confidence, DetectedBoard, confidence_of


def found(kind: str, token: str | None = "acme", **ids: str) -> DetectedBoard:
    confidence = confidence_of(kind, whole=token is not None)
    return DetectedBoard(kind, "https://board.example/acme", token, ids, confidence, "url")


@pytest.mark.parametrize(
    "kind",
    "greenhouse ashby rss recruitee smartrecruiters workable personio pinpoint breezy bamboohr teamtailor".split(),
)
def test_what_has_a_list_call_without_a_key_can_be_high(kind: str) -> None:
    assert found(kind).confidence is Confidence.HIGH
    assert found(kind).enable_confidence is Confidence.HIGH


def test_workday_is_looked_at_at_once_but_enabled_by_a_person() -> None:
    assert found("workday").confidence is Confidence.HIGH
    assert found("workday").enable_confidence is Confidence.MEDIUM


@pytest.mark.parametrize("kind", ["lever", "jobvite", "icims", "join"])
def test_what_needs_testing_is_medium(kind: str) -> None:
    assert found(kind).confidence is Confidence.MEDIUM
    assert found(kind).enable_confidence is Confidence.MEDIUM


@pytest.mark.parametrize("kind", ["generic", "jsonld", "a vendor of tomorrow"])
def test_pages_are_low(kind: str) -> None:
    assert found(kind).confidence is Confidence.LOW


def test_a_vendor_without_a_token_has_to_be_looked_for() -> None:
    assert found("greenhouse", None).confidence is Confidence.MEDIUM
    assert found("generic", None).confidence is Confidence.LOW


def test_a_board_is_the_same_however_it_is_spelt() -> None:
    assert found("ashby", "Red6").key == found("ashby", "red6").key
    assert found("ashby", "red6").key != found("lever", "red6").key
    assert found("ashby", None).key != found("ashby", "red6").key


def test_sites_of_one_workday_tenant_are_boards_of_their_own() -> None:
    one = found("workday", "acme", host="acme.wd5.myworkdayjobs.com", site="External")
    other = found("workday", "acme", host="acme.wd5.myworkdayjobs.com", site="Internal")
    assert one.key != other.key
