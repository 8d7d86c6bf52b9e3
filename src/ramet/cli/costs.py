"""``ramet costs``: what was spent and reserved, under which ceilings."""

from __future__ import annotations

import click
from rich.console import Console

from ramet import Client, Costs, shown_key
from ramet.cli.options import ask, database_options, lineage_of
from ramet.cli.output import console, number
from ramet.commands.terminal import emit, plain, table
from ramet.model.money import Ceiling, as_usd


@click.command(short_help="What was spent and reserved.")
@click.argument("tracking_id", required=False)
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="The dearest so many.")
@database_options
def costs(*, tracking_id: str | None, limit: int, database: str, as_json: bool) -> None:
    """Money spent and reserved: today (UTC), in all, and by lineage; of one lineage also by kind and task.

    What a task left open when it ended counts as spent until its call is settled. JSON has whole nano-dollars.
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
            task.task_id, plain(task.kind), plain(shown_key(task.key)), number(task.calls), as_usd(task.spent),
            as_usd(task.reserved),
        )  # fmt: skip
    screen.print()
    screen.print(made)
