"""``ramet migrate``: what is said and returned, and a role that only works."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from ramet.store.address import shown
from ramet.store.schema import versions
from ramet.testing.postgres_server.server import connect, quoted_name
from tests.cli.conftest import Cli, Process
from tests.cli.database.test_postgres_unreachable import changed
from tests.upgrade.plans import NEXT, NOW

TREE = 1 + 2 + 4


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, cli: Cli) -> Cli:
    """The command line on a database without our tables."""
    return Cli(cli.database, None if request.param == "sqlite" else request.getfixturevalue("postgres_url"))


def test_a_check_exits_with_1_when_something_is_to_be_done(empty: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    place = shown(empty.address)
    found = empty.run("migrate", "--check")
    assert (found.exit_code, found.stderr) == (1, "")
    assert found.stdout == f"{place} has no tables of ramet, this ramet writes schema {NOW}: run `ramet migrate`\n"
    assert empty.good("migrate") == f"{place} went from no tables of ramet to schema {NOW}\n"
    assert empty.good("migrate", "--check") == f"{place} has schema {NOW}: nothing to do\n"
    monkeypatch.setattr(versions, "PLAN", NEXT)
    found = empty.run("migrate", "--check", "--json")
    assert (found.exit_code, found.stdout.count("\n")) == (1, 1)
    assert empty.documents("migrate") == [
        {"database": place, "before": NOW, "after": NOW + 1, "checked": False, "needed": True}
    ]
    assert empty.good("migrate") == f"{place} has schema {NOW + 1}: nothing to do\n"


def test_a_check_makes_no_file(cli: Cli) -> None:
    assert cli.run("migrate", "--check").exit_code == 1
    assert list(cli.database.parent.iterdir()) == []


def test_a_file_has_no_roles(cli: Cli) -> None:
    assert "leave --grant out" in cli.bad("migrate", "--grant", "somebody")


@pytest.fixture
def worker_url(postgres_url: str) -> Iterator[str]:
    """The address of the database for a role that has no rights yet."""
    name = f"ramet_test_{secrets.token_hex(6)}"
    with connect(postgres_url) as connection:
        connection.execute(f"CREATE ROLE {quoted_name(name)} LOGIN PASSWORD 'x'".encode())
    yield changed(postgres_url, user=name, password="x")
    with connect(postgres_url) as connection:
        connection.execute(f"DROP OWNED BY {quoted_name(name)}".encode())
        connection.execute(f"DROP ROLE {quoted_name(name)}".encode())


def test_a_role_that_may_only_change_rows_does_all_that_workers_and_people_do(
    cli: Cli, start: Callable[..., Process], postgres_url: str, worker_url: str
) -> None:
    administrator, worker = Cli(cli.database, postgres_url), Cli(cli.database, worker_url)
    role = urlsplit(worker_url).username or ""
    assert f"{role} may read and change rows, and make no tables\n" in administrator.good("migrate", "--grant", role)
    _, lineage = worker.submit("node", {"name": "a", "depth": 2})
    task, _ = worker.submit("fails", {"text": "x"})
    worker.work()
    assert worker.documents("status", lineage)[0]["states"]["success"] == TREE
    worker.good("retry", task)
    worker.good("cancel", task)
    worker.good("pause", "--queue", "default")
    worker.good("resume", "--queue", "default")
    worker.good("settings", "set", "worker.lease_seconds", "100")
    worker.good("limit", "queue", "default", "--concurrency", "3")
    worker.good("prune", "--older-than", "0s")
    with connect(worker_url) as connection:
        for forbidden in ("CREATE TABLE mine (a INTEGER)", "DROP TABLE ramet_live", "TRUNCATE ramet_tasks"):
            with pytest.raises(Exception, match=r"permission denied|must be owner"):
                connection.execute(forbidden.encode())


def test_a_role_that_does_not_exist_is_one_line(cli: Cli, postgres_url: str) -> None:
    said = Cli(cli.database, postgres_url).bad("migrate", "--grant", "nobody at all")
    assert 'role "nobody at all" does not exist' in said
