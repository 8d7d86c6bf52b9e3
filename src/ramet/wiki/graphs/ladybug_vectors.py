"""The index of vectors (HNSW), which LadybugDB has only where its extension VECTOR is installed.

Nothing is ever installed or fetched here: what is there is loaded. An index, once made, is kept up by every write,
so a graph that has one cannot be written without the extension.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.ladybug_file import LadybugFile

EXTENSION_PATH = "RAMET_LADYBUG_VECTOR"
"""Environment variable: the absolute path of the extension's file, where LadybugDB would not find it itself."""

INDEXED_FROM_SECTIONS = 20_000
"""Sections from which on an index is made. Below, looking at every vector takes some hundredths of a second."""

CANDIDATES_PER_HIT = 8
CANDIDATES_MIN = 100
"""The index is not exact: so many candidates it is asked for, to be ranked exactly."""

_NAME = "sections_by_embedding"
_INDEXES = "CALL SHOW_INDEXES() RETURN index_name"
_LOAD = "LOAD EXTENSION VECTOR"
_CREATE = f"CALL CREATE_VECTOR_INDEX('Section', '{_NAME}', 'embedding', metric := 'cosine')"
_SECTIONS = "MATCH (s:Section) RETURN count(*)"
_CANDIDATES = (
    f"CALL QUERY_VECTOR_INDEX('Section', '{_NAME}', $vector, $count, efs := $count) RETURN node.section_key, distance"
)


def load_extension(file: LadybugFile) -> bool:
    """Load what is installed, or what `RAMET_LADYBUG_VECTOR` names; whether there is something.

    Raises:
        GraphError: what the variable names cannot be loaded.
    """
    named = os.environ.get(EXTENSION_PATH)
    if named:
        path = Path(named)
        if not path.is_absolute() or "'" in named or "\\" in named:
            raise GraphError(f"{EXTENSION_PATH} must be an absolute path without quotes and backslashes, not {named!r}")
        try:
            file.read(f"LOAD EXTENSION '{path}'")
        except GraphError as error:
            raise GraphError(f"cannot load {path}, which {EXTENSION_PATH} names: {error}") from error
        return True
    try:
        file.read(_LOAD)
    except GraphError:
        return False
    return True


def has_index(file: LadybugFile) -> bool:
    """Whether the graph has an index of vectors, readable here or not."""
    return [_NAME] in file.read(_INDEXES)


def worth_an_index(file: LadybugFile) -> bool:
    """Whether the graph is so large that an index pays."""
    sections: int = file.read(_SECTIONS)[0][0]
    return sections >= INDEXED_FROM_SECTIONS


def create_index(file: LadybugFile) -> None:
    """Make the index; from then on every write keeps it up. Some minutes for tens of thousands of sections."""
    file.read(_CREATE)


def candidates(file: LadybugFile, vector: Sequence[float], *, limit: int) -> list[str]:
    """Keys of the sections that may be the nearest; sections that are gone may be among them."""
    count = max(CANDIDATES_MIN, CANDIDATES_PER_HIT * limit)
    return [key for key, _ in file.read(_CANDIDATES, {"vector": vector, "count": count}) if key is not None]
