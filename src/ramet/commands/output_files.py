"""Writing a file that people asked for: whole or not at all, and with nothing in it that a spreadsheet would run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ramet.commands.errors import UserError, one_line

_FORMULA = re.compile(r"[=+\-@\t\r]")


class OutputError(UserError):
    """The output cannot be written there."""


@contextmanager
def os_errors_as_user_errors(path: Path | str) -> Iterator[None]:
    """Turn refusals of the operating system into one line.

    Raises:
        OutputError: it did.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {one_line(error.strerror or error)}") from error


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Write a file that takes the place of `path` if the block ends well, and else leaves no trace.

    A link stays one: its target is replaced. Something other than a file, such as a pipe, is written to.

    Raises:
        OutputError: it cannot be written.
    """
    with os_errors_as_user_errors(path):
        path = path.resolve()
        in_place = path.exists() and not path.is_file()
        part = path if in_place else path.with_name(f"{path.name}.{os.getpid()}.part")
        file = part.open("wb")
    try:
        try:
            yield file
            with os_errors_as_user_errors(path):
                file.flush()
                if not in_place:
                    os.fsync(file.fileno())
        finally:
            _close(file)
        if not in_place:
            with os_errors_as_user_errors(path):
                part.replace(path)
    finally:
        if not in_place:
            part.unlink(missing_ok=True)


def _close(file: BinaryIO) -> None:
    """Close a file; a failed write was reported before, or does not matter any more."""
    try:
        file.close()
    except OSError:
        # The buffer is given up with the descriptor.
        return


def harmless_cell(value: Any) -> Any:
    """Return a value for a table. Text that a spreadsheet would take for a formula begins with an apostrophe
    instead.
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
