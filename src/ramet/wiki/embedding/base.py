"""What an embedder must offer. A graph stores the model's id; vectors of two models are never compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ramet.wiki.articles import Article, Section

Vector = list[float]

PLACE_WEIGHT = 3
"""How often a section's place is said. A vector is a mean over words, and said once, the place drowns in the text:
sections of one article are then mistaken for each other. Said three times, they are told apart, and what the text says
is found as before (tests/wiki/embedding/test_search_quality.py)."""


class Embedder(Protocol):
    """Makes unit vectors of texts, each depending on its text alone and not on what is embedded with it."""

    model_id: str
    """Names the model and the form of its weights; equal ids mean comparable vectors."""
    dimension: int
    """Length of every vector."""
    semantic: bool
    """Whether nearness of vectors means nearness of meaning."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of `dimension` numbers and norm 1 for each text, in the same order. Thread-safe."""


def section_text(article: Article, section: Section) -> str:
    """What stands for a section in the vector space: where it belongs, `PLACE_WEIGHT` times, then what it says."""
    place = f"{article.title}: {section.heading}" if section.heading else article.title
    return f"{place}\n" * PLACE_WEIGHT + section.text
