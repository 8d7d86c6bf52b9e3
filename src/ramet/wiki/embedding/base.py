"""Interface of an embedder. A graph stores the model's id; vectors of two models are never compared."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol

Vector = list[float]

PLACE_WEIGHT = 2
"""Times that the text of a passage repeats its place. A vector is a mean over words, and once is too little to tell
the sections of one article from each other. With two, they are distinct, and the content of the text is found as
before (tests/wiki/embedding/test_search_quality.py)."""


class Embedder(Protocol):
    """Maker of unit vectors of texts; each depends on its text alone and not on the others of the call."""

    model_id: str
    """Name of the model and the form of its weights; equal ids mean comparable vectors."""
    dimension: int
    """Length of every vector."""
    semantic: bool
    """Whether nearness of vectors means nearness of meaning."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector of `dimension` numbers and norm 1 for each text, in the same order. Thread-safe."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector by which texts are searched: of many models it is that of a text like any other."""


def passage_text(title: str, heading: str, text: str) -> str:
    """Return the text that is embedded for a passage: its place, `PLACE_WEIGHT` times, and its own text."""
    place = f"{title}: {heading}" if heading else title
    return f"{place}\n" * PLACE_WEIGHT + text


def group_by_length(lengths: Sequence[int], *, padded_max: int, count_max: int) -> list[list[int]]:
    """Put texts of about the same length together, so that little is computed for padding. Longest first.

    Args:
        lengths: of each text, in whatever unit.
        padded_max: most of (longest length x number of texts) in a group; a longer text is alone.
        count_max: most texts in a group.

    Returns:
        Groups of positions in `lengths`: each position once, and the same groups for the same lengths.
    """
    groups: list[list[int]] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda position: (-lengths[position], position)):
        if groups and len(groups[-1]) < count_max and longest * (len(groups[-1]) + 1) <= padded_max:
            groups[-1].append(position)
        else:
            groups.append([position])
            longest = lengths[position]
    return groups


_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """A deterministic stand-in without a model: words hashed into a vector. It is **not semantic**.

    Texts that share words are near each other, and nothing else is. For tests, and for running without a
    model. Standard library only.
    """

    semantic = False

    def __init__(self, dimension: int = 64) -> None:
        """Make vectors of `dimension` numbers."""
        assert dimension > 0
        self.dimension = dimension
        self.model_id = f"hashing-{dimension}-not-semantic"

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`."""
        return [self._embed_one(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return self._embed_one(text)

    def _embed_one(self, text: str) -> Vector:
        folded = unicodedata.normalize("NFC", text).casefold()
        vector = [0.0] * self.dimension
        for word in _WORD.findall(folded) or [folded]:
            digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            place, sign = divmod(digest, 2)
            vector[place % self.dimension] += 1.0 if sign else -1.0
        norm = math.hypot(*vector)
        if norm == 0.0:
            # The words cancelled out; any fixed direction will do, and a zero vector has no cosine.
            return [1.0] + [0.0] * (self.dimension - 1)
        return [value / norm for value in vector]
