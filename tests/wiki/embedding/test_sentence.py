"""Models of sentence-transformers, which is too large to be installed for tests: what we ask it for, on a stand-in."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ramet.commands.extras import ExtraMissing
from ramet.wiki.embedding.registry import open_embedder
from ramet.wiki.embedding.sentence import SentenceEmbedder
from ramet.wiki.errors import EmbedderError

COMMIT = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"


class Library:
    """As much of sentence-transformers as is used; it keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.error: Exception | None = None
        self.SentenceTransformer = self.load

    def load(self, name: str, **options: Any) -> SimpleNamespace:
        if self.error is not None:
            raise self.error
        self.asked = {"name": name} | options
        return SimpleNamespace(encode=self.encode)

    def encode(
        self, texts: list[str], *, normalize_embeddings: bool, show_progress_bar: bool, convert_to_numpy: bool
    ) -> Any:
        import numpy

        assert normalize_embeddings
        assert convert_to_numpy
        assert not show_progress_bar
        return numpy.array([[0.6, 0.8] if text else [1.0, 0.0] for text in texts], dtype=numpy.float32)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    for module in ("numpy", "huggingface_hub"):
        pytest.importorskip(module, reason="the extra [wiki] is not installed")
    library = Library()
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    return library


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub in which one model is, as the library leaves it behind."""
    model = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    for name in (f"snapshots/{COMMIT}/config.json", "refs/main", "refs/v2"):
        path = model / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def test_vectors_are_asked_for_of_length_1_and_in_order(library: Library, hub: Path, tmp_path: Path) -> None:
    embedder = open_embedder("sentence-transformers:all-MiniLM-L6-v2", tmp_path)
    assert isinstance(embedder, SentenceEmbedder)
    vectors = embedder.embed(["a", "", "b"])
    assert [[round(value, 4) for value in vector] for vector in vectors] == [[0.6, 0.8], [1.0, 0.0], [0.6, 0.8]]
    assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-6) for vector in vectors)
    assert embedder.embed([]) == []
    assert (embedder.dimension, embedder.semantic) == (2, True)


def test_no_code_of_a_model_is_run_and_nothing_is_unpickled(library: Library, hub: Path) -> None:
    SentenceEmbedder("all-MiniLM-L6-v2")
    assert library.asked["trust_remote_code"] is False
    assert library.asked["model_kwargs"] == {"use_safetensors": True}


@pytest.mark.parametrize(
    ("model", "revision"),
    [
        ("all-MiniLM-L6-v2", None),
        ("sentence-transformers/all-MiniLM-L6-v2", None),
        ("sentence-transformers/all-MiniLM-L6-v2@v2", "v2"),
        (f"sentence-transformers/all-MiniLM-L6-v2@{COMMIT}", COMMIT),
    ],
)
def test_the_commit_that_was_loaded_is_in_the_models_id(
    library: Library, hub: Path, model: str, revision: str | None
) -> None:
    name = model.partition("@")[0]
    assert SentenceEmbedder(model).model_id == f"sentence-transformers:{name}@{COMMIT[:12]}"
    assert (library.asked["name"], library.asked["revision"]) == (name, revision)


def test_the_weights_of_a_folder_are_in_the_models_id(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "our@model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    first = SentenceEmbedder(str(folder))
    assert first.model_id.startswith("sentence-transformers:our@model@")
    assert library.asked["name"] == str(folder)
    moved = folder.rename(tmp_path / "elsewhere").rename(folder)
    assert SentenceEmbedder(str(moved)).model_id == first.model_id
    (folder / "model.safetensors").write_bytes(b"changed")
    assert SentenceEmbedder(str(folder)).model_id != first.model_id


def test_a_model_that_cannot_be_loaded_is_told_in_one_line(library: Library) -> None:
    library.error = OSError("no such model\non the hub")
    with pytest.raises(EmbedderError, match="cannot load nobody/nothing: no such model on the hub; give a folder"):
        SentenceEmbedder("nobody/nothing")


def test_without_the_package_it_is_told_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ExtraMissing, match="pip install sentence-transformers"):
        SentenceEmbedder("all-MiniLM-L6-v2")
