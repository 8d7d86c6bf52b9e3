"""Every test of a graph runs on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.registry import Graph, open_graph_writer


@pytest.fixture(params=["lbug", "sqlite"])
def graph_path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "lbug":
        pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    return tmp_path / "graphs" / f"archipelago.{request.param}"


@pytest.fixture
def graph(graph_path: Path, embedder: HashingEmbedder) -> Iterator[Graph]:
    with open_graph_writer(graph_path, model_id=embedder.model_id, dimension=embedder.dimension) as graph:
        yield graph
