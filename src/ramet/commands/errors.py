"""Errors that a user can put right, of any command."""

from __future__ import annotations

from ramet.store.errors import StoreMissing

__all__ = ["StoreMissing", "UserError", "one_line"]


class UserError(Exception):
    """Something a user can put right. The message is one line and says how; commands print it."""

    exit_code = 2


def one_line(text: object) -> str:
    """Fold a message that spans lines, as a driver's may, into one."""
    return " ".join(str(text).split())
