"""Fields that a page states: its infobox, and the coordinates of its subject. Pure, linear, and never raises."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ramet.wiki.wikitext.plain_text import GONE
from ramet.wiki.wikitext.templates import Arguments, arguments_of, template_name
from ramet.wiki.wikitext.words import coordinate_fields, is_infobox

FIELDS_MAX = 100
"""Most fields of an infobox that are kept, the first ones."""
NAME_LENGTH_MAX = 100
VALUE_LENGTH_MAX = 500
"""Most characters of a field's value in plain text; the rest is dropped."""
SOURCE_LENGTH_MAX = 4_000
"""Most characters of wikitext that a value is read from: a longer one is a table or a list, and is left out."""
INFOBOX_LENGTH_MAX = 200_000
"""Most characters of wikitext of an infobox that is read."""
_COORDINATES = (
    "coord",
    "coordinate",
    "coordinates",
    "coordonnées",
    "coordenadas",
    "koordynaty",
    "координаты",
    "koordinaten",
)
_BRACES = re.compile(r"\{{2,}|\}{2,}")
_NUMBER = re.compile(r"([-\u2212]?)([0-9]{1,3})([.,][0-9]{1,20})?")
_ANGLE_LENGTH_MAX = 60
_TOKEN = re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\|")


class Facts(NamedTuple):
    """Fields that a page states."""

    infobox: str = ""
    """JSON: `{"name": "Infobox settlement", "fields": {"population": "3,769,495"}}`; empty if there is none."""
    latitude: float | None = None
    """Degrees, north of the equator positive; None if the page states no place of its subject."""
    longitude: float | None = None
    """Degrees, east of Greenwich positive."""


class _Span(NamedTuple):
    start: int
    end: int


def facts_of(text: str, plain_value: Callable[[str], str]) -> Facts:
    """Return the facts of a page.

    Args:
        text: of the page without comments.
        plain_value: makes plain text of a value's wikitext.
    """
    box, places = None, []
    for span in sorted(_templates(text)):
        name = template_name(text[span.start : min(span.end, span.start + NAME_LENGTH_MAX)])
        if box is None and is_infobox(name) and span.end - span.start <= INFOBOX_LENGTH_MAX:
            box = span
        elif name in _COORDINATES and span.end - span.start <= SOURCE_LENGTH_MAX:
            places.append(span)
    parts = _split(text[box.start : box.end]) if box else []
    fields = dict(_fields(parts[1:]))
    place = _place(text, box, places) or _place_of_fields(fields)
    latitude, longitude = place or (None, None)
    return Facts(_as_json(parts[0], fields, plain_value) if fields else "", latitude, longitude)


def in_range(latitude: float, longitude: float) -> bool:
    """Return whether these degrees name a place on the earth."""
    return -90 <= latitude <= 90 and -180 <= longitude <= 180


def _templates(text: str) -> Iterator[_Span]:
    """Yield the insides of all templates: `}}` closes the last `{{` that is open, as in `markup.without_templates`."""
    opened: list[tuple[int, int]] = []
    for braces in _BRACES.finditer(text):
        at, count = braces.start(), len(braces[0])
        if braces[0][0] == "{":
            opened.append((braces.end(), count))
            continue
        while count >= 2 and opened:
            start, most = opened.pop()
            closed = min(count, most)
            if closed == 2:
                yield _Span(start, at)
            at, count = at + closed, count - closed
            if most - closed >= 2:
                opened.append((start - closed, most - closed))


def _split(content: str) -> list[str]:
    """Cut at each `|` that is in no link and in no template."""
    parts, at, opened = [], 0, 0
    for token in _TOKEN.finditer(content):
        if token[0][0] in "[{":
            opened += 1
        elif token[0][0] in "]}":
            opened = max(0, opened - 1)
        elif not opened:
            parts.append(content[at : token.start()])
            at = token.end()
    parts.append(content[at:])
    return parts


