"""Processes on one PostgreSQL database: waking each other, and proving that one is dead.

On one machine it is the same as for SQLite: a folder, sockets, lock files. Other machines are woken by notifications;
nothing proves their death but the end of their leases (docs/decisions/0034).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg

from ramet.store.postgres.listen import Connect, Notifier
from ramet.store.processes.registry import ProcessRegistry, runtime_folder

_NOWHERE = Path(os.devnull) / "ramet"
"""A folder that can never be made: without a safe one no process is met."""


def identity_of(connection: psycopg.Connection[Any]) -> str:
    """Return the name of the tables that this connection sees among all on all servers; no secret, and kept by a
    promotion.

    A server that does not give its identifier counts as any server: processes on such may meet without need, which
    wakes them without need and proves nothing wrong, since no two workers have one name.
    """
    try:
        with connection.transaction():
            [system] = connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone() or [""]
    except psycopg.errors.InsufficientPrivilege:
        system = ""
    with connection.transaction():
        found = connection.execute(
            "SELECT oid, current_schema() FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    assert found is not None
    return f"{system}:{found[0]}:{found[1]}"


class PostgresProcesses(ProcessRegistry):
    """The others on a database, seen from one process; also on other machines."""

    def __init__(self, connect: Connect, identity: str, *, environ: Mapping[str, str] = os.environ) -> None:
        """Prepare; connections are opened when a process first rings or waits.

        Args:
            connect: opens a connection to the database that the verbs use, and gives up after some seconds; called in
                a thread of its own.
            identity: of the database, see :func:`identity_of`.
            environ: where ``XDG_RUNTIME_DIR`` is looked up.
        """
        found = runtime_folder(identity, environ)
        super().__init__(_NOWHERE, found or _NOWHERE)
        self._bell = Notifier(connect, self.wake_here)
        self._forgotten_once: set[str] = set()

    def leave(self) -> None:
        """Take everything away; wait a moment for the last ring to go out. Safe to call twice."""
        self._bell.close()
        super().leave()

    def forget(self, name: str) -> None:
        """Remove what a dead worker left, once none of its claims is left: at the second call.

        The server may commit the last statements of a process after its death, and a sweep that came first saw nothing
        of them.
        """
        if name in self._forgotten_once:
            self._forgotten_once.discard(name)
            super().forget(name)
        else:
            self._forgotten_once.add(name)

    @property
    def folder(self) -> Path | None:
        """Folder in which a dead worker's slots are looked for; None where the system cannot tell which processes are
        dead.
        """
        return None if self._folder == _NOWHERE else super().folder

    @property
    def hears(self) -> bool:
        """True while work committed on other machines is heard of at once; without, it is found by polling."""
        return self._bell.hears

    def ring(self) -> None:
        """Wake everybody who waits, here and everywhere. Returns at once, never raises; from any thread."""
        super().ring()
        self._bell.ring()

    async def wait(self, timeout_seconds: float) -> None:
        """Return when a ring came since the last call, or after the time-out."""
        self._bell.listen()
        await super().wait(timeout_seconds)
