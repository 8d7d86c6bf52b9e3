"""How large values are named, and that they come back in the form that they had (DESIGN §8)."""

from __future__ import annotations

from hashlib import sha256

import pytest

from ramet.model.task.task import Json
from ramet.model.values import NewBlob, blob_of, value_of


@pytest.mark.parametrize(
    ("value", "raw", "form"),
    [
        (b"\xff\0", b"\xff\0", "bytes"),
        ("gr\xfcn", b"gr\xc3\xbcn", "text"),
        ({"a": ["gr\xfcn", 1.5, None]}, b'{"a":["gr\xc3\xbcn",1.5,null]}', "json"),
        (None, b"null", "json"),
        (7, b"7", "json"),
    ],
)
def test_a_value_is_named_after_its_content_and_comes_back(value: bytes | str | Json, raw: bytes, form: str) -> None:
    assert blob_of(value) == (NewBlob(sha256(raw).hexdigest(), raw), form)
    assert value_of(raw, form) == value


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab")])
def test_whatever_holds_bytes_is_kept_as_bytes(value: bytearray | memoryview) -> None:
    blob, form = blob_of(value)
    assert (blob.content, form) == (b"ab", "bytes")
    assert type(blob.content) is bytes


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        blob_of(value)
