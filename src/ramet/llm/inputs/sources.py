"""Sources of rows: files as they are or packed, standard input, Parquet, data sets on disk, tables in memory."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.commands.parquet import PARQUET_EXTRA
from ramet.llm.errors import InputError
from ramet.llm.inputs.questions import LIMIT_NAMES, is_misspelled
from ramet.llm.inputs.values import InvalidRow, Template, shown, unknown

STDIN = "-"
FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet",
    ".arrow": "arrow",
}  # fmt: skip
"""Ending of a name, without that of its packing -> reader of the file."""
_PACKED = (".gz", ".zst")
_BATCH_ROWS = 500
Record = tuple[int, dict[str, Any] | InvalidRow]
"""A row and its number, or why it cannot be taken."""


def is_stdin(path: Path) -> bool:
    """Return True if rows come from standard input."""
    return str(path) == STDIN


def name_of(path: Path) -> str:
    """Return the name of a file for errors."""
    return "standard input" if is_stdin(path) else str(path)


def format_by_name(path: Path) -> str | None:
    """Return a file's format by its name; None where that does not tell. A folder is a data set, stdin JSON Lines."""
    if is_stdin(path):
        return "jsonl"
    if path.is_dir() and not path.suffix:
        return "arrow"
    bare = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return FORMATS.get(bare.suffix.lower())


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Provide the bytes of a file, unpacked where gzip or Zstandard packed it.

    Raises:
        InputError: there is no such file, or it cannot be read.
        ExtraMissing: it is packed by Zstandard, and pyarrow is not installed.
    """
    if is_stdin(path):
        yield _unpacked(cast(io.BufferedReader, sys.stdin.buffer))
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    with file:
        yield _unpacked(file)


def _unpacked(file: io.BufferedReader) -> BinaryIO:
    begin = file.peek(4)[:4] if hasattr(file, "peek") else b""
    if begin.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if begin == b"\x28\xb5\x2f\xfd":
        arrow = import_extra("pyarrow", PARQUET_EXTRA)
        stream = arrow.CompressedInputStream(arrow.PythonFile(file, mode="r"), "zstd")
        return cast(BinaryIO, io.BufferedReader(stream, 1 << 20))
    return file


def table_records(path: Path, form: str) -> Generator[Record]:
    """Yield the rows of a Parquet file, an Arrow file, or a data set that Hugging Face's `save_to_disk` wrote.

    Raises:
        InputError: it cannot be read.
        ExtraMissing: pyarrow is not installed.
    """
    arrow = import_extra("pyarrow", PARQUET_EXTRA)
    number = 0
    try:
        for file in _parts(path, form):
            for batch in _batches(file):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {name: plain(value) for name, value in row.items() if value is not None}
    except (OSError, arrow.ArrowException) as error:
        raise InputError(f"cannot read {path}: {one_line(error)[:300]}") from error


def _parts(path: Path, form: str) -> list[Path]:
    """Return the files of a data set in their order; a file is its own only part."""
    if not path.is_dir():
        return [path]
    splits = path / "dataset_dict.json"
    if splits.exists():
        names = ", ".join(str(path / name) for name in json.loads(splits.read_text()).get("splits", ()))
        raise InputError(f"{path} holds several data sets: give one of {names}")
    state = path / "state.json"
    if state.exists():
        told = json.loads(state.read_text())
        if told.get("_indices_files") or told.get("_indices_data_files"):
            raise InputError(f"{path} is a selection of another data set: save it again after flatten_indices()")
        return [path / one["filename"] for one in told["_data_files"]]
    found = sorted(path.glob("*.parquet")) or sorted(path.glob("*.arrow"))
    if not found:
        raise InputError(f"{path} is a folder without a data set: give a file, or what save_to_disk wrote")
    return found


def _batches(path: Path) -> Iterator[Any]:
    if path.suffix.lower() == ".parquet":
        parquet = import_extra("pyarrow.parquet", PARQUET_EXTRA)
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_BATCH_ROWS)
        return
    arrow = import_extra("pyarrow", PARQUET_EXTRA)
    with arrow.memory_map(str(path), "r") as source:
        try:
            yield from arrow.ipc.open_stream(source)
        except arrow.ArrowInvalid:
            source.seek(0)
            reader = arrow.ipc.open_file(source)
            for at in range(reader.num_record_batches):
                yield reader.get_batch(at)


def plain(value: Any) -> Any:
    """Return a value of a table as JSON has it: moments as text, no NaN, no type of a library's own."""
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "isoformat"):
        # A moment that is none compares unequal to itself.
        return None if value != value else value.isoformat()  # noqa: PLR0124
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, bytes | bytearray):
        raise InvalidRow("holds bytes; leave that column out, or write it as text")
    return str(value)


