"""Values that may be stored: text, numbers, JSON and blobs.

Names and reasons come from programs, people and pages alike. PostgreSQL holds no NUL, and UTF-8 no half of a surrogate
pair; SQLite would take the one and stumble over the other. So both are refused everywhere, in the same words.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of such."""
NAME_BYTES_MAX = 255
"""Most bytes of the name of a kind or a queue and of a tracking_id, in UTF-8: beside the longest key they fit an index
entry.
"""
BY_CHARACTERS_MAX = 200
"""Most characters of the name of a person."""
REASON_CHARACTERS_MAX = 2_000
"""Most characters of a reason, and of an error: a handler's are cut there, a person's are refused beyond."""
PROGRESS_CHARACTERS_MAX = 2_000
"""Most characters of the note of a task's progress; cut there."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class InvalidText(ValueError):
    """Raised by whatever stores texts: this one cannot be stored; the message is one line and says what to do."""


def is_storable(text: str) -> bool:
    """Whether it holds neither a NUL nor half of a surrogate pair."""
    return text.isprintable() or _UNSTORABLE.search(text) is None


def storable(text: str, characters_max: int | None = None) -> str:
    """Text that no database refuses: what cannot be stored becomes a question mark, what is too much is cut off."""
    cut = text[:characters_max]
    return cut if is_storable(cut) else _UNSTORABLE.sub("?", cut)


def on_one_line(text: str) -> str:
    """Return the text with its line ends, and whatever else is not to be seen, written as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def check_text(what: str, text: object, *, characters_max: int | None = None, bytes_max: int | None = None) -> str:
    """Return the text, if it can be stored and is short enough.

    Raises:
        InvalidText: it cannot, is not, or is not a text at all.
    """
    if not isinstance(text, str):
        raise InvalidText(f"{what} is a {type(text).__name__}: give text")
    if not is_storable(text):
        raise InvalidText(f"{what} {_shown(text)} holds a NUL or half a character (a lone surrogate): leave that out")
    if characters_max is not None and len(text) > characters_max:
        raise InvalidText(f"{what} has {len(text)} characters: give at most {characters_max}")
    if bytes_max is not None and len(text) * 4 > bytes_max and len(text.encode()) > bytes_max:
        raise InvalidText(f"{what} {_shown(text)} has {len(text.encode())} bytes: give at most {bytes_max}")
    return text


def check_name(what: str, text: object) -> str:
    """Return the name of a kind, a queue or a lineage, if it can be one.

    Raises:
        InvalidText: it is empty, cannot be stored, or is longer than `NAME_BYTES_MAX`.
    """
    name = check_text(what, text, bytes_max=NAME_BYTES_MAX)
    if not name:
        raise InvalidText(f"{what} is empty: give a name")
    return name


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")


INTEGER_MAX = 2**63 - 1
"""Largest whole number in either database; the least is ``-INTEGER_MAX - 1``."""
INTEGER_DIGITS_MAX = 4_300
"""Most digits of a whole number in a JSON value: the most that Python itself, and every reader here, accepts."""
INTEGER_BITS_MAX = 14_280
"""Most bits of a whole number that surely has no more digits than that."""
SECONDS_LEAST = 0.001
"""Shortest deadline of a task."""
SECONDS_MAX = 100 * 365.25 * 86_400.0
"""No delay, deadline, limit of time or extension is longer: a century. Such moments can still be written as dates."""
RESERVED_DELAY_SECONDS_MAX = 30 * 86_400.0
"""A task that takes its place on a path before it is due holds others back: for at most so long, as a pause does."""
COUNT_MAX = 10**18
"""No limit of size is larger: sums of them stay within what databases count in."""
PRIORITY_MAX = 999_999
"""The largest priority, and without its sign the smallest: below what a level of depth weighs in a breadth queue."""


class InvalidNumber(ValueError):
    """Raised for a number that is none, is not finite, or is out of range; one line says what to give."""


