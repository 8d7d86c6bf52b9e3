"""What text may be stored: any that both databases can hold and every encoder can write, and so much of it.

Names and reasons come from programs, people and pages alike. PostgreSQL holds no NUL, and UTF-8 no half of a surrogate
pair; SQLite would take the one and stumble over the other. So both are refused everywhere, in the same words.
"""

from __future__ import annotations

import re

NAME_BYTES_MAX = 255
"""Of the name of a kind or a queue and of a tracking_id, in UTF-8: beside the longest key they fit an index entry."""
BY_CHARACTERS_MAX = 200
"""Of the name of a person."""
REASON_CHARACTERS_MAX = 2_000
"""Of why something was done, and of an error: a handler's are cut there, a person's are refused beyond."""
PROGRESS_CHARACTERS_MAX = 2_000
"""Of the note of a task's progress; cut there."""

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
    """The text with its line ends, and whatever else is not to be seen, written as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def check_text(what: str, text: object, *, characters_max: int | None = None, bytes_max: int | None = None) -> str:
    """The text, if it can be stored and is short enough.

    Raises:
        InvalidText: it cannot, is not, or is no text at all.
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
    """The name of a kind, a queue or a lineage, if it can be one.

    Raises:
        InvalidText: it is empty, cannot be stored, or is longer than `NAME_BYTES_MAX`.
    """
    name = check_text(what, text, bytes_max=NAME_BYTES_MAX)
    if not name:
        raise InvalidText(f"{what} is empty: give a name")
    return name


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 60 else f"{text[:57]}...")
