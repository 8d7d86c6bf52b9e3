"""The default model, for the tests that need one."""

from __future__ import annotations

import pytest

from ramet.wiki.embedding.minilm import PACKAGES, MiniLmEmbedder
from ramet.wiki.errors import DatasetError
from ramet.wiki.sources import dataset


@pytest.fixture(scope="session")
def minilm() -> MiniLmEmbedder:
    """The default model, which takes a moment to load."""
    for module in PACKAGES:
        pytest.importorskip(module, reason="the extra [wiki] is not installed")
    try:
        dataset.fetch(dataset.MINILM_TOKENIZER, dataset.default_data_dir())
    except DatasetError as error:
        pytest.skip(f"the tokenizer is not in the data directory and cannot be fetched: {error}")
    return MiniLmEmbedder(dataset.default_data_dir())
