"""Looking for words where nothing is indexed: every section is read."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The different words of a text, casefolded, in order."""
    return list(dict.fromkeys(_WORD.findall(text.casefold())))


def best_shares(
    sections: Iterable[tuple[int, str, int, Sequence[str]]], words: Sequence[str], limit: int
) -> list[tuple[int, float]]:
    """(number, share) of the sections that hold the largest share of `words`, best first; ties by title and position.

    A section is its number, its canonical title, its position, and its texts. A word is held as a whole word. Sections
    that hold none are left out.
    """
    wholes = {word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in words}
    ranked = (
        (-held, key, position, number)
        for number, key, position, texts in sections
        if (held := _held("\n".join(texts).casefold(), wholes))
    )
    return [(number, -less / len(words)) for less, _, _, number in heapq.nsmallest(limit, ranked)]


def _held(text: str, wholes: dict[str, re.Pattern[str]]) -> int:
    # Most sections hold none of the words, which a plain look tells much quicker than a pattern.
    return sum(word in text and whole.search(text) is not None for word, whole in wholes.items())
