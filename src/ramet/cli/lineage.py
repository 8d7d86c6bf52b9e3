"""``ramet lineage``: raise its limits; ``ramet costs``: money spent and reserved, under which ceilings."""

from __future__ import annotations

from typing import NamedTuple

import click
from rich.console import Console

from ramet import Block, Client, Costs, Lineage, display_key
from ramet.cli.errors import CliError
from ramet.cli.options import Dollars, Seconds, ask, database_options, lineage_of, operator_options, short_ids
from ramet.cli.output import console, moment, number
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, jsonable, plain, table
from ramet.model.lineage.guard import REOFFERABLE
from ramet.model.lineage.limits import RAISABLE
from ramet.model.money import Ceiling, as_usd

COUNT = click.IntRange(min=0)


class RaisedLimits(NamedTuple):
    """A lineage before and after."""

    before: Lineage
    after: Lineage
    waiting: list[Block]
    """Some blocks that could be offered again now."""


@click.group(short_help="Raise a lineage's limits.")
def lineage() -> None:
    """Raise the limits of a lineage."""


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
@short_ids("tracking_id")
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

    Spawns that the old limits had blocked are created by `ramet blocks reoffer`.
    """
    given = {name: value for name, value in limits.items() if value is not None}
    if not given and extend_seconds is None and not allow_shapes:
        raise CliError("nothing to raise: give a limit such as --max-tasks, --allow-shape or --extend SECONDS")

    async def act(client: Client) -> RaisedLimits:
        before = await lineage_of(client, tracking_id)
        after = await client.raise_limits(
            tracking_id, by=person(), reason=reason, extend_seconds=extend_seconds, allow_shapes=allow_shapes, **given
        )
        blocks = await client.blocks(tracking_id, limit=100_000)
        return RaisedLimits(before, after, [b for b in blocks if b.reason in REOFFERABLE and b.reoffered_at is None])

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
    _print_raised(found)


def _print_raised(found: RaisedLimits) -> None:
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


def _shapes(found: RaisedLimits) -> dict[str, int | None]:
    """Return the shapes that were allowed now."""
    before = found.before.shapes_allowed
    return {
        shape: most
        for shape, most in found.after.shapes_allowed.items()
        if shape not in before or before[shape] != most
    }


def _changes(found: RaisedLimits) -> dict[str, tuple[float, float]]:
    names = sorted(RAISABLE | {"deadline_at"})
    values = {name: (getattr(found.before, name), getattr(found.after, name)) for name in names}
    return {name: (before, after) for name, (before, after) in values.items() if before != after}


@click.command(short_help="Money spent and reserved.")
@click.argument("tracking_id", required=False)
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Most expensive lineages.")
@database_options
@short_ids("tracking_id")
def costs(*, tracking_id: str | None, limit: int, database: str, as_json: bool) -> None:
    """Show money spent and reserved: today (UTC), in all, and by lineage; of one lineage also by kind and task.

    A reservation that was open when its task ended counts as spent until its call is settled. JSON has whole
    nano-dollars.
    """

    async def question(client: Client) -> Costs:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        return await client.costs(tracking_id, limit=limit)

    found = ask(database, question)
    if as_json:
        emit(found)
        return
    screen = console()
    _print_sums(screen, found)
    if found.kinds:
        _print_parts(screen, found)
    if found.more:
        screen.print("\nkinds and tasks: of the latest 20,000 calls only")
    if not any(lineage.spent or lineage.reserved for lineage in found.lineages):
        screen.print("\nnothing was spent" + (" by this lineage" if tracking_id else ""))


def _sums(of: Ceiling) -> list[str]:
    bounds = ["-" if most is None else as_usd(most) for most in (of.soft, of.most)]
    return [as_usd(of.spent), as_usd(of.reserved), *bounds]


def _print_sums(screen: Console, found: Costs) -> None:
    made = table("*of", ">spent", ">reserved", ">soft ceiling", ">ceiling", ">beyond what was reserved")
    for name, ceiling in (("today (UTC)", found.day), ("all lineages", found.total)):
        made.add_row(name, *_sums(ceiling), "")
    for row in found.lineages:
        over = as_usd(row.under_reserved) if row.under_reserved else ""
        of = Ceiling("lineage", row.spent, row.reserved, row.max_cost, row.soft_cost)
        made.add_row(plain(row.tracking_id), *_sums(of), over)
    screen.print(made)


def _print_parts(screen: Console, found: Costs) -> None:
    made = table("*kind", ">calls", ">spent", ">reserved")
    for kind in found.kinds:
        made.add_row(plain(kind.kind), number(kind.calls), as_usd(kind.spent), as_usd(kind.reserved))
    screen.print()
    screen.print(made)
    made = table("task", "kind", "*key", ">calls", ">spent", ">reserved")
    for task in found.tasks:
        made.add_row(
            task.task_id, plain(task.kind), plain(display_key(task.key)), number(task.calls), as_usd(task.spent),
            as_usd(task.reserved),
        )  # fmt: skip
    screen.print()
    screen.print(made)
