"""Asking a graph in words."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ramet.pipelines.wiki.embedding.base import Embedder
from ramet.pipelines.wiki.embedding.hashing import HashingEmbedder
from ramet.pipelines.wiki.embedding.opening import open_embedder
from ramet.pipelines.wiki.graphs.base import SearchHit
from ramet.pipelines.wiki.graphs.ladybug import LadybugGraph
from ramet.pipelines.wiki.graphs.schema import check_model


class Found(NamedTuple):
    """What a search found."""

    hits: list[SearchHit]
    semantic: bool
    """Whether nearness means nearness of meaning."""


def search_graph(path: Path, text: str, *, limit: int, data_dir: Path) -> Found:
    """The sections of the graph at `path` that are nearest to `text`, by the model that its vectors come from.

    Raises:
        GraphError: there is no graph, or it cannot be read.
        GraphMismatch: its vectors come from a model that this release does not have.
        ExtraMissing, DatasetError: the model is not there.
    """
    with LadybugGraph.open_reader(path) as graph:
        embedder: Embedder = HashingEmbedder()
        if graph.model_id != embedder.model_id:
            embedder = open_embedder(semantic=True, data_dir=data_dir)
        info = {"embedding_model": graph.model_id, "embedding_dimension": str(graph.dimension)}
        check_model(path, info, model_id=embedder.model_id, dimension=embedder.dimension)
        [vector] = embedder.embed([text])
        return Found(graph.search(vector, limit=limit), embedder.semantic)
