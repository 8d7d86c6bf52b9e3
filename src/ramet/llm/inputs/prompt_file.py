"""From rows of an input to questions: one after the other, each with its place, its id and its own columns."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ramet.llm.errors import InputError
from ramet.llm.inputs.fingerprints import Fingerprints
from ramet.llm.inputs.questions import Defaults, checked, read_question
from ramet.llm.inputs.sources import (
    FORMATS,
    Record,
    csv_records,
    file_records,
    format_by_name,
    json_records,
    name_of,
    records_of,
)
from ramet.llm.inputs.values import InvalidRow, Template, check_storable, shown, template_of
from ramet.llm.requests import Request

BYTES_MAX = 32_000_000
"""Most bytes of a request: providers take no larger one."""
_ESCAPED = 8
"""Most times that a line may be as long as its request: escapes, and fields that are not sent on."""
_LINE_BYTES_MAX = 64 * 1024 * 1024

SkipBad = Callable[[int, str], None]
"""Called with the place of a row that cannot be taken, and the reason; the row is left out then."""


@dataclass(frozen=True, slots=True)
class Row:
    """A question of the input."""

    position: int
    """Its place among the rows that are taken; 0 for the first."""
    line: int
    """Line where it begins in the file, 1 for the first; for rows outside a text file, its place among them."""
    id: str
    """Its own, or its place as people count: ``"1"`` for the first row. Unlike every other row's."""
    request: Request
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Its own, which say nothing about how it is asked: they travel to the results."""


def read_rows(
    path: Path,
    defaults: Defaults,
    *,
    format: str | None = None,
    bytes_max: int = BYTES_MAX,
    skip: SkipBad | None = None,
) -> Iterator[Row]:
    """Return the rows of a file, in its order.

    Args:
        path: a file in UTF-8, packed by gzip or Zstandard or not; a Parquet file; a data set on disk; ``-``: standard
            input.
        defaults: what rows that do not say take.
        format: ``jsonl``, ``csv``, ``parquet`` or ``arrow``; None: by the end of the file's name.
        bytes_max: of a request as JSON.
        skip: called for rows that cannot be taken; None: the first of them is an error.

    Raises:
        InputError: an option, the file or a line cannot be taken; the message names the line. Nothing comes after it.
        ExtraMissing: the format needs pyarrow, which is not installed.
    """
    form = format or format_by_name(path)
    if form is None or form not in FORMATS.values():
        raise InputError(f"cannot tell from its name how {path} is written; say whether it is jsonl or csv")
    defaults, template = _opened_options(defaults)
    readers = {"jsonl": json_records, "csv": csv_records}
    records = file_records(path, form, readers, min(bytes_max * _ESCAPED, _LINE_BYTES_MAX), template)
    what = "line" if form in readers else "row"
    place = f"{name_of(path)}, {what}"
    return _Reading(place, what, defaults, template, bytes_max, skip).rows(records)


def read_records(
    rows: Any, defaults: Defaults, *, bytes_max: int = BYTES_MAX, skip: SkipBad | None = None, first: int = 0
) -> Iterator[Row]:
    """Return the rows of a table in memory, or of an iterator.

    Args:
        rows: as :func:`ramet.llm.inputs.sources.records_of` takes them.
        first: how many rows there are before.

    Raises:
        InputError: as for :func:`read_rows`; the message names the row.
    """
    defaults, template = _opened_options(defaults)
    return _Reading("row", "row", defaults, template, bytes_max, skip, first).rows(records_of(rows))


def _opened_options(defaults: Defaults) -> tuple[Defaults, Template | None]:
    try:
        defaults = checked(defaults)
        return defaults, template_of(defaults.template) if defaults.template is not None else None
    except InvalidRow as error:
        raise InputError(f"the options for all rows: {error}") from error


class _Reading:
    """One pass over the rows of an input."""

    def __init__(  # noqa: PLR0917 - the parts of an input in their order
        self,
        place: str,
        what: str,
        defaults: Defaults,
        template: Template | None,
        bytes_max: int,
        skip: SkipBad | None,
        first: int = 0,
    ) -> None:
        self._place, self._what = place, what
        self._defaults, self._template = defaults, template
        self._bytes_max, self._skip, self._first = bytes_max, skip, first
        self._ids = Fingerprints()
        """Ids of rows that have one -> their line."""
        self._unnamed = array("q")
        """Line of each row without an id, by place; 0 for a row with one."""

    def rows(self, records: Iterator[Record]) -> Iterator[Row]:
        """Yield the rows."""
        with closing(_generator(records)) as found:
            for line, record in found:
                try:
                    yield self._row(line, record)
                except InvalidRow as error:
                    if self._skip is None:
                        raise InputError(f"{self._place} {line}: {error}") from error
                    self._skip(line, str(error))
        if not len(self._unnamed):
            place = self._place.rpartition(",")[0] or "the input"
            raise InputError(f"{place} holds no prompt; give one a line")

    def _row(self, line: int, record: dict[str, Any] | InvalidRow) -> Row:
        if isinstance(record, InvalidRow):
            raise record
        check_storable(record)
        told, request, columns = read_question(record, self._defaults, self._template)
        _check_size(request, self._bytes_max)
        at = len(self._unnamed)
        row_id = told if told is not None else str(self._first + at + 1)
        earlier = self._line_of(row_id, line, given=told is not None)
        if earlier is not None:
            raise InvalidRow(self._twice(row_id, earlier, given=told is not None))
        self._unnamed.append(0 if told is not None else line)
        return Row(self._first + at, line, row_id, request, columns)

    def _line_of(self, row_id: str, line: int, *, given: bool) -> int | None:
        """Return the line of an earlier row of this id."""
        if row_id.isascii() and row_id.isdigit() and len(row_id) < 19:
            at = int(row_id) - 1 - self._first
            if 0 <= at < len(self._unnamed) and self._unnamed[at] and str(at + 1 + self._first) == row_id:
                return self._unnamed[at]
        if given:
            found = self._ids.setdefault(row_id, line)
            return None if found == line else found
        return self._ids.get(row_id)

    def _twice(self, row_id: str, first: int, *, given: bool) -> str:
        if given:
            return f"the id {shown(row_id)} is that of {self._what} {first} too; give every row its own"
        return f"has no id and would be called {row_id}, as {self._what} {first} is; give every row its own"


def _generator(records: Iterator[Record]) -> Generator[Record]:
    """Return the records, as what can be closed."""
    if isinstance(records, Generator):
        return records
    return (one for one in records)


def _check_size(request: Request, bytes_max: int) -> None:
    if request.size > bytes_max:
        raise InvalidRow(f"its request has {request.size:,} bytes, over {bytes_max:,}; shorten it or split it up")
