"""``ramet blocks``: refused spawns, and offering them again; ``ramet deny-list``: keys that nothing is created for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.text import Text

from ramet import Block, BlockReason, Client, ParentBlockCount, ReofferResult, StopEntry, display_key
from ramet.cli.explain import print_unnamed
from ramet.cli.options import (
    KEY_HELP,
    RowOrder,
    ask,
    compared,
    database_options,
    lineage_of,
    operator_options,
    several,
    short_ids,
    sort_option,
)
from ramet.cli.output import console, moment, number, prose, relative
from ramet.commands.options import person, renamed
from ramet.commands.terminal import counted, emit, plain, table
from ramet.model.lineage.guard import REOFFERABLE

REASONS = [reason.value for reason in BlockReason if reason in REOFFERABLE]


class ReofferReport(NamedTuple):
    """Result of a reoffer."""

    result: ReofferResult
    uncounted: int
    """Refusals that have no row."""


@click.command(short_help="Offer blocked spawns again.")
@click.argument("tracking_id")
@several("--blocked-by", "wanted", REASONS, help="Only what was blocked for these reasons.")
@click.option("--kind", help="Only this kind.")
@click.option("--key", help=f"Only this key, {KEY_HELP}")
@click.option("--shape", help="Only keys of this shape, such as https://x.example/a/#, of kinds with a trap.")
@click.option("--reason", help="Why, for the record.")
@click.option("--why", hidden=True, help="The former name of --reason.")
@database_options
@short_ids("tracking_id")
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
    """Offer spawns again that a limit, the deny list or a trap had blocked, after a person changed that.

    Each goes through the whole guard, as a child of the first task that asked for it. A spawn that passes is created;
    one that fails keeps its block. A lineage that had finished runs again.
    """
    wanted, reason = _accept_former_names(wanted, reason, why)

    async def act(client: Client) -> ReofferReport:
        await lineage_of(client, tracking_id)
        result = await client.reoffer(tracking_id, reasons=wanted, by=person(), reason=reason, **only)
        among = set(wanted or REASONS)
        blocks = await client.blocks(tracking_id, limit=100_000)
        totals = await client.block_totals(tracking_id)
        stored = sum(block.count for block in blocks if block.reason in among)
        if any(only.values()):
            return ReofferReport(result, 0)  # A refusal without a row has no key.
        return ReofferReport(result, sum(count for (_, reason), count in totals.items() if reason in among) - stored)

    found = ask(database, act)
    result = found.result
    if as_json:
        emit({
            "created": result.created,
            "there_already": result.there_already,
            "still_blocked": dict(result.still_blocked),
            "not_remembered": found.uncounted,
        })  # fmt: skip
        return
    _print_offered(found)


def _print_offered(found: ReofferReport) -> None:
    result = found.result
    click.echo(f"created {counted(len(result.created), 'task')}")
    if result.there_already:
        click.echo(f"{counted(result.there_already, 'other exists', 'others exist')} by now")
    for reason, count in sorted(result.still_blocked.items()):
        click.echo(f"still blocked, {plain(reason)}: {number(count)}")
    if found.uncounted:
        more = counted(found.uncounted, "more refusal")
        click.echo(f"{more} went beyond the rows that the lineage may store, and cannot be offered")


def _accept_former_names(
    wanted: tuple[str, ...], reason: str | None, why: str | None
) -> tuple[tuple[str, ...], str | None]:
    """Return the filter and the record under their present names; former names are accepted until the next release."""
    words = tuple(dict.fromkeys(word.strip() for word in (reason or "").split(",") if word.strip()))
    named = bool(words) and set(words) <= set(REASONS)
    if why is not None:
        renamed("--why", "--reason")
        return (wanted or words if named else wanted), why
    if not wanted and named:
        renamed("--reason", "--blocked-by")
        return words, None
    return wanted, reason


FETCHED_MAX = 100_000
LINEAGES_MAX = 1_000
UNNAMED_MAX = 1_000
DETAIL_FROM_WIDTH = 120
"""Least columns with room for the guard's own words; `ramet explain KIND KEY` shows them."""


class RefusedSpawns(NamedTuple):
    """Refused spawns of lineages."""

    blocks: list[Block]
    times: Counter[str]
    """Refusals by reason, beyond the stored rows included."""
    keys: str = ""
    """The canonical forms of the key that were looked up."""
    unnamed: tuple[ParentBlockCount, ...] = ()
    """Refusals that no row names, by the task that asked."""


class ListByDefault(click.Group):
    """Lists when no command is named, so that `ramet blocks TRACKING_ID` does what one expects."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in context.help_option_names):
            args = ["list", *args]
        return super().parse_args(context, args)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the default command, and the commands."""
        self.commands["list"].format_options(context, formatter)
        self.format_commands(context, formatter)


