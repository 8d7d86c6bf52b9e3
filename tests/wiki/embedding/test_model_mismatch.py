"""Which model made a graph's vectors is written into it, and vectors of another never come in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ramet.wiki.embedding.registry import model_of, open_embedder
from ramet.wiki.errors import GraphMismatch
from ramet.wiki.graphs.base import NO_MODEL
from ramet.wiki.graphs.registry import graph_info, open_graph_writer
from tests.wiki.embedding.endpoint_servers import scripted, usual

pytestmark = pytest.mark.network


def encode(texts: list[str], **options: object) -> Any:
    import numpy

    return numpy.array([[0.6, 0.8]] * len(texts))


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """An embedder of each sort, two of an endpoint with the same model and dimension."""
    for module in ("numpy", "huggingface_hub", "httpx2"):
        pytest.importorskip(module, reason="the extra [wiki] is not installed")
    library = SimpleNamespace(SentenceTransformer=lambda name, **options: SimpleNamespace(encode=encode))
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    with scripted(usual) as one, scripted(usual) as other:
        yield {
            "hashing": "hashing",
            "none": "none",
            "sentence": "sentence-transformers:nobody/model@v1",
            "sentence of another revision": "sentence-transformers:nobody/model@v2",
            "endpoint": f"openai:m@{one.url}",
            "endpoint elsewhere": f"openai:m@{other.url}",
            "endpoint with another model": f"openai:n@{one.url}",
        }


@pytest.mark.parametrize("suffix", ["lbug", "sqlite"])
def test_a_graph_takes_vectors_only_of_the_model_it_was_made_with(
    specs: dict[str, str], suffix: str, tmp_path: Path
) -> None:
    if suffix == "lbug":
        pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    models: dict[str, tuple[str, int]] = {}
    for name, spec in specs.items():
        embedder = open_embedder(spec, tmp_path)
        models[name] = (NO_MODEL, 0) if embedder is None else (embedder.model_id, embedder.dimension)
        assert model_of(spec) in (models[name], None)
    assert len(set(models.values())) == len(specs)
    for made_with, (model_id, dimension) in models.items():
        path = tmp_path / f"{made_with}.{suffix}"
        open_graph_writer(path, model_id=model_id, dimension=dimension).close()
        info = graph_info(path)
        assert (info.model_id, info.dimension) == (model_id, dimension)
        for name, (other_id, other_dimension) in models.items():
            if name != made_with:
                with pytest.raises(GraphMismatch):
                    open_graph_writer(path, model_id=other_id, dimension=other_dimension)
        open_graph_writer(path, model_id=model_id, dimension=dimension).close()
