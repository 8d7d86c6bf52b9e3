"""Exact nearness of vectors that are kept as bytes: with numpy where it is installed, else in plain Python."""

from __future__ import annotations

import importlib.util
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import mul
from typing import Any

DIGITS_RANKED = 6
"""Decimal places of a cosine that count: beyond them, equal vectors may differ by their place in a batch."""

VECTORS_AT_ONCE = 4_096
"""Vectors that numpy looks at together."""

Packed = tuple[int, bytes]
"""A vector's number, and its values as little-endian 32-bit floats."""


def pack(vector: Sequence[float]) -> bytes:
    """Return a vector as little-endian 32-bit floats."""
    values = array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def unpack(data: bytes) -> array[float]:
    """Return the vector that `pack` packed."""
    values = array("f")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def nearest(query: Sequence[float], vectors: Iterable[Packed], *, limit: int) -> dict[int, float]:
    """Return number -> cosine of the `limit` vectors nearest to `query`, and of those that equal the last of them."""
    cosines = _with_numpy if importlib.util.find_spec("numpy") else _in_python
    return _best(cosines(query, vectors), limit)


def _best(scored: Iterable[tuple[int, float]], limit: int) -> dict[int, float]:
    best: dict[int, float] = {}
    least = -math.inf
    for number, cosine in scored:
        if cosine < least:
            continue
        best[number] = cosine
        # Sorting now and then costs less than keeping a heap, whose equals would have to be kept too.
        if len(best) >= 8 * limit + 1_024:
            least = sorted(best.values(), reverse=True)[limit - 1]
            best = {number: cosine for number, cosine in best.items() if cosine >= least}
    if len(best) > limit:
        least = sorted(best.values(), reverse=True)[limit - 1]
    return {number: cosine for number, cosine in best.items() if cosine >= least}


def matrices(vectors: Iterable[Packed]) -> Iterator[tuple[list[int], Any]]:
    """Yield numbers of vectors and these as rows of a matrix of numpy, in chunks."""
    numpy: Any = importlib.import_module("numpy")
    for chunk in _chunks(vectors):
        matrix = numpy.frombuffer(b"".join(data for _, data in chunk), dtype="<f4").reshape(len(chunk), -1)
        yield [number for number, _ in chunk], matrix


def _with_numpy(query: Sequence[float], vectors: Iterable[Packed]) -> Iterator[tuple[int, float]]:
    numpy: Any = importlib.import_module("numpy")
    wanted = numpy.asarray(query, dtype="<f4")
    length = float(numpy.linalg.norm(wanted))
    for numbers, matrix in matrices(vectors):
        lengths = numpy.linalg.norm(matrix, axis=1) * length
        cosines = numpy.divide(matrix @ wanted, lengths, out=numpy.zeros(len(numbers), "f4"), where=lengths > 0)
        yield from zip(numbers, cosines.astype("f8").round(DIGITS_RANKED).tolist(), strict=True)


def _in_python(query: Sequence[float], vectors: Iterable[Packed]) -> Iterator[tuple[int, float]]:
    wanted = unpack(pack(query))
    length = math.sqrt(_dot(wanted, wanted))
    for number, data in vectors:
        values = unpack(data)
        lengths = math.sqrt(_dot(values, values)) * length
        yield number, round(_dot(values, wanted) / lengths, DIGITS_RANKED) if lengths > 0 else 0.0


def _dot(left: Iterable[float], right: Iterable[float]) -> float:
    return sum(map(mul, left, right), 0.0)


def _chunks(vectors: Iterable[Packed]) -> Iterator[list[Packed]]:
    source = iter(vectors)
    while chunk := list(islice(source, VECTORS_AT_ONCE)):
        yield chunk
