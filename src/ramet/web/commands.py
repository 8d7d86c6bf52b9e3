"""``ramet dashboard``: serve the pages and the API."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import NamedTuple

import click

from ramet import App
from ramet.commands.errors import UserError
from ramet.commands.extras import import_extra
from ramet.commands.options import database_option, person
from ramet.web.access import LOOPBACK, TOKEN_CHARACTERS_MIN, Access, name_of

TOKEN_VARIABLE = "RAMET_DASHBOARD_TOKEN"  # noqa: S105  # the name of a variable
"""The token with which one may look and act in the dashboard, where no file has it."""
READ_TOKEN_VARIABLE = "RAMET_DASHBOARD_READ_TOKEN"  # noqa: S105  # the name of a variable
"""The token with which one may only look, where no file has it."""
WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  # compared, not listened on


class BadAccess(UserError):
    """The dashboard would be exposed unsafely, or unreachable."""


class Tokens(NamedTuple):
    """Sources of the tokens: files, or the environment."""

    admin_file: Path | None
    read_file: Path | None

    def read(self) -> tuple[str | None, str | None]:
        """The admin and the read token.

        Raises:
            BadAccess: a file cannot be read, or what it holds is no token.
        """
        admin = _token(self.admin_file, TOKEN_VARIABLE)
        read = _token(self.read_file, READ_TOKEN_VARIABLE)
        if admin is not None and admin == read:
            raise BadAccess("the admin token and the read token are the same: give two")
        return admin, read


@click.command(short_help="Pages and an API that show what runs, and let people act on it.")
@database_option("ramet.db")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; off loopback only with a token."
)
@click.option("--port", type=click.IntRange(0, 65_535), default=8371, show_default=True, help="0: one that is free.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="Name under which it is reached; repeatable."
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), help=f"The admin token, in a file ({TOKEN_VARIABLE} without one)."
)
@click.option(
    "--read-token-file",
    type=click.Path(path_type=Path),
    help=f"The token of those who may only look ({READ_TOKEN_VARIABLE} without one).",
)
@click.option("--secure", is_flag=True, help="Cookies for https only: behind a proxy that speaks it.")
@click.option("--by", help="Name under which acts are recorded where nobody gave one.  [default: you]")
@click.option("--access-log", is_flag=True, help="A line on standard error for every request.")
def dashboard(
    *,
    database: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    token_file: Path | None,
    read_token_file: Path | None,
    secure: bool,
    by: str | None,
    access_log: bool,
) -> None:
    """Serve the dashboard of a database until Ctrl-C.

    On loopback whoever reaches it may act. Elsewhere a token is asked for, of at least 16 characters.
    """
    import_extra("fastapi", "'ramet[web]'")
    import_extra("uvicorn", "'ramet[web]'")
    from ramet.web.serving import is_loopback, listen

    access = _access(host, hosts, Tokens(token_file, read_token_file), secure=secure, by=by)
    if access.open and not is_loopback(host):
        raise BadAccess(
            f"{host or 'every address'} can be reached from other machines: give a token (--token-file or "
            f"{TOKEN_VARIABLE}), or listen on 127.0.0.1"
        )
    with listen(host, port) as listener:
        asyncio.run(_serve(database, listener, access, access_log=access_log))


def _access(host: str, hosts: tuple[str, ...], tokens: Tokens, *, secure: bool, by: str | None) -> Access:
    admin, read = tokens.read()
    named = {name.strip().lower() for name in hosts}
    wrong = sorted(name for name in named if not name or "/" in name or (":" in name and not name.endswith("]")))
    if wrong:
        raise BadAccess(f"--allow-host {wrong[0]}: give a name without scheme and port, an IPv6 address in brackets")
    if host not in WILDCARDS:
        named.add(f"[{host.lower()}]" if ":" in host else host.lower())
    return Access(admin, read, LOOPBACK | named, name_of(by or "", person()), secure)


def _token(file: Path | None, variable: str) -> str | None:
    """The token of a file, or of the environment; None where neither has one."""
    if file is None:
        token, where = os.environ.get(variable, ""), variable
        if not token:
            return None
    else:
        where = str(file)
        try:
            token = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadAccess(f"the token file {file} cannot be read: {error}") from error
    token = token.strip()
    if len(token) < TOKEN_CHARACTERS_MIN or not (token.isascii() and token.isprintable()) or " " in token:
        raise BadAccess(
            f"{where} holds no token: give at least {TOKEN_CHARACTERS_MIN} ASCII characters without blanks, "
            "for example of `openssl rand -hex 32`"
        )
    return token


async def _serve(database: str, listener: socket.socket, access: Access, *, access_log: bool) -> None:
    import uvicorn

    from ramet.web.application import make_application
    from ramet.web.serving import GRACE_SECONDS, IncompleteConnections, Server, origin_of

    async with App().client(database, create=False) as client:
        made = make_application(client, access)
        config = uvicorn.Config(
            made, log_level="info" if access_log else "warning", access_log=access_log, server_header=False,
            lifespan="off", ws="none", http=IncompleteConnections().protocol(), timeout_graceful_shutdown=GRACE_SECONDS,
        )  # fmt: skip
        who = "whoever reaches it may act" if access.open else "it asks for a token"
        click.echo(f"the dashboard of {client.place} is at {origin_of(listener)}/ ({who}; Ctrl-C ends it)")
        await Server(config, made.state.dashboard.feeds).serve(sockets=[listener])
