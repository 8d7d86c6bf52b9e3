"""Which embedder is meant."""

from __future__ import annotations

from pathlib import Path

from ramet.pipelines.wiki.embedding.base import Embedder
from ramet.pipelines.wiki.embedding.hashing import HashingEmbedder
from ramet.pipelines.wiki.embedding.minilm import MiniLmEmbedder


def open_embedder(*, semantic: bool, data_dir: Path) -> Embedder:
    """The default model, or the stand-in when no model is wanted.

    Raises:
        ExtraMissing, DatasetError: as `MiniLmEmbedder`.
    """
    return MiniLmEmbedder(data_dir) if semantic else HashingEmbedder()
