"""``ramet metrics``: what Prometheus reads, once or served, and the files that go with it."""

from __future__ import annotations

import asyncio
import signal
from importlib.resources import files
from pathlib import Path

import click

from ramet import App, Client
from ramet.commands.errors import UserError
from ramet.commands.extras import import_extra
from ramet.commands.options import ask, database_option
from ramet.telemetry.families import board_text

RULES = files("ramet.telemetry") / "files" / "prometheus.rules.yaml"


@click.command(short_help="Metrics for Prometheus: once, or served; the board and the rules.")
@click.option("--listen", metavar="HOST:PORT", help="Serve them at /metrics until Ctrl-C, such as 127.0.0.1:9464.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with the token that a scrape has to present; needed off loopback.",
)
@click.option("--grafana", type=click.Path(path_type=Path), help="Write the Grafana board to this file.")
@click.option("--rules", type=click.Path(path_type=Path), help="Write the rules for Prometheus to this file.")
@database_option("ramet.db")
def metrics(
    *, listen: str | None, token_file: Path | None, grafana: Path | None, rules: Path | None, database: str
) -> None:
    """Print the metrics of a database once, in the text format of Prometheus (for its textfile collector).

    Exit status 1, with ramet_up 0, when the database does not answer in time.
    """
    if grafana or rules:
        if grafana is not None:
            _write(board_text(), grafana)
        if rules is not None:
            _write(RULES.read_text(encoding="utf-8"), rules)
        return
    import_extra("prometheus_client", "'ramet[metrics]'")
    if listen is None:
        text, up = ask(App(), database, _once)
        click.echo(text, nl=False)
        click.get_current_context().exit(0 if up else 1)
    token = _token(token_file)
    asyncio.run(_listen(database, listen, token))


def _write(content: str, target: Path) -> None:
    try:
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    click.echo(f"wrote {target}")


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the token in {path}: {error}") from error
    if not token.isascii() or not token.isprintable() or len(token) < 16:
        raise UserError(f"the token in {path} must be at least 16 printable ASCII characters")
    return token


async def _once(client: Client) -> tuple[str, bool]:
    from ramet.telemetry.metrics import Exposition, Snapshots

    snapshot = await Snapshots(client).get()
    return Exposition().text(snapshot)[0].decode(), snapshot is not None


async def _listen(database: str, listen: str, token: str | None) -> None:
    from ramet.telemetry.metrics import Exposition, Snapshots, address_of, application, check_address, from_loop, served

    host, port = address_of(listen)
    check_address(host, token)
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with App().client(database, create=False) as client:
        snapshots, exposition = Snapshots(client), Exposition()

        async def tell(accept: str) -> tuple[bytes, str]:
            return exposition.text(await snapshots.get(), accept)

        made = application(from_loop(loop, tell), token, host)
        with served(made, host, port) as listening:
            shown = f"[{host}]" if ":" in host else host
            click.echo(f"metrics of {client.place} at http://{shown}:{listening}/metrics", err=True)
            await stopped.wait()
