"""Spool of an input, on disk until it is in the database: rows may be far more than fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import finalize

from pydantic_core import from_json, to_json

from ramet.llm.inputs.fingerprints import Fingerprints
from ramet.llm.inputs.prompt_file import Row
from ramet.llm.requests import Request, digest

Item_co = TypeVar("Item_co", covariant=True)
Item = TypeVar("Item")

READ_BYTES = 1 << 20
"""Bytes of lines that are in memory at once."""


class Stream(Protocol[Item_co]):
    """Values that are counted and can be gone through, again and again."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Item_co]: ...


class AskedRow(NamedTuple):
    """A row of the input, and which question answers it."""

    id: str
    key: str
    """Key of its question."""
    first: bool = True
    """True if no earlier row asks the same."""
    columns: Mapping[str, Any] = {}
    """Its own."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions of an input: the distinct ones, and which of them answers which row."""

    requests: Stream[Request]
    """Each key once, in the order in which rows ask first."""
    rows: Stream[AskedRow]


class Spool(Generic[Item]):
    """Values in a temporary file that goes with the object; only some of them are in memory at once."""

    def __init__(self, dump: Callable[[Item], Any], load: Callable[[Any], Item]) -> None:
        """Begin empty; ``dump`` makes JSON values of a value and ``load`` a value of them."""
        self._file = tempfile.TemporaryFile(prefix="ramet-rows-")  # noqa: SIM115 - it goes with the object
        finalize(self, self._file.close)
        self._dump, self._load = dump, load
        self._count = 0

    def add(self, value: Item) -> None:
        """Add one to the end."""
        self._file.write(to_json(self._dump(value), inf_nan_mode="constants") + b"\n")
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        at = 0
        while True:
            # Several may go through it at once: each has a place of its own.
            self._file.seek(at)
            lines = self._file.readlines(READ_BYTES)
            at = self._file.tell()
            if not lines:
                return
            for line in lines:
                yield self._load(from_json(line))


def questions_of(rows: Iterable[Row], *, distinct: bool = True, handed_on: bool = False) -> Questions:
    """Return the questions of rows. Equal ones are asked once, unless ``distinct`` is False.

    Args:
        handed_on: whether each answer is handed on with its row: then each row asks by itself, by its id.
    """
    requests = Spool[Request](list_of_request, request_of_list)
    named = Spool[AskedRow](list, lambda told: AskedRow(*told))
    seen = Fingerprints()
    for row in rows:
        request = asked_request(row, distinct=distinct, handed_on=handed_on)
        first = seen.setdefault(request.key, row.position) == row.position
        if first:
            requests.add(request)
        named.add(AskedRow(row.id, request.key, first, row.columns))
    return Questions(requests, named)


def asked_request(row: Row, *, distinct: bool = True, handed_on: bool = False) -> Request:
    """Return the request of a row, under the key of the item that answers it; arguments as for :func:`questions_of`."""
    request = row.request
    if handed_on:
        return request._replace(key=own_key(request.key, row.id), row={"id": row.id, **row.columns})
    return request if distinct else request._replace(key=own_key(request.key, row.position))


def own_key(key: str, of: int | str) -> str:
    """Return the key of a question that is asked for one row alone."""
    return digest(f"{key}#{of}")


def list_of_request(request: Request) -> list[Any]:
    """Return a request as JSON values."""
    return [
        request.key, request.model, request.messages, request.max_output_tokens, dict(request.parameters),
        request.schema, request.endpoint, request.row, request.asked_bytes,
    ]  # fmt: skip


def request_of_list(told: list[Any]) -> Request:
    """Return the request that :func:`list_of_request` wrote."""
    key, model, messages, *rest = told
    return Request(key, model, tuple(messages), *rest)
