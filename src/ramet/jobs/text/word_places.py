"""Places of the words of all rules in a text: one pass over it finds all of them.

Most rules are costly expressions that can match only near a few words, so they look at nothing else. A search for each
word by itself takes as long as the rules do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import ahocorasick

_registered: dict[str, None] = {}


def searched(*words: str) -> tuple[str, ...]:
    """Register words that rules look for, before they do. Returns the words."""
    for word in words:
        if word not in _registered:
            _registered[word] = None
            _places.cache_clear()
            _automaton.cache_clear()
    return words


@lru_cache(maxsize=1)
def _automaton() -> ahocorasick.Automaton:
    automaton = ahocorasick.Automaton()
    for word in _registered:
        automaton.add_word(word, word)
    automaton.make_automaton()
    return automaton


@lru_cache(maxsize=2)
def _places(text: str) -> Mapping[str, Sequence[int]]:
    """Return the places of every registered word that occurs. Remembered: all rules ask for the same text."""
    found: dict[str, list[int]] = {}
    for end, word in _automaton().iter(text):
        places = found.setdefault(word, [])
        begin = end + 1 - len(word)
        if not places or begin >= places[-1] + len(word):
            places.append(begin)
    return found


def places_of_word(text: str, word: str) -> Sequence[int]:
    """Return the places of a registered word in a text, in order, without overlaps."""
    return _places(text).get(word, ())


def around(text: str, words: Iterable[str], before: int, after: int) -> str:
    """Return the text around some words, each stretch once, with an empty line between; empty: none occurs.

    Args:
        words: registered ones (:func:`searched`), as the text writes them.
        before: characters that are kept before a word.
        after: characters that are kept from the beginning of a word on.
    """
    known = _places(text)
    places = sorted(place for word in words if word in known for place in known[word])
    if not places:
        return ""
    stretches: list[str] = []
    begin, end = max(0, places[0] - before), places[0] + after
    for place in places[1:]:
        if place - before > end:
            stretches.append(text[begin:end])
            begin = place - before
        end = place + after
    stretches.append(text[begin:end])
    return "\n\n".join(stretches)
