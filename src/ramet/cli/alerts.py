"""``ramet alerts``: findings of the monitor, and a run of it now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource
from rich.text import Text

from ramet import Alert, Client
from ramet.cli.errors import CliError
from ramet.cli.options import (
    RowOrder,
    ask,
    database_options,
    lineage_of,
    rows_to_read,
    short_ids,
    sort_option,
    sorted_rows,
)
from ramet.cli.output import console, moment, prose, relative
from ramet.commands.options import person
from ramet.commands.terminal import emit, plain, table
from ramet.engine.alerts.channels import configured
from ramet.model.alerts.notifications import LOG

STYLES = {"critical": "red", "warning": "yellow"}
SHOWN_MAX = 3
"""Entries of an alert that are shown; --json has all of them."""


@click.group(invoke_without_command=True, short_help="Suspicious patterns: repeated wishes, deep trees, storms.")
@click.option("--all", "everything", is_flag=True, help="Also alerts that are resolved.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="Of this lineage only.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="Newest alerts to list.")
@sort_option(
    pattern=lambda alert: alert.pattern,
    severity=lambda alert: alert.severity,
    first=lambda alert: alert.first_at,
    last=lambda alert: alert.last_at,
)
@database_options
@click.pass_context
@short_ids("tracking_id")
def alerts(
    context: click.Context,
    *,
    everything: bool,
    tracking_id: str | None,
    limit: int,
    sort: RowOrder | None,
    database: str,
    as_json: bool,
) -> None:
    """List alerts, the findings of the monitor, which workers run every five minutes (setting monitor.seconds).

    An alert is not a failure: the guard has refused the spawns already. It says that something keeps asking for them.
    """
    if context.invoked_subcommand is not None:
        return

    async def question(client: Client) -> list[Alert]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        most = rows_to_read(sort, limit)
        return await client.alerts(firing=not everything, tracking_id=tracking_id, limit=most)

    found, note = sorted_rows(ask(database, question), sort, limit)
    _show(found, as_json, "no alerts" if everything else "no alert fires")
    if note and not as_json:
        console().print(note)


def _parents(context: click.Context, database: str) -> str:
    """``ramet alerts --db PATH check`` means the same as ``ramet alerts check --db PATH``."""
    if context.get_parameter_source("database") is ParameterSource.DEFAULT and context.parent is not None:
        database = context.parent.params["database"]
    return database


@alerts.command(short_help="Look now; exit status 1 when an alert fires.")
@database_options
@click.pass_context
def check(context: click.Context, *, database: str, as_json: bool) -> None:
    """Run the monitor now instead of waiting for a worker to; exit status 1 when an alert fires."""
    database = _parents(context, database)

    async def question(client: Client) -> list[Alert]:
        return await client.check_alerts()

    found = ask(database, question)
    _show(found, as_json, "no alert fires")
    if found:
        context.exit(1)


@alerts.command(short_help="Take notice of an alert: it is not sent again while it fires.")
@click.argument("alert_id", type=click.IntRange(1, 2**62))
@click.option("--reason", help="What you do about it, for the record.")
@database_options
@click.pass_context
def ack(context: click.Context, *, alert_id: int, reason: str | None, database: str, as_json: bool) -> None:
    """Acknowledge a firing alert. The audit log says who did; its end is notified all the same."""

    async def question(client: Client) -> tuple[bool, Alert | None]:
        done = await client.acknowledge_alert(alert_id, by=person(), reason=reason)
        return done, await client.alert(alert_id)

    done, alert = ask(_parents(context, database), question)
    if alert is None:
        raise CliError(f"no alert {alert_id}: `ramet alerts --all` lists them")
    if as_json:
        emit({"acknowledged": done, "alert": alert})
    elif done:
        console().print(f"acknowledged: it is not sent again while it fires ({plain(alert.pattern)})")
    elif alert.acknowledged_at is not None and alert.state == "firing":
        console().print(f"{plain(alert.acknowledged_by or '')} acknowledged it {relative(alert.acknowledged_at)}")
    else:
        console().print(f"alert {alert_id} is {plain(alert.state)}: there is nothing to acknowledge")


@alerts.command(short_help="Ways to people: which are set up here, and which workers have.")
@database_options
@click.pass_context
def channels(context: click.Context, *, database: str, as_json: bool) -> None:
    """List the channels of notices. Those of workers count: they send the findings of the monitor."""
    here = configured()
    seen = {one.name: one for one in ask(_parents(context, database), Client.alert_channels)}
    if as_json:
        for name in sorted({*here.by_name, *here.wrong, *seen}):
            own = here.by_name.get(name)
            emit({"name": name, "here": None if own is None else own.target, "wrong": here.wrong.get(name),
                  "workers": seen.get(name)})  # fmt: skip
        return
    made = table("channel", "*here", "*workers")
    for name in sorted({*here.by_name, *here.wrong, *seen}):
        own = here.by_name.get(name)
        told = plain(own.target) if own is not None else plain(here.wrong.get(name, "not set up here"))
        known = seen.get(name)
        theirs = "not seen" if known is None else f"{plain(known.target)}, seen {relative(known.seen_at)}"
        made.add_row(plain(name), told, "every worker" if name == LOG else theirs)
    console().print(made)


@alerts.command("test", short_help="Send a test through the channels that are set up here.")
@click.option("--channel", metavar="CHANNEL", help="Through this one only.")
@database_options
@click.pass_context
def trial(context: click.Context, *, channel: str | None, database: str, as_json: bool) -> None:
    """Send a test through the channels that are set up in this environment; exit status 1 when one fails."""

    async def question(client: Client) -> dict[str, str | None]:
        return await client.try_alert_channels(channel, by=person())

    try:
        told = ask(_parents(context, database), question)
    except ValueError as error:
        raise CliError(str(error)) from error
    for name, why in told.items():
        if as_json:
            emit({"channel": name, "delivered": why is None, "error": why})
        else:
            console().print(f"{plain(name)}: {'delivered' if why is None else plain(why)}")
    if any(why is not None for why in told.values()):
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
        prose(screen, _notified_line(alert), 2)
        if alert.link is not None:
            prose(screen, alert.link, 2)
        _worst(screen, alert.evidence["worst"])


def _notified_line(alert: Alert) -> str:
    """Return the number of an alert, with when it was notified and who acknowledged it."""
    line = f"alert {alert.id}, not notified"
    if alert.notified_at is not None:
        line = f"alert {alert.id}, notified {relative(alert.notified_at)}"
    if alert.acknowledged_at is not None:
        line += f", acknowledged by {alert.acknowledged_by} {relative(alert.acknowledged_at)}"
    return line


def _worst(screen: Any, worst: Sequence[dict[str, Any]]) -> None:
    if len(worst) < 2:
        return
    made = table(">how much", "what")
    for entry in worst[:SHOWN_MAX]:
        made.add_row(str(entry["weight"]), plain(entry["name"]))
    screen.print(made)
    if len(worst) > SHOWN_MAX:
        prose(screen, f"and {len(worst) - SHOWN_MAX} more: --json has them", 2)
