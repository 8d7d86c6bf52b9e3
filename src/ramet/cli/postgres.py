"""``ramet postgres``: a PostgreSQL server for who has none."""

from __future__ import annotations

from pathlib import Path

import click

from ramet.cli.errors import CliError
from ramet.commands.options import json_option
from ramet.commands.terminal import emit, plain
from ramet.testing.postgres_server.databases import ensure_database, need_driver
from ramet.testing.postgres_server.server import Server

DATABASE = "ramet"


@click.group(short_help="Run a PostgreSQL server, for who has none.")
def postgres() -> None:
    """Run a PostgreSQL server in a folder, for one machine: for who has none.

    Its programs come with ramet[postgres-server]. It keeps what is committed (fsync), listens on the loopback address
    and lets nobody in without its password, which is part of the address that these commands print.
    """


def _folder(server: Server) -> Server:
    if not server.exists:
        raise CliError(f"there is no server in {plain(server.folder)}: `ramet postgres start` makes one")
    return server


def _tell(server: Server, url: str | None, as_json: bool) -> None:
    """The address alone on standard output, so that a script can take it."""
    if as_json:
        emit({"folder": str(server.folder), "running": server.pid is not None, "pid": server.pid, "url": url})
    elif url is not None:
        click.echo(url)


@postgres.command(short_help="Start it, and print the address for --db.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(1, 65_535), help="On the loopback address (default: as before, or a free one)."
)
@json_option
def start(*, folder: Path, port: int | None, as_json: bool) -> None:
    """Start the server in DIR, made when it is missing, and print the address of its database for --db.

    It goes on until `ramet postgres stop DIR` or the end of the system. A server that runs is left as it is.
    """
    need_driver()
    server = Server(folder, port=port)
    if server.pid is not None:
        runs_on = Server(folder).port
        if port not in (None, runs_on):
            raise CliError(f"the server in {plain(server.folder)} runs on port {runs_on}: stop it first")
    server.make()
    server.start(detached=True)
    _tell(server, ensure_database(server.url(), DATABASE), as_json)


@postgres.command(short_help="Stop it; its data stay.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def stop(*, folder: Path, as_json: bool) -> None:
    """Stop the server in DIR and wait until it has ended. Connections are cut; what was committed stays."""
    server = _folder(Server(folder))
    ran = server.pid is not None
    server.stop()
    if as_json:
        _tell(server, None, as_json)
    else:
        click.echo("stopped" if ran else "it did not run")


@postgres.command(short_help="Does it run, and where?")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def status(*, folder: Path, as_json: bool) -> None:
    """Print the address of the server in DIR. Exit status 0 when it runs, 1 when it does not."""
    server = _folder(Server(folder))
    running = server.pid is not None
    _tell(server, server.url(DATABASE) if running else None, as_json)
    if not running and not as_json:
        click.echo("it does not run")
    click.get_current_context().exit(0 if running else 1)
