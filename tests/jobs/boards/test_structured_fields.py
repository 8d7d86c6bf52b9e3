"""Fields that a board has apart stay apart: pay, its currency and period, parts of places, country, workplace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.jobs.boards.salary_text import pay_of
from ramet.jobs.posting import Pay, PlaceFields, Posting
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.text.salaries import Salary, salary_of
from tests.jobs.boards.sample_boards import board, read

LONG = "You cook for the harbour. " * 20


def posting(kind: str, row: dict[str, Any], wrap: str = "") -> Posting:
    (found,) = read(board(kind), json.dumps({wrap: [row]} if wrap else [row])).postings
    return found


def reading(kind: str, row: dict[str, Any], wrap: str = "") -> Reading:
    return read_posting(posting(kind, row, wrap))


def ashby(location: str, currency: str, low: float, high: float, interval: str = "1 YEAR") -> Reading:
    pay = {
        "compensationType": "Salary", "interval": interval, "currencyCode": currency, "minValue": low, "maxValue": high,
    }  # fmt: skip
    row = {
        "id": "1", "title": "Cook", "location": location, "isListed": True, "jobUrl": "https://a.example/1",
        "descriptionPlain": LONG, "compensation": {"summaryComponents": [pay]},
    }  # fmt: skip
    return reading("ashby", row, "jobs")


@pytest.mark.parametrize(
    ("location", "currency"),
    [
        ("Toronto, Ontario", "USD"), ("Sydney, Australia", "USD"), ("Singapore", "USD"), ("Mexico City, Mexico", "USD"),
        ("Austin, TX", "CAD"), ("Berlin, Germany", "GBP"), ("Zurich", "EUR"),
    ],
)  # fmt: skip
def test_the_currency_is_the_field_s_wherever_the_work_is(location: str, currency: str) -> None:
    assert ashby(location, currency, 150_000, 180_000).salary == Salary(150_000, 180_000, currency)


@pytest.mark.parametrize(
    ("interval", "low", "high", "yearly"),
    [
        ("1 HOUR", 45, 60.5, (93_600, 125_840)),
        ("1 MONTH", 9_000, 10_000, (108_000, 120_000)),
        ("1 WEEK", 900, 1_200, (46_800, 62_400)),
        ("1 DAY", 950, 1_050, (247_000, 273_000)),
        ("NONE", 90_000, 120_000, (90_000, 120_000)),
    ],
)
def test_the_period_is_the_field_s(interval: str, low: float, high: float, yearly: tuple[int, int]) -> None:
    assert ashby("Austin, TX", "USD", low, high, interval).salary == Salary(*yearly, "USD")


def test_money_of_any_currency_is_never_dollars() -> None:
    for code in ("PKR", "NGN", "ISK", "XYZ"):
        pay = Pay(minimum=4_000_000, maximum=6_000_000, currency=code, period="year")
        found = salary_of(None, "", "US", pay)
        assert found is None or found.currency == code


@pytest.mark.parametrize(
    ("pay", "country", "currency"),
    [
        (Pay(minimum=60_000, period="year"), "DE", "EUR"),
        (Pay(minimum=60_000, currency="$", period="year"), "CA", "CAD"),
        (Pay(minimum=60_000, currency="$", period="year"), "DE", "USD"),
        (Pay(minimum=60_000, currency="€", period="year"), "US", "EUR"),
        (Pay(minimum=60_000, period="year"), None, "USD"),
    ],
)
def test_only_a_currency_that_no_field_has_is_that_of_the_country(pay: Pay, country: str | None, currency: str) -> None:
    assert salary_of(None, "", country, pay) == Salary(60_000, None, currency)


def test_amounts_in_fields_are_not_looked_for_in_the_text() -> None:
    pay = Pay(minimum=90_000, maximum=100_000, currency="USD", period="year")
    assert salary_of("$1 - $2", "Salary: $200,000 - $300,000", "US", pay) == Salary(90_000, 100_000, "USD")
    none = Pay(minimum=1, maximum=2, currency="USD", period="year")
    assert salary_of("$1 - $2", "Salary: $200,000 - $300,000", "US", none) == Salary(200_000, 300_000, "USD")


@pytest.mark.parametrize(
    ("told", "pay"),
    [
        (("12,50", "15", "EUR", "HOUR"), Pay(minimum=12.5, maximum=15, currency="EUR", period="hour")),
        (("45.000,00", "60.000,00", "EUR", "YEAR"), Pay(minimum=45_000, maximum=60_000, currency="EUR", period="year")),
        (("45.000", "60.000", "EUR", "YEAR"), Pay(minimum=45_000, maximum=60_000, currency="EUR", period="year")),
        (("$120k", "$150k", "USD", ""), Pay(minimum=120_000, maximum=150_000, currency="USD")),
        (("15.125", "16.875", "usd", "hourly"), Pay(minimum=15.125, maximum=16.875, currency="USD", period="hour")),
        (("1234.5678", "", "USD", "P1M"), Pay(minimum=1234.5678, currency="USD", period="month")),
        (("12,00,000", "18,00,000", "INR", "ann"), Pay(minimum=1.2e6, maximum=1.8e6, currency="INR", period="year")),
        (("60000", "45000", "EUR", "m"), Pay(minimum=45_000, maximum=60_000, currency="EUR", period="month")),
        (("-5", "0", "EUR", "year"), None),
        (("competitive", "", "EUR", "year"), None),
    ],
)
def test_amounts_are_read_as_people_write_them(told: tuple[str, str, str, str], pay: Pay | None) -> None:
    assert pay_of(*told) == pay


def smartrecruiters(**location: object) -> Reading:
    row = {"id": "1", "name": "Cook", "company": {"identifier": "acme", "name": "Acme"}, "location": location}
    return reading("smartrecruiters", row, "content")


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ({"city": "Bengaluru", "region": "KA", "country": "in"}, ("Bengaluru", "KA", "IN")),
        ({"region": "KA", "country": "IN"}, (None, "KA", "IN")),
        ({"city": "Portland", "region": "IN", "country": "us"}, ("Portland", "IN", "US")),
        ({"city": "Fargau", "region": "SH", "country": "de"}, ("Fargau", "SH", "DE")),
        ({"city": "Newark", "region": "DE", "country": "us"}, ("Newark", "DE", "US")),
        ({"city": "Xville", "region": "CA", "country": "CAN"}, ("Xville", "CA", "CA")),
        ({"city": "Bayamon", "country": "pr"}, ("Bayamon", None, "PR")),
        ({"city": "Tbilisi", "country": "Georgia"}, ("Tbilisi", None, "GE")),
        ({"country": "Spain"}, (None, None, "ES")),
        ({"city": "Remote", "country": "pl"}, (None, None, "PL")),
    ],
)
def test_parts_of_a_place_are_what_their_fields_say(
    location: dict[str, str], place: tuple[str | None, str | None, str]
) -> None:
    (found,) = smartrecruiters(**location).places
    assert (found.city, found.region, found.country) == place


def test_the_country_of_a_field_is_that_of_places_that_do_not_say_theirs() -> None:
    row = {"id": "1", "text": "Cook", "hostedUrl": "https://a.example/1", "country": "IN"}
    found = reading("lever", {**row, "categories": {"location": "Sector 5, Kharagpur"}})
    assert found.places[0].country == "IN"
    assert reading("lever", {**row, "categories": {"location": "Paris, France"}}).places[0].country == "FR"


@pytest.mark.parametrize(
    ("name", "location", "arrangement"),
    [
        ("In-Office", "Seattle, WA", "onsite"), ("Hybrid", "Seattle, WA", "hybrid"), ("Remote", "Remote", "remote"),
        ("Onsite", "Seattle, WA", "onsite"), ("Hybrid - London", "Hybrid - London", "hybrid"),
    ],
)  # fmt: skip
def test_a_place_that_only_says_how_is_a_workplace(name: str, location: str, arrangement: str) -> None:
    row = {
        "id": 1, "title": "Cook", "absolute_url": "https://a.example/1", "content": LONG, "location": {"name": name},
        "offices": [{"name": "HQ", "location": "Seattle, WA"}],
    }  # fmt: skip
    found = posting("greenhouse", row, "jobs")
    assert (found.location, str(read_posting(found).arrangement)) == (location, arrangement)


def test_a_workplace_without_any_place_is_kept() -> None:
    row = {
        "id": 1,
        "title": "Cook",
        "absolute_url": "https://a.example/1",
        "location": {"name": "Hybrid"},
        "offices": [],
    }
    found = posting("greenhouse", row, "jobs")
    assert (found.location, found.places, found.workplace) == ("Hybrid", (), "hybrid")


def test_fields_survive_json() -> None:
    one = Posting(
        url="https://a.example/1", pay=Pay(minimum=1.5, period="hour"), places=(PlaceFields(city="Oslo"),), country="NO"
    )
    assert Posting.model_validate(json.loads(one.model_dump_json())) == one


@pytest.mark.parametrize(
    ("spans", "place"),
    [
        ("<span>Finance</span><span>Remote, United States</span>", "Remote, United States"),
        ("<span>Engineering</span><span>2 Locations</span>", "2 Locations"),
        ("<span>Boston, Massachusetts</span>", "Boston, Massachusetts"),
        ("Boston, Massachusetts", "Boston, Massachusetts"),
    ],
)
def test_a_place_beside_its_department(spans: str, place: str) -> None:
    item = (
        '<li><a href="/acme/job/oGhI2jKl"><div class="jv-job-list-name">Cook</div>'
        f'<div class="jv-job-list-location">{spans}</div></a></li>'
    )
    (found,) = read(board("jobvite"), f"<html><body><ul>{item}</ul></body></html>").postings
    assert (found.title, found.location) == ("Cook", place)
