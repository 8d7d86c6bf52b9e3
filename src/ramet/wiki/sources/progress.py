"""Telling how far the reading of a big file is."""

from __future__ import annotations

from pathlib import Path

from ramet.wiki.sources.compressed_file import Progress

TOLD_FROM_BYTES = 16 * 1024 * 1024
"""Smaller files are read before anybody wonders."""

_STEPS = 20


class Shares:
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
