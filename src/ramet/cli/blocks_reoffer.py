"""``ramet blocks reoffer``: offer blocked spawns again."""

from __future__ import annotations

from typing import NamedTuple

import click

from ramet import BlockReason, Client, Reoffered
from ramet.cli.options import KEY_HELP, ask, database_option, lineage_of, several
from ramet.cli.output import number
from ramet.commands.options import json_option, person, renamed
from ramet.commands.terminal import counted, emit, plain
from ramet.model.lineage.guard import REOFFERABLE

REASONS = [reason.value for reason in BlockReason if reason in REOFFERABLE]


class Offered(NamedTuple):
    """What became of the blocks of a lineage."""

    told: Reoffered
    uncounted: int
    """Refusals that no row remembers."""


@click.command(short_help="Offer blocked spawns again.")
@click.argument("tracking_id")
@several("--blocked-by", "wanted", REASONS, help="Only what was blocked for these reasons.")
@click.option("--kind", help="Only this kind.")
@click.option("--key", help=f"Only this key, {KEY_HELP}")
@click.option("--shape", help="Only keys of this shape, such as https://x.example/a/#, of kinds with a trap.")
@click.option("--reason", help="Why, for the record.")
@click.option("--why", hidden=True, help="The former name of --reason.")
@database_option
@json_option
def reoffer(
    *,
    tracking_id: str,
    wanted: tuple[str, ...],
    reason: str | None,
    why: str | None,
    database: str,
    as_json: bool,
    **only: str | None,
) -> None:
    """Offer spawns again that a limit, the stop list or a trap had blocked, after a person changed that.

    Each goes through the whole guard, as a child of the first task that asked for it. What passes is created; what
    fails keeps its block. A lineage that had finished runs again.
    """
    wanted, reason = _as_before(wanted, reason, why)

    async def act(client: Client) -> Offered:
        await lineage_of(client, tracking_id)
        told = await client.reoffer(tracking_id, reasons=wanted, by=person(), reason=reason, **only)
        among = set(wanted or REASONS)
        blocks = await client.blocks(tracking_id, limit=100_000)
        totals = await client.block_totals(tracking_id)
        stored = sum(block.count for block in blocks if block.reason in among)
        if any(only.values()):
            return Offered(told, 0)  # What no row remembers has no key.
        return Offered(told, sum(count for (_, reason), count in totals.items() if reason in among) - stored)

    found = ask(database, act)
    told = found.told
    if as_json:
        emit({
            "created": told.created,
            "there_already": told.there_already,
            "still_blocked": dict(told.still_blocked),
            "not_remembered": found.uncounted,
        })  # fmt: skip
        return
    _print(found)


def _print(found: Offered) -> None:
    told = found.told
    click.echo(f"created {counted(len(told.created), 'task')}")
    if told.there_already:
        click.echo(f"{counted(told.there_already, 'other exists', 'others exist')} by now")
    for reason, count in sorted(told.still_blocked.items()):
        click.echo(f"still blocked, {plain(reason)}: {number(count)}")
    if found.uncounted:
        more = counted(found.uncounted, "more refusal")
        click.echo(f"{more} went beyond the rows that the lineage may store, and cannot be offered")


def _as_before(wanted: tuple[str, ...], reason: str | None, why: str | None) -> tuple[tuple[str, ...], str | None]:
    """The filter and the record, as they are named now: until the next release the former names are taken too."""
    words = tuple(dict.fromkeys(word.strip() for word in (reason or "").split(",") if word.strip()))
    named = bool(words) and set(words) <= set(REASONS)
    if why is not None:
        renamed("--why", "--reason")
        return (wanted or words if named else wanted), why
    if not wanted and named:
        renamed("--reason", "--blocked-by")
        return words, None
    return wanted, reason
