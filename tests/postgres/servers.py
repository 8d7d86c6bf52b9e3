"""The PostgreSQL that the tests run on: one of our own, started when first asked for, or the one that is named.

``RAMET_TEST_POSTGRES=URL`` names one; its user must be allowed to create databases there.
"""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from typing import Protocol

from ramet.store.server_databases import connect, create_database, database_of, drop_database, without_password
from ramet.testing.postgres import Cluster, ServerError

NAMED = "RAMET_TEST_POSTGRES"
PREFIX = "ramet_test"


class Databases(Protocol):
    """Where a test gets a database of its own."""

    def create(self) -> str:
        """An empty database; its address."""
        ...

    def drop(self, url: str) -> None:
        """The test is over."""
        ...


class OwnServer:
    """A cluster that ends with the program."""

    def __init__(self) -> None:
        self.cluster = Cluster().start()

    def create(self) -> str:
        return self.cluster.create_database()

    def drop(self, url: str) -> None:
        self.cluster.drop_database(url)


class NamedServer:
    """Somebody's server: databases of a name that cannot be theirs are created and dropped there, nothing else."""

    def __init__(self, url: str) -> None:
        self.url = url
        with connect(url) as connection:
            row = connection.execute(
                "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        if row is None or not row[0]:
            raise ServerError(
                f"{NAMED}={without_password(url)}: this user may not create databases: ALTER ROLE ... CREATEDB"
            )

    def create(self) -> str:
        return create_database(self.url, prefix=PREFIX)

    def drop(self, url: str) -> None:
        name = database_of(url)
        assert name.startswith(PREFIX), f"{name} is not ours"
        with suppress(ServerError):  # A server that a test has stopped keeps its database.
            drop_database(self.url, name)


@functools.cache
def databases() -> Databases:
    """The server of this test run."""
    named = os.environ.get(NAMED)
    return NamedServer(named) if named else OwnServer()