def records_of(rows: Any) -> Iterator[Record]:
    """Yield the rows of a table in memory, a data set, or anything that gives one row after another.

    Args:
        rows: a DataFrame of pandas or polars, a table of Arrow, a data set of Hugging Face, or mappings and texts; a
            text is a prompt.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(rows, str | bytes | Mapping):
        raise InputError(f"a {type(rows).__name__} is one row: give a list of rows")
    number = 0
    for number, row in enumerate(_each(rows), 1):
        if isinstance(row, str):
            yield number, {"prompt": row}
        elif isinstance(row, Mapping):
            try:
                yield number, {name: value for name, value in _plain_items(row) if value is not None}
            except InvalidRow as error:
                yield number, error
        else:
            yield number, InvalidRow(f"a row must be a mapping or a text, not a {type(row).__name__}")


def _plain_items(row: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    return ((str(name), plain(value)) for name, value in row.items())


def _each(rows: Any) -> Iterable[Any]:
    if hasattr(rows, "iter_rows"):
        named: Iterable[Any] = rows.iter_rows(named=True)
        return named
    if hasattr(rows, "iloc"):
        return _pandas_rows(rows)
    if hasattr(rows, "to_batches"):
        return (row for batch in rows.to_batches(max_chunksize=_BATCH_ROWS) for row in batch.to_pylist())
    if hasattr(rows, "__arrow_c_stream__") and not hasattr(rows, "__iter__"):
        reader = import_extra("pyarrow", PARQUET_EXTRA).RecordBatchReader.from_stream(rows)
        return (row for batch in reader for row in batch.to_pylist())
    try:
        return cast(Iterable[Any], iter(rows))
    except TypeError as error:
        raise InputError(f"a {type(rows).__name__} gives no rows: give a list, a DataFrame or an iterator") from error


def _pandas_rows(rows: Any) -> Iterator[Any]:
    for start in range(0, len(rows), _BATCH_ROWS):
        yield from rows.iloc[start : start + _BATCH_ROWS].to_dict("records")


Reader = Callable[[Path, BinaryIO, int, Template | None], Generator[Record]]


def file_records(
    path: Path, form: str, readers: Mapping[str, Reader], bytes_max: int, template: Template | None
) -> Generator[Record]:
    """Yield the rows of a file; closed, it closes the file.

    Raises:
        InputError: the file cannot be read; the message names the line.
    """
    if form in ("parquet", "arrow"):
        yield from table_records(path, form)
        return
    with opened(path) as file, contextlib.closing(readers[form](path, file, bytes_max, template)) as found:
        yield from found


_UTF8_MARK = b"\xef\xbb\xbf"
_PIECE_BYTES = 1 << 20
_FOREIGN = {
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "is packed twice; unpack it first",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet; save it as JSON Lines or CSV",
    b"PAR1": "is a Parquet file; give it a name that ends in .parquet",
}


def text_lines(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[tuple[int, str | InvalidRow]]:
    """Each line with its end, and its number; a byte-order mark is left out.

    A line that is over `bytes_max` long, or is not UTF-8, becomes an error in its place.

    Raises:
        InputError: the file cannot be read, or is none of text.
    """
    number = 0
    while line := _line(file, path, bytes_max):
        number += 1
        if isinstance(line, InvalidRow):
            yield number, line
            continue
        if number == 1:
            for mark, words in _FOREIGN.items():
                if line.startswith(mark):
                    raise InputError(f"{name_of(path)} {words}")
            line = line.removeprefix(_UTF8_MARK)
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            yield number, InvalidRow(f"byte {error.start + 1} is not UTF-8 ({error.reason}); save the file as UTF-8")


def _line(file: BinaryIO, path: Path, bytes_max: int) -> bytes | InvalidRow:
    try:
        line = file.readline(bytes_max + 1)
        if len(line) <= bytes_max:
            return line
        size, piece = len(line), line
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(_PIECE_BYTES)
            size += len(piece)
    except (OSError, EOFError, zlib.error) as error:
        words = one_line(getattr(error, "strerror", None) or error)
        raise InputError(f"cannot read {name_of(path)}: {words}") from error
    return InvalidRow(f"has {size:,} bytes, over {bytes_max:,}; shorten it or split it up")


_TEXTS = frozenset(
    {"id", "custom_id", "prompt", "system", "model", "stop", "reasoning_effort", "verbosity", "user"}
    | {"prompt_cache_key", "safety_identifier"}
)
_NUMBERS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys((*LIMIT_NAMES, "seed", "top_k"), int),
    **dict.fromkeys(("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty"), float),
}
_COLUMNS = _TEXTS | _NUMBERS.keys()
_OPTIONAL = frozenset({"id", "custom_id", "model", "system", *LIMIT_NAMES})
"""Columns beside a template's own that say nothing where they are empty."""


