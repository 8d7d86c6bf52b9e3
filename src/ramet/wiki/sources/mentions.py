"""Finding the titles that a text mentions, all at once, by an Aho-Corasick automaton."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from ramet.commands.extras import import_extra
from ramet.wiki.errors import WIKI_EXTRA


class TitleMatcher:
    """Finds mentions of known titles in a text.

    A mention is the whole title, without regard to case, with no letter, digit, underscore or combining mark
    touching either end; of mentions that overlap, the one that begins first counts, and of those the longest.
    The answer depends on the titles and the text alone. Building costs about a microsecond per title, finding
    is linear in the text.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        """Build the automaton. Of titles that differ in case alone, the first in code-point order is meant.

        Raises:
            ExtraMissing: the extra `[wiki]` is not installed.
        """
        self._automaton = import_extra("ahocorasick", WIKI_EXTRA).Automaton()
        for title in sorted(titles, reverse=True):
            if pattern := _fold(title):
                self._automaton.add_word(pattern, (len(pattern), title))
        # An automaton without words has nothing to link and refuses to search.
        self._empty = len(self._automaton) == 0
        self._automaton.make_automaton()

    def find(self, text: str, *, exclude: str | None = None) -> tuple[str, ...]:
        """The titles that `text` mentions, each once, in order of first mention, without `exclude`."""
        if self._empty:
            return ()
        folded = _fold(text)
        mentions = [
            (last - length + 1, -length, title)
            for last, (length, title) in self._automaton.iter(folded)
            if _stands_alone(folded, last - length + 1, last)
        ]
        found: dict[str, None] = {}
        free_from = 0
        for start, negative_length, title in sorted(mentions):
            if start >= free_from:
                free_from = start - negative_length
                found[title] = None
        if exclude is not None:
            found.pop(exclude, None)
        return tuple(found)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _stands_alone(text: str, first: int, last: int) -> bool:
    if first > 0 and _in_word(text[first - 1]):
        return False
    return last + 1 >= len(text) or not _in_word(text[last + 1])


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
