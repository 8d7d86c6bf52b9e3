"""Which embedder a person means, told early and in one line when there is none."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.commands.extras import ExtraMissing
from ramet.wiki.embedding.base import HashingEmbedder, group_by_length
from ramet.wiki.embedding.endpoint import Endpoint, key_for, read_endpoint
from ramet.wiki.embedding.registry import check_embedder, model_of, open_embedder
from ramet.wiki.errors import EmbedderError

OPENAI = "openai:text-embedding-3-small@https://api.openai.com/v1"


def test_without_a_model_nothing_is_fetched(tmp_path: Path) -> None:
    assert isinstance(open_embedder("hashing", tmp_path), HashingEmbedder)
    assert open_embedder("none", tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "model"),
    [
        ("onnx", ("all-MiniLM-L6-v2-onnx-int8", 384)),
        ("hashing", ("hashing-64-not-semantic", 64)),
        ("none", ("none", 0)),
        ("openai:m@https://nobody.invalid/v1?dimensions=256", ("openai:m@nobody.invalid", 256)),
        ("openai:m@https://nobody.invalid/v1", None),
        ("sentence-transformers:nobody/model", None),
    ],
)
def test_who_only_loads_vectors_needs_neither_the_model_nor_the_key(spec: str, model: tuple[str, int] | None) -> None:
    assert model_of(spec) == model


@pytest.mark.parametrize("spec", ["hashing", "none"])
def test_what_needs_no_package_can_always_be_opened(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check_embedder(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("onnx", r"this needs numpy, onnxruntime, .*: run `pip install 'ramet\[wiki\]'`"),
        ("sentence-transformers:all-MiniLM-L6-v2", "run `pip install sentence-transformers`"),
        (OPENAI, r"httpx2: run `pip install 'ramet\[wiki\]'`"),
    ],
)
def test_a_missing_package_is_told_with_what_installs_it(
    spec: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=message):
        check_embedder(spec)


@pytest.mark.parametrize(
    "spec",
    ["", "ONNX", "onnx:", "onnx:x", "none:", "minilm", "openai", "openai:", "sentence-transformers", "bert:x"],
)
def test_what_names_no_embedder_is_refused_with_the_ones_there_are(spec: str, tmp_path: Path) -> None:
    for opens in (check_embedder, lambda spec: open_embedder(spec, tmp_path)):
        with pytest.raises(EmbedderError, match="no such embedder; it is one of onnx, multilingual, sentence"):
            opens(spec)


@pytest.mark.parametrize(
    ("named", "endpoint"),
    [
        ("m@http://localhost:8000", Endpoint("m", "http://localhost:8000/v1/embeddings", "localhost:8000", None)),
        ("m@HTTP://LocalHost:8000/", Endpoint("m", "http://localhost:8000/v1/embeddings", "localhost:8000", None)),
        ("a/b:c@https://h/api/v3/", Endpoint("a/b:c", "https://h/api/v3/embeddings", "h", None)),
        ("m@https://h/v1/embeddings", Endpoint("m", "https://h/v1/embeddings", "h", None)),
        ("m@https://[::1]:8/v1?dimensions=256", Endpoint("m", "https://[::1]:8/v1/embeddings", "[::1]:8", 256)),
    ],
)
def test_an_endpoint_is_named_by_model_and_base_url(named: str, endpoint: Endpoint) -> None:
    assert read_endpoint(named) == endpoint


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("m", "named as openai:MODEL@BASE_URL"),
        ("m@", "named as"),
        ("@https://h", "named as"),
        ("m@ftp://h/v1", "named as"),
        ("m @https://h", "named as"),
        ("m@https://", "named as"),
        ("m@https:///v1", "no host"),
        ("m@https://h:99999/v1", "cannot be read"),
        ("m@https://[::1/v1", "cannot be read"),
        ("m@https://h/v1?dimensions=0", "whole number"),
        ("m@https://h/v1?dimensions=1e9", "whole number"),
        ("m@https://h/v1?dimensions=5&dimensions=6", "only"),
        ("m@https://h/v1?api_key=s3cret", "only"),
        ("m@https://h/v1?s3cret", "cannot be read"),
        ("m@https://h/v1#s3cret", "only"),
        ("m@https://user:s3cret@h/v1", "RAMET_EMBEDDING_KEY"),
    ],
)
def test_an_endpoint_that_cannot_be_is_refused_without_repeating_it(named: str, message: str) -> None:
    with pytest.raises(EmbedderError, match=message) as raised:
        check_embedder(f"openai:{named}")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "environment", "key"),
    [
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": " a \n"}, "a"),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "a", "RAMET_EMBEDDING_KEY": "b"}, "b"),
        ("https://other.example/v1", {"OPENAI_API_KEY": "a"}, None),
        ("https://api.openai.com.example/v1", {"OPENAI_API_KEY": "a"}, None),
        ("https://other.example/v1", {"OPENAI_API_KEY": "a", "RAMET_EMBEDDING_KEY": "b"}, "b"),
        ("http://127.0.0.1:8000", {"RAMET_EMBEDDING_KEY": "b"}, "b"),
        ("http://[::1]:8000", {"RAMET_EMBEDDING_KEY": "b"}, "b"),
        ("http://localhost", {"RAMET_EMBEDDING_KEY": "b"}, "b"),
        ("http://other.example/v1", {}, None),
    ],
)
def test_a_key_goes_where_it_was_meant_for(url: str, environment: Mapping[str, str], key: str | None) -> None:
    assert key_for(read_endpoint(f"m@{url}"), environment) == key


def test_a_key_is_not_sent_unencrypted() -> None:
    with pytest.raises(EmbedderError, match="unencrypted: name it with https"):
        key_for(read_endpoint("m@http://other.example/v1"), {"RAMET_EMBEDDING_KEY": "b"})


def test_what_no_header_may_hold_is_no_key() -> None:
    with pytest.raises(EmbedderError, match="no valid key") as raised:
        key_for(read_endpoint("m@https://h"), {"RAMET_EMBEDDING_KEY": "s3\ncret"})
    assert "cret" not in str(raised.value)


@given(st.lists(st.integers(0, 300)), st.integers(1, 600), st.integers(1, 8))
def test_texts_are_grouped_by_length_within_bounds(lengths: list[int], padded_max: int, count_max: int) -> None:
    groups = group_by_length(lengths, padded_max=padded_max, count_max=count_max)
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[position] for position in group)
        assert len(group) <= count_max
        assert len(group) == 1 or longest * len(group) <= padded_max
    in_order = [lengths[position] for group in groups for position in group]
    assert in_order == sorted(lengths, reverse=True)
