"""``ramet dashboard`` and ``ramet serve``: pages and the API, or the API alone."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from ramet import App
from ramet.commands.errors import UserError
from ramet.commands.extras import import_extra
from ramet.commands.options import database_option, person
from ramet.engine.app.loading import load_app
from ramet.web.access import CALLS_PER_MINUTE, LOOPBACK, Access, name_of
from ramet.web.tokens import BadToken, Scope, Token, check_distinct, tokens_from

TOKEN_VARIABLE = "RAMET_DASHBOARD_TOKEN"  # noqa: S105  # the name of a variable
"""The token with which one may look and act in the dashboard, where no file has it."""
READ_TOKEN_VARIABLE = "RAMET_DASHBOARD_READ_TOKEN"  # noqa: S105  # the name of a variable
"""The token with which one may only look, where no file has it."""
TOKENS_VARIABLE = "RAMET_TOKENS"
"""Further tokens with their scopes, as a file has them, where there is no file."""
WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  # compared, not listened on


class BadAccess(UserError):
    """The server would be exposed unsafely, or unreachable."""


class Listening(NamedTuple):
    """Where a server listens, and whom it lets in."""

    host: str
    port: int
    hosts: tuple[str, ...]
    """Names under which it is reached, besides its address."""
    token_file: Path | None
    tokens_file: Path | None
    by: str | None
    access_log: bool
    calls_per_minute: int
    read_token_file: Path | None = None
    secure: bool = False

    def tokens(self) -> tuple[Token, ...]:
        """Return the tokens of the files, or of the environment.

        Raises:
            BadAccess: a file cannot be read, or has something else than tokens.
        """
        found: list[Token] = []
        try:
            for name, scope, file, variable in (
                ("api", Scope.ADMIN, self.token_file, TOKEN_VARIABLE),
                ("api-read", Scope.READ, self.read_token_file, READ_TOKEN_VARIABLE),
            ):
                text = _text_of(file, variable).strip()
                if text or file is not None:
                    found.append(Token.of(name, [scope], text))
            found += tokens_from(_text_of(self.tokens_file, TOKENS_VARIABLE))
            check_distinct(found)
        except BadToken as error:
            raise BadAccess(str(error)) from error
        return tuple(found)

    def access(self) -> Access:
        """Return who is let in.

        Raises:
            BadAccess: a token or a name cannot be used, or other machines could get in without a token.
        """
        from ramet.web.serving import is_loopback

        tokens = self.tokens()
        named = {name.strip().lower() for name in self.hosts}
        wrong = sorted(name for name in named if not name or "/" in name or (":" in name and not name.endswith("]")))
        if wrong:
            raise BadAccess(
                f"--allow-host {wrong[0]}: give a name without scheme and port, an IPv6 address in brackets"
            )
        if not tokens and not is_loopback(self.host):
            raise BadAccess(
                f"{self.host or 'every address'} can be reached from other machines: give a token (--token-file, "
                f"--tokens-file or {TOKEN_VARIABLE}), or listen on 127.0.0.1"
            )
        if self.host not in WILDCARDS:
            named.add(f"[{self.host.lower()}]" if ":" in self.host else self.host.lower())
        who = name_of(self.by or "", person())
        return Access(None, None, LOOPBACK | named, who, self.secure, tokens, self.calls_per_minute)


def listening_options(port: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options of a command that listens, with this port by default."""
    options = (
        click.option("--host", default="127.0.0.1", show_default=True,
                     help="Address to listen on; off loopback only with a token."),
        click.option("--port", type=click.IntRange(0, 65_535), default=port, show_default=True,
                     help="0: one that is free."),
        click.option("--allow-host", "hosts", multiple=True, metavar="NAME",
                     help="Name under which it is reached; repeatable."),
        click.option("--token-file", type=click.Path(path_type=Path),
                     help=f"The admin token, in a file ({TOKEN_VARIABLE} without one)."),
        click.option("--tokens-file", type=click.Path(path_type=Path),
                     help="Further tokens with their scopes: lines of NAME SCOPE[,SCOPE...] TOKEN, or sha256:DIGEST "
                     f"for the token ({TOKENS_VARIABLE} without one). Scopes: {', '.join(Scope)}."),
        click.option("--calls-per-minute", type=click.IntRange(1, 10_000_000), default=CALLS_PER_MINUTE,
                     show_default=True, help="Calls of the API that each token may make."),
        click.option("--by", help="Name under which actions are recorded if none was given.  [default: you]"),
        click.option("--access-log", is_flag=True, help="A line on standard error for every request."),
    )  # fmt: skip

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command(short_help="Pages and an API that show what runs, and let people act on it.")
@database_option("ramet.db")
@listening_options(8371)
@click.option(
    "--read-token-file",
    type=click.Path(path_type=Path),
    help=f"The token of those who may only look ({READ_TOKEN_VARIABLE} without one).",
)
@click.option("--secure", is_flag=True, help="Cookies for https only: behind a proxy that speaks it.")
def dashboard(*, database: str, **given: Any) -> None:
    """Serve the dashboard of a database until Ctrl-C.

    On loopback everyone who reaches it may act. Elsewhere a token is asked for, of at least 16 characters.
    """
    _listen_and_serve(database, Listening(**given), pages=True, app=App(), create=False)


