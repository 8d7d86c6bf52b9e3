"""Rows of the input with the keys of their items and their own columns, packed into blobs of the job's lineage.

Rows may be many times the items, and each has a name of its own, so they are no tasks: a job of a million rows that
ask three things has three items. Some thousand rows are a task that does nothing and holds their blob: it is created in
the transaction that creates their items, and pruned with the lineage.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from ramet import Blob, Client, Context
from ramet.llm.app import app
from ramet.llm.inputs.spool import AskedRow
from ramet.llm.settings import QUEUE

ROWS = "llm.rows"


class RowsPayload(BaseModel):
    """Some thousand rows of the input."""

    count: int
    columns: dict[str, str]
    """Names of their own columns -> ``int``, ``float``, ``flag``, ``text`` or ``json``."""
    rows: Blob


class IndexedRow(NamedTuple):
    """A row of the input."""

    position: int
    """0 for the first."""
    id: str
    key: str
    """Key of the item that answers it."""
    columns: Mapping[str, Any]


@app.task(ROWS, queue=QUEUE)
async def rows(ctx: Context, payload: RowsPayload) -> None:
    """Hold rows; there is nothing to do."""


def packed(part: Sequence[AskedRow]) -> RowsPayload:
    """Rows as the payload of their task."""
    told = {
        "ids": [row.id for row in part],
        "keys": [row.key for row in part],
        "columns": [row.columns for row in part] if any(row.columns for row in part) else None,
    }
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    content = zlib.compress(text.encode(errors="surrogatepass"), 1)
    return RowsPayload(count=len(part), columns=column_types(part), rows=Blob.of(content))


def column_types(part: Sequence[AskedRow]) -> dict[str, str]:
    """Return the types of the rows' own columns, in the order in which they come first."""
    found: dict[str, str] = {}
    for row in part:
        for name, value in row.columns.items():
            kind = _type_of(value)
            found[name] = kind if name not in found else wider(found[name], kind)
    return {name: kind or "text" for name, kind in found.items()}


def _type_of(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "int"
    if isinstance(value, float):
        return "float"
    return "text" if isinstance(value, str) else "json"


def wider(one: str, other: str) -> str:
    """Return the type that holds the values of both."""
    if one == other or not other:
        return one
    if not one:
        return other
    return "float" if {one, other} == {"int", "float"} else "json"


async def own_columns(client: Client, job_id: str) -> dict[str, str]:
    """Return the own columns of all rows of a job, with their types."""
    found: dict[str, str] = {}
    async for task in client.all_tasks(tracking_id=job_id, kind=ROWS):
        for name, kind in task.payload["columns"].items():
            found[name] = wider(found.get(name, ""), kind)
    return found


async def rows_of(client: Client, job_id: str) -> AsyncIterator[IndexedRow]:
    """Yield the rows in the order of the input; one blob of them is in memory at a time.

    Raises:
        LookupError: the job's lineage was pruned.
    """
    position = 0
    async for task in client.all_tasks(tracking_id=job_id, kind=ROWS):
        content = await client.blob(task.payload["rows"], job_id)
        told = json.loads(zlib.decompress(content))
        several = told["columns"] or [{}] * len(told["ids"])
        for row_id, key, columns in zip(told["ids"], told["keys"], several, strict=True):
            yield IndexedRow(position, row_id, key, columns)
            position += 1
