"""The limits of a new lineage as options of a command, and dollars as they are typed."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import click

from ramet import PRESETS, App, Limits
from ramet.cli.errors import CliError
from ramet.commands.terminal import plain
from ramet.model.cost import dollars
from ramet.model.lineage.limits import lineage_limits as decided_limits
from ramet.model.lineage.limits import said, soft_within
from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, amount_of
from ramet.model.money import dollars as dollars_of
from ramet.model.numbers import SECONDS_MAX
from ramet.model.shapes import allowed_shapes

Command = TypeVar("Command", bound=Callable[..., Any])


class Seconds(click.FloatRange):
    """A number of seconds, at most a century: neither `inf` nor `nan` is one."""

    def __init__(self, least: float = 0.0, *, above: bool = False) -> None:
        super().__init__(least, SECONDS_MAX, min_open=above)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return float(found)


class Dollars(click.ParamType[int]):
    """An amount of dollars, or text with a unit such as `5 cents`; in nano-dollars."""

    name = "DOLLARS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        flag = "it" if param is None else param.opts[0]
        try:
            return amount_of(value, flag)
        except ValueError:
            pass
        try:
            return dollars_of(value.strip())
        except ValueError:
            most = AMOUNT_MAX // NANO_DOLLARS
            raise CliError(f"{flag} {plain(value)} is no amount of dollars: give at most {most:,}") from None


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
    ("--max-cost", "max_cost", Dollars(), "DOLLARS", "Money that it may spend."),
    ("--soft-cost", "soft_cost", Dollars(), "DOLLARS",
     "Nothing more is reserved from here on; at most --max-cost."),
    ("--max-blob-bytes", "lineage_blob_bytes_max", COUNT, "N", "All its large payloads together."),
    ("--max-seconds", "lineage_seconds", Seconds(1), "SECONDS",
     "From the start of the lineage to its end."),
)  # fmt: skip


def lineage_limits(command: Command) -> Command:
    """Options for every limit that a submit gives a lineage; :func:`taken_limits` takes them."""
    for flag, name, kind, shown, told in reversed(_OPTIONS):
        command = click.option(flag, name, type=kind, metavar=shown, help=told)(command)
    told = "A shape of honest pages that --max-shape does not bound, such as https://x.example/a/#; may be repeated."
    command = click.option("--allow-shape", "allow_shapes", multiple=True, metavar="SHAPE", help=told)(command)
    return PRESET(command)


def taken_limits(declared: Limits, options: dict[str, Any]) -> dict[str, Any]:
    """Take what was given of :func:`lineage_limits` out of a command's options; who runs a command is an operator.

    Args:
        declared: what would hold if nothing were given.
        options: of the command; may have the name of a preset, whose limits hold where no option says more.

    Raises:
        CliError: a soft ceiling above the hard one.
    """
    taken = {name: options.pop(name) for _, name, _, _, _ in _OPTIONS}
    preset = options.pop("preset", None)
    given = {name: value for name, value in taken.items() if value is not None}
    given = ({} if preset is None else said(PRESETS[preset])) | given
    given["allow_shapes"] = declared.allow_shapes + options.pop("allow_shapes")
    try:
        allowed_shapes(given["allow_shapes"])
    except ValueError as error:
        raise CliError(str(error)) from None
    most = given.get("max_cost", declared.max_cost)
    if "soft_cost" not in given:
        given["soft_cost"] = soft_within(declared.soft_cost, most)
    elif most is not None and given["soft_cost"] > most:
        raise CliError(f"--soft-cost is over the hard ceiling: give at most {dollars(most)}, or more as --max-cost")
    return given


def declared_limits(app: App, kind: str) -> Limits:
    """Return the limits of a lineage whose root has this kind, when the submit gives none.

    Raises:
        UnknownKind: the app has no such kind.
    """
    return decided_limits([app.registry.get(kind).root_limits], app.limits)