@click.group(cls=ListByDefault, short_help="Spawns that the guard refused, and why.")
def blocks() -> None:
    """List refused spawns, or offer them again after an operator changed the limit or the entry that refused them.

    Without a command it lists: `ramet blocks TRACKING_ID` is `ramet blocks list TRACKING_ID`.
    """


blocks.add_command(reoffer)


@blocks.command("list", short_help="Refused spawns by kind, key and reason.")
@click.argument("tracking_id", required=False)
@several("--blocked-by", "reasons", BlockReason, help="Only what was refused for these reasons.")
@several("--reason", "reasons_before", BlockReason, help="The former name of --blocked-by.", hidden=True)
@click.option("--kind", help="Only this kind.")
@click.option("--key", help=f"Only this key, {KEY_HELP}")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows to print.")
@sort_option(
    refused=lambda block: block.count,
    reason=lambda block: block.reason,
    kind=lambda block: block.kind,
    key=lambda block: block.key,
    last=lambda block: block.last_at,
)
@database_options
@short_ids("tracking_id")
def listed(
    *,
    tracking_id: str | None,
    limit: int,
    sort: RowOrder | None,
    database: str,
    as_json: bool,
    reasons: tuple[str, ...],
    reasons_before: tuple[str, ...],
    **wanted: str | None,
) -> None:
    """List refused spawns of a lineage, or of all: one row per kind, key and reason, with how often it was refused."""
    if reasons_before:
        renamed("--reason", "--blocked-by")
        reasons = reasons or reasons_before
    filters = {name: value for name, value in wanted.items() if value is not None}

    async def question(client: Client) -> RefusedSpawns:
        return await refused(client, tracking_id, filters, reasons)

    found = ask(database, question)
    # Spawns that were refused most often come first; every stored row was read here.
    order = sort or RowOrder("refused", attrgetter("count"), descending=True)
    if as_json:
        if sort is not None:
            found = found._replace(blocks=sort.first(found.blocks, FETCHED_MAX))
        for line in (*found.blocks, *found.unnamed):
            emit(line)
        return
    screen = console()
    if not (found.blocks or found.unnamed):
        what = f": {plain(found.keys)}" if found.keys else " like that" if filters or reasons else ""
        screen.print(f"no refused spawns{what}", highlight=False)
        return
    _print(screen, found, order, limit, tracking_id)


async def refused(
    client: Client, tracking_id: str | None, filters: dict[str, str], reasons: Collection[str] = ()
) -> RefusedSpawns:
    """Return blocks of one lineage, or of the newest thousand.

    Raises:
        CliError: there is no such lineage.
    """
    if tracking_id is not None:
        lineages = [await lineage_of(client, tracking_id)]
    else:
        lineages = await client.lineages(limit=LINEAGES_MAX)
    found: list[Block] = []
    unnamed: list[ParentBlockCount] = []
    times: Counter[str] = Counter()
    for lineage in lineages:
        if not lineage.blocks:
            continue
        room = max(1, FETCHED_MAX - len(found))
        if reasons:
            each = [await client.blocks(lineage.tracking_id, limit=room, reason=one, **filters) for one in reasons]
            part = sorted((block for some in each for block in some), key=_place)
        else:
            part = await client.blocks(lineage.tracking_id, limit=room, **filters)
        found += part[: FETCHED_MAX - len(found)]
        times += await _times(client, lineage.tracking_id, part, filters, reasons)
    key = filters.get("key")
    if key is None or not found:
        unnamed = await client.parent_block_counts(tracking_id, kind=filters.get("kind"), limit=UNNAMED_MAX)
    shown = tuple(one for one in unnamed if not reasons or one.reason in reasons)
    return RefusedSpawns(found, times, "" if key is None else compared(client, filters.get("kind"), key), shown)


def _place(block: Block) -> tuple[str, str, str]:
    return block.kind, block.key, block.reason


async def _times(
    client: Client, tracking_id: str, blocks: Sequence[Block], filters: dict[str, str], reasons: Collection[str]
) -> Counter[str]:
    """Return refusals by reason. Those that a lineage has beyond its stored rows are counted without keys."""
    times: Counter[str] = Counter()
    if "key" in filters:
        for block in blocks:
            times[block.reason] += block.count
        return times
    for (kind, reason), count in (await client.block_totals(tracking_id)).items():
        if filters.get("kind", kind) == kind and (not reasons or reason in reasons):
            times[reason] += count
    return times


