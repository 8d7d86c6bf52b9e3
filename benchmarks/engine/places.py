"""Where ``ramet bench`` measures: new databases, in a folder or on a server, gone when they were measured."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.engine import bare_loop
from benchmarks.engine.processes import cpu_seconds, postmaster
from ramet.cli.errors import CliError
from ramet.store.address import shown
from ramet.testing.postgres_server.programs import ServerError
from ramet.testing.postgres_server.server import connect, create_database, database_of, drop_database

MAY_CREATE = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"


class Spot(NamedTuple):
    """A new database."""

    address: str
    folder: Path
    """For notes; empty but for the database, if that is a file."""


class BareRun(NamedTuple):
    """One run of the bare loop."""

    submit_per_s: float
    drain_per_s: float
    drain_cpu_us: float
    server_cpu_us: float | None = None


class Place(Protocol):
    """A kind of database."""

    name: str
    """Before the dot in what is reported."""

    def fresh(self) -> AbstractContextManager[Spot]:
        """A new database, gone afterwards."""

    def bare(self, spot: Spot, tasks: int, batch: int, text: str) -> BareRun:
        """Run the bare loop in an empty one."""

    def server_cpu(self) -> float | None:
        """Processor seconds of the server so far; None where there is none, or where it is on another machine."""

    def pin(self, spot: Spot) -> AbstractContextManager[None]:
        """Hold a snapshot open: nothing that ends meanwhile can be cleaned up."""

    def conditions(self) -> dict[str, Any]:
        """The database's version, and what else the figures depend on."""


class SqlitePlace:
    """Files in temporary folders."""

    name = "sqlite"

    def __init__(self, folder: str | None) -> None:
        if folder is not None and not Path(folder).is_dir():
            raise CliError(f"the folder {folder} does not exist: create it or give another one")
        self._folder = folder

    @contextmanager
    def fresh(self) -> Iterator[Spot]:
        with tempfile.TemporaryDirectory(prefix="ramet-bench-", dir=self._folder) as made:
            yield Spot(str(Path(made) / "bench.db"), Path(made))

    def bare(self, spot: Spot, tasks: int, batch: int, text: str) -> BareRun:
        return BareRun(*bare_loop.run(spot.folder, tasks, batch, text))

    def server_cpu(self) -> float | None:
        return None

    @contextmanager
    def pin(self, spot: Spot) -> Iterator[None]:
        connection = sqlite3.connect(spot.address, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM ramet_live LIMIT 1").fetchall()
            yield
        finally:
            connection.close()

    def conditions(self) -> dict[str, Any]:
        return {"sqlite": bare_loop.VERSION}


class PostgresPlace:
    """Databases of their own on a server.

    Raises:
        CliError: nobody answers there, or this role may not make databases.
    """

    name = "postgres"

    def __init__(self, server: str) -> None:
        self._server = server
        try:
            with connect(server) as connection:
                [(allowed,)] = connection.execute(MAY_CREATE).fetchall()
                self._postmaster = postmaster(connection.info.backend_pid)
                self._told = {
                    "postgres": connection.info.parameter_status("server_version"),
                    **{name: self._shown(connection, name) for name in ("fsync", "synchronous_commit")},
                }
        except ServerError as error:
            raise CliError(str(error)) from error
        if not allowed:
            raise CliError(
                f"the role of {shown(server)} may not create databases, and the bench measures in its own: "
                "ALTER ROLE ... CREATEDB, or give another role"
            )

    @staticmethod
    def _shown(connection: Any, name: str) -> str:
        [(value,)] = connection.execute(f"SHOW {name}").fetchall()
        return str(value)

    @contextmanager
    def fresh(self) -> Iterator[Spot]:
        with tempfile.TemporaryDirectory(prefix="ramet-bench-") as folder:
            address = create_database(self._server, prefix="ramet_bench")
            try:
                yield Spot(address, Path(folder))
            finally:
                drop_database(self._server, database_of(address))

    def bare(self, spot: Spot, tasks: int, batch: int, text: str) -> BareRun:
        from benchmarks.engine import bare_loop_postgres

        return BareRun(*bare_loop_postgres.run(spot.address, tasks, batch, text)[:4])

    def server_cpu(self) -> float | None:
        return cpu_seconds(self._postmaster) if self._postmaster else None

    @contextmanager
    def pin(self, spot: Spot) -> Iterator[None]:
        with connect(spot.address) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT 1 FROM ramet_live LIMIT 1")
            yield

    def conditions(self) -> dict[str, Any]:
        return dict(self._told)


def place_of(address: str | None, folder: str | None) -> Place:
    """Where to measure: on the server of this address, or in files without one.

    Raises:
        CliError: it cannot be measured there.
    """
    if address is None:
        return SqlitePlace(folder)
    if not address.startswith(("postgresql://", "postgres://")):
        raise CliError(f"the bench makes databases of its own: give a server, or --folder instead of {address}")
    if folder is not None:
        raise CliError("a server keeps its databases where it wants: give --db or --folder")
    return PostgresPlace(address)
