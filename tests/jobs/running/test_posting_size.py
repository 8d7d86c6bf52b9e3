"""Postings that are larger than what stores and payloads take."""

from __future__ import annotations

import json

import pytest

from ramet.jobs.posting import BYTES_MAX, Posting, fitting

URL = "https://acme.example/jobs/1"


@pytest.mark.parametrize("letter", ["a", "\u4e16", "\U0001f680", '"', "\n", "\u00e9", "\\"])
@pytest.mark.parametrize("length", [1_000, 24_999, 25_001, 150_001, 1_000_000])
def test_a_description_is_cut_where_it_is_too_large_and_says_so(letter: str, length: int) -> None:
    text = letter * length
    found = fitting(Posting(url=URL, title="Engineer", description=text), 100_000).description
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= BYTES_MAX + 100
    if found != text:
        kept, _, note = found.rpartition("\n")
        assert note == f"[cut here: it has {length} characters]"
        assert text.startswith(kept)
        assert len(kept) == 100_000 or len(json.dumps(kept, ensure_ascii=False).encode()) > BYTES_MAX * 0.9


def test_what_fits_is_the_same_posting() -> None:
    posting = Posting(url=URL, title="Engineer", description="Line\n\tTab")
    assert fitting(posting, 100_000) is posting


def test_what_no_store_takes_is_gone_from_every_text() -> None:
    posting = Posting(
        url=URL, title="En\x00gineer", company="Ac\ud800me", location="Port\x07land", description="x\x00y"
    )
    assert fitting(posting, 1_000) == Posting(
        url=URL, title="Engineer", company="Acme", location="Portland", description="xy"
    )
