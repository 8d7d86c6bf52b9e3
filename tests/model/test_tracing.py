"""Names in distributed traces: every process derives the same ones."""

from __future__ import annotations

from hashlib import sha256

import pytest

from ramet.model import tracing
from ramet.model.tracing import attempt_span_id, sampled, task_span_id, trace_id, traceparent


def first(text: str, size: int) -> int:
    """The number that so many bytes of the hash are."""
    return int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * size], 16)


@pytest.mark.parametrize("name", ["lineage", "gr\xfcn", "\ud800"])
def test_names_are_the_first_bits_of_a_hash(name: str) -> None:
    assert trace_id(name) == first(name, 16)
    assert task_span_id(name) == first(name, 8)
    assert attempt_span_id(name, 7) == first(f"{name}\0007", 8)


def test_no_name_is_zero_which_traces_take_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_digest", lambda text: bytes(32))
    assert (trace_id("a"), task_span_id("a"), attempt_span_id("a", 1)) == (1, 1, 1)


def test_a_share_of_the_lineages_is_traced_by_the_low_bits_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sampled("lineage", 1.0)
    assert not sampled("lineage", 0.0)
    monkeypatch.setattr(tracing, "_digest", lambda text: bytes(8) + bytes([0x40]) + bytes(23))
    assert not sampled("a quarter", 0.25)
    assert sampled("a quarter", 0.26)
    monkeypatch.setattr(tracing, "_digest", lambda text: b"\xff" * 32)
    assert sampled("the last", 1.0)


def test_the_header_is_that_of_w3c_trace_context() -> None:
    header = f"00-{trace_id('lineage'):032x}-000000000000000a-0"
    assert traceparent("lineage", 10, traced=True) == header + "1"
    assert traceparent("lineage", 10, traced=False) == header + "0"
