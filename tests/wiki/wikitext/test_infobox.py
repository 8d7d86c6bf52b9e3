"""An infobox is fields of plain text; the place of a page's subject is found in each of the forms that wikis use."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ramet.wiki.wikitext.infobox import FIELDS_MAX, INFOBOX_LENGTH_MAX, VALUE_LENGTH_MAX
from tests.wiki.wikitext.pages import article, wikitext
from tests.wiki.wikitext.sites import ENGLISH

BERLIN = """{{Short description|Capital}}
{{Infobox settlement
| name = Berlin
| native_name = {{lang|de|Land Berlin}}
| area_km2={{convert|891.7|km2}} <!-- measured -->
| mayor = [[Kai Wegner|Wegner]] ([[CDU]])<ref>a note with a | bar</ref>
| image = [[File:x.jpg|thumb|a view]]
| empty =
| unknown = {{no such template|x}}
| code = <nowiki>[[as written]]</nowiki>
| nested = {{plainlist|
* one | two
}}
| name = twice
}}
Berlin is a city. {{coord|1|N|2|E}}
"""


def fields(text: str, language: str = "") -> dict[str, str]:
    box = article(text, replace(ENGLISH, language=language)).infobox
    return dict(json.loads(box)["fields"]) if box else {}


def test_an_infobox_has_its_name_and_the_plain_text_of_its_fields() -> None:
    read = article(BERLIN)
    assert json.loads(read.infobox) == {
        "name": "Infobox settlement",
        "fields": {
            "name": "twice",
            "native name": "Land Berlin",
            "area km2": "891.7 km2",
            "mayor": "Wegner (CDU)",
            "image": "a view",
            "code": "[[as written]]",
            "nested": "one, two",
        },
    }
    assert read.text == "Berlin is a city. 1\u00b0N 2\u00b0E"
    assert (read.latitude, read.longitude) == (None, None)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "{{Infobox Ort in Deutschland\n|x = y\n}}"),
        ("fr", "{{Infobox Ville\n|x = y}}"),
        ("es", "{{Ficha de localidad|x=y}}"),
        ("it", "{{Divisione amministrativa\n|x=y\n}}"),
        ("pt", "{{Info/Assentamento\n|x=y\n}}"),
        ("ru", "{{\u041a\u0430\u0440\u0442\u043e\u0447\u043a\u0430 \u0433\u043e\u0440\u043e\u0434\u0430|x=y}}"),
        ("pl", "{{Miasto infobox|x=y}}"),
        ("ja", "{{\u57fa\u790e\u60c5\u5831 \u4f1a\u793e|x=y}}"),
        ("en", "{{Unclosed|{{Taxobox|x=y}}"),
    ],
)
def test_infoboxes_are_known_by_their_names_in_each_language(language: str, text: str) -> None:
    assert fields(f"{text}\nText.", language) == {"x": "y"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{{coord|52|31|12|N|13|24|18|E|display=title}}", (52.52, 13.405)),
        ("{{Coord|52.52|-13.405|type:city|display=inline,title}}", (52.52, -13.405)),
        ("{{coord|33.9|S|151.2|W|display=it}}", (-33.9, -151.2)),
        ("{{coord|1|N|2|E}} {{coord|3|30|N|4|E|display=title}}", (3.5, 4.0)),
        ("{{Infobox x|a=b|coordinates={{coord|40|N|20|O}}}}", (40.0, -20.0)),
        ("{{Coordinate|article=/|NS=52/31/12/N|EW=13/24/18/O}}", (52.52, 13.405)),
        (
            "{{Infobox x|lat_deg=52|lat_min=31|lat_sec=12|lat_NS=S|lon_deg=13|lon_min=24|lon_sec=18|lon_EW=W}}",
            (-52.52, -13.405),
        ),
        ("{{Infobox x|latd=10|latm=30|latNS=N|longd=20|longEW=E}}", (10.5, 20.0)),
        ("{{Infobox x|latitude=52,5|longitude=13\u00b0 24\u2032 E}}", (52.5, 13.4)),
        ("{{Infobox Ort|Breitengrad=48/30/0/N|L\u00e4ngengrad=16/15/0/E}}", (48.5, 16.25)),
        ("{{coord|1|N|2|E}}", (None, None)),
        ("{{coord|display=title}}", (None, None)),
        ("{{coord|91|N|2|E|display=title}}", (None, None)),
        ("{{coord|1|2|3|4|5|6|7|N|2|E|display=title}}", (None, None)),
        ("{{coord|nan|inf|display=title}}", (None, None)),
        ("{{Infobox x|latitude=" + "9" * 500 + "|longitude=1}}", (None, None)),
    ],
)
def test_the_place_of_the_subject(text: str, place: tuple[float | None, float | None]) -> None:
    read = article(f"{text}\nText.")
    assert (read.latitude, read.longitude) == place


def test_what_the_source_states_is_believed_before_the_text() -> None:
    page = wikitext("{{coord|1|N|2|E|display=title}} Text.", latitude=5.0, longitude=-6.5, wikidata="Q64")
    read = article(page)
    assert (read.latitude, read.longitude, read.wikidata) == (5.0, -6.5, "Q64")


def test_fields_are_bounded_in_number_and_size() -> None:
    many = "".join(f"|f{number}={'v' * 2_000}" for number in range(FIELDS_MAX + 20))
    found = fields(f"{{{{Infobox x{many}}}}}Text.", "en")
    assert (len(found), {len(value) for value in found.values()}) == (0, set())
    many = "".join(f"|f{number}={'v' * 1_000}" for number in range(FIELDS_MAX + 20))
    found = fields(f"{{{{Infobox x{many}}}}}Text.", "en")
    assert (len(found), {len(value) for value in found.values()}) == (FIELDS_MAX, {VALUE_LENGTH_MAX})


@pytest.mark.parametrize(
    "text",
    [
        "{{Infobox|" * 50_000,
        "{{Infobox x|a=" * 50_000 + "}}" * 50_000,
        "{{coord|" + "1|" * 200_000 + "display=title}}",
        "{{coord|1|N|2|E|display=title" * 30_000 + "}}" * 30_000,
        "{{Infobox x" + "|[[" * 200_000 + "}}",
        "{{Infobox x|a=" + "{" * 300_000 + "}" * 300_000 + "}}",
        "{{Infobox x|latitude=" + "1/" * 200_000 + "|longitude=1}}",
        "{{Infobox x|\x02=\x03|\x04=\x04}}",
    ],
)
def test_hostile_fields_cost_time_in_proportion_and_raise_nothing(text: str) -> None:
    read = article(f"Text. {text} Text.")
    assert len(read.infobox) < INFOBOX_LENGTH_MAX
    assert "\x02" not in read.infobox
