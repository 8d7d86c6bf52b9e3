"""When something was posted, from the forms in which boards and pages say it.

A day without a time is that day's first second in UTC; a time without a zone is UTC. A text that is not a date
gives None.
"""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

DAY = 86_400.0
EARLIEST = 631_152_000.0
"""1990: a number below it is not the date of a posting."""
AHEAD_MAX = 400 * DAY
"""Most seconds from now to the end of a posting; a later date is not taken."""
POSTED_AHEAD_MAX = 2 * DAY
"""A posting cannot have been published in the future; clocks and time zones may differ by this much."""
LENGTH_MAX = 80

_MILLISECONDS_FROM = 10_000_000_000
_NUMBER = re.compile(r"[0-9]{9,16}(?:\.[0-9]{1,9})?")
_DAY_ONLY = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})[./]([0-9]{1,2})[./]([0-9]{4})")
_FRACTION = re.compile(r"\.([0-9]{1,12})")
_OFFSET = re.compile(r"\s?([+-][0-9]{2}):?([0-9]{2})$")
_YEAR = re.compile(r"\b(?:19|20)[0-9]{2}\b")
_WORDS_DAY = re.compile(
    r"([0-9]{1,2})(?:st|nd|rd|th|er|[oa\u00b0])?[ .-]{1,3}(?:de |of )?([a-z]{3,10})\.?,?"
    r"[ -]{1,2}(?:de |del )?([0-9]{4})\b"
)
_WORDS_MONTH = re.compile(r"([a-z]{3,10})\.? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})\b")
_AGO = re.compile(r"(an?|[0-9]{1,4})\s?\+?\s?(second|minute|min|hour|hr|day|week|month|year|[smhdwy]|mo)s?\+? ago\b")
_LEADING = re.compile(r"^(?:job )?(?:re)?(?:posted|published|date posted|posting date)(?: on| at)?[ :]{1,3}")

_MONTHS = (
    "january januari januar janner janvier enero gennaio janeiro",
    "february februari februar fevrier febrero febbraio fevereiro",
    "march mars marz maerz marzo marco maart marts",
    "april avril abril aprile",
    "may maj mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august augusti aout agosto augustus",
    "september septembre septiembre setiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro desember",
)
"""English, Swedish, German, French, Spanish, Italian, Portuguese, Dutch, Danish and Norwegian, without accents."""


def _month_numbers() -> dict[str, int]:
    """Return the number of each month by its name and by every beginning that it shares with no other month."""
    found: dict[str, set[int]] = {}
    for number, names in enumerate(_MONTHS, start=1):
        for name in names.split():
            for letters in range(3, len(name) + 1):
                found.setdefault(name[:letters], set()).add(number)
    return {beginning: numbers.pop() for beginning, numbers in found.items() if len(numbers) == 1}


_MONTH_NUMBERS = _month_numbers()
_SECONDS = {
    "s": 1.0, "second": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
    "d": DAY, "day": DAY, "w": 7 * DAY, "week": 7 * DAY, "mo": 30 * DAY, "month": 30 * DAY, "y": 365 * DAY,
    "year": 365 * DAY,
}  # fmt: skip
_UNITS = (
    (3_600.0, "stunden? heures? horas? or[ae] uur timm(?:e|ar) timer?"),
    (DAY, "tag(?:en)? jours? dias? giorn[oi] dag(?:en|ar|er?)?"),
    (7 * DAY, "wochen? semaines? semanas? settiman[ae] weken week veck(?:a|or) uger? uker?"),
    (30 * DAY, "monat(?:en)? mois mes(?:es|e|i)? maand(?:en)? manad(?:er)? maned(?:er)?"),
)
_COUNT = r"(?P<count>[0-9]{1,4})\s?\+? "
_UNIT = "(?:" + "|".join(f"(?P<u{at}>{words.replace(' ', '|')})" for at, (_, words) in enumerate(_UNITS)) + r")\b"
_AGO_ELSEWHERE = (
    re.compile(rf"\b(?:vor|il y a|hace|ha) (?:mehr als |plus de |mas de |mais de )?{_COUNT}{_UNIT}"),
    re.compile(rf"\b{_COUNT}{_UNIT} (?:fa|geleden|sedan|siden)\b"),
)
_TODAY = frozenset("heute|aujourd'hui|hoy|oggi|hoje|vandaag|idag|i dag".split("|"))
_YESTERDAY = frozenset("gestern|hier|ayer|ieri|ontem|gisteren|igar|i gar".split("|"))


