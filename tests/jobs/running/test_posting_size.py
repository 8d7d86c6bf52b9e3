"""Postings that are larger than what stores and payloads take."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from ramet.jobs.kinds import ListingPayload
from ramet.jobs.posting import (
    BYTES_MAX,
    PACKED,
    PACKED_PART,
    Posting,
    fitting,
    packed,
    packed_part,
    unpacked,
    unpacked_part,
)

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


@pytest.mark.parametrize(
    "text", ["", "short", "We bake bread. " * 400, "\u4e16" * 5_000, PACKED, f"{PACKED}AAAA", PACKED * 200]
)
def test_a_text_is_stored_shorter_and_comes_back_as_it_was(text: str) -> None:
    assert unpacked(packed(text)) == text
    assert len(packed(text)) <= max(len(text.encode()), 60)
    payload = ListingPayload(url=URL, posting=Posting(url=URL, description=text))
    told = payload.model_dump(mode="json", exclude_defaults=True)
    assert ListingPayload.model_validate(told) == payload
    assert ListingPayload.model_validate_json(json.dumps(told)) == payload


def test_a_payload_of_an_older_version_is_read() -> None:
    text = "We bake bread. " * 400
    told = {"url": URL, "posting": {"url": URL, "description": text}}
    posting = ListingPayload.model_validate(told).posting
    assert posting is not None
    assert posting.description == text


def test_what_only_looks_packed_is_a_text_and_no_bomb_is_unpacked() -> None:
    bomb = PACKED + base64.b64encode(zlib.compress(b" " * 50_000_000)).decode()
    for text in (bomb, f"{PACKED}not base64!", f"{PACKED}AAAA"):
        with pytest.raises(ValueError, match=r"stored text|base64|decode|padding|multiple"):
            unpacked(text)
        posting = ListingPayload.model_validate({"url": URL, "posting": {"url": URL, "description": text}}).posting
        assert posting is not None
        assert posting.description == text


WHOLE = "\n".join(f"- {number} years of baking bread number {number * 7} in an oven of stone" for number in range(200))


@pytest.mark.parametrize(
    "part", ["", "short", WHOLE[400:9_000], WHOLE, "Nothing of it. " * 400, PACKED, PACKED_PART * 90]
)
def test_a_part_of_a_text_is_stored_by_what_it_has_of_it(part: str) -> None:
    stored = packed_part(part, WHOLE)
    assert unpacked_part(stored, WHOLE) == part
    assert len(stored) <= max(len(part), 60)
    if part == WHOLE[400:9_000]:
        assert len(stored) < len(packed(part))
    if not part.startswith(PACKED_PART):
        assert unpacked_part(packed(part), WHOLE) == part, "what an older version stored"


def test_a_part_of_another_text_is_damaged_and_says_so() -> None:
    stored = packed_part(WHOLE[:5_000], WHOLE)
    with pytest.raises(ValueError, match="a stored text is damaged"):
        unpacked_part(stored, "Another text. " * 500)
