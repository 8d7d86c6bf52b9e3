"""Words of languages other than English, one file a language; read at the first text that needs them.

A file has what pay, arrangements, levels and years of experience are called (``[pay]``, ``[arrangement]``, ``[level]``,
``[years]``), each a list of regular expressions. A new language is a new file and its name in :data:`LANGUAGES`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("de", "fr", "es", "pt", "nl", "pl", "it")
"""ISO 639-1 codes of the languages that there are words of."""
_ENGLISH = frozenset("the and of to with you our for will are is be this have from an".split())
_OTHERS = frozenset(
    "und der die das wir f\u00fcr mit ein eine im et les des nous vous pour de la el y los con para com em os um uma"
    " het niet een van je wij en na w z oraz di il che nel al \u00e0 \u00e9 \u00e8".split()
)
_READ_MAX = 3_000
"""Characters of a text that tell its language."""


@cache
def _languages() -> tuple[Mapping[str, Any], ...]:
    return tuple(tomllib.loads((files(__name__) / f"{code}.toml").read_text(encoding="utf-8")) for code in LANGUAGES)


@cache
def alternatives(section: str, key: str) -> str:
    """Return the expressions of all languages for one thing, as alternatives of one regular expression.

    Args:
        section: ``pay``, ``arrangement``, ``level`` or ``years``.
        key: what the section has under this name.
    """
    return "|".join(dict.fromkeys(word for language in _languages() for word in language[section][key]))


@cache
def numbers() -> dict[str, int]:
    """Return the numbers that are written as words, in lower case."""
    written = [entry.rpartition(" ") for language in _languages() for entry in language["years"]["numbers"]]
    return {word: int(number) for word, _, number in written}


def is_english(text: str) -> bool:
    """Tell whether a text is in English, by how often its commonest words and those of other languages occur in it.

    Args:
        text: in lower case; one without any such word is not.
    """
    return _is_english(text[:_READ_MAX])


@lru_cache(maxsize=16)
def _is_english(begin: str) -> bool:
    """Remembered: the rules for one text ask several times."""
    words = begin.split(" ")[1:-1]
    return _count(words, _ENGLISH) > 2 * _count(words, _OTHERS)


def _count(words: list[str], common: frozenset[str]) -> int:
    """Return how many of the words are common ones; of those that follow each other every second one counts."""
    found = bytes(map(common.__contains__, words))
    return found.count(1) - found.count(b"\1\1")
