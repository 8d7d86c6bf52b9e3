"""A PostgreSQL of the test's own: ``Cluster``. Needs the extras ``postgres`` and ``postgres-server``.

    with Cluster() as cluster:
        url = cluster.create_database()

It lives in a temporary folder and ends with its program, however that one ends. As root it runs as another user.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from ramet.testing.postgres_server import guard as server_guard
from ramet.testing.postgres_server.programs import Programs, ServerError, ServerOwner, owner, reachable, until
from ramet.testing.postgres_server.server import (
    Server,
    Setting,
    connect,
    create_database,
    database_of,
    drop_database,
    either,
    terminate_backends,
    value,
)

__all__ = ["Cluster", "ServerError", "either", "terminate_backends"]

FAST: dict[str, Setting] = {
    "fsync": False,
    "full_page_writes": False,
    "shared_buffers": "32MB",
    "max_connections": 200,
    "max_wal_size": "1GB",
    "checkpoint_timeout": "30min",
}
"""Options for ordinary tests. A commit is still with the operating system when it is acknowledged: a ``kill`` loses
nothing, only a loss of power would.
"""

PLACES = ("/tmp", "/var/tmp")  # noqa: S108 - folders of random names are made in them


class Cluster:
    """A PostgreSQL server in a temporary folder, on the loopback address and on a socket.

    Args:
        binaries: the folder of PostgreSQL's programs; those of the extra ``postgres-server`` by default.
        settings: of ``postgresql.conf``.
        durable: leave the server's own settings, ``fsync`` above all; without it they are those of ``FAST``.
        place: where to make the temporary folder; where the system puts such things by default.

    Raises:
        ServerError: it cannot be made or started; the line says what to do.
    """

    def __init__(
        self,
        *,
        binaries: Path | None = None,
        settings: Mapping[str, Setting] | None = None,
        durable: bool = False,
        place: Path | None = None,
    ) -> None:
        self.durable = durable
        self._folder = temporary_folder(owner(), place)
        self._maker = os.getpid()
        self._guard = guard(self._folder)
        try:
            programs = Programs(binaries, copy=self._folder / "programs")
        except ServerError:
            self._guard.communicate(b"\n")
            raise
        self._settings = dict(settings or {})
        self.server = Server(self._folder, programs=programs, settings={**({} if durable else FAST), **self._settings})
        atexit.register(self.close)

    @property
    def version(self) -> int:
        """The major version, such as 18."""
        return self.server.programs.version

    @property
    def running(self) -> bool:
        return self.server.pid is not None

    def start(self) -> Self:
        """Make and start it, where that was not done yet; answers when it takes connections."""
        self.server.make(sync=self.durable)
        self.server.start()
        return self

    def stop(self, *, immediate: bool = False) -> None:
        """Stop it; ``start`` brings it back with its data. ``immediate`` leaves them as a crash would."""
        self.server.stop(immediate=immediate)

    def restart(self) -> None:
        """Stop, where it runs, and start: every connection is lost, the address stays."""
        self.server.stop()
        self.server.start()

    def kill(self) -> None:
        """``kill -9`` the server's first process; answers when all of its processes have ended."""
        self.server.kill()

    def url(self, database: str = "postgres", *, by_socket: bool = False) -> str:
        """Return the address of a database, with the password; over loopback TCP unless ``by_socket``."""
        return self.server.url(database, by_socket=by_socket)

    def create_database(self, *, template: str | None = None, tablespace: str | None = None) -> str:
        """Make a database, empty or a copy of the one named ``template``; its address."""
        return create_database(self.url(), template=template, tablespace=tablespace, by_files=not self.durable)

    def drop_database(self, url: str) -> None:
        """Drop the database of this address, cutting its connections."""
        drop_database(self.url(), database_of(url))

    def standby(self, *, place: Path | None = None) -> Cluster:
        """Another server, started, that follows this one; a commit here is acknowledged when it is on the disk there.

        It ends with this program, or by its own ``close``. When it is stopped, commits here wait for it.

        Args:
            place: where to make its temporary folder.
        """
        binaries = self.server.programs.folder
        other = Cluster(binaries=binaries, settings=self._settings, durable=self.durable, place=place)
        name = f"ramet_{other.server.folder.name.rpartition('-')[2]}"
        try:
            other.server.copy(self.server, name, sync=self.durable)
            other.server.start()
            self._follow(name)
        except BaseException:
            other.close()
            raise
        return other

    def _follow(self, name: str) -> None:
        """Make commits wait for the standby of this name."""
        self.server.settings["synchronous_standby_names"] = f'"{name}"'
        self.server.reload()
        shown = "SHOW synchronous_standby_names"
        until(lambda: name in str(value(self.url(), shown)), "the server reads its settings again")
        with connect(self.url()) as connection:
            # The process that makes commits wait looks at its settings before it takes on a checkpoint.
            connection.execute("CHECKPOINT")
        state = "SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        until(lambda: value(self.url(), state) == 1, "the standby follows synchronously")

    def promote(self) -> None:
        """Promote this standby to a primary without standbys; return once it accepts writes."""
        self.server.promote()

    def close(self) -> None:
        """End the server at once and delete its folder. Nothing can be done with it afterwards."""
        atexit.unregister(self.close)
        if os.getpid() != self._maker:
            return  # A fork of the maker ends; the maker goes on.
        if self._guard.poll() is None:
            self.server.stop(immediate=True)
            self._guard.communicate(b"\n")

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def temporary_folder(by: ServerOwner, place: Path | None = None) -> Path:
    """Return a new folder, closed to other people, in a place that the server's user can reach; in the one given, if
    any.

    Raises:
        ServerError: no place for temporary files is open to that user.
    """
    tried = dict.fromkeys([str(place)] if place else [tempfile.gettempdir(), *PLACES])
    for found in map(Path, tried):
        if found.is_dir() and os.access(found, os.W_OK) and reachable(found, by):
            folder = Path(tempfile.mkdtemp(prefix="ramet-postgres-", dir=found))
            folder.chmod(0o711)
            return folder
    raise ServerError(f"PostgreSQL runs as {by.name}, who can enter none of {', '.join(tried)}: set TMPDIR to a place")


def guard(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that cleans up when this one is gone, killed or not."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", server_guard.__file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
