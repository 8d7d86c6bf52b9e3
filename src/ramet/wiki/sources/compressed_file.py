"""Reading a big file as it is or unpacked, in pieces, with bounds on what it unfolds to and on the memory it takes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.wiki.errors import WIKI_EXTRA, SourceError

Progress = Callable[[str], None]
"""Function that gets one line for a person."""

UNFOLDED_TIMES_MAX = 200
"""Most times its packed size that a file may unfold to. Texts reach 30; a larger ratio is an attack."""

UNFOLDED_FREE_BYTES = 64 * 1024 * 1024
"""Bytes that may be unfolded before the ratio counts."""

LINE_BYTES_MAX = 160_000_000
"""Most bytes of one line of JSON. A page that fits into it is refused by itself if it is too large."""

MEMORY_BYTES_MAX = 256 * 1024 * 1024
"""Memory limit of unpacking xz; `xz -9` needs a quarter. Zstandard's own limit is the half."""

_PIECE_BYTES = 1024 * 1024

_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"PK\x03\x04": "zip",
    b"ZIM\x04": "ZIM",
}
_ZSTD_STARTS = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + number, 0x2A, 0x4D, 0x18]) for number in range(16)))
"""First bytes of a frame, and of a skippable one, with which files of many frames begin."""


class _XzStream(io.RawIOBase):
    """The content of an xz file of any number of streams; `lzma.LZMAFile` cannot bound its memory."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self._begin()

    def _begin(self) -> None:
        self._unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_BYTES_MAX)
        self._begun = False

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill part of the buffer; 0 at the end.

        Raises:
            EOFError: the file ends within a stream.
            lzma.LZMAError: it is damaged, or takes too much memory.
        """
        packed = b""
        while True:
            if self._unpacker.eof:
                packed = self._unpacker.unused_data
                self._begin()
            if self._unpacker.needs_input:
                packed = packed or self._raw.read(_PIECE_BYTES)
                if not packed and self._begun:
                    raise EOFError("its last stream is not whole")
                if not packed:
                    return 0
                packed = packed if self._begun else packed.lstrip(b"\0")  # Streams may be padded.
                self._begun = self._begun or bool(packed)
            data = self._unpacker.decompress(packed, len(buffer))
            packed = b""
            if data:
                buffer[: len(data)] = data
                return len(data)


Damaged = tuple[type[Exception], ...]
"""Errors that a stream raises if a file is damaged."""
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)
Stream = bz2.BZ2File | gzip.GzipFile | io.BufferedReader


class PackedFile:
    """An open file of texts; `read` and `lines` give what is inside of it. Use through `unpacked`."""

    def __init__(self, path: Path, raw: io.FileIO, stream: Stream, damaged: Damaged) -> None:
        self.path = path
        self._raw = raw
        self._damaged = damaged
        self._stream = stream
        self._size = path.stat().st_size
        self._unfolded = 0

    @property
    def share(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return min(1.0, self._raw.tell() / self._size) if self._size else 1.0

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; empty at the end.

        Raises:
            SourceError: the file is cut off or damaged, or unfolds beyond all bounds.
        """
        return self._bounded(lambda: self._stream.read(size))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its number, from 1.

        Raises:
            SourceError: as `read`, and for a line that is too long.
        """
        number = 0
        while line := self._line(number + 1):
            number += 1
            yield number, line

    def _line(self, number: int) -> bytes:
        # In pieces, so that one that unfolds without end is found out before it fills the memory.
        pieces = [self._bounded(lambda: self._stream.readline(_PIECE_BYTES))]
        size = len(pieces[0])
        while pieces[-1] and not pieces[-1].endswith(b"\n"):
            pieces.append(self._bounded(lambda: self._stream.readline(_PIECE_BYTES)))
            size += len(pieces[-1])
            if size > LINE_BYTES_MAX:
                raise SourceError(f"{self.path}, line {number}: longer than {LINE_BYTES_MAX:,} bytes; split it")
        return b"".join(pieces)

    def _bounded(self, read: Callable[[], bytes]) -> bytes:
        try:
            data = read()
        except self._damaged as error:
            raise SourceError(
                f"{self.path} is cut off or damaged near byte {self._raw.tell():,} ({one_line(error)}); "
                "fetch it again, or unpack it to see"
            ) from error
        self._unfolded += len(data)
        if self._unfolded > UNFOLDED_FREE_BYTES + UNFOLDED_TIMES_MAX * self._raw.tell():
            raise SourceError(
                f"{self.path} unfolds to more than {UNFOLDED_TIMES_MAX} times its size, which no dump does; "
                "it was not used"
            )
        return data


@contextmanager
def unpacked(path: Path) -> Iterator[PackedFile]:
    """Open `path`, which its first bytes tell to be packed by bzip2, xz, Zstandard or gzip, in any number of streams.

    One that is not packed is read as it is.

    Raises:
        SourceError: it cannot be read, or is packed in another way.
        ExtraMissing: what reads Zstandard is not installed.
    """
    try:
        raw = path.open("rb", buffering=0)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    with raw:
        start = raw.read(6)
        raw.seek(0)
        for magic, packer in _FOREIGN.items():
            if start.startswith(magic):
                raise SourceError(f"{path} is packed by {packer}, which is not read here: unpack it first")
        if start.startswith(_ZSTD_STARTS):
            packer = import_extra("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", WIKI_EXTRA)
            with io.BufferedReader(packer.ZstdFile(raw), _PIECE_BYTES) as stream:
                yield PackedFile(path, raw, stream, (*_DAMAGED, packer.ZstdError))
            return
        with _stream(raw, start) as other:
            yield PackedFile(path, raw, other, _DAMAGED)


def _stream(raw: io.FileIO, start: bytes) -> Stream:
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    if start.startswith(b"\xfd7zXZ\x00"):
        return io.BufferedReader(_XzStream(raw), _PIECE_BYTES)
    return open(raw.fileno(), "rb", closefd=False)


TOLD_FROM_BYTES = 16 * 1024 * 1024
"""Least size of a file whose progress is reported, in bytes."""

_STEPS = 20


class ReadProgress:
    """Progress of reading: a line for every twentieth of a file that is big enough."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        """Report the file at `path` to `progress`, if it is given."""
        self._name = path.name
        self._progress = progress
        self._big = path.stat().st_size >= TOLD_FROM_BYTES
        self._step = 0

    def tell(self, share: float, pages: int) -> None:
        """Report that `share` of the file, from 0 to 1, has been read, with this number of pages."""
        step = int(share * _STEPS)
        if self._big and self._step < step < _STEPS:
            self._say(f"{step * 100 // _STEPS} % read, {pages:,} pages")
        self._step = max(self._step, step)

    def done(self, pages: int, *, left_out: int = 0) -> None:
        """Report that all of it has been read, and that `left_out` pages were left out for their invalid titles."""
        if self._big:
            self._say(f"read, {pages:,} pages; sorting them")
        if left_out:
            self._say(f"{left_out:,} pages were left out: no page can have their titles")

    def _say(self, line: str) -> None:
        if self._progress is not None:
            self._progress(f"{self._name}: {line}")
