"""Where a task stands in line, as options of a command (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ramet import PathArguments
from ramet.cli.errors import CliError
from ramet.cli.payloads import json_value
from ramet.model.paths import ON_DEPENDENCY_FAILURE, SCOPES

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--path", "elements", multiple=True, metavar="ELEMENT",
                 help="Where the task stands in line: one element each time, --path doc1 --path review."),
    click.option("--path-json", metavar="JSON", help="The same as one list: '[\"doc1\", \"review\"]'."),
    click.option("--document-id", metavar="ID", help="The same as one element: --path ID."),
    click.option("--reserve-path", is_flag=True, help="Take the place in line now, although the task is delayed."),
    click.option("--path-scope", type=click.Choice(SCOPES), help="Instead of the kind's."),
    click.option("--on-dependency-failure", type=click.Choice(ON_DEPENDENCY_FAILURE),
                 help="Instead of the kind's: run when what it waited for, above it, failed."),
)  # fmt: skip


def path_options(command: Command) -> Command:
    """Options for the place in line; :func:`taken_path` takes them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def taken_path(options: dict[str, Any]) -> PathArguments:
    """Take what was given of :func:`path_options` out of a command's options.

    Raises:
        CliError: several ways were used at once, or the JSON is none.
    """
    elements, text, document_id = (options.pop(name) for name in ("elements", "path_json", "document_id"))
    reserve, scope = options.pop("reserve_path"), options.pop("path_scope")
    ways = {"--path": elements or None, "--path-json": text, "--document-id": document_id}
    used = [name for name, value in ways.items() if value is not None]
    if len(used) > 1:
        raise CliError(f"{' and '.join(used)} both say where the task stands: give one of them")
    path = PathArguments(path_scope=scope, on_dependency_failure=options.pop("on_dependency_failure"))
    if reserve:
        path["reserve_path"] = True
    if document_id is not None:
        path["document_id"] = document_id
    elif used:
        path["path"] = list(elements) if text is None else json_value(text, "--path-json")
    return path
