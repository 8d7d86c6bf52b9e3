"""A stand-in without a model. It finds shared words, not shared meaning, and says so."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence

from ramet.wiki.embedding.base import Vector

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
