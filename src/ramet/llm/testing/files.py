"""Files at the stand-in: kept on disk, never as a whole in memory."""

from __future__ import annotations

import itertools
import mmap
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_CHUNK = 1 << 18
_NAME = re.compile(rb'\bname="([^"]*)"')


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A part of a file on disk."""

    id: str
    path: Path
    start: int
    size: int
    purpose: str
    created: int

    def as_json(self) -> dict[str, Any]:
        """A ``file``."""
        return {
            "id": self.id, "object": "file", "bytes": self.size, "created_at": self.created,
            "filename": f"{self.id}.jsonl", "purpose": self.purpose, "status": "processed",
        }  # fmt: skip

    def lines(self) -> Iterator[bytes]:
        """Its lines, one at a time."""
        left = self.size
        with self.path.open("rb") as file:
            file.seek(self.start)
            while left > 0:
                line = file.readline(left)
                left -= len(line)
                yield line

    def first_line(self) -> bytes:
        """Its first line; empty of an empty file."""
        return next(self.lines(), b"")

    def parts(self, size: int | None = None) -> Iterator[bytes]:
        """Its bytes in chunks, or the first `size` of them."""
        left = self.size if size is None else min(size, self.size)
        with self.path.open("rb") as file:
            file.seek(self.start)
            while left > 0 and (part := file.read(min(left, _CHUNK))):
                left -= len(part)
                yield part


class Files:
    """All of them, in one folder. Safe for threads."""

    def __init__(self, folder: Path) -> None:
        """None yet."""
        self._folder = folder
        self._kept: dict[str, KeptFile] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def new_path(self) -> Path:
        """Where a new file can be written."""
        with self._lock:
            return self._folder / f"{next(self._numbers):08d}"

    def get(self, id: str) -> KeptFile | None:
        """A file by its id."""
        with self._lock:
            return self._kept.get(id)

    def keep(self, path: Path, *, purpose: str, start: int = 0, size: int | None = None) -> KeptFile:
        """A file that was written to `path`."""
        whole = path.stat().st_size if size is None else size
        kept = KeptFile(f"file-{path.name}", path, start, whole, purpose, int(time.time()))
        with self._lock:
            self._kept[kept.id] = kept
        return kept

    def receive(self, source: BinaryIO, length: int, content_type: str) -> KeptFile:
        """A ``multipart/form-data`` body with a part ``file``, straight to disk.

        Raises:
            ValueError: it is no such body.
        """
        boundary = re.search(r'boundary="?([^";]+)', content_type)
        if boundary is None or not content_type.startswith("multipart/form-data"):
            raise ValueError("the body is no multipart/form-data")
        path = self.new_path()
        with path.open("wb") as file:
            left = length
            while left > 0 and (part := source.read(min(left, _CHUNK))):
                left -= len(part)
                file.write(part)
        if left or not length:
            raise ValueError("the body broke off")
        parts = _parts(path, b"--" + boundary[1].encode())
        if "file" not in parts:
            raise ValueError("there is no part 'file'")
        start, size = parts["file"]
        begin, count = parts.get("purpose", (0, 0))
        with path.open("rb") as file:
            file.seek(begin)
            purpose = file.read(count).decode("ascii", "replace")
        return self.keep(path, purpose=purpose, start=start, size=size)


def _parts(path: Path, boundary: bytes) -> dict[str, tuple[int, int]]:
    """Where the parts of a multipart body are: name -> (start, size). The content is only searched, not read."""
    found: dict[str, tuple[int, int]] = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as body:
        at = body.find(boundary)
        while at >= 0:
            head = at + len(boundary) + 2
            start = body.find(b"\r\n\r\n", head)
            after = body.find(b"\r\n" + boundary, start)
            if start < 0 or after < 0:
                break
            name = _NAME.search(body[head:start])
            if name is not None:
                found[name[1].decode("ascii", "replace")] = (start + 4, after - start - 4)
            at = after + 2
    return found