def _print(screen: Console, found: RefusedSpawns, order: RowOrder, limit: int, tracking_id: str | None) -> None:
    blocks = found.blocks
    if not blocks:
        screen.print(f"no stored row names such a refusal{f': {plain(found.keys)}' if found.keys else ''}")
        print_unnamed(screen, found.unnamed)
        return
    screen.print(block_table(screen, order.first(blocks, limit)))
    if len(blocks) > limit:
        screen.print(
            Text(f"... and {counted(len(blocks) - limit, 'more row')}: --limit, --blocked-by, --kind or --key")
        )
    screen.print()
    screen.print(totals(found))
    print_unnamed(screen, found.unnamed)
    where = "" if tracking_id is None else f" --lineage {plain(tracking_id)}"
    tip = f"one of them in full: ramet explain {quoted(blocks[0].kind)} {quoted(display_key(blocks[0].key))}{where}"
    prose(screen, Text(f"\n{tip}", style="dim"))


def quoted(text: str) -> str:
    """Return a text as a shell word; escapes stay visible."""
    shown = plain(text)
    return shown if shown.replace("-", "").replace("_", "").replace(".", "").isalnum() else f"'{shown}'"


def block_table(screen: Console, found: Sequence[Block]) -> Any:
    """Return a table with a line for each block."""
    wide = screen.width >= DETAIL_FROM_WIDTH
    made = table(">refused", "reason", "kind", "*key", "last", *(["*why"] if wide else []))
    for block in found:
        detail = [plain(block.detail)] if wide else []
        made.add_row(
            number(block.count),
            block.reason,
            plain(block.kind),
            plain(display_key(block.key)),
            relative(block.last_at),
            *detail,
        )
    return made


def totals(found: RefusedSpawns) -> Any:
    """Return a table of refusals and stored rows by reason, in the guard's order."""
    rows = Counter(block.reason for block in found.blocks)
    order = [reason.value for reason in BlockReason]
    made = table("reason", ">refused", ">rows")
    for reason in sorted(found.times, key=lambda name: order.index(name) if name in order else len(order)):
        made.add_row(plain(reason), number(found.times[reason]), number(rows[reason]))
    made.add_row(Text("all", style="bold"), number(found.times.total()), number(rows.total()))
    return made


ENTRY_TYPES = click.Choice(["host", "domain", "pattern"])


@click.group("deny-list", short_help="Hosts, domains and patterns that nothing is created for.")
def deny_list() -> None:
    """Hosts, domains and patterns of keys that nothing is created for.

    A host is exactly that one, a domain also everything below it, a pattern any canonical key that it matches (* any
    text, ? any character). Spawns are blocked with the reason stop_list, submits refused; tasks that exist go on.
    """


@deny_list.command("add")
@click.argument("entry_type", type=ENTRY_TYPES, metavar="host|domain|pattern")
@click.argument("value")
@click.option("--reason", help="Why, for the record; blocks tell it.")
@database_options
def add_entry(*, entry_type: str, value: str, reason: str | None, database: str, as_json: bool) -> None:
    """Stop a host, a domain or a pattern."""

    async def act(client: Client) -> tuple[StopEntry, bool]:
        return await client.store.stop(entry_type, value, by=person(), reason=reason)

    entry, new = ask(database, act)
    if as_json:
        emit({"added": new, **entry._asdict()})
        return
    name = f"{entry.entry_type} {plain(entry.value)}"
    click.echo(f"stopped {name}" if new else f"{name} is on the list already, added by {plain(entry.added_by)}")


@deny_list.command("remove")
@click.argument("entry_type", type=ENTRY_TYPES, metavar="host|domain|pattern")
@click.argument("value")
@operator_options
def remove_entry(*, entry_type: str, value: str, reason: str | None, database: str, as_json: bool) -> None:
    """Take an entry off the list. `ramet blocks reoffer` creates what it had blocked."""

    async def act(client: Client) -> bool:
        return await client.unstop(entry_type, value, by=person(), reason=reason)

    removed = ask(database, act)
    if as_json:
        emit({"removed": removed, "entry_type": entry_type, "value": value})
    elif removed:
        click.echo(f"removed {entry_type} {plain(value)}")
    else:
        click.echo(f"ramet: {entry_type} {plain(value)} is not on the list: `ramet deny-list list` shows it", err=True)
    if not removed:
        click.get_current_context().exit(2)


@deny_list.command("list")
@database_options
def show_entries(*, database: str, as_json: bool) -> None:
    """List all entries."""

    async def question(client: Client) -> list[StopEntry]:
        return await client.stop_list()

    entries = ask(database, question)
    if as_json:
        for entry in entries:
            emit(entry)
        return
    screen = console()
    if not entries:
        screen.print("the deny list is empty")
        return
    made = table("type", "*value", "*why", "by", "added")
    for entry in entries:
        why = plain(entry.reason or "")
        made.add_row(entry.entry_type, plain(entry.value), why, plain(entry.added_by), moment(entry.added_at))
    screen.print(made)
