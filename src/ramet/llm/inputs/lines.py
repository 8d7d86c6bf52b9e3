"""A file's lines as text: UTF-8, bounded, numbered from 1. Nothing but the line at hand is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ramet.commands.errors import one_line
from ramet.llm.errors import InputError

_UTF8_MARK = b"\xef\xbb\xbf"
_PIECE_BYTES = 1 << 20
_FOREIGN = {
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "is packed by gzip; unpack it first",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet; save it as JSON Lines or CSV",
    b"PAR1": "is a Parquet file; save it as JSON Lines or CSV",
}


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file, where it is one that can be read.

    Raises:
        InputError: there is no such file, it cannot be read, or it begins as no text does.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    with file:
        yield file


def text_lines(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[tuple[int, str]]:
    """Each line with its end, and its number; a byte-order mark is left out.

    Raises:
        InputError: a line is over `bytes_max` long or is not UTF-8; the message names it.
    """
    number = 0
    while line := _line(file, path, number + 1, bytes_max):
        number += 1
        if number == 1:
            for mark, words in _FOREIGN.items():
                if line.startswith(mark):
                    raise InputError(f"{path} {words}")
            line = line.removeprefix(_UTF8_MARK)
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}, line {number}: byte {error.start + 1} is not UTF-8 ({error.reason}); save the file as UTF-8"
            ) from error


def _line(file: BinaryIO, path: Path, number: int, bytes_max: int) -> bytes:
    try:
        line = file.readline(bytes_max + 1)
        if len(line) <= bytes_max:
            return line
        size, piece = len(line), line
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(_PIECE_BYTES)
            size += len(piece)
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    raise InputError(f"{path}, line {number}: has {size:,} bytes, over {bytes_max:,}; shorten it or split it up")
