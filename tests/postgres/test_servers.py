"""Tests on somebody's server leave it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from ramet.testing.postgres import Cluster, ServerError
from ramet.testing.postgres_server.server import connect, value
from tests.postgres.servers import OBJECTS, NamedDatabase, NamedServer, named

PASSWORD = "a-password-of-no-worth"
MAKE = """
CREATE TABLE a (b serial PRIMARY KEY); CREATE TABLE c (d integer REFERENCES a); CREATE VIEW e AS SELECT * FROM a;
CREATE MATERIALIZED VIEW f AS SELECT * FROM a; CREATE SEQUENCE g; CREATE TYPE h AS ENUM ('i'); CREATE SCHEMA j;
CREATE TABLE j.k (l integer); CREATE TABLE m (n integer) PARTITION BY RANGE (n);
CREATE TABLE o PARTITION OF m FOR VALUES FROM (1) TO (2); CREATE DOMAIN q AS integer;
CREATE FUNCTION p() RETURNS integer LANGUAGE sql AS 'SELECT 1'
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def poor(cluster: Cluster) -> str:
    """The address of a database whose user may make everything in it and nothing beside it."""
    url = cluster.create_database()
    name = url.rpartition("/")[2]
    with connect(url) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'".encode())
        connection.execute(f"ALTER DATABASE {name} OWNER TO {name}".encode())
    return f"postgresql://{name}:{PASSWORD}@127.0.0.1:{cluster.server.port}/{name}"


def names(cluster: Cluster) -> set[str]:
    with connect(cluster.url()) as connection:
        return {row[0] for row in connection.execute("SELECT datname FROM pg_database").fetchall()}


def test_who_may_create_databases_gets_one_for_each_test(cluster: Cluster) -> None:
    before = names(cluster)
    found = named(cluster.url())
    assert isinstance(found, NamedServer)
    one, other = found.create(), found.create()
    assert len(names(cluster) - before) == 2
    held = connect(one)
    for url in (one, other):
        found.drop(url)
    held.close()
    assert names(cluster) == before
    with pytest.raises(AssertionError, match="is not ours"):
        found.drop(cluster.url())


def test_who_may_not_gets_one_database_that_is_empty_for_each_test(poor: str) -> None:
    found = named(poor)
    assert isinstance(found, NamedDatabase)
    with closing(found._lock):
        for _ in range(2):
            assert found.create() == poor
            with pytest.raises(ServerError, match=r"a test needs two databases: ALTER ROLE \.\.\. CREATEDB"):
                found.create()
            held = connect(poor)
            held.execute(MAKE.encode())
            found.drop(poor)
            assert found._lock.execute(OBJECTS.encode()).fetchall() == []
            assert value(poor, "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'public'") == 1
            held.close()


def test_a_database_with_something_in_it_is_refused_and_stays_as_it_is(poor: str) -> None:
    with connect(poor) as connection:
        connection.execute("CREATE TABLE mine (found integer)")
    with pytest.raises(ServerError, match="is not empty") as told:
        named(poor)
    assert PASSWORD not in str(told.value)
    assert "\n" not in str(told.value)
    assert value(poor, "SELECT COUNT(*) FROM mine") == 0


def test_two_runs_on_one_database_exclude_each_other(poor: str) -> None:
    first = NamedDatabase(poor)
    with closing(first._lock), pytest.raises(ServerError, match="another test run uses this database"):
        named(poor)
