"""``ramet alerts``: what the monitor found, and looking now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource
from rich.text import Text

from ramet import Alert, Client
from ramet.cli.options import ask, database_option, json_option, lineage_of
from ramet.cli.show import console, emit, moment, plain, prose, relative, table

STYLES = {"critical": "red", "warning": "yellow"}
SHOWN_MAX = 3
"""Entries of an alert that are shown; --json has all of them."""


@click.group(invoke_without_command=True, short_help="Suspicious patterns: repeated wishes, deep trees, storms.")
@click.option("--all", "everything", is_flag=True, help="Also alerts that are resolved.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="Of this lineage only.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="Newest so many.")
@database_option
@json_option
@click.pass_context
def alerts(
    context: click.Context, *, everything: bool, tracking_id: str | None, limit: int, database: str, as_json: bool
) -> None:
    """What the monitor found: workers look every five minutes (setting monitor.seconds).

    An alert is no failure: the guard has refused what was wrong already. It tells that something keeps asking.
    """
    if context.invoked_subcommand is not None:
        return

    async def question(client: Client) -> list[Alert]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        return await client.alerts(firing=not everything, tracking_id=tracking_id, limit=limit)

    _show(ask(database, question), as_json, "no alerts" if everything else "no alert fires")


@alerts.command(short_help="Look now; exit status 1 when an alert fires.")
@database_option
@json_option
@click.pass_context
def check(context: click.Context, *, database: str, as_json: bool) -> None:
    """Run the monitor now instead of waiting for a worker to; exit status 1 when an alert fires."""
    if context.get_parameter_source("database") is ParameterSource.DEFAULT and context.parent is not None:
        database = context.parent.params["database"]  # ramet alerts --db PATH check

    async def question(client: Client) -> list[Alert]:
        return await client.check_alerts()

    found = ask(database, question)
    _show(found, as_json, "no alert fires")
    if found:
        context.exit(1)


def _show(found: Sequence[Alert], as_json: bool, nothing: str) -> None:
    if as_json:
        for alert in found:
            emit(alert)
        return
    screen = console()
    if not found:
        screen.print(nothing)
        return
    for alert in found:
        ended = "" if alert.resolved_at is None else f", resolved {relative(alert.resolved_at)}"
        head = Text(plain(alert.pattern), style=STYLES.get(alert.severity, ""))
        head.append(f"  {alert.severity}, {alert.state}: first {moment(alert.first_at)}, ")
        head.append(f"last {relative(alert.last_at)}{ended}")
        screen.print(head)
        if alert.tracking_id is not None:
            prose(screen, f"lineage {alert.tracking_id}", 2)
        prose(screen, alert.subject, 2)
        _worst(screen, alert.evidence["worst"])


def _worst(screen: Any, worst: Sequence[dict[str, Any]]) -> None:
    if len(worst) < 2:
        return
    made = table(">how much", "what")
    for entry in worst[:SHOWN_MAX]:
        made.add_row(str(entry["weight"]), plain(entry["name"]))
    screen.print(made)
    if len(worst) > SHOWN_MAX:
        prose(screen, f"and {len(worst) - SHOWN_MAX} more: --json has them", 2)
