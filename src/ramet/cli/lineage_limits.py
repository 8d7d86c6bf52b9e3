"""The limits of a new lineage as options of a command, and dollars as they are typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ramet.cli.failures import CliError
from ramet.model.cost import AMOUNT_MAX, NANO_DOLLARS

Command = TypeVar("Command", bound=Callable[..., Any])

CENTURY_SECONDS = 100 * 365.25 * 86_400.0
COUNT = click.IntRange(0, AMOUNT_MAX)

_OPTIONS = (
    ("--max-tasks", "max_tasks", click.IntRange(1, AMOUNT_MAX), "N", "Tasks the lineage may ever create."),
    ("--max-depth", "max_spawn_depth", COUNT, "N", "Generations below the root."),
    ("--max-fan-out", "max_fan_out", COUNT, "N", "Children of one task."),
    ("--max-shape", "max_shape", COUNT, "N", "Spawned keys of one shape, for kinds with a trap."),
    ("--retries-per-minute", "retries_per_minute", COUNT, "N", "Retries of all its tasks; more are put off."),
    ("--max-cost", "max_cost", click.FloatRange(min=0), "DOLLARS", "Money that it may spend."),
    ("--max-blob-bytes", "lineage_blob_bytes_max", COUNT, "N", "All its large payloads together."),
    ("--max-seconds", "lineage_seconds", click.FloatRange(1, CENTURY_SECONDS), "SECONDS",
     "From the start of the lineage to its end."),
)  # fmt: skip


def lineage_limits(command: Command) -> Command:
    """Options for every limit that a submit gives a lineage; :func:`taken_limits` takes them."""
    for flag, name, kind, shown, told in reversed(_OPTIONS):
        command = click.option(flag, name, type=kind, metavar=shown, help=told)(command)
    return command


def taken_limits(options: dict[str, Any]) -> dict[str, Any]:
    """Take what was given of :func:`lineage_limits` out of a command's options, as fields of ``Limits``.

    Raises:
        CliError: an amount of dollars that cannot be.
    """
    taken = {name: options.pop(name) for _, name, _, _, _ in _OPTIONS}
    given = {name: value for name, value in taken.items() if value is not None}
    if "max_cost" in given:
        given["max_cost"] = nano_dollars(given["max_cost"])
    if not given.get("lineage_seconds", 0.0) >= 0.0:
        raise CliError("--max-seconds is no number of seconds: give at least 1")
    return given


def nano_dollars(amount: float) -> int:
    """Dollars as given with ``--max-cost``, in nano-dollars.

    Raises:
        CliError: it is too much, or no number.
    """
    if not amount <= AMOUNT_MAX / NANO_DOLLARS:
        raise CliError(f"--max-cost {amount} is no amount of dollars: give at most {AMOUNT_MAX // NANO_DOLLARS:,}")
    return round(amount * NANO_DOLLARS)
