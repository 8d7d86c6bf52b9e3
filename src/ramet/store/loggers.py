"""Loggers of ramet: text from outside cannot forge a line of the log, whatever formats it (promise I8)."""

from __future__ import annotations

import logging

from ramet.model.values import on_one_line

_FORMATTER = logging.Formatter()


class _EscapingFilter(logging.Filter):
    """Writes what is not to be seen (line ends, escapes of terminals) as escapes, before any handler has the record.

    A program that runs a worker inside of itself formats records as it likes: keys and errors come from anywhere. A
    message that is harmless stays as it was made, with its arguments.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape the record's text; return True always."""
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = on_one_line(message), None
        if record.exc_info and not record.exc_text:
            lines = _FORMATTER.formatException(record.exc_info).split("\n")
            record.exc_text = "\n".join(map(on_one_line, lines))
        return True


_HARMLESS = _EscapingFilter()


def own_logger(name: str) -> logging.Logger:
    """Return the logger of this name. Control characters in its messages are escaped: a key cannot forge a line."""
    found = logging.getLogger(name)
    found.addFilter(_HARMLESS)
    return found
