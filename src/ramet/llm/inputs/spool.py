"""Spool of an input, on disk until it is in the database: rows may be far more than fit into memory."""

from __future__ import annotations

import json
import marshal
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import finalize

from ramet.llm.inputs.fingerprints import Fingerprints
from ramet.llm.inputs.prompt_file import Row
from ramet.llm.requests import Request, digest

Item_co = TypeVar("Item_co", covariant=True)
Item = TypeVar("Item")

READ_BYTES = 1 << 20
"""Bytes of the file that are in memory at once, unless one value has more."""
_LENGTH = struct.Struct("<Q")
"""Before each value: its bytes."""


class Stream(Protocol[Item_co]):
    """Values that are counted and can be gone through, again and again."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Item_co]: ...


class AskedRow(NamedTuple):
    """A row of the input, and which question answers it."""

    id: str
    key: str
    """Of its question."""
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
        told = self._dump(value)
        try:
            content = marshal.dumps(told)  # Nothing but this object reads it, and it takes a fourth of JSON's time.
        except ValueError:  # A type of somebody's own that JSON takes, such as an enumeration.
            content = marshal.dumps(json.loads(json.dumps(told)))
        self._file.write(_LENGTH.pack(len(content)) + content)
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        place = 0
        while part := self._part(place):
            at, end = 0, len(part) - _LENGTH.size
            while at <= end:
                (size,) = _LENGTH.unpack_from(part, at)
                if at + _LENGTH.size + size > len(part):
                    break
                at += _LENGTH.size
                yield self._load(marshal.loads(part[at : at + size]))  # noqa: S302 - written above, by this process
                at += size
            place += at

    def _part(self, place: int) -> bytes:
        """Some of the file from a place on, with one value whole at least; empty at its end."""
        self._file.seek(place)  # Several may go through it at once: each has a place of its own.
        part = self._file.read(READ_BYTES)
        if len(part) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(part)
            part += self._file.read(max(0, _LENGTH.size + size - len(part)))
        return part


def questions_of(rows: Iterable[Row], *, distinct: bool = True, handed_on: bool = False) -> Questions:
    """The questions of rows. Equal ones are asked once, unless ``distinct`` is False.

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
    """The request of a row, under the key of the item that answers it; arguments as for :func:`questions_of`."""
    request = row.request
    if handed_on:
        return replace(request, key=own_key(request.key, row.id), row={"id": row.id, **row.columns})
    return request if distinct else replace(request, key=own_key(request.key, row.position))


def own_key(key: str, of: int | str) -> str:
    """The key of a question that is asked for one row alone."""
    return digest(f"{key}#{of}")


def list_of_request(request: Request) -> list[Any]:
    """A request as JSON values."""
    return [
        request.key, request.model, request.messages, request.max_output_tokens, dict(request.parameters),
        request.schema, request.endpoint, request.row, request.asked_bytes,
    ]  # fmt: skip


def request_of_list(told: list[Any]) -> Request:
    """The request that :func:`list_of_request` told."""
    key, model, messages, *rest = told
    return Request(key, model, tuple(messages), *rest)
