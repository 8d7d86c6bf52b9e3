"""Debian's ``pgbouncer`` in transaction mode before a server: the pooler that most installations have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit, urlunsplit

from ramet.testing.postgres import guard, temporary_folder
from ramet.testing.postgres_server.programs import Programs, ServerError, until
from ramet.testing.postgres_server.server import HOST, connect, free_port, with_database

PROGRAM = "pgbouncer"
MISSING = "pgbouncer is not installed (Debian: apt-get install pgbouncer)"
ADMIN = "pgbouncer"
"""The database of its own that takes commands such as ``SHOW POOLS`` and ``RECONNECT``."""

SETTINGS = """
[databases]
* = host={host} port={port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
admin_users = {user}
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 500
logfile = {folder}/log
pidfile = {folder}/pid
"""


def program() -> Path | None:
    """Where it is; it lies outside of an ordinary user's PATH."""
    found = shutil.which(PROGRAM) or shutil.which(PROGRAM, path="/usr/sbin:/usr/local/sbin")
    return Path(found) if found else None


class Bouncer:
    """A pooler before the server of ``url``, for every database of it.

    Args:
        url: any database of the server.
        pool: connections to the server for each database.
    """

    def __init__(self, url: str, *, pool: int = 20) -> None:
        path = program()
        if path is None:
            raise ServerError(MISSING)
        self._path = path
        self._programs = Programs()
        self._server = urlsplit(url)
        self._folder = temporary_folder(self._programs.owner)
        self._guard = guard(self._folder)
        self._programs.give(self._folder)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        user, password = (unquote(part or "") for part in (self._server.username, self._server.password))
        self._write("users", f'"{user}" "{password}"\n')
        settings = SETTINGS.format(
            host=self._server.hostname,
            port=self._server.port or 5432,
            own_port=self.port,
            folder=self._folder,
            user=user,
            pool=pool,
        )
        self._write("settings", settings)

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_text(text)
        self._programs.give(path)

    def through(self, url: str) -> str:
        """The address of the same database through the pooler."""
        who = self._server.netloc.rpartition("@")[0]
        return urlunsplit(urlsplit(url)._replace(netloc=f"{who}@{HOST}:{self.port}"))

    def command(self, words: str) -> list[tuple[object, ...]]:
        """One of the pooler's own commands, and what it answers."""
        with connect(with_database(self.through(urlunsplit(self._server)), ADMIN)) as connection:
            done = connection.execute(words.encode())
            return list(done.fetchall()) if done.description else []

    def start(self) -> Self:
        """Start it; answers when it takes connections."""
        log = self._folder / "said"
        process = self._programs.begin(str(self._path), self._folder / "settings", log=log)
        self._process = process

        def answers() -> bool:
            if process.poll() is not None:
                raise ServerError(f"pgbouncer does not start: {log.read_text()[-500:]}")
            return (self._folder / "pid").exists()

        until(answers, "pgbouncer starts")
        return self

    def kill(self) -> None:
        """``kill -9``: every connection through it is cut; ``start`` brings it back on the same port."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            (self._folder / "pid").unlink(missing_ok=True)

    def close(self) -> None:
        """End it and delete its folder."""
        self.kill()
        self._guard.communicate(b"\n")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
