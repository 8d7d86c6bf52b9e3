"""A posting as a board tells it, before it is judged, in texts and a size that can be stored."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import fields
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BYTES_MAX = 150_000
"""Most bytes of a description as JSON. A payload takes 256 KiB; a state has a posting twice, once as its reading."""
ESCAPED = 6
"""Bytes of JSON that one character can take."""
Period = Literal["hour", "day", "week", "month", "year"]
_SHOWN = {"title", "location", "places", "country", "salary", "pay", "workplace", "employment_type"}
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
"""Characters that no database takes as text, or no line can have."""


class Pay(BaseModel):
    """Pay in a board's fields: numbers, with their currency and period as far as it says."""

    model_config = ConfigDict(frozen=True)

    minimum: float | None = None
    maximum: float | None = None
    currency: str | None = None
    """ISO 4217 code, or the sign that the board writes."""
    period: Period | None = None


class PlaceFields(BaseModel):
    """A place whose parts a board has in fields of their own, each as it writes it."""

    model_config = ConfigDict(frozen=True)

    city: str | None = None
    region: str | None = None
    country: str | None = None


class Posting(BaseModel):
    """One opening as its board tells it. Text is plain (no markup), on as many lines as it has; empty is unknown."""

    model_config = ConfigDict(frozen=True)

    url: str
    """Absolute, where a person reads it."""
    title: str = ""
    external_id: str | None = None
    """The board's own name of it."""
    company: str | None = None
    company_website: str | None = None
    location: str | None = None
    """All places, joined by ``; ``."""
    places: tuple[PlaceFields, ...] = ()
    """The same places where the board has their parts in fields; what reads places takes these before the text."""
    country: str | None = None
    """Country from a field of its own: ISO 3166 code or name, for the places that do not say theirs."""
    description: str = ""
    posted_at: float | None = None
    """Unix seconds. Never a date of change."""
    salary: str | None = None
    """Salary as a person writes it: ``$120,000 - $150,000 a year``."""
    pay: Pay | None = None
    """The same where the board has it in numbers; what reads pay takes this, and the text only without it."""
    workplace: str | None = None
    """``remote``, ``hybrid`` or ``onsite`` where a field of the board says so outright."""
    employment_type: str | None = None
    detail_url: str | None = None
    """Address of the rest, where the list does not have all of it."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Other fields that the instruction names, for people (department, requisition)."""

    @property
    def whole(self) -> bool:
        """Whether nothing more has to be fetched."""
        return self.detail_url is None or bool(self.description)


def shown_mark(posting: Posting) -> str:
    """Return a mark of the fields that a board shows of an opening: title, text, pay and place. 16 hex digits.

    Dates are not in it: boards renew them without a change.
    """
    fields = posting.model_dump_json(include=_SHOWN, exclude_defaults=True)
    text = " ".join(posting.description.split())
    return blake2b(f"{fields}\n{text}".encode("utf-8", "replace"), digest_size=8).hexdigest()


def without_login(url: str) -> str:
    """Return the address without the name and password in it: these are never kept, sent or shown."""
    if "@" not in url:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@cache
def _names(made: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(made))


def shallow(value: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by name, unchanged."""
    return {name: getattr(value, name) for name in _names(type(value))}


def clean(text: str) -> str:
    """Return the text without NUL, other control characters and halves of characters."""
    return text if text.isascii() and text.isprintable() else _UNSTORABLE.sub("", text)


PACKED = "z1:"
"""Beginning of a packed text."""
PACKED_PART = "z2:"
"""Beginning of a packed part of another text."""
UNPACKED_BYTES_MAX = 1_000_000
"""No text that is stored has more."""
PACKED_CHARACTERS_MIN = 300
"""A shorter text is kept as it is."""


def packed(text: str) -> str:
    """Return a text as it is stored: compressed, where that is shorter. :func:`unpacked` takes it back."""
    if len(text) < PACKED_CHARACTERS_MIN and not text.startswith(PACKED):
        return text
    packing = zlib.compressobj(6, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
    content = packing.compress(text.encode(errors="replace")) + packing.flush()
    return PACKED + base64.b64encode(content).decode()


def unpacked(text: str) -> str:
    """Return the text of what :func:`packed` or an older version stored.

    Raises:
        ValueError: the row is damaged.
    """
    if not text.startswith(PACKED):
        return text
    return _unpacked(text, zlib.decompressobj())


def packed_part(part: str, whole: str) -> str:
    """Return a text as it is stored beside another one that it is taken from: :func:`unpacked_part` takes it back."""
    if len(part) < PACKED_CHARACTERS_MIN and not part.startswith((PACKED, PACKED_PART)):
        return part
    packing = zlib.compressobj(6, zdict=_dictionary(whole))
    content = packing.compress(part.encode(errors="replace")) + packing.flush()
    return PACKED_PART + base64.b64encode(content).decode()


def unpacked_part(text: str, whole: str) -> str:
    """Return the text of what :func:`packed_part` or an older version stored.

    Raises:
        ValueError: the row is damaged.
    """
    if not text.startswith(PACKED_PART):
        return unpacked(text)
    return _unpacked(text, zlib.decompressobj(zdict=_dictionary(whole)))


def _dictionary(whole: str) -> bytes:
    return whole.encode(errors="replace")[:_DICTIONARY_BYTES]


def _unpacked(text: str, unpacking: zlib._Decompress) -> str:
    try:
        found = unpacking.decompress(base64.b64decode(text[len(PACKED) :], validate=True), UNPACKED_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(f"a stored text is damaged: {error}") from error
    if not unpacking.eof:
        raise ValueError(f"a stored text is cut off, or has over {UNPACKED_BYTES_MAX} bytes")
    return found.decode()


_WINDOW_BITS, _MEMORY_LEVEL = 14, 6
"""Options of the compression: texts are short, and the usual tables take as long as the compression itself."""
_DICTIONARY_BYTES = 32_768
"""Most bytes of the dictionary: those that the compression can refer to."""


def fitting(posting: Posting, characters_max: int) -> Posting:
    """Return the posting with a description of bounded length, and of a size that can be stored.

    A description that was cut says so at its end. Characters that no database or screen takes are removed everywhere.

    Args:
        characters_max: most characters of the description.
    """
    changed = {
        name: cleaned
        for name, text in posting
        if isinstance(text, str) and (cleaned := clean(text)) != text and name != "url"
    }
    text = changed.get("description", posting.description)
    shown = _cut(text, characters_max)
    if len(shown) < len(text):
        changed["description"] = f"{shown}\n[cut here: it has {len(text)} characters]"
    return posting.model_copy(update=changed) if changed else posting


def _cut(text: str, characters_max: int) -> str:
    shown = text[:characters_max]
    if len(shown) * ESCAPED <= BYTES_MAX:
        return shown
    size, quotes = len(shown.encode()), sum(map(shown.count, '\n\t"\\'))
    while size + quotes > BYTES_MAX:
        shown = shown[: len(shown) * BYTES_MAX // (size + quotes) * 99 // 100]
        size, quotes = len(shown.encode()), sum(map(shown.count, '\n\t"\\'))
    return shown
