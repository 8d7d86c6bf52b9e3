"""An index of vectors in a file of its own, by usearch (HNSW): the nearest of many are found without a look at all.

The file lies beside the one that has the vectors and carries in its name the version of the vectors that it was made
of. So an index of other vectors is never opened: then all are compared, which is slower and always right. An index
gives candidates only. Their vectors are read from the graph and compared exactly, so that a passage that was deleted
since is left out, and scores are those of a comparison with all.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.ranking import Packed, matrices

EXTRA = "'ramet[wiki-index]'"
MODULE = "usearch"
INDEXED_FROM = 50_000
"""Vectors from which on an index is made: of fewer, all are compared within a fraction of a second."""
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 128
"""Neighbours of a vector in the index, and vectors that are looked at when one is added, or searched for."""
OPEN_MAX = 4
"""Most indexes that a process keeps open."""


class VectorIndex:
    """An open index, read as far as a search needs it. May be used from any thread."""

    def __init__(self, index: Any) -> None:
        """Use :func:`open_index`."""
        self._index = index

    def __len__(self) -> int:
        """Return the number of vectors, deleted ones included."""
        return len(self._index)

    def nearest(self, vector: Sequence[float], count: int) -> list[int]:
        """Return the numbers of `count` vectors that are about the nearest by cosine; fewer if there are no more."""
        numpy: Any = importlib.import_module("numpy")
        found = self._index.search(numpy.asarray(vector, dtype="f4"), min(count, len(self)))
        return [int(number) for number in found.keys]


def index_is_possible() -> bool:
    """Return whether the extra is installed."""
    return importlib.util.find_spec(MODULE) is not None


def index_file(path: Path, version: str) -> Path:
    """Return the path of the index of that version of the vectors in the file `path`."""
    return path.with_name(f"{path.name}.vectors-{version}")


def open_index(path: Path, version: str, dimension: int) -> VectorIndex | None:
    """Return the index of that version of the vectors in `path`; None where there is none that can be read."""
    place = index_file(path, version)
    if not version or not place.exists() or not index_is_possible():
        return None
    try:
        return _opened(place, dimension)
    except (RuntimeError, ValueError, OSError):  # Damaged, or of another release: made again when a run ends.
        return None


@lru_cache(OPEN_MAX)
def _opened(place: Path, dimension: int) -> VectorIndex:
    usearch = import_extra(f"{MODULE}.index", EXTRA)
    index = usearch.Index.restore(str(place), view=True)
    if index is None or index.ndim != dimension:
        raise ValueError(f"{place} is not an index of vectors of {dimension} numbers")
    return VectorIndex(index)


def write_index(path: Path, version: str, dimension: int, vectors: Iterable[Packed]) -> None:
    """Make the index of that version, in place of those of other versions.

    Raises:
        GraphError: it cannot be written; what was there stays.
        ExtraMissing: the extra `[wiki-index]` is not installed.
    """
    usearch = import_extra(f"{MODULE}.index", EXTRA)
    numpy: Any = importlib.import_module("numpy")
    index = usearch.Index(
        ndim=dimension,
        metric="cos",
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
    for numbers, matrix in matrices(vectors):
        lengths = numpy.linalg.norm(matrix, axis=1)
        there = lengths > 0  # A vector of zeros has no direction.
        index.add(numpy.asarray(numbers, dtype="u8")[there], matrix[there] / lengths[there, None])
    place = index_file(path, version)
    draft = place.with_name(f"{place.name}.draft")
    try:
        index.save(str(draft))
        _flush(draft)
        draft.replace(place)
    except (OSError, RuntimeError) as error:
        draft.unlink(missing_ok=True)
        raise GraphError(f"cannot write {place}: {one_line(error)}") from error
    remove_indexes(path, but=place)


def remove_indexes(path: Path, *, but: Path | None = None) -> None:
    """Remove the indexes of the vectors in `path`, but one; one that cannot be removed stays, and is never opened."""
    for other in path.parent.glob(f"{_escaped(path.name)}.vectors-*"):
        if other != but:
            with suppress(OSError):
                other.unlink()


def advice(count: int) -> str:
    """Return the advice for a graph whose `count` vectors have no index."""
    state = f"{count:,} passages are compared one by one at each search"
    if index_is_possible():
        return f"{state}: their index is made when a run of this graph ends"
    return f"{state}: for an index, `pip install {EXTRA}` and give the last `ramet wiki expand` again"


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