def parse_posted(text: str | int | float | None, now: float, ahead_max: float = POSTED_AHEAD_MAX) -> float | None:
    """Return the moment at which it was posted, in Unix seconds.

    Args:
        text: an ISO or RFC 822 date, seconds or milliseconds since 1970, a day in words ("08 May 2026",
            "August 27, 2026", "12 mars 2026": months of ten languages), or an age ("Posted 3 Days Ago", "30+ Days Ago"
            for at least that long, "Yesterday", "vor 3 Tagen"). A year has four digits.
        now: Unix seconds, for ages.
        ahead_max: seconds that a date may lie in the future; :data:`AHEAD_MAX` for the end of a posting.

    Returns:
        None where it is not a date, or not one that a posting can have.
    """
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, int | float):
        return _believed(_of_number(text), now, ahead_max)
    words = " ".join(text[: 2 * LENGTH_MAX].split())
    if not words or len(words) > LENGTH_MAX:
        return None
    if _NUMBER.fullmatch(words):
        return _believed(_of_number(float(words)), now, ahead_max)
    lower = _LEADING.sub("", _plain(words.lower()))
    found = _of_age(lower, now)
    for read in (_of_iso, _of_mail, _of_words):
        if found is None:
            found = read(lower)
    return _believed(_of_age_elsewhere(lower, now) if found is None else found, now, ahead_max)


def _plain(words: str) -> str:
    """Return the text without accents."""
    if words.isascii():
        return words
    return "".join(letter for letter in unicodedata.normalize("NFKD", words) if not unicodedata.combining(letter))


def _believed(seconds: float | None, now: float, ahead_max: float) -> float | None:
    if seconds is None or not math.isfinite(seconds) or not EARLIEST <= seconds <= now + ahead_max:
        return None
    return seconds


def _of_number(number: float) -> float | None:
    try:
        seconds = float(number)
    except OverflowError:
        return None
    while abs(seconds) >= _MILLISECONDS_FROM and math.isfinite(seconds):
        seconds /= 1000
    return seconds


def _of_age(words: str, now: float) -> float | None:
    words = words.removeprefix("posted ")
    if words in ("today", "just posted", "just now", "now"):
        return now
    if words == "yesterday":
        return now - DAY
    match = _AGO.search(words)
    if match is None:
        return None
    count = 1 if match[1].startswith("a") else int(match[1])
    return now - count * _SECONDS[match[2]]


def _of_age_elsewhere(words: str, now: float) -> float | None:
    """Return the moment of an age in another language than English, in Unix seconds; its words have no accents."""
    if words in _TODAY:
        return now
    if words in _YESTERDAY:
        return now - DAY
    match = next((match for pattern in _AGO_ELSEWHERE if (match := pattern.search(words))), None)
    if match is None:
        return None
    seconds = next(seconds for at, (seconds, _) in enumerate(_UNITS) if match[f"u{at}"])
    return now - int(match["count"]) * seconds


def _of_iso(words: str) -> float | None:
    text = words.upper().removesuffix(" UTC").removesuffix(" GMT").removesuffix("Z").strip()
    if match := _DAY_ONLY.fullmatch(text):
        return _of_day(int(match[1]), int(match[2]), int(match[3]))
    if match := _DAY_FIRST.fullmatch(text):
        # Which comes first is known only where one of them can be no month.
        first, second, year = int(match[1]), int(match[2]), int(match[3])
        if "." in text or first > 12:
            return _of_day(year, second, first)
        return _of_day(year, first, second) if second > 12 or first == second else None
    text = _FRACTION.sub(lambda found: "." + found[1][:6].ljust(6, "0"), text, count=1)
    text = _OFFSET.sub(r"\1:\2", text) if len(text) > 10 else text
    try:
        return _timestamp(datetime.fromisoformat(text))
    except ValueError:
        return None


def _of_mail(words: str) -> float | None:
    if _YEAR.search(words) is None:
        return None
    try:
        return _timestamp(parsedate_to_datetime(words))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _of_words(words: str) -> float | None:
    if match := _WORDS_DAY.search(words):
        day, month, year = match[1], match[2], match[3]
    elif match := _WORDS_MONTH.search(words):
        month, day, year = match[1], match[2], match[3]
    else:
        return None
    number = _MONTH_NUMBERS.get(month)
    if number is None:
        return None
    return _of_day(int(year), number, int(day))


def _of_day(year: int, month: int, day: int) -> float | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return _timestamp(datetime(found.year, found.month, found.day, tzinfo=UTC))


def _timestamp(found: datetime) -> float | None:
    whole = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    try:
        return (whole - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    except OverflowError:
        return None
