"""Reading a big file as it is or out of bzip2 or gzip, in pieces, with bounds on what it unfolds to."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ramet.commands.errors import one_line
from ramet.wiki.errors import SourceError

Progress = Callable[[str], None]
"""Called with one line for a person."""

UNFOLDED_TIMES_MAX = 200
"""How many times its packed size a file may unfold to. Texts reach 30; what reaches more is made to do harm."""

UNFOLDED_FREE_BYTES = 64 * 1024 * 1024
"""Bytes that may be unfolded before the ratio counts."""

LINE_BYTES_MAX = 160_000_000
"""Bytes of one line of JSON, at most. A page that fits into it is refused by itself if it is too large."""

_PIECE_BYTES = 1024 * 1024

_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\xfd7zXZ\x00": "xz",
}


Stream = bz2.BZ2File | gzip.GzipFile | io.BufferedReader


class PackedFile:
    """An open file of texts; `read` and `lines` give what is inside of it. Use through `unpacked`."""

    def __init__(self, path: Path, raw: io.FileIO, stream: Stream) -> None:
        self.path = path
        self._raw = raw
        self._stream = stream
        self._size = path.stat().st_size
        self._unfolded = 0

    @property
    def share(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return min(1.0, self._raw.tell() / self._size) if self._size else 1.0

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end.

        Raises:
            SourceError: the file is cut off or damaged, or unfolds beyond all bounds.
        """
        return self._bounded(lambda: self._stream.read(size))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its number, from 1.

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
        except (EOFError, OSError, zlib.error) as error:
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
    """Open `path`, which its first bytes tell to be packed by bzip2 (also in many streams), by gzip, or not at all.

    Raises:
        SourceError: it cannot be read, or is packed in another way.
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
        with _stream(raw, start) as stream:
            yield PackedFile(path, raw, stream)


def _stream(raw: io.FileIO, start: bytes) -> Stream:
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    return open(raw.fileno(), "rb", closefd=False)


TOLD_FROM_BYTES = 16 * 1024 * 1024
"""Smaller files are read before anybody wonders."""

_STEPS = 20


class ReadProgress:
    """Tells a line for every twentieth of a file that is big enough."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        """Tell `progress`, if there is somebody who wants to know, about the file at `path`."""
        self._name = path.name
        self._progress = progress
        self._big = path.stat().st_size >= TOLD_FROM_BYTES
        self._step = 0

    def tell(self, share: float, pages: int) -> None:
        """`share` of the file, from 0 to 1, has been read, with so many pages."""
        step = int(share * _STEPS)
        if self._big and self._step < step < _STEPS:
            self._say(f"{step * 100 // _STEPS} % read, {pages:,} pages")
        self._step = max(self._step, step)

    def done(self, pages: int, *, left_out: int = 0) -> None:
        """All of it has been read, and so many pages were left out since their titles cannot be read."""
        if self._big:
            self._say(f"read, {pages:,} pages; sorting them")
        if left_out:
            self._say(f"{left_out:,} pages were left out: no page can have their titles")

    def _say(self, line: str) -> None:
        if self._progress is not None:
            self._progress(f"{self._name}: {line}")
