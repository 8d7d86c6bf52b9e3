"""What a running text offers or demands: words that count only where the text means them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from ramet.jobs.matching.words import after, before, fold, places_of_word
from ramet.jobs.settings import FilterSettings

_ARTICLES = frozenset("a an the our another our next new".split())
_POINTING = frozenset("this our the".split())
_ELSEWHERE = frozenset("in from of with like unlike".split())
"""Before "the sales role" these tell of another one."""
_BREAKERS = frozenset("to for who that which with and or as in of from by into".split())
"""After these a text no longer speaks of whom it is hiring."""
_PLACES_MAX = 200
"""Places of one word that are looked at; a text that has it more often is no text."""
_NOTED = 40
"""Characters around a hit that are told."""

_Counts = Callable[[str, int, int, FilterSettings], bool]
"""Whether a word of a text counts, by its place and length."""


def offered(text: str, kinds: Sequence[str], rules: FilterSettings) -> tuple[str, str] | None:
    """The first kind of work that a folded text offers: "we are hiring a sales representative", "this sales role".

    Returns:
        The kind as it was given, and the words around it.
    """
    return _first(text, kinds, rules, _is_offered)


def demanded(text: str, phrases: Sequence[str], rules: FilterSettings) -> tuple[str, str] | None:
    """The first phrase that a folded text has and does not take back: not "no security clearance needed".

    Returns:
        The phrase as it was given, and the words around it.
    """
    return _first(text, phrases, rules, lambda *_: True)


def _first(text: str, wanted: Sequence[str], rules: FilterSettings, counts: _Counts) -> tuple[str, str] | None:
    """The first of some words that stands where it counts and is not taken back, with the words around it."""
    for given in wanted:
        word = fold(given)
        if len(word) <= rules.short_word_max or word not in text:
            continue
        for at in _places(text, word):
            if counts(text, at, len(word), rules) and not _is_denied(text, at, len(word), rules):
                return given, around(text, at, len(word))
    return None


def around(text: str, at: int, length: int) -> str:
    """A few words around a place of a folded text, of its own line."""
    head = text[max(0, at - _NOTED) : at].rpartition("¶")[2]
    tail = text[at + length : at + length + _NOTED].partition("¶")[0]
    return f"{head}{text[at : at + length]}{tail}".strip()


def _places(text: str, word: str) -> Iterator[int]:
    return islice(places_of_word(text, word), _PLACES_MAX)


@lru_cache(maxsize=256)
def _folded(word: str) -> str:
    """A word of a setting, as the text is folded."""
    return fold(word)


def _is_offered(text: str, at: int, length: int, rules: FilterSettings) -> bool:
    window = before(text, at, rules.job_type_reach + 4)
    following = after(text, at + length, 1)
    if following and any(following[0] == _folded(word) for word in rules.role_words):
        return _is_this_one(window, rules)
    for phrase in rules.hiring_words:
        parts = _folded(phrase).split()
        for start in range(len(window) - len(parts), -1, -1):
            if parts and window[start : start + len(parts)] == parts:
                between = [word for word in window[start + len(parts) :] if word not in _ARTICLES]
                if len(between) <= rules.job_type_reach and _BREAKERS.isdisjoint(between):
                    return True
                break
    return False


def _is_this_one(window: list[str], rules: FilterSettings) -> bool:
    """Whether a role that is named is the one on offer: "this sales role", not "years in a sales role"."""
    for back, word in enumerate(reversed(window)):
        if word in _POINTING:
            earlier = window[-back - 2] if back + 2 <= len(window) else ""
            return back <= rules.job_type_reach and (word != "the" or earlier not in _ELSEWHERE)
    return not window


def _is_denied(text: str, at: int, length: int, rules: FilterSettings) -> bool:
    """Whether a negation stands just before, or right after: "clearance is not required", "clearance level: none"."""
    near = [*before(text, at, rules.negation_reach + 1), *after(text, at + length, 2)]
    label, colon, value = text[at + length : at + length + _NOTED].partition(":")
    if colon and len(label.split()) <= 2 and not any(end in label for end in ".;!?¶"):
        near += value.replace("¶", " ").split()[:1]
    return any(_folded(word) in near for word in rules.negations)
