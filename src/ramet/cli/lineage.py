"""``ramet lineage``: what a person may change about one."""

from __future__ import annotations

from typing import NamedTuple

import click

from ramet import Block, Client, Lineage
from ramet.cli.errors import CliError
from ramet.cli.options import Dollars, Seconds, ask, lineage_of, operator_options
from ramet.cli.output import moment, number
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, jsonable, plain
from ramet.model.lineage.guard import REOFFERABLE
from ramet.model.lineage.limits import RAISABLE

COUNT = click.IntRange(min=0)


class Raised(NamedTuple):
    """A lineage before and after."""

    before: Lineage
    after: Lineage
    waiting: list[Block]
    """Some blocks that could be offered again now."""


@click.group(short_help="Raise a lineage's limits.")
def lineage() -> None:
    """What a person may change about a lineage."""


@lineage.command("raise")
@click.argument("tracking_id")
@click.option("--max-tasks", type=COUNT, metavar="N", help="Tasks that it may ever create.")
@click.option("--max-depth", "max_spawn_depth", type=COUNT, metavar="N", help="Largest depth of a task.")
@click.option("--max-fan-out", type=COUNT, metavar="N", help="Children of one task.")
@click.option("--max-shape", type=COUNT, metavar="N", help="Spawned keys of one shape, for kinds with a trap.")
@click.option(
    "--allow-shape",
    "allow_shapes",
    multiple=True,
    metavar="SHAPE",
    help="A shape of honest pages, such as https://x.example/a/#, or with a limit: https://x.example/a/#=5000.",
)
@click.option("--retries-per-minute", type=COUNT, metavar="N", help="Retries of all its tasks.")
@click.option("--max-cost", type=Dollars(), metavar="DOLLARS", help="Money that it may spend.")
@click.option("--soft-cost", type=Dollars(), metavar="DOLLARS", help="What it may reserve up to.")
@click.option("--extend", "extend_seconds", type=Seconds(above=True), metavar="SECONDS",
              help="Let it live at least so long from now.")  # fmt: skip
@operator_options
def raise_limits(
    *,
    tracking_id: str,
    extend_seconds: float | None,
    allow_shapes: tuple[str, ...],
    reason: str | None,
    database: str,
    as_json: bool,
    **limits: int | None,
) -> None:
    """Raise limits of a lineage; recorded with who and why. A limit is never lowered by this.

    What the old limits had blocked is created by `ramet blocks reoffer`.
    """
    given = {name: value for name, value in limits.items() if value is not None}
    if not given and extend_seconds is None and not allow_shapes:
        raise CliError("nothing to raise: give a limit such as --max-tasks, --allow-shape or --extend SECONDS")

    async def act(client: Client) -> Raised:
        before = await lineage_of(client, tracking_id)
        after = await client.raise_limits(
            tracking_id, by=person(), reason=reason, extend_seconds=extend_seconds, allow_shapes=allow_shapes, **given
        )
        blocks = await client.blocks(tracking_id, limit=100_000)
        return Raised(before, after, [b for b in blocks if b.reason in REOFFERABLE and b.reoffered_at is None])

    found = ask(database, act)
    if as_json:
        emit(
            {
                "raised": _changes(found),
                "allowed": _shapes(found),
                "lineage": jsonable(found.after),
                "blocks_to_reoffer": len(found.waiting),
            }
        )
        return
    _print(found)


def _print(found: Raised) -> None:
    tracking_id = found.after.tracking_id
    for name, (before, after) in _changes(found).items():
        show = moment if name == "deadline_at" else number
        click.echo(f"{name}: {show(before)} -> {show(after)}")
    shapes = _shapes(found)
    for shape, most in shapes.items():
        click.echo(f"allowed: {'any number' if most is None else number(most)} of the shape {plain(shape)}")
    if not _changes(found) and not shapes:
        click.echo(f"lineage {plain(tracking_id)} has these limits already")
    if found.waiting:
        click.echo(
            f"{counted(len(found.waiting), 'blocked spawn')} can be offered again: ramet blocks reoffer "
            f"{plain(tracking_id)}"
        )


def _shapes(found: Raised) -> dict[str, int | None]:
    """Shapes that were allowed now."""
    before = found.before.shapes_allowed
    return {
        shape: most
        for shape, most in found.after.shapes_allowed.items()
        if shape not in before or before[shape] != most
    }


def _changes(found: Raised) -> dict[str, tuple[float, float]]:
    names = sorted(RAISABLE | {"deadline_at"})
    values = {name: (getattr(found.before, name), getattr(found.after, name)) for name in names}
    return {name: (before, after) for name, (before, after) in values.items() if before != after}
