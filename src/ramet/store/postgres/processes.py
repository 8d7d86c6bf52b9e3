"""Processes on one PostgreSQL database: waking each other, and proving that one is dead.

What :class:`ramet.store.processes.registry.Neighbours` is for SQLite, by the same names. On one machine it is the same:
a folder, sockets, lock files. Other machines are woken by notifications; nothing proves their death but the end of
their leases (docs/decisions/0034).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from ramet.store.postgres.listen import Bell, Connect
from ramet.store.processes.registry import Neighbours
from ramet.store.processes.runtime_folder import runtime_folder

_NOWHERE = Path(os.devnull) / "ramet"
"""A folder that can never be made: without a safe one nobody is met."""


def identity_of(connection: psycopg.Connection[Any]) -> str:
    """What names the tables that this connection sees among all on all servers; no secret, and kept by a promotion.

    A server that does not tell its identifier is any server: processes on such may meet without need, which wakes
    them without need and proves nothing wrong, since no two workers have one name.
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


class PostgresNeighbours:
    """The others on a database, seen from one process."""

    def __init__(self, connect: Connect, identity: str, *, environ: Mapping[str, str] = os.environ) -> None:
        """Nothing is connected to before somebody rings or waits.

        Args:
            connect: opens a connection to the database that the verbs use, and gives up after some seconds; called in
                a thread of its own.
            identity: of the database, see :func:`identity_of`.
            environ: where ``XDG_RUNTIME_DIR`` is looked up.
        """
        self._folder = runtime_folder(identity, environ)
        self._near = Neighbours.at(_NOWHERE if self._folder is None else self._folder)
        self._bell = Bell(connect, self._near.wake_here)
        self._forgotten_once: set[str] = set()

    def join(self, name: str, *, unless_joined: bool = False) -> None:
        """Be present under ``name``, and no other, until :meth:`leave` or the death of this process.

        With ``unless_joined`` whoever joined before stays.
        """
        self._near.join(name, unless_joined=unless_joined)

    def leave(self) -> None:
        """Take everything away; waits a moment for the last ring to go out. Safe to call twice."""
        self._bell.close()
        self._near.leave()

    def dead(self) -> list[str]:
        """Names of workers of this machine whose process is gone, by the operating system's word."""
        return self._near.dead()

    def alive(self) -> list[str]:
        """Names of workers of this machine whose process lives, by the operating system's word."""
        return self._near.alive()

    def forget(self, name: str) -> None:
        """Remove what a dead worker left, once none of its claims is left: at the second call.

        What a process sent in its last moment the server may commit after its death, and a sweep that came first saw
        nothing of it.
        """
        if name in self._forgotten_once:
            self._forgotten_once.discard(name)
            self._near.forget(name)
        else:
            self._forgotten_once.add(name)

    @property
    def folder(self) -> Path | None:
        """Where a dead worker's slots are looked for; None where the system cannot tell who is dead."""
        return None if self._folder is None else self._near.folder

    def last_running(self, names: Sequence[str]) -> dict[str, frozenset[tuple[int, int]] | None]:
        """What these dead workers ran when they died, by name; None where they left no word about that."""
        return self._near.last_running(names)

    @property
    def hears(self) -> bool:
        """True while work committed on other machines is heard of at once; without, it is found by polling."""
        return self._bell.hears

    def ring(self) -> None:
        """Wake everybody who waits, here and everywhere. Returns at once, never raises; from any thread."""
        self._near.ring()
        self._bell.ring()

    async def wait(self, timeout_seconds: float) -> None:
        """Return when somebody rang since the last call, or after the time-out."""
        self._bell.listen()
        await self._near.wait(timeout_seconds)
