"""Logs of a worker and of its handler process: lines for people, or JSON lines for machines.

The format travels in an environment variable, so that the handler process, which is started afresh, writes the same.
Control characters are escaped in both: a key or an error of the outside world cannot forge a line.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from datetime import UTC, datetime
from typing import Any, NamedTuple

ENVIRONMENT = "RAMET_LOG"
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Format(NamedTuple):
    """How to log."""

    level: str = "info"
    as_json: bool = False


class JsonLines(logging.Formatter):
    """One JSON object per record: time (UTC), level, logger, message, then what came in ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD and name not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class Lines(logging.Formatter):
    """One line per record for people, in local time; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        message = _harmless(record.getMessage()).replace("\n", "\\n")
        line = f"{moment} {record.levelname.lower():7} {record.name}: {message}"
        if record.exc_info:
            line += "\n" + _harmless(self.formatException(record.exc_info))
        return line


def configure(wanted: Format) -> None:
    """Log everything of this process in this format, JSON to standard output and lines to standard error.

    Processes started from here on do the same when they call :func:`inherit`.
    """
    handler = logging.StreamHandler(sys.stdout if wanted.as_json else sys.stderr)
    handler.setFormatter(JsonLines() if wanted.as_json else Lines())
    logging.basicConfig(level=wanted.level.upper(), handlers=[handler], force=True)
    os.environ[ENVIRONMENT] = f"{wanted.level}:{'json' if wanted.as_json else 'lines'}"


def inherit() -> None:
    """Log as the process that started this one; nothing happens when that one never configured it."""
    level, _, form = os.environ.get(ENVIRONMENT, "").partition(":")
    if level:
        configure(Format(level, form == "json"))


def _harmless(text: str) -> str:
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
