"""Which item answers which row of the input: packed into blobs of the job's lineage.

Rows may be many times the items, and each has a name of its own, so they are no tasks: a job of a million rows that
ask three things has three items. The blobs are created and pruned with the lineage.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ramet import Blob, Client

ROWS_PER_BLOB = 100_000


class IndexedRow(NamedTuple):
    """A row of the input."""

    position: int
    """0 for the first."""
    id: str
    item: int
    """Number of the item that answers it, in the order in which they were created; 0 for the first."""


def packed(rows: Iterable[tuple[str, int]]) -> list[Blob]:
    """The index of rows given as (id, number of the item)."""
    left = iter(rows)
    return [Blob.of({"ids": [row[0] for row in part], "items": [row[1] for row in part]}) for part in _parts(left)]


def _parts(left: Iterator[tuple[str, int]]) -> Iterator[Sequence[tuple[str, int]]]:
    while part := list(islice(left, ROWS_PER_BLOB)):
        yield part


async def rows_of(client: Client, job_id: str, blobs: Sequence[Blob]) -> AsyncIterator[IndexedRow]:
    """The rows in the order of the input; one blob of them is in memory at a time.

    Raises:
        LookupError: the job's lineage was pruned.
    """
    position = 0
    for blob in blobs:
        part = await client.blob(blob, job_id)
        for row_id, item in zip(part["ids"], part["items"], strict=True):
            yield IndexedRow(position, row_id, item)
            position += 1
