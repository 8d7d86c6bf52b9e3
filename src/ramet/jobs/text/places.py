"""Places of work, from a board's field of places. "or" is a word; "OR" is Oregon only in the position of a state."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ramet.jobs.posting import PlaceFields
from ramet.jobs.text import word_list

PLACES_MAX = 60
"""Most places of one listing."""
_CHARACTERS_MAX = 4_000
_NAME_CHARACTERS_MAX = 60

_HOW = re.compile(
    r"\b(?:(?:fully|100 ?%|partly|mostly|flexible|temporarily)[ -])?(?:remote(?:ly)?(?:[ -](?:first|eligible|friendly"
    r"|ok|based|only|work|job|position|within|in))?"
    r"|hybrid(?:[ -]remote)?|on[- ]?site|in[- ]office|in[- ]person|distributed|wfh|work from home|home[- ]?(?:office"
    r"|based)|telecommute|virtual"
    r"|job locations?|locations?|select locations|based|only|multiple|flexible|or surrounding area"
    r"|metro(?:politan)? area|(?<!bay )area|greater|headquarters|hq|field[- ]based"
    r"|office)\b",
    re.IGNORECASE,
)
_BETWEEN_PLACES = re.compile(r";|\|+|\n|•|\s/\s?|(?<=[A-Za-z)]{2})/(?=[A-Z][a-z]|[A-Z]{2}\b)|\s(?:or|and|&)\s")
_PARENTHESIS = re.compile(r"\(([^()]{0,200})\)")
_CLOSED = re.compile(r"\(([^(),]{2,40})\)\s?,")
"""``Dublin (Ireland), Munich (Germany)``: the country in brackets ends a place."""
_PIECES = re.compile(r",|\s[-\u2013—:]\s|\s?[:>]\s?|\s-|-\s")
_PUNCTUATION = " .-\u2013—,()[]*#/"
_CODE_OF_POST = re.compile(r"\s+\d{1,6}(?:-\d{4})?$")
_CAPITAL = re.compile(r"\bWashington,?\s*D\.?\s?C\b\.?", re.IGNORECASE)
_CODED = re.compile(r"([A-Z]{2,3})[-_ .,]{1,2}([A-Z]{2,3})[-_ .,]{1,2}([^,]{2,40})")
"""``US-OR-Portland``, ``USA.VA.Reston``, ``IN-KA-Bengaluru``: where the first is a country and the second its state."""
_BEFORE_NAME = re.compile(
    r"^(?:(?:anywhere|based|located|living|work(?:ing)?)\s)?(?:(?:with)?in|from|near|around|close to|across)\s"
    r"|^(?:the|any(?:where)?|all of|downtown|central|city of)\s(?!hague|woodlands|netherlands|bahamas|bronx|coast)"
    r"|^\d{1,3}\s?(?:miles?|mi|km|kilomet(?:er|re)s)\s(?:of|from)\s",
    re.IGNORECASE,
)
"""Words before the name of a place in a sentence: ``within 50 miles of Denver``, ``in the US``."""
_WITH_STATES = frozenset({"US", "CA", "AU"})
"""Countries whose codes of states follow a city without the country."""
_PEELED_MIN = 2
"""Words of a name that may have its country or state at its end without a comma."""
_WITH_CODE = re.compile(r"(.{2,40}) ([A-Z]{2})")
"""``Portland OR``."""
_GLUED = re.compile(r"(?<=[a-z])(?=US-|USA-)")
_QUARTER = re.compile(
    r" (?:CBD|city cent(?:re|er)|metropolitan area|metro area|region|area|HQ|headquarters)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place, as far as it is known."""

    city: str | None = None
    region: str | None = None
    """Code of a state or province (``OR``), else as written."""
    country: str | None = None
    """ISO 3166 code of two letters."""
    utc_offset: float | None = None
    """Hours, in winter."""


class _PlaceEntry(NamedTuple):
    country: str
    region: str | None
    utc_offset: float | None


