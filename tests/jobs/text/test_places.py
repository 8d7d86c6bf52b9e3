"""Places of boards: which part is the city, which the state; Portland in Oregon and the others."""

from __future__ import annotations

import pytest

from ramet.jobs.text.places import Place, is_at, places_of


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Portland, OR (Hybrid)", Place("Portland", "OR", "US", -8)),
        ("Portland, Oregon, United States", Place("Portland", "OR", "US", -8)),
        ("US-OR-Portland", Place("Portland", "OR", "US", -8)),
        ("USA, OR, Portland", Place("Portland", "OR", "US", -8)),
        ("USA OR Portland", Place("Portland", "OR", "US", -8)),
        ("Remote/Portland OR", Place("Portland", "OR", "US", -8)),
        ("Greater Portland Area, OR", Place("Portland", "OR", "US", -8)),
        ("USA VA Falls Church", Place("Falls Church", "VA", "US", -5)),
        ("Dublin 2, Ireland", Place("Dublin", None, "IE", 0)),
        ("Remote in Poland", Place(None, None, "PL", 1)),
        ("SF Bay Area", Place("SF Bay Area", "CA", "US", -8)),
        ("Portland, OR 97201", Place("Portland", "OR", "US", -8)),
        ("Portland, ME", Place("Portland", "ME", "US", -5)),
        ("Portland", Place("Portland", None, None, None)),
        ("Toronto, ON, CA", Place("Toronto", "ON", "CA", -5)),
        ("Munich, DE", Place("Munich", None, "DE", 1)),
        ("Wilmington, DE", Place("Wilmington", "DE", "US", -5)),
        ("Indianapolis, IN", Place("Indianapolis", "IN", "US", -5)),
        ("London, Ontario", Place("London", "ON", "CA", -5)),
        ("London, UK", Place("London", None, "GB", 0)),
        ("Tbilisi, Georgia", Place("Tbilisi", None, "GE", 4)),
        ("Georgia - Atlanta", Place("Atlanta", "GA", "US", -5)),
        ("Washington, D.C.", Place("Washington DC", "DC", "US", -5)),
        ("Remote - California", Place(None, "CA", "US", -8)),
        ("Remote (US)", Place(None, None, "US", None)),
        ("Job LocationsUS-Remote", Place(None, None, "US", None)),
        ("Bengaluru", Place("Bengaluru", "KA", "IN", 5.5)),
        ("Perth, WA, Australia", Place("Perth", "WA", "AU", 8)),
    ],
)
def test_one_place(text: str, place: Place) -> None:
    assert places_of(text) == (place,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Remote",
        "Anywhere in the World",
        "Hybrid",
        "EMEA",
        "Any Location / Remote",
        ",;-",
        "3 Locations",
        "Multiple Locations",
    ],
)
def test_no_place(text: str) -> None:
    assert places_of(text) == ()


def test_several_places() -> None:
    places = places_of("Los Angeles, CA | Miami & Tampa, FL; Remote, US; Los Angeles, CA")
    assert [(place.city, place.region) for place in places] == [
        ("Los Angeles", "CA"),
        ("Miami", "FL"),
        ("Tampa", "FL"),
        (None, None),
    ]


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("Portland, OR", True),
        ("portland, Oregon", True),
        ("Portland, ME", False),
        ("Portland, TX", False),
        ("Portland", False),
        ("Portland or Austin, TX", False),
        ("Austin or Portland, Texas", False),
        ("Salem, OR", False),
    ],
)
def test_or_is_a_word_and_oregon_a_state(text: str, is_there: bool) -> None:
    assert any(is_at(place, "Portland", "OR") for place in places_of(text)) is is_there
    assert any(is_at(place, "portland", "Oregon") for place in places_of(text)) is is_there


def test_at_a_city_of_a_country() -> None:
    (berlin,) = places_of("Berlin, Germany")
    assert is_at(berlin, "Berlin", "Germany")
    assert is_at(berlin, "Berlin", "")
    assert not is_at(berlin, "Berlin", "Austria")
    (lyon,) = places_of("Lyon, Rhône")
    assert not is_at(lyon, "Paris", "")