def seconds(what: str, value: object, *, least: float = 0.0, most: float = SECONDS_MAX) -> float:
    """Return a length of time in seconds.

    Raises:
        InvalidNumber: it is not a number from ``least`` to ``most``; ``Decimal`` and ``timedelta`` are none either.
    """
    if type(value) is float and least <= value <= most:
        return value
    if not _is_number(value, Real) or not least <= value <= most:  # type: ignore[operator]
        raise InvalidNumber(f"{what} is {shown(value)}: give a number of seconds from {least:,.7g} to {most:,.0f}")
    return float(value)  # type: ignore[arg-type]


def seconds_from_now(what: str, value: object) -> float:
    """Return a moment as seconds from now; what is past is given with a minus.

    Raises:
        InvalidNumber: as :func:`seconds`.
    """
    return seconds(what, value, least=-SECONDS_MAX)


def finite(what: str, value: object) -> float:
    """Any number that a float can hold.

    Raises:
        InvalidNumber: it is none.
    """
    try:
        number = float(value) if _is_number(value, Real) else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidNumber(f"{what} is {shown(value)}: give a number")
    return number


def whole(what: str, value: object, *, least: int = 0, most: int = COUNT_MAX) -> int:
    """Return a whole number.

    Raises:
        InvalidNumber: it is none from ``least`` to ``most``.
    """
    if type(value) is int and least <= value <= most:  # Most are; an abstract class costs more to ask.
        return value
    if not _is_number(value, Integral) or not least <= value <= most:  # type: ignore[operator]
        raise InvalidNumber(f"{what} is {shown(value)}: give a whole number from {least:,} to {most:,}")
    return int(value)  # type: ignore[call-overload,no-any-return]


def integer(what: str, value: object) -> int:
    """Any whole number that both databases hold.

    Raises:
        InvalidNumber: it is none.
    """
    return whole(what, value, least=-INTEGER_MAX - 1, most=INTEGER_MAX)


def priority(what: str, value: object) -> int:
    """Return a priority.

    Raises:
        InvalidNumber: it is not a whole number, or out of range.
    """
    return whole(what, value, least=-PRIORITY_MAX, most=PRIORITY_MAX)


def shown(value: object) -> str:
    """Return a value for a message: a whole number may have more digits than Python itself writes."""
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        return f"a number of about {math.log10(abs(value)):.0f} digits"
    return f"{value!r:.60}"


def _is_number(value: object, of: type) -> bool:
    return isinstance(value, of) and not isinstance(value, bool)


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. A whole number of more digits than Python reads becomes text.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else digits


REFERENCE = "$blob"
"""The key that marks a JSON object as a reference to a blob; its value is the content's SHA-256."""


class NewBlob(NamedTuple):
    """Content to keep, under its name."""

    sha256: str
    """64 hexadecimal digits."""
    content: bytes


def blob_of(content: bytes | str | Json) -> tuple[NewBlob, str]:
    """Return the blob of a value, and its form: ``bytes``, ``text`` (UTF-8) or ``json``."""
    if isinstance(content, bytes | bytearray | memoryview):
        raw, form = bytes(content), "bytes"
    elif isinstance(content, str):
        raw, form = content.encode(), "text"
    else:
        raw, form = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(), "json"
    return NewBlob(hashlib.sha256(raw).hexdigest(), raw), form


def value_of(content: bytes, form: str) -> bytes | str | Json:
    """Return the value that a blob was made of."""
    if form == "bytes":
        return content
    text = content.decode()
    return text if form == "text" else json.loads(text)


TAGS_MAX = 10
TAG_CHARACTERS_MAX = 64


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags of a task, each once and in order of the alphabet.

    Raises:
        InvalidText: there are too many, or one is empty, too long or no text.
    """
    if isinstance(tags, str):
        raise InvalidText(f"tags is {shown(tags)}: give a list of texts")
    found = {check_text("a tag", tag, characters_max=TAG_CHARACTERS_MAX) for tag in tags}
    if "" in found:
        raise InvalidText("a tag is empty: give at least one character, or leave it out")
    if len(found) > TAGS_MAX:
        raise InvalidText(f"{len(found)} tags are over {TAGS_MAX}: leave some of them out")
    return tuple(sorted(found))
