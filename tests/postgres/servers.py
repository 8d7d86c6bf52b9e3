"""The PostgreSQL that the tests run on: one of our own, started when first asked for, or the one that is named.

``RAMET_TEST_POSTGRES=URL`` names one. Where its user may create databases, every test has one of its own; else the
database that the address names must be empty, and is emptied after every test. ``RAMET_TEST_POSTGRES_PROGRAMS=FOLDER``
starts our own from other programs than those of the extra ``postgres-server``.
"""

from __future__ import annotations

import atexit
import functools
import os
from pathlib import Path
from typing import Protocol

from ramet.store.address import shown
from ramet.store.postgres.store import PostgresStore
from ramet.testing.postgres import Cluster, ServerError
from ramet.testing.postgres_server.server import connect, create_database, database_of, drop_database, value
from tests.gate.needs import uses
from tests.gate.targets import SERVER

NAMED = "RAMET_TEST_POSTGRES"
PROGRAMS = "RAMET_TEST_POSTGRES_PROGRAMS"
PREFIX = "ramet_test"

MAY_CREATE = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
LOCK = 7_236_638
"""Of one run on a database that is emptied."""
OBJECTS = """
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace
 WHERE nspname <> 'public' AND nspname !~ '^pg_' AND nspname <> 'information_schema'
UNION ALL
SELECT format('DROP %s IF EXISTS %s CASCADE',
       CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
       oid::regclass)
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
UNION ALL
SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', oid::regprocedure)
  FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL
SELECT format('DROP TYPE IF EXISTS %s CASCADE', oid::regtype)
  FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype IN ('d', 'e', 'r')
"""
"""What somebody made in a database, as the statements that drop it."""


class Databases(Protocol):
    """Where a test gets a database of its own."""

    @property
    def url(self) -> str:
        """Any database of the server that is no test's."""
        ...

    def create(self, *, migrated: bool = False) -> str:
        """A database, empty or with ramet's tables in it; its address."""
        ...

    def drop(self, url: str) -> None:
        """The test is over."""
        ...


def migrate(url: str) -> str:
    """Make ramet's tables in a database; its address."""
    PostgresStore(url, inline=True).close_now()
    return url


class OwnServer:
    """A cluster that ends with the program."""

    def __init__(self) -> None:
        programs = os.environ.get(PROGRAMS)
        self.cluster = Cluster(binaries=Path(programs) if programs else None).start()
        self.url = self.cluster.url()

    @functools.cached_property
    def _template(self) -> str:
        return database_of(migrate(self.cluster.create_database()))

    def create(self, *, migrated: bool = False) -> str:
        return self.cluster.create_database(template=self._template if migrated else None)

    def drop(self, url: str) -> None:
        self.cluster.drop_database(url)


class NamedServer:
    """Somebody's server: databases of a name that cannot be theirs are created and dropped there, nothing else."""

    def __init__(self, url: str) -> None:
        self.url = url

    @functools.cached_property
    def _template(self) -> str:
        url = create_database(self.url, prefix=PREFIX)
        atexit.register(self.drop, url)
        return database_of(migrate(url))

    def create(self, *, migrated: bool = False) -> str:
        return create_database(self.url, template=self._template if migrated else None, prefix=PREFIX)

    def drop(self, url: str) -> None:
        name = database_of(url)
        assert name.startswith(PREFIX), f"{name} is not ours"
        drop_database(self.url, name)


class NamedDatabase:
    """Somebody's empty database, for one test at a time and one run at a time.

    Raises:
        ServerError: it is not empty, or another run uses it.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.shown = f"{NAMED}={shown(url)}"
        self.in_use = False
        self._lock = connect(url)
        try:
            self._take()
        except ServerError:
            self._lock.close()
            raise

    def _take(self) -> None:
        if self._lock.execute("SELECT pg_try_advisory_lock(%s)", (LOCK,)).fetchone() != (True,):
            raise ServerError(f"{self.shown}: another test run uses this database: wait for its end")
        found = self._lock.execute(OBJECTS.encode()).fetchall()
        if found:
            raise ServerError(
                f"{self.shown}: its user may not create databases, and this one is not empty ({len(found)} objects): "
                "name an empty one, or ALTER ROLE ... CREATEDB"
            )

    def create(self, *, migrated: bool = False) -> str:
        if self.in_use:
            raise ServerError(f"{self.shown}: a test needs two databases: ALTER ROLE ... CREATEDB")
        self.in_use = True
        return migrate(self.url) if migrated else self.url

    def drop(self, url: str) -> None:
        self._lock.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
        )
        for (statement,) in self._lock.execute(OBJECTS.encode()).fetchall():
            self._lock.execute(str(statement).encode())
        self.in_use = False


def named(url: str) -> Databases:
    """The server that somebody named.

    Raises:
        ServerError: it does not answer, or neither way is open to its user.
    """
    return NamedServer(url) if value(url, MAY_CREATE) else NamedDatabase(url)


def databases() -> Databases:
    """The server of this test run."""
    uses(SERVER, "tests.postgres.servers")
    return _databases()


@functools.cache
def _databases() -> Databases:
    url = os.environ.get(NAMED)
    return named(url) if url else OwnServer()
