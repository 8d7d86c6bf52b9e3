"""One PostgreSQL server in a folder of its own: made, started, stopped, ended the hard way; and databases on it.

It listens on the loopback address and on a socket in its folder, and lets no one in without its password, which is
random and kept beside the data, readable by its owner only.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ramet.store.address import shown
from ramet.testing.postgres_server.programs import (
    Programs,
    ServerError,
    ServerOwner,
    alive,
    family,
    left_over,
    reachable,
    until,
)

if TYPE_CHECKING:
    from psycopg import Connection

CONNECT_SECONDS_MAX = 20
ENDED_SECONDS_MAX = 30.0


def need_driver() -> None:
    """Before anything is made that cannot be used without it.

    Raises:
        ServerError: the driver is missing.
    """
    if find_spec("psycopg") is None:
        raise ServerError("the driver of PostgreSQL is not installed: pip install 'ramet[postgres]'")


def connect(url: str) -> Connection:
    """Open a connection whose every statement is a transaction of its own.

    Raises:
        ServerError: the driver is missing, or no server answers at the address.
    """
    need_driver()
    import psycopg

    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS_MAX)
    except psycopg.Error as error:
        raise ServerError(f"{shown(url)} does not answer: {' '.join(str(error).split())}") from error


def value(url: str, sql: str) -> object:
    """Return the one value that a query answers, by a connection of its own."""
    with connect(url) as connection:
        row = connection.execute(sql.encode()).fetchone()
    assert row is not None, f"{sql} answers nothing"
    return row[0]


def either(first: str, second: str) -> str:
    """One address for two servers of the same password: a connection goes to the one that takes writes.

    For a server and its standby, before and after a promotion.
    """
    parts, other = urlsplit(first), urlsplit(second)
    where = f"{parts.netloc},{other.netloc.rpartition('@')[2]}"
    return urlunsplit(parts._replace(netloc=where, query="target_session_attrs=read-write"))


def with_database(url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    return urlunsplit(urlsplit(url)._replace(path="/" + quote(name, safe="")))


def database_of(url: str) -> str:
    """Return the name of the database in an address."""
    return unquote(urlsplit(url).path.removeprefix("/"))


def create_database(
    url: str,
    *,
    template: str | None = None,
    tablespace: str | None = None,
    by_files: bool = False,
    prefix: str = "ramet",
) -> str:
    """Make a database with a name of its own on the server of ``url``; return its address.

    Args:
        url: any database of the server, but not the template.
        template: the database to copy, to which no client may be connected; empty without.
        tablespace: where its files are; with the server's others without.
        by_files: copy files instead of logging every page. Faster where a checkpoint costs nothing (``fsync`` off).
        prefix: the begin of the name.
    """
    name = f"{prefix}_{secrets.token_hex(6)}"
    like = f" TEMPLATE {quoted_name(template)}" if template else ""
    where = f" TABLESPACE {quoted_name(tablespace)}" if tablespace else ""
    how = " STRATEGY file_copy" if by_files else ""
    with connect(url) as connection:
        connection.execute(f"CREATE DATABASE {quoted_name(name)}{like}{how}{where}".encode())
    return with_database(url, name)


def ensure_database(url: str, name: str) -> str:
    """Make a database of this name on the server of ``url`` unless it is there; its address."""
    with connect(url) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if found is None:
            connection.execute(f"CREATE DATABASE {quoted_name(name)}".encode())
    return with_database(url, name)


def drop_database(url: str, name: str) -> None:
    """Drop a database of the server of ``url``, cutting its connections; nothing when it is gone."""
    with connect(url) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {quoted_name(name)} WITH (FORCE)".encode())


def terminate_backends(url: str) -> int:
    """``pg_terminate_backend`` for every other connection to the database of ``url``, and wait until they have ended.

    Returns:
        How many have; their clients learn of it when they next speak to the server.

    Raises:
        ServerError: one did not end in time.
    """
    with connect(url) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
            (int(ENDED_SECONDS_MAX * 1_000),),
        ).fetchall()
    if (False,) in ended:
        raise ServerError(f"a connection did not end within {ENDED_SECONDS_MAX:g} seconds")
    return len(ended)


def quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


USER = "ramet"
HOST = "127.0.0.1"
SOCKET_BYTES_MAX = 100
"""The system refuses the path of a socket beyond about 107 bytes; its name takes a few."""
PORTS_TRIED = 20
PORTS = range(20_000, 32_000)
"""Ports below those that systems hand out by themselves, so that a port is still free after a restart."""
START_SECONDS = 60
CLEARED_SECONDS = 15
WORDS_MAX = 3
STATUS_LINE = 7
READY = ("ready", "standby")

Setting = str | int | float | bool


class Server:
    """A server whose data, log and password are in ``folder``.

    Args:
        folder: made when it is missing; with it everything that the server writes.
        programs: which PostgreSQL; the extra's by default.
        port: on the loopback address; the one of its last start, or a free one, by default.
        settings: of ``postgresql.conf``, over the server's defaults; they hold from the next start on.
    """

    def __init__(
        self,
        folder: Path,
        *,
        programs: Programs | None = None,
        port: int | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        self.folder = folder.absolute()
        self._programs = programs
        self.settings = dict(settings or {})
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def programs(self) -> Programs:
        """PostgreSQL's; looked for when first needed.

        Raises:
            ServerError: they are missing or out of reach.
        """
        if self._programs is None:
            self._programs = Programs(copy=self.folder / "programs")
        return self._programs

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def port(self) -> int:
        """Port that it listens on; known from the first start on."""
        if self._port is None:
            self._port = int((self.folder / "port").read_text())
        return self._port

    @property
    def password(self) -> str:
        return (self.folder / "password").read_text().strip()

    @property
    def exists(self) -> bool:
        """Has it been made?"""
        return (self.data / "PG_VERSION").exists() and (self.data / "global" / "pg_control").exists()

    @property
    def pid(self) -> int | None:
        """Of its first process; None when it does not run."""
        if self._process is not None and self._process.poll() is None:
            return self._process.pid
        found = self._status()
        return int(found[0]) if found and alive(int(found[0])) else None

    def _status(self) -> list[str]:
        """Lines of the server's lock file: its process id first, its status last."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []
        return lines if lines and lines[0].strip().isdigit() else []

    def url(self, database: str = "postgres", *, by_socket: bool = False, with_password: bool = True) -> str:
        """Return the address of one of its databases, over TCP or over the socket in its folder."""
        who = f"postgresql://{USER}:{quote(self.password, safe='')}" if with_password else f"postgresql://{USER}"
        name = quote(database, safe="")
        if by_socket:
            return f"{who}@/{name}?host={quote(str(self.folder / 'socket'), safe='')}&port={self.port}"
        return f"{who}@{HOST}:{self.port}/{name}"

    def make(self, *, sync: bool = True) -> None:
        """Make the folder and an empty server in it; nothing when it is there already.

        Raises:
            ServerError: the folder holds something else, or cannot be used.
        """
        if self.exists:
            return
        new = not self.folder.exists()
        password = secrets.token_urlsafe(24)
        self._prepare(password, new)
        verifier = self.folder / "verifier"
        verifier.touch(mode=0o600)
        verifier.write_text(scram_verifier(password))
        self.programs.give(verifier)
        arguments = [f"--username={USER}", "--auth=scram-sha-256", f"--pwfile={verifier}", "--locale=C"]
        arguments += ["--encoding=UTF8", "--no-instructions", *([] if sync else ["--no-sync"])]
        try:
            self.programs.run("initdb", "-D", self.data, *arguments)
        finally:
            verifier.unlink()
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("include_if_exists 'ramet.conf'\n")

    def copy(self, primary: Server, name: str, *, sync: bool = True) -> None:
        """Make the folder and in it a copy of a running server, which follows that one until it is promoted.

        Args:
            primary: whose password it has from then on.
            name: of its slot, and what it calls itself to its primary.
            sync: wait until the copy is on the disk.

        Raises:
            ServerError: the primary cannot be copied.
        """
        self._prepare(primary.password, not self.folder.exists())
        arguments = ["--write-recovery-conf", "--checkpoint=fast", f"--slot={name}", "--create-slot"]
        address = f"{primary.url(with_password=False)}?application_name={name}"
        arguments += [f"--dbname={address}", *([] if sync else ["--no-sync"])]
        self.programs.run("pg_basebackup", "-D", self.data, *arguments, password=primary.password)

    def promote(self) -> None:
        """Make a copy a server of its own; answers when it takes writes.

        Raises:
            ServerError: it follows no server, or does not run.
        """
        self.programs.run("pg_ctl", "promote", "-D", self.data, "-w", "-s", "-t", str(START_SECONDS))

    def _prepare(self, password: str, new: bool) -> None:
        """Make the folders, the empty data folder among them, and give the server its own."""
        try:
            by = self.programs.owner
            self.folder.mkdir(parents=True, exist_ok=True)
            if {path.name for path in self.folder.iterdir()} - {"programs"}:
                raise ServerError(f"{self.folder} holds something that is not a whole server: name a new folder")
            self._open(by, new)
            for name in ("data", "socket"):
                (self.folder / name).mkdir(mode=0o700)
                self.programs.give(self.folder / name)
            self.log.touch(mode=0o600)
            self.programs.give(self.log)
            path = self.folder / "password"
            path.touch(mode=0o600)
            path.write_text(password + "\n")
        except OSError as error:
            raise ServerError(f"{self.folder} cannot be used: {error}") from error

    def _open(self, by: ServerOwner, new: bool) -> None:
        """Let the server's user through the folder, if it is ours to open, and check that those above do.

        Raises:
            ServerError: they do not.
        """
        if new and by.other:
            self.folder.chmod(0o711)
        if not reachable(self.folder, by):
            if new:
                shutil.rmtree(self.folder)
            raise ServerError(
                f"PostgreSQL runs as {by.name} here, who cannot enter {self.folder}: "
                "name a folder that every user may enter, below /var/lib for example"
            )

    def start(self, *, detached: bool = False) -> None:
        """Start it and wait until it answers; nothing when it runs.

        Args:
            detached: it goes on when this program has ended.

        Raises:
            ServerError: it does not start; with the end of what its log says.
        """
        if self.pid is not None:
            return
        before = self._status()
        if before:
            with suppress(ServerError):  # PostgreSQL says itself what is in the way.
                until(lambda: not left_over(int(before[0])), "the ended server is cleared away", CLEARED_SECONDS)
        tries = 1 if self._chosen() else PORTS_TRIED
        while not self._tried(detached, last=tries == 1):
            tries -= 1
        (self.folder / "port").write_text(f"{self.port}\n")

    def _tried(self, detached: bool, *, last: bool) -> bool:
        """Try to start it; False when another port is to be tried.

        Raises:
            ServerError: it does not start, or the port was the last to be tried.
        """
        self._configure()
        written = self.log.stat().st_size
        try:
            self._start(detached)
        except ServerError as error:
            with self.log.open(errors="replace") as file:
                file.seek(written)
                said = file.read()
            if "could not bind" not in said:
                raise ServerError(f"PostgreSQL does not start: {last_words(said) or error}") from error
            if last:
                raise ServerError(f"port {self.port} is taken: name another") from error
            self._port = None
            return False
        return True

    def _start(self, detached: bool) -> None:
        """By ``pg_ctl``, which leaves it to the system, or as a child, which only its parent can clear away if killed:
        until then its number would seem to be running."""
        if detached:
            self.programs.run("pg_ctl", "start", "-D", self.data, "-l", self.log, "-w", "-s", "-t", str(START_SECONDS))
            return
        process = self.programs.begin("postgres", "-D", self.data, log=self.log)
        self._process = process

        def settled() -> bool:
            found = self._status()
            ready = len(found) > STATUS_LINE and found[STATUS_LINE].strip() in READY
            return process.poll() is not None or (ready and int(found[0]) == process.pid)

        until(settled, "PostgreSQL starts", START_SECONDS)
        if process.poll() is not None:
            raise ServerError(f"it ended with status {process.returncode}")

    def _chosen(self) -> bool:
        """Return whether a service may rely on the port."""
        return self._port is not None or (self.folder / "port").exists()

    def _configure(self) -> None:
        if not self._chosen():
            self._port = free_port()
        sockets = str(self.folder / "socket")
        fixed: dict[str, Setting] = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": sockets if len(os.fsencode(sockets)) <= SOCKET_BYTES_MAX else "",
        }
        path = self.data / "ramet.conf"
        path.write_text("".join(f"{name} = {quoted(value)}\n" for name, value in {**self.settings, **fixed}.items()))
        self.programs.give(path)

    def reload(self) -> None:
        """Make the server read its settings again; those that need a start wait for one."""
        self._configure()
        self._send(signal.SIGHUP)

    def stop(self, *, immediate: bool = False) -> None:
        """Stop it and wait until it has ended; nothing when it does not run. Connections are cut.

        ``immediate`` leaves the data as a crash would: the next start recovers it.
        """
        if self._send(signal.SIGQUIT if immediate else signal.SIGINT):
            until(lambda: self.pid is None, "the server ends")

    def _send(self, number: signal.Signals) -> bool:
        """Send a signal to its first process; return whether there is one."""
        pid = self.pid
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        return True

    def kill(self) -> None:
        """``kill -9`` its first process, and wait until that one and every process of its have ended.

        Raises:
            ServerError: it does not run, or its processes do not end.
        """
        pid = self.pid
        if pid is None:
            raise ServerError("there is nothing to kill: the server does not run")
        processes = family(pid)
        self._send(signal.SIGKILL)
        until(lambda: self.pid is None and not any(map(alive, processes)), "the killed server's processes end")


def last_words(log: str) -> str:
    """Return the last messages of a failed server on one line."""
    found = re.findall(r"(?:LOG|ERROR|FATAL|PANIC|DETAIL|HINT):  (.*)", log) or log.splitlines()
    return "; ".join(found[-WORDS_MAX:])


def free_port() -> int:
    """Return a port of the loopback address that is free now.

    Raises:
        ServerError: none of those tried is free.
    """
    for port in random.sample(PORTS, PORTS_TRIED):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise ServerError(f"none of {PORTS_TRIED} ports tried is free: name one")


def quoted(value: Setting) -> str:
    """As ``postgresql.conf`` wants it."""
    text = ("on" if value else "off") if isinstance(value, bool) else str(value)
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def scram_verifier(password: str) -> str:
    """Return the verifier that the server keeps instead of the password (RFC 5803).

    One iteration: more of them slow down guessing, and 192 random bits are not guessed; each would cost every
    connection its time.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    parts = (base64.b64encode(part).decode() for part in (salt, stored, hmac.digest(salted, b"Server Key", "sha256")))
    return "SCRAM-SHA-256$1:{}${}:{}".format(*parts)