@click.command(short_help="The API for workers and programs of any language.")
@database_option("ramet.db")
@listening_options(8372)
@click.option("--pages/--no-pages", default=False, show_default=True, help="The pages of the dashboard, too.")
@click.option(
    "--app", "target", metavar="MODULE:ATTR", help="An app whose kinds are known: their queues, keys, limits, retries."
)
def serve(*, database: str, pages: bool, target: str | None, **given: Any) -> None:
    """Serve the API of a database until Ctrl-C: submit, claim, settle and read over HTTP, from any language.

    On loopback everyone who reaches it may act. Elsewhere a token is asked for, of at least 16 characters. The scopes
    of a token say what it may do.
    """
    import_extra("fastapi", "'ramet[web]'")
    _listen_and_serve(database, Listening(**given), pages=pages, app=_app(target), create=True)


def _app(target: str | None) -> App:
    """The app with this name; modules of the working directory are found.

    Raises:
        UserError: it cannot be loaded.
    """
    if target is None:
        return App()
    sys.path.insert(0, os.getcwd())
    try:
        return load_app(target)
    except ValueError as error:
        raise UserError(str(error)) from error
    except Exception as error:
        raise UserError(f"cannot load {target}: {type(error).__name__}: {error}") from error


def _text_of(file: Path | None, variable: str) -> str:
    """What a file has, or without one the environment; empty where neither has anything."""
    if file is None:
        return os.environ.get(variable, "")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadAccess(f"the token file {file} cannot be read: {error}") from error


def _listen_and_serve(database: str, listening: Listening, *, pages: bool, app: App, create: bool) -> None:
    import_extra("fastapi", "'ramet[web]'")
    import_extra("uvicorn", "'ramet[web]'")
    from ramet.web.serving import listen

    access = listening.access()
    with listen(listening.host, listening.port) as listener:
        asyncio.run(
            _serve(database, listener, access, access_log=listening.access_log, pages=pages, app=app, create=create)
        )


async def _serve(
    database: str, listener: socket.socket, access: Access, *, access_log: bool, pages: bool, app: App, create: bool
) -> None:
    import uvicorn

    from ramet.web.application import make_application
    from ramet.web.serving import GRACE_SECONDS, IncompleteConnections, Server, origin_of

    async with app.client(database, create=create) as client:
        made = make_application(client, access, pages=pages)
        config = uvicorn.Config(
            made, log_level="info" if access_log else "warning", access_log=access_log, server_header=False,
            lifespan="off", ws="none", http=IncompleteConnections().protocol(), timeout_graceful_shutdown=GRACE_SECONDS,
        )  # fmt: skip
        who = "everyone who reaches it may act" if access.open else "it asks for a token"
        what, address = ("dashboard", "/") if pages else ("API", "/api/v1/")
        click.echo(f"the {what} of {client.place} is at {origin_of(listener)}{address} ({who}; Ctrl-C ends it)")
        await Server(config, made.state.dashboard.feeds).serve(sockets=[listener])
