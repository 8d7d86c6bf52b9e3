"""What a graph says of itself, in every kind of file: the version of its schema and whose vectors it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ramet.wiki.errors import GraphError, GraphMismatch
from ramet.wiki.graphs.base import NO_MODEL

SCHEMA_VERSION = 2


def new_info(*, model_id: str, dimension: int) -> dict[str, str]:
    """What a new graph is to say of itself."""
    assert (dimension == 0) == (model_id == NO_MODEL), "a graph without vectors has no model, any other has one"
    return {
        "schema_version": str(SCHEMA_VERSION),
        "embedding_model": model_id,
        "embedding_dimension": str(dimension),
    }


def check_schema(path: Path, info: Mapping[str, str]) -> None:
    """Refuse a graph of another version.

    Raises:
        GraphMismatch: `info`, of the graph at `path`, names another schema.
    """
    if info.get("schema_version") != str(SCHEMA_VERSION):
        raise GraphMismatch(
            f"{path} has graph schema {info.get('schema_version')}, this release reads "
            f"{SCHEMA_VERSION}; use the release that made it, or another graph file"
        )


def check_model(path: Path, info: Mapping[str, str], *, model_id: str, dimension: int) -> None:
    """Refuse vectors of one model in, or against, a graph of another.

    Raises:
        GraphMismatch: `info`, of the graph at `path`, names another model or another number of dimensions.
    """
    if (info["embedding_model"], info["embedding_dimension"]) != (model_id, str(dimension)):
        raise GraphMismatch(
            f"{path} holds {_vectors_of(info['embedding_model'], info['embedding_dimension'])}, not "
            f"{_vectors_of(model_id, str(dimension))}, and they are never mixed; use that model or another graph file"
        )


def no_graph(path: Path) -> GraphError:
    """The error for a graph that is not there."""
    return GraphError(f"there is no graph at {path} yet; make one with `ramet wiki expand`")


def foreign_file(path: Path) -> GraphError:
    """The error for a database that is somebody else's."""
    return GraphError(f"{path} is not a graph of `ramet wiki`; give another file")


def _vectors_of(model_id: str, dimension: str) -> str:
    return "no vectors" if model_id == NO_MODEL else f"vectors of {model_id} ({dimension} numbers)"