@lru_cache(maxsize=1_024)
def places_of(text: str, country: str | None = None) -> tuple[Place, ...]:
    """Return the places that a field of a board names, in its order, each once. Remembered: a board names few.

    Words on how work is done ("Remote - US", "Portland, OR (Hybrid)") and parts of the world are not places.

    Args:
        text: as the board writes it.
        country: value of the board's own field of the country, for places that do not say theirs.
    """
    hint = country_code(country or "")
    text = _CAPITAL.sub("Washington DC", _GLUED.sub(" ", text[:_CHARACTERS_MAX]))
    text = _CLOSED.sub(lambda found: f"({found[1]});" if _is_larger(found[1]) else found[0], text)
    text = _PARENTHESIS.sub(
        lambda found: f", {found[1]}" if _PIECES.search(found[1]) is None else f"; {found[1]}", text
    )
    found: dict[Place, None] = {}
    for part in _BETWEEN_PLACES.split(text):
        found.update(dict.fromkeys(_nations(part) or filter(None, [_place(part, hint)])))
        if len(found) >= PLACES_MAX:
            break
    return _with_their_country(tuple(found)) if "/" in text and ";" not in text else tuple(found)


def _nations(part: str) -> list[Place]:
    """Return the countries of a part that names nothing else, two at least: ``Spain, Portugal, Poland``."""
    keys = [key for piece in _pieces(part) if (key := _key(piece)) not in _AREAS]
    if any(key not in _COUNTRIES or key in _REGIONS or key in _CITIES or len(key) < 4 for key in keys):
        return []
    codes = dict.fromkeys(_COUNTRIES[key].country for key in keys)
    return [place for code in codes if (place := _nation(code)) is not None] if len(codes) > 1 else []


