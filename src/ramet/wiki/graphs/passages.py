"""Passages: the pieces of a section that are found, each by its words and by a vector of its own.

A vector is a mean over what its model reads, and a model reads some hundred words: of a long section it sees the
beginning. So a section is cut into passages of about that length that overlap, with sentences whole. Sections that only
list links (references, external links) are left out: they hold many names and say nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ramet.wiki.embedding.base import passage_text
from ramet.wiki.pages import Article, Section

WORDS = 140
"""Length of a passage, in words: about 200 tokens, of which the usual models read 256 or more."""
OVERLAP = 30
"""Most words that the end of a passage and the beginning of the next share: text at a border is whole in one."""
TOP_LEVEL = 2
"""Level of the headings right below an article's title, as MediaWiki counts."""
LETTERS_PER_WORD = 2
"""Letters of a script without spaces that count as a word."""
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Letters of scripts without spaces between words, from Thai to Chinese, for a character class."""

# A run of marks is looked at once, from its first: a line of nothing else is read in linear time.
_SENTENCE = re.compile(
    r"[^\n]*?(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|(?<![。！？｡])[。！？｡]++[」』）]*+"  # noqa: RUF001 - other scripts
    r"|[।։؟۔](?=\s)|\n|\Z)\s*"  # noqa: RUF001 - other scripts
)
_WORD = re.compile(rf"[{UNSPACED}]{{1,{LETTERS_PER_WORD}}}|[^\s{UNSPACED}]+")


class Passage(NamedTuple):
    """A piece of a section: ``section.text[start:end]``."""

    position: int
    """Position of the section in its article, from 0."""
    start: int
    end: int


def passages_of(article: Article) -> list[Passage]:
    """Return the passages of an article, in order: a function of its text alone."""
    return [
        Passage(position, start, end)
        for position, section in enumerate(article.sections)
        if not is_navigation(section)
        for start, end in cut(section.text)
    ]


def texts_of(article: Article) -> list[str]:
    """Return the text that is embedded for each passage of an article."""
    return [
        passage_text(article.title, section.path or section.heading, section.text[start:end])
        for position, start, end in passages_of(article)
        for section in (article.sections[position],)
    ]


def is_navigation(section: Section) -> bool:
    """Return whether a section only leads elsewhere, by its heading in any of the languages that are known.

    Such sections are of the first level below the title: a "Bibliography" below "Career" is about a person's books.
    """
    return section.level == TOP_LEVEL and " ".join(section.heading.split()).casefold().rstrip(":") in _navigation()


def cut(text: str) -> list[tuple[int, int]]:
    """Cut a text into passages of about :data:`WORDS` words, with sentences whole; none of a text without words.

    A sentence that is longer than a passage is cut between words.

    Returns:
        Where each begins and ends, without the space around it.
    """
    passages: list[tuple[int, int]] = []
    held: list[tuple[int, int, int]] = []
    length = fresh = 0
    for piece in _pieces(text):
        words = piece[2]
        if fresh and length + words > WORDS:
            passages.append(_trimmed(text, held))
            held = _overlap(held, words)
            length, fresh = sum(count for *_, count in held), 0
        held.append(piece)
        length, fresh = length + words, fresh + words
    if fresh:
        passages.append(_trimmed(text, held))
    return passages


def _trimmed(text: str, held: list[tuple[int, int, int]]) -> tuple[int, int]:
    start, end = held[0][0], held[-1][1]
    whole = text[start:end]
    return start + len(whole) - len(whole.lstrip()), end - len(whole) + len(whole.rstrip())


def _overlap(held: list[tuple[int, int, int]], following: int) -> list[tuple[int, int, int]]:
    """Return the last whole sentences that fit into the overlap, and into a passage with what follows."""
    room = min(OVERLAP, WORDS - following)
    first = len(held)
    while first and held[first - 1][2] <= room:
        first -= 1
        room -= held[first][2]
    return held[first:]


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where sentences begin and end, with the space behind them, and how many words each has."""
    for match in _SENTENCE.finditer(text):
        start, ends = match.start(), [word.end() for word in _WORD.finditer(text, match.start(), match.end())]
        for last in range(WORDS - 1, len(ends) - 1, WORDS):
            yield start, ends[last], WORDS
            start = ends[last]
        if start < match.end():
            left = len(ends) % WORDS
            yield start, match.end(), left or min(len(ends), WORDS)


@cache
def _navigation() -> frozenset[str]:
    text = (files("ramet.wiki.graphs") / "navigation_headings.json").read_text(encoding="utf-8")
    return frozenset(heading.casefold() for headings in json.loads(text).values() for heading in headings)
