"""The limits of a new lineage as options of a command, and dollars as they are typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ramet import PRESETS, App, Limits
from ramet.cli.failures import CliError
from ramet.model.cost import AMOUNT_MAX, NANO_DOLLARS, dollars
from ramet.model.limits import lineage_limits as decided_limits
from ramet.model.limits import said, soft_within

Command = TypeVar("Command", bound=Callable[..., Any])

CENTURY_SECONDS = 100 * 365.25 * 86_400.0
COUNT = click.IntRange(0, AMOUNT_MAX)

PRESET = click.option(
    "--preset", type=click.Choice(sorted(PRESETS)), help="Limits of the lineage, instead of the app's."
)

_OPTIONS = (
    ("--max-tasks", "max_tasks", click.IntRange(1, AMOUNT_MAX), "N", "Tasks the lineage may ever create."),
    ("--max-depth", "max_spawn_depth", COUNT, "N", "Generations below the root."),
    ("--max-fan-out", "max_fan_out", COUNT, "N", "Children of one task."),
    ("--max-shape", "max_shape", COUNT, "N", "Spawned keys of one shape, for kinds with a trap."),
    ("--retries-per-minute", "retries_per_minute", COUNT, "N", "Retries of all its tasks; more are put off."),
    ("--max-cost", "max_cost", click.FloatRange(min=0), "DOLLARS", "Money that it may spend."),
    ("--soft-cost", "soft_cost", click.FloatRange(min=0), "DOLLARS",
     "Nothing more is reserved from here on; at most --max-cost."),
    ("--max-blob-bytes", "lineage_blob_bytes_max", COUNT, "N", "All its large payloads together."),
    ("--max-seconds", "lineage_seconds", click.FloatRange(1, CENTURY_SECONDS), "SECONDS",
     "From the start of the lineage to its end."),
)  # fmt: skip


def lineage_limits(command: Command) -> Command:
    """Options for every limit that a submit gives a lineage; :func:`taken_limits` takes them."""
    for flag, name, kind, shown, told in reversed(_OPTIONS):
        command = click.option(flag, name, type=kind, metavar=shown, help=told)(command)
    return PRESET(command)


def taken_limits(declared: Limits, options: dict[str, Any]) -> dict[str, Any]:
    """Take what was given of :func:`lineage_limits` out of a command's options; who runs a command is an operator.

    Args:
        declared: what would hold if nothing were given.
        options: of the command; may have the name of a preset, whose limits hold where no option says more.

    Raises:
        CliError: an amount of dollars or a time that cannot be, or a soft ceiling above the hard one.
    """
    taken = {name: options.pop(name) for _, name, _, _, _ in _OPTIONS}
    preset = options.pop("preset", None)
    given = {name: value for name, value in taken.items() if value is not None}
    given |= in_nano_dollars(given)
    if not given.get("lineage_seconds", 0.0) >= 0.0:
        raise CliError("--max-seconds is no number of seconds: give at least 1")
    given = ({} if preset is None else said(PRESETS[preset])) | given
    most = given.get("max_cost", declared.max_cost)
    if "soft_cost" not in given:
        given["soft_cost"] = soft_within(declared.soft_cost, most)
    elif most is not None and given["soft_cost"] > most:
        raise CliError(f"--soft-cost is over the hard ceiling: give at most {dollars(most)}, or more as --max-cost")
    return given


def declared_limits(app: App, kind: str) -> Limits:
    """What holds for a lineage whose root is of a kind of this app, if nothing is given.

    Raises:
        UnknownKind: the app has no such kind.
    """
    return decided_limits([app.registry.get(kind).root_limits], app.limits)


def in_nano_dollars(options: Mapping[str, Any]) -> dict[str, int]:
    """What was given in dollars among a command's options, in nano-dollars.

    Raises:
        CliError: it is too much, or no number.
    """
    return {
        name: _nano_dollars(flag, options[name])
        for flag, name, _, shown, _ in _OPTIONS
        if shown == "DOLLARS" and options.get(name) is not None
    }


def _nano_dollars(flag: str, amount: float) -> int:
    if not amount <= AMOUNT_MAX / NANO_DOLLARS:
        raise CliError(f"{flag} {amount} is no amount of dollars: give at most {AMOUNT_MAX // NANO_DOLLARS:,}")
    return round(amount * NANO_DOLLARS)
