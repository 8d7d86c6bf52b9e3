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
        ("KA, IN", Place(None, "KA", "IN", 5.5)),
        ("Chennai, TN, IN", Place("Chennai", "TN", "IN", 5.5)),
        ("IN-KA-Bengaluru", Place("Bengaluru", "KA", "IN", 5.5)),
        ("USA.TX.Austin", Place("Austin", "TX", "US", -6)),
        ("CAN.ON.Ottawa", Place("Ottawa", "ON", "CA", -5)),
        ("the Netherlands", Place(None, None, "NL", 1)),
        ("The Hague, the Netherlands", Place("The Hague", None, "NL", 1)),
        ("Remote in the United States", Place(None, None, "US", None)),
        ("within 50 miles of Denver", Place("Denver", "CO", "US", -7)),
        ("Reno Nevada United States", Place("Reno", "NV", "US", -8)),
        ("San Jose Costa Rica", Place("San Jose", None, "CR", -6)),
        ("Port of Spain", Place("Port of Spain", None, "TT", -4)),
        ("Bayamon, PR", Place("Bayamon", None, "PR", -4)),
        ("Sao Luis, BR", Place("Sao Luis", None, "BR", -3)),
        ("Zagreb, HR", Place("Zagreb", None, "HR", 1)),
        ("Ho Chi Minh", Place("Ho Chi Minh", None, "VN", 7)),
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


@pytest.mark.parametrize(
    ("text", "countries"),
    [
        ("London/Paris", ["GB", "FR"]),
        ("Vancouver, WA/Portland, OR", ["US", "US"]),
        ("Oslo or Bergen", ["NO", "NO"]),
        ("Hybrid/Remote", []),
        ("Berlin / Munich / Remote", ["DE", "DE"]),
    ],
)
def test_places_side_by_side(text: str, countries: list[str]) -> None:
    assert [place.country for place in places_of(text)] == countries


def test_a_country_of_a_field_decides_what_a_code_means() -> None:
    assert places_of("Gaya, BR", "IN")[0].country == "IN"
    assert places_of("Salem, IN", "India")[0].country == "IN"
    assert places_of("Salem, IN", "US")[0].country == "US"
    assert places_of("Lonely Village", "NOR") == (Place("Lonely Village", None, "NO", 1),)


def test_a_country_in_brackets_ends_a_place() -> None:
    found = places_of("Turin (Italy), Cork (Ireland), Lyon (France), or Didcot (UK)")
    assert [(place.city, place.country) for place in found] == [
        ("Turin", "IT"), ("Cork", "IE"), ("Lyon", "FR"), ("Didcot", "GB"),
    ]  # fmt: skip
    assert [place.city for place in places_of("Austin (Texas), Denver (Colorado)")] == ["Austin", "Denver"]
