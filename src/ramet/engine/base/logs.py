"""Logs of a worker and of its handler process: lines for people, or JSON lines for machines.

The format travels in an environment variable, so that the handler process, which is started afresh, writes the same.
Control characters are escaped in both: a key or an error of the outside world cannot forge a line.

Whatever is logged while a handler runs says for which task, without the handler doing anything
(:class:`TaskContextFilter`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ramet.engine.base.current_tasks import current_claim
from ramet.engine.base.work import Work
from ramet.store.loggers import own_logger as own_logger  # noqa: PLC0414 - for packages that do not import the store

ENVIRONMENT = "RAMET_LOG"
"""Variable by which a worker sets the logging of its handlers' processes: ``LEVEL:json`` or ``LEVEL:lines``. Not for
people: give ``ramet worker`` its options.
"""
NAMED_MAX = 20
"""Tasks of one call that a record names."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Format(NamedTuple):
    """Formats of log lines."""

    level: str = "info"
    as_json: bool = False


class TaskContextFilter(logging.Filter):
    """Gives each record the task that its code works on: task_id, tracking_id, kind, attempt, fence, spawn_depth.

    Of a call for several tasks: how many (``tasks``), the ids of the first few (``task_ids``), and what they have in
    common. A field that the record has already, from its ``extra``, stays. :func:`configure` installs it; a program
    with logging of its own adds it to its handlers: ``handler.addFilter(InHand())``. It lets every record through.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add what is missing; always True."""
        works = current_claim()
        if works:
            fields = _of_one(works[0]) if len(works) == 1 else _of_several(works)
            for name, value in fields.items():
                vars(record).setdefault(name, value)
        return True


def _of_one(work: Work) -> dict[str, Any]:
    return {
        "task_id": work.id,
        "tracking_id": work.tracking_id,
        "kind": work.kind,
        "attempt": work.attempts,
        "fence": work.fence,
        "spawn_depth": work.spawn_depth,
    }


def _of_several(works: Sequence[Work]) -> dict[str, Any]:
    first, *others = map(_of_one, works)
    common = {name: value for name, value in first.items() if all(other[name] == value for other in others)}
    return {"tasks": len(works), "task_ids": [work.id for work in works[:NAMED_MAX]], **common}


class JsonFormatter(logging.Formatter):
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
        if trace := _trace(self, record):
            line["exception"] = trace
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """One line per record for people, in local time; a traceback follows on lines of its own.

    Lines of a handler begin with its kind and the id of its task.
    """

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        message = _escaped(record.getMessage()).replace("\n", "\\n")
        line = f"{moment} {record.levelname.lower():7} {record.name}: {_task_fields(record)}{message}"
        if trace := _trace(self, record):
            line += "\n" + _escaped(trace)
        return line


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str | None:
    """Return the traceback of this process's exception, or of one that another process reported."""
    return formatter.formatException(record.exc_info) if record.exc_info else record.exc_text


def configure(wanted: Format) -> None:
    """Log everything of this process in this format, JSON to standard output and lines to standard error.

    Processes started from here on do the same when they call :func:`inherit`.
    """
    handler = logging.StreamHandler(sys.stdout if wanted.as_json else sys.stderr)
    handler.setFormatter(JsonFormatter() if wanted.as_json else TextFormatter())
    handler.addFilter(TaskContextFilter())
    logging.basicConfig(level=wanted.level.upper(), handlers=[handler], force=True)
    os.environ[ENVIRONMENT] = f"{wanted.level}:{'json' if wanted.as_json else 'lines'}"


def inherit() -> None:
    """Log as the process that started this one; nothing happens when that one never configured it."""
    level, _, form = os.environ.get(ENVIRONMENT, "").partition(":")
    if level:
        configure(Format(level, form == "json"))


def _task_fields(record: logging.LogRecord) -> str:
    """For whom it was logged, where a handler did it; ramet's own messages name their task themselves."""
    fields = vars(record)
    whose = fields.get("task_id") or (f"{fields['tasks']} tasks" if "task_ids" in fields else "")
    if not whose or record.name.partition(".")[0] == "ramet":
        return ""
    words = [str(fields["kind"]), str(whose)] if "kind" in fields else [str(whose)]
    return f"[{_escaped(' '.join(words))}] ".replace("\n", "\\n")


def _escaped(text: str) -> str:
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
