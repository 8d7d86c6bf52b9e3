"""The recorded payloads, pages and listings that the tests of the jobs pipeline are held against."""

from __future__ import annotations

from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2].parent / "shared" / "jobs-corpus"
ABSENT = "the shared jobs corpus is not beside this repository"


def corpus_file(relative: str) -> Path:
    """A file of the corpus; the test that asks for it skips where the corpus is absent.

    Args:
        relative: its path below the corpus, as the corpus' MANIFEST.json names it.
    """
    if not CORPUS.is_dir():
        pytest.skip(ABSENT)
    return CORPUS / relative
