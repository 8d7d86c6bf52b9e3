"""From an exception that a user caused to the one line that says what to do."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ramet.commands.terminal import plain

if TYPE_CHECKING:
    from pydantic import ValidationError

EXIT_USAGE = 2
EXIT_STOPPED = 130
EXIT_STATUSES: Mapping[str, str] = {
    "0": "done; of a worker also a drain that was asked for, and nothing left with `--until-idle`",
    "1": "the answer is no: not all succeeded (`submit --wait`, `llm`, `jobs run`, `wiki`), an alert fires "
    "(`alerts check`), a channel failed (`alerts test`), something is to be done (`migrate --check`, `doctor`), the "
    "handlers' process could not go on (`worker`), the database is away (`metrics`), several fit (`jobs why`)",
    "2": "it cannot be done as asked: one line on standard error says why and what to give; nothing is half-written",
    "3": "a job of `llm` ended, and some of its items failed",
    "128 + N": "stopped by signal N before the end: 130 after Ctrl-C, 143 after a second SIGTERM",
}
"""Meaning of each exit status of the commands. A traceback with status 1 is a defect of ramet."""
SHOWN_FIELDS_MAX = 3


class CliError(Exception):
    """An error that a user can correct. The message is one line and says how."""

    exit_code = EXIT_USAGE


def _is_users(error: BaseException) -> bool:
    """Return whether a user causes such errors and can correct them."""
    # Late: most commands end without an error, and then need none of these modules.
    from pydantic import ValidationError

    from ramet import InvalidEntry, InvalidKey, InvalidPath, InvalidText, PayloadTooLarge, StoreError, UnknownKind
    from ramet.model.values import InvalidNumber

    users = (
        CliError, InvalidEntry, StoreError, UnknownKind, InvalidKey, InvalidPath, InvalidNumber, InvalidText,
        PayloadTooLarge, ValidationError,
    )  # fmt: skip
    return isinstance(error, users)


def exit_code_of(error: BaseException) -> int | None:
    """Return the exit status for an error that a user can correct; None for a bug.

    Commands from entry points mark theirs with an integer attribute ``exit_code``.
    """
    if _is_users(error):
        return EXIT_USAGE
    code = getattr(error, "exit_code", None)
    return code if isinstance(code, int) and isinstance(error, Exception) else None


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line, harmless to a terminal."""
    if isinstance(error, click.UsageError):
        help_of = f" (try: {error.ctx.command_path} --help)" if error.ctx is not None else ""
        text = error.format_message().rstrip(".") + help_of
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    else:
        text = _message(error)
    return plain(" ".join(text.split()))


def _message(error: BaseException) -> str:
    from pydantic import ValidationError

    return misfit(error) if isinstance(error, ValidationError) else str(error) or type(error).__name__


def misfit(error: ValidationError) -> str:
    """Return the fields of a payload that do not fit, with the reasons."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    parts = []
    for item in found[:SHOWN_FIELDS_MAX]:
        where = ".".join(map(str, item["loc"]))
        parts.append(f"{where}: {item['msg']}" if where else item["msg"])
    more = f" (and {len(found) - SHOWN_FIELDS_MAX} more)" if len(found) > SHOWN_FIELDS_MAX else ""
    return f"the payload does not fit {error.title}: {'; '.join(parts)}{more}"


def say(error: BaseException) -> None:
    """Print the one line."""
    click.echo(f"ramet: {one_line(error)}", err=True)


def where_raised(error: BaseException) -> str:
    """Return ``file:line`` of the innermost frame, for errors in a user's module."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else sys.argv[0]
