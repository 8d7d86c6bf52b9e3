"""The last log lines of an attempt, kept with it: what a handler's code logs while it runs, by whatever logger.

A handler of the root logger gives each record to the calls that it belongs to (:func:`handled_tasks`), and nothing else
looks at it. Lines of an attempt whose process dies are lost with it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Sequence

from ramet.engine.base.current_tasks import handled_tasks
from ramet.engine.base.error_text import redacted
from ramet.engine.base.work import Work
from ramet.model.values import storable

BYTES_MAX = 65_536
"""Most bytes of the lines of one attempt, as JSON."""
LINE_CHARACTERS_MAX = 4_000

_Claim = tuple[int, int]
_FORMAT = logging.Formatter()


class _Lines:
    """The last lines of one attempt. More than one thread may log for it."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._lines: deque[str] = deque()
        self._bytes = self._left_out = 0

    def add(self, line: str) -> None:
        """Keep one more line, as JSON text, and leave out the oldest that are too many then."""
        with self._lock:
            self._lines.append(line)
            self._bytes += len(line.encode())
            while len(self._lines) > self._most or self._bytes > BYTES_MAX:
                self._bytes -= len(self._lines.popleft().encode())
                self._left_out += 1

    def text(self) -> str | None:
        """All of it as JSON; None where nothing was logged."""
        with self._lock:
            if not self._lines and not self._left_out:
                return None
            return f'{{"left_out": {self._left_out}, "lines": [{", ".join(self._lines)}]}}'


class _TaskLineHandler(logging.Handler):
    """Gives records to the attempts that they belong to."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[_Claim, _Lines] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record where its code works for an attempt of which lines are kept."""
        works = handled_tasks()
        wanted = [lines for work in works if (lines := self.kept.get((work.seq, work.fence))) is not None]
        if not wanted:
            return
        try:
            line = _line(record)
        except Exception:
            self.handleError(record)  # As every handler does with a record that cannot be written down.
            return
        for lines in wanted:
            lines.add(line)


def _line(record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text = f"{text}\n{_FORMAT.formatException(record.exc_info)}"
    level, message = record.levelname.lower(), storable(redacted(text), LINE_CHARACTERS_MAX)
    return json.dumps([round(record.created, 3), level, storable(record.name, 200), message], ensure_ascii=False)


_HANDLER = _TaskLineHandler()


def keep_lines(works: Sequence[Work], most: int) -> None:
    """Keep the last ``most`` lines of these attempts from now on, until they are taken."""
    root = logging.getLogger()
    if _HANDLER not in root.handlers:
        root.addHandler(_HANDLER)
    for work in works:
        _HANDLER.kept[work.seq, work.fence] = _Lines(most)


def take_lines(seq: int, fence: int) -> str | None:
    """Return the lines of an attempt as JSON, and keep no more of it; None where it logged nothing."""
    lines = _HANDLER.kept.pop((seq, fence), None)
    return None if lines is None else lines.text()