def csv_records(path: Path, file: BinaryIO, bytes_max: int, template: Template | None = None) -> Generator[Record]:
    """Each row as an object, and the number of the line where it begins.

    Raises:
        InputError: the header cannot be taken, or the file is not CSV from a line on; the message names it.
    """
    where = name_of(path)
    # One for the whole process; what others set is not made smaller.
    csv.field_size_limit(max(csv.field_size_limit(), bytes_max))
    lines = _lines_of_table(path, file, bytes_max)
    first = next(lines, "")
    if not first.strip():
        raise InputError(f"{where}, line 1: has no header; name the columns there, 'prompt' among them")
    reader = csv.reader(_after(first, lines), delimiter=_separator(first), strict=True)
    header: list[str] | None = None
    begins = 1
    while True:
        try:
            cells = next(reader, None)
            if cells is None:
                return
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_header(header, template, where)
            elif cells:
                yield begins, _record(header, cells, template)
        except csv.Error as error:
            words = f"{where}, line {begins}: not CSV ({one_line(error)}); a quote may be missing there"
            raise InputError(words) from error
        except InvalidRow as error:
            yield begins, error
        begins = reader.line_num + 1


def _lines_of_table(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[str]:
    """Yield the lines of a table. A row may have several, so that none of them can be left out by itself."""
    for number, line in text_lines(path, file, bytes_max):
        if isinstance(line, InvalidRow):
            raise InputError(f"{name_of(path)}, line {number}: {line}")
        yield line


def _after(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _separator(header: str) -> str:
    return max(",;\t", key=header.count)


def _check_header(header: list[str], template: Template | None, where: str) -> None:
    try:
        _check_names(header, template)
    except InvalidRow as error:
        raise InputError(f"{where}, line 1: {error}") from error


def _check_names(header: list[str], template: Template | None) -> None:
    for name in header:
        if header.count(name) > 1:
            raise InvalidRow(f"the header has the column {shown(name)} twice; rename one of them")
    if template is not None:
        for name in template.names:
            if name not in header:
                raise InvalidRow(f"the template wants {unknown(name, header, 'column')}")
        return
    for name in header:
        if is_misspelled(name):
            raise InvalidRow(f"{unknown(name, _COLUMNS, 'column')}; rename it if it is a column of your own")
    if "prompt" not in header:
        raise InvalidRow("the header has no column 'prompt'; add one, or give a template")


def _record(header: list[str], cells: list[str], template: Template | None) -> dict[str, Any]:
    if len(cells) != len(header):
        raise InvalidRow(f"has {len(cells)} cells, where the header has {len(header)}; is a separator not in quotes?")
    pairs = zip(header, cells, strict=True)
    if template is not None:
        return {
            name: cell if name in template.names else _value(name, cell)
            for name, cell in pairs
            if cell or name not in _OPTIONAL
        }
    return {name: _value(name, cell) for name, cell in pairs if cell.strip() or name not in _COLUMNS}


def _value(name: str, cell: str) -> str | float:
    convert = _NUMBERS.get(name)
    if convert is None:
        return cell
    kind = "whole number" if convert is int else "number"
    try:
        # Python reads more digits and separators than a table has.
        if not cell.isascii() or "_" in cell:
            raise ValueError
        return convert(cell)
    except ValueError as error:
        raise InvalidRow(f"'{name}' must be a {kind}, not {shown(cell)}") from error


def json_records(path: Path, file: BinaryIO, bytes_max: int, template: Template | None = None) -> Generator[Record]:
    """Each object and the number of its line.

    Raises:
        InputError: the file cannot be read.
    """
    for number, line in text_lines(path, file, bytes_max):
        if isinstance(line, InvalidRow):
            yield number, line
        elif line.strip():
            yield number, _object(number, line.strip())


def _object(number: int, line: str) -> dict[str, Any] | InvalidRow:
    try:
        record = _DECODER.decode(line)
    except InvalidRow as error:
        return error
    except (ValueError, RecursionError) as error:
        hint = "; give one object a line, no list" if number == 1 and line in {"[", "{"} else "; correct it"
        return InvalidRow(f"not JSON ({one_line(error)}){hint}")
    if not isinstance(record, dict):
        return InvalidRow(f'must be an object like {{"id": ..., "prompt": ...}}, not {shown(record)}')
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRow(f"has the key {shown(twice)} twice; keep one of them")
    return record


def _no_constant(name: str) -> object:
    raise InvalidRow(f"{name} is not JSON; leave it out")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