def _with_their_country(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Give cities without a country that of the only one behind them: ``Zeist / Utrecht, Netherlands``."""
    named = {place.country: place for place in places if place.country is not None}
    if len(named) != 1 or places[-1].country is None:
        return places
    last = places[-1]
    return tuple(
        place if place.country is not None else Place(place.city, place.region, last.country, last.utc_offset)
        for place in places
    )


def _is_larger(name: str) -> bool:
    """Return whether a name is that of a country or a state."""
    key = _key(name)
    return key in _COUNTRIES or key in _REGIONS


def places_of_fields(fields: Iterable[PlaceFields], country: str | None = None) -> tuple[Place, ...]:
    """Return the places whose parts a board has in fields: each part is what its field says, and nothing else.

    Args:
        fields: in the board's order.
        country: what the board's own field of the country has, for places without one.
    """
    found = (_place_of_fields(one, country) for one in fields)
    return tuple(dict.fromkeys(place for place in found if place is not None))[:PLACES_MAX]


def _place_of_fields(fields: PlaceFields, country: str | None) -> Place | None:
    code = country_code(fields.country or country or "")
    city = without_arrangement(fields.city or "")
    if not city or _PIECES.search(city) or _BETWEEN_PLACES.search(city):
        # The field has more than a city, or nothing: the rest decides how it is read.
        text = ", ".join(filter(None, (city, without_arrangement(fields.region or ""), fields.country)))
        return next(iter(places_of(text, code)), None) or (_nation(code) if code else None)
    state = _state_of_field(fields.region or "", code)
    known = _CITIES.get(_key(city))
    if known is not None and (code not in {None, known.country} or (state and state.region != known.region)):
        known = None
    larger = state or known or _BY_CODE.get(code or "")
    region = state.region if state else known.region if known else (fields.region or "").strip() or None
    return Place(city, region, code or (larger.country if larger else None), larger.utc_offset if larger else None)


def _state_of_field(written: str, country: str | None) -> _PlaceEntry | None:
    """Return the state of a field of states: its code or its name, of this country where it is known."""
    candidates = _CODES.get(written.strip().upper(), ()) if len(written.strip()) <= 3 else ()
    named = _REGIONS.get(_key(written))
    return next((one for one in (*candidates, *([named] if named else [])) if country in {None, one.country}), None)


def _nation(code: str) -> Place | None:
    known = _BY_CODE.get(code)
    return Place(None, None, code, known.utc_offset if known else None)


def country_code(written: str) -> str | None:
    """Return the ISO 3166 code of a country that is written as a code of two or three letters, or as its name."""
    key = _key(without_arrangement(written)).removeprefix("the ")
    if len(key) == 2 and key.upper() in _BY_CODE:
        return key.upper()
    known = _COUNTRIES.get(key)
    return known.country if known is not None else None


def without_arrangement(text: str) -> str:
    """Return a text of a field of places without words on how work is done; empty: it only says that."""
    return " ".join(_HOW.sub(" ", text).split()).strip(_PUNCTUATION)


def is_wide(text: str) -> bool:
    """Return whether a field names nothing smaller than a country: "United States", "Americas", "Europe; Canada"."""
    parts = [piece for part in _BETWEEN_PLACES.split(text[:_CHARACTERS_MAX]) for piece in _pieces(part)]
    return bool(parts) and all(_key(piece) in _AREAS or _is_country(piece) for piece in parts)


def _is_country(piece: str) -> bool:
    places = places_of(piece)
    return len(places) == 1 and places[0].city is None and places[0].region is None


def is_at(place: Place, city: str, region: str) -> bool:
    """Return whether a place is this city of this state or country.

    A place that tells no state or country is not taken for it: there is a Portland in Oregon, Maine and Texas.

    Args:
        region: code or name of a state or country; empty: any.
    """
    if place.city is None or _key(place.city) != _key(city):
        return False
    if not region.strip():
        return True
    key = _key(region)
    if len(key) <= 3 and place.region is not None:
        return key == _key(place.region)
    known = _REGIONS.get(key)
    if known is not None and known.region is not None:
        return place.region == known.region and place.country in {known.country, None}
    country = _COUNTRIES.get(key)
    if country is not None:
        return place.country == country.country
    return place.region is not None and _key(place.region) == key


def _place(part: str, hint: str | None = None) -> Place | None:
    """Return one place of "City, State, Country", in either order."""
    coded = _CODED.fullmatch(part.strip())
    if coded is not None and any(one.country == country_code(coded[1]) for one in _CODES.get(coded[2], ())):
        part = f"{coded[3]}, {coded[2]}, {coded[1]}"
    pieces = [_without_quarter(piece) for piece in _pieces(part)]
    pieces = [piece for piece in pieces if _key(piece) not in _AREAS and len(piece) <= _NAME_CHARACTERS_MAX]
    cities = [known for piece in pieces if (known := _CITIES.get(_key(piece))) is not None]
    country, region, offset, rest = _larger(pieces, cities, hint)
    is_placed = country is not None
    city = next((piece for piece in rest if _may_be_city(piece, is_placed)), None)
    for piece in rest:
        known = _CITIES.get(_key(piece))
        if known is not None and country in {None, known.country} and region in {None, known.region}:
            return Place(piece, known.region, known.country, known.utc_offset)
    if city is None and region is None and country is None:
        return None
    if country is None and hint is not None:
        country, offset = hint, _BY_CODE[hint].utc_offset if hint in _BY_CODE else None
    return Place(city, region, country, offset)


def _without_quarter(piece: str) -> str:
    """Return the known city of which a name is a part or the surroundings: ``Sydney CBD``, ``Stuttgart Region``."""
    city = _QUARTER.sub("", piece)
    return city if _key(city) in _CITIES else piece


def _pieces(part: str) -> list[str]:
    """Return the pieces between commas and dashes, without words on how work is done."""
    pieces: list[str] = []
    for piece in _PIECES.split(_HOW.sub(" , ", part)):
        name = _CODE_OF_POST.sub("", piece.strip(_PUNCTUATION))
        while (shorter := _BEFORE_NAME.sub("", name)) != name:
            name = shorter
        coded = _WITH_CODE.fullmatch(name)
        if _key(name) in _CITIES:
            pieces.append(name)
        elif coded and coded[2] in _CODES:
            pieces += [coded[1], coded[2]]
        else:
            pieces += _peeled(name)
    return [piece for piece in pieces if piece]


def _peeled(name: str) -> list[str]:
    """Return a name that has its state or country at its end without a comma, in parts: ``Reno Nevada USA``."""
    words, larger = name.split(), list[str]()
    for known in (_COUNTRIES, _REGIONS):
        for count in range(min(4, len(words) - 1), 0, -1):
            if len(words) < _PEELED_MIN or _key(" ".join(words)) in known:
                break
            tail = " ".join(words[-count:])
            if len(tail) > 3 and _key(tail) in known and words[-count - 1].lower() not in ("of", "de", "new", "and"):
                larger.insert(0, tail)
                words = words[:-count]
                break
    return [" ".join(words), *larger]


def _larger(
    pieces: list[str], cities: list[_PlaceEntry], hint: str | None
) -> tuple[str | None, str | None, float | None, list[str]]:
    """Return the country and the state among the pieces, the offset of the smaller, and the pieces that are neither.

    They are at the end more often than not. A code that may be both is a state, unless there is a city that lies in the
    country (``Munich, DE``) or a state before it (``Toronto, ON, CA``).
    """
    country = region = None
    offset: float | None = None
    rest: list[str] = []
    for place, piece in reversed(list(enumerate(pieces))):
        key = _key(piece)
        state = _state(piece, key, country or _hinted(piece, hint), is_alone=len(pieces) == 1)
        nation = _BY_CODE.get(piece) if len(piece) == 2 and piece in _CODES else _COUNTRIES.get(key)
        if nation is not None and state is not None and country is None:
            before = _CODES.get(pieces[place - 1], ()) if place else ()
            is_nation = (
                hint == nation.country
                or any(city.country == nation.country != state.country for city in cities)
                or any(one.country == nation.country for one in before)
                or bool(len(key) <= 3 and place >= 2 and before)
            )
            state, nation = (None, nation) if is_nation else (state, None)
        if nation is not None and (state is None or country is None):
            if country is None:
                country, offset = nation.country, nation.utc_offset
        elif state is not None and not (place == 0 and len(pieces) > 1 and key in _CITIES):
            if region is None:
                region, country, offset = state.region, state.country, state.utc_offset
        else:
            rest.insert(0, piece)
    return country, region, offset, rest


def _hinted(piece: str, hint: str | None) -> str | None:
    """Return the country that a field names, where a piece is the code of a state of it."""
    return hint if any(one.country == hint for one in _CODES.get(piece, ())) else None


def _may_be_city(piece: str, is_placed: bool) -> bool:
    """Return whether a name that is not known may be a city's: no code, no number, no sentence."""
    if (len(piece) <= 3 and piece.isupper()) or piece.count(" ") > 4 or not (is_placed or piece[0].isupper()):
        return _key(piece) in _CITIES
    return not any(character.isdigit() for character in piece)


def _state(piece: str, key: str, country: str | None, *, is_alone: bool) -> _PlaceEntry | None:
    """Return the state or province that a piece names, where it can be one: a code in capitals and not alone."""
    if len(key) <= 3:
        if not piece.isupper() or is_alone:
            return None
        candidates = _CODES.get(piece, ())
        if country is None:
            # Elsewhere a code that may be a country is one: "HR" is Croatia before it is Haryana.
            return next((one for one in candidates if one.country in _WITH_STATES or piece not in _BY_CODE), None)
        return next((known for known in candidates if country == known.country), None)
    known = _REGIONS.get(key)
    return known if known is not None and country in {None, known.country} else None


def _key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _read(entries: Iterable[str]) -> dict[str, _PlaceEntry]:
    """Return what is known of each name. The file tells its format."""
    known: dict[str, _PlaceEntry] = {}
    for entry in entries:
        head, _, names = entry.partition(": ")
        country, *rest = head.split()
        offset = float(rest.pop()) if rest and rest[-1][-1].isdigit() else None
        region = rest[0] if rest and rest[0] != "-" else None
        for name in names.split("|"):
            known[name] = _PlaceEntry(country, region, offset)
    return known


_LISTS = word_list("places")
_COUNTRIES, _REGIONS, _CITIES = (_read(_LISTS[section]) for section in ("countries", "regions", "cities"))
_AREAS = frozenset(_LISTS["areas"])
"""Parts of the world and of countries, and all of it."""
_BY_CODE: dict[str, _PlaceEntry] = {}
for _known in _COUNTRIES.values():
    _BY_CODE.setdefault(_known.country, _known)
_COUNTRIES.update({code.lower(): known for code, known in _BY_CODE.items() if code != "IN"})
_CODES: dict[str, list[_PlaceEntry]] = {}
for _known in dict.fromkeys(_REGIONS.values()):
    if _known.region is not None:
        _CODES.setdefault(_known.region, []).append(_known)


def names_of_countries() -> dict[str, str]:
    """Return the country that each name in lower case means, without names that are a part of another country too."""
    return {name: known.country for name, known in _COUNTRIES.items() if name not in _REGIONS}


def names_of_regions() -> dict[str, tuple[str, str]]:
    """Return country and code of the state that each full name in lower case means, where it means one only."""
    return {
        name: (known.country, known.region)
        for name, known in _REGIONS.items()
        if known.region is not None
        and len(name) > 3
        and name not in _COUNTRIES
        and _CITIES.get(name, known)[:2] == known[:2]
    }


def region_code(written: str, country: str | None) -> str | None:
    """Return the code of a state of a country that is written as its code or its name; None: it is not known."""
    known = _state_of_field(written, country)
    return known.region if known is not None else None


def country_name(code: str) -> str:
    """Return the usual English name of a country by its ISO 3166 code; the code where it is not known."""
    name = next((name for name, known in _COUNTRIES.items() if known.country == code and len(name) > 3), code)
    return name if name == code else " ".join(w if w in {"and", "of", "the"} else w.capitalize() for w in name.split())