def _fields(parts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the names as written, and the wikitext, of the fields that have both."""
    for part in parts:
        name, equals, value = part.partition("=")
        name = " ".join(name.replace("_", " ").split())
        if equals and 0 < len(name) <= NAME_LENGTH_MAX and value.strip() and not _TOKEN.search(name):
            yield name, value.strip()


def _as_json(name: str, fields: Mapping[str, str], plain_value: Callable[[str], str]) -> str:
    shown: dict[str, str] = {}
    for field, value in fields.items():
        if len(shown) == FIELDS_MAX:
            break
        text = plain_value(value) if len(value) <= SOURCE_LENGTH_MAX else ""
        if text := " ".join(text.replace(GONE, "").split())[:VALUE_LENGTH_MAX].rstrip():
            shown[field.replace(GONE, "")] = text
    title = " ".join(name.replace("_", " ").replace(GONE, "").split())[:NAME_LENGTH_MAX]
    return json.dumps({"name": title, "fields": shown}, ensure_ascii=False) if shown else ""


def _place(text: str, box: _Span | None, places: list[_Span]) -> tuple[float, float] | None:
    """Return the place of the page's subject: one that is shown at the title, else one that the infobox has."""
    found = None
    for span in places:
        arguments = arguments_of(text[span.start : span.end])
        shown_at = arguments.named.get("display", "").casefold()
        of_title = "title" in shown_at or shown_at in ("t", "it", "ti") or bool(arguments.named.get("article"))
        inside = box is not None and box.start < span.start and span.end <= box.end
        if not (of_title or (inside and found is None)):
            continue
        place = _place_of(arguments)
        if place is not None and of_title:
            return place
        found = found or place
    return found


def _place_of(arguments: Arguments) -> tuple[float, float] | None:
    if "ns" in arguments.named:
        return _both(arguments.named["ns"], arguments.named.get("ew", ""), german=True)
    parts = []
    for part in arguments.unnamed:
        if ":" in part:
            break
        parts.append(part)
    letters = [number for number, part in enumerate(parts) if part in ("N", "S", "E", "W", "O")]
    if len(letters) >= 2:
        return _both(" ".join(parts[: letters[0] + 1]), " ".join(parts[letters[0] + 1 : letters[1] + 1]))
    return _both(parts[0], parts[1]) if len(parts) >= 2 and not letters else None


def _place_of_fields(fields: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the place that fields of an infobox state: one a direction, or degrees, minutes, seconds and letter."""
    known = {name.casefold(): value for name, value in fields.items()}
    for latitude, longitude in coordinate_fields():
        north, east = (
            " ".join(filter(None, (known.get(name, "") for name in names))) for names in (latitude, longitude)
        )
        if north and east and (place := _both(north, east)):
            return place
    return None


def _both(latitude: str, longitude: str, *, german: bool = False) -> tuple[float, float] | None:
    """Return two angles as degrees; `O` is east in German, west in the languages of the south."""
    north, east = _angle(latitude, "S"), _angle(longitude, "W" if german else "WO")
    if north is None or east is None or not in_range(north, east):
        return None
    return north, east


def _angle(text: str, negative: str) -> float | None:
    """Return an angle such as `52.5`, `-0.1`, `48/51/0/N` or `48 51 30 N` in degrees, to seven places."""
    if len(text) > _ANGLE_LENGTH_MAX:
        return None
    numbers = _NUMBER.findall(text)
    if not 1 <= len(numbers) <= 3:
        return None
    degrees = 0.0
    for part, (_, whole, decimals) in zip((1, 60, 3_600), numbers, strict=False):
        degrees += float(f"{whole}{decimals.replace(',', '.')}") / part
    letters = re.findall("[A-Z]", text.upper())
    below = numbers[0][0] != "" or bool(letters and letters[-1] in negative)
    return round(-degrees if below else degrees, 7)
