"""Looking for words where nothing is indexed: every section is read."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ramet.pipelines.wiki.graphs.base import SearchHit

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The different words of a text, casefolded, in order."""
    return list(dict.fromkeys(_WORD.findall(text.casefold())))


def best_of(sections: Iterable[SearchHit], words: Sequence[str], *, limit: int) -> list[SearchHit]:
    """The sections whose title, heading or text hold the most of `words`, best first, equals in the order given.

    A word is held as a whole word. Sections that hold none are left out.
    """
    scored = (replace(hit, score=share) for hit in sections if (share := _share(hit, words)))
    # nsmallest keeps equals in order.
    return heapq.nsmallest(limit, scored, key=lambda hit: -hit.score)


def _share(hit: SearchHit, words: Sequence[str]) -> float:
    text = f"{hit.title}\n{hit.heading}\n{hit.text}".casefold()
    # Most sections hold none of the words, and that is quickly seen.
    maybe = {word for word in words if word in text}
    return len(maybe & set(_WORD.findall(text))) / len(words) if maybe else 0.0
