"""Whole words and phrases in texts, in one spelling: lower case, hyphens as spaces, one space between words.

Plain searches, no patterns: the words come from settings and the texts from anywhere, and a text of a megabyte costs
milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LINE = " ¶ "
"""Mark for the end of a line in a folded text, so that no phrase is found across two lines."""

_SPELLED = {**dict.fromkeys("-_\u2010\u2011\u2012\u2013\u2014\u2015", " "), "\u2019": "'", "\u00ad": ""}
"""Hyphens and dashes; the curly apostrophe; hyphens that only show where a line is broken."""
_CLAUSE_ENDS = ".;!?¶•|,()"
_UNSPACED_FROM = "\u2e80"
"""First character of the scripts that put no spaces between words."""


def fold(text: str) -> str:
    """Return a text in the spelling in which it is searched."""
    # Character by character, and not by a table: that looks up every character of the text.
    lowered = text.casefold()
    for character, spelled in _SPELLED.items():
        if character in lowered:
            lowered = lowered.replace(character, spelled)
    return " ".join(lowered.replace("\n", LINE).split())


def places_of_word(folded: str, word: str) -> Iterator[int]:
    """Yield the places at which a folded text has a folded word or phrase whole."""
    if not word:
        return
    at = folded.find(word)
    while at >= 0:
        end = at + len(word)
        before = folded[at - 1] if at else " "
        after = folded[end] if end < len(folded) else " "
        if not (_joins(before, word[0]) or _joins(after, word[-1])):
            yield at
        at = folded.find(word, at + 1)


def has_word(folded: str, word: str) -> bool:
    """Return whether a folded text has a folded word or phrase whole."""
    return word in folded and next(places_of_word(folded, word), None) is not None


def first_word(folded: str, words: Iterable[str]) -> str | None:
    """Return the first of the words, as they are given, that a folded text has; the words are folded here."""
    for word in words:
        if has_word(folded, fold(word)):
            return word
    return None


def before(folded: str, at: int, most: int) -> list[str]:
    """Return the words of the same clause just before a place, the nearest last."""
    clause = folded[max(0, at - 20 * (most + 1)) : at]
    for end in _CLAUSE_ENDS:
        clause = clause.rpartition(end)[2]
    return clause.split()[-most:] if most else []


def after(folded: str, at: int, most: int) -> list[str]:
    """Return the words of the same clause from a place on."""
    clause = folded[at : at + 20 * (most + 1)]
    for end in _CLAUSE_ENDS:
        clause = clause.partition(end)[0]
    return clause.split()[:most]


def _joins(neighbour: str, edge: str) -> bool:
    """Return whether a character beside a word makes both one longer word."""
    if not neighbour.isalnum():
        # C is not C# and not C++.
        return neighbour in "+#" and edge.isalnum()
    return edge.isalnum() and neighbour < _UNSPACED_FROM and edge < _UNSPACED_FROM
