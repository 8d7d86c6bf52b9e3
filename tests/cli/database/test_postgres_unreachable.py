"""Commands on PostgreSQL: what is said when it cannot be reached or used, and that nobody learns the password."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from ramet.store.address import shown
from ramet.testing.postgres_server.server import connect, quoted_name
from tests.cli.conftest import APP, Cli, Process

PASSWORD = "S3cret:/?#[]@!"


def changed(url: str, *, user: str | None = None, password: str | None = None, host: str | None = None,
            database: str | None = None) -> str:  # fmt: skip
    """An address with other parts."""
    parts = urlsplit(url)
    who = f"{user or parts.username}:{parts.password if password is None else password}"
    where = host or f"{parts.hostname}:{parts.port}"
    path = parts.path if database is None else f"/{database}"
    return urlunsplit(parts._replace(netloc=f"{who}@{where}", path=path))


@pytest.fixture
def at(cli: Cli, postgres_url: str) -> Callable[[str], Cli]:
    """The command line on another address."""

    def make(address: str) -> Cli:
        return Cli(cli.database, address)

    return make


COMMANDS = (
    ["status"], ["worker", APP], ["submit", APP, "node", '{"name": "a"}'], ["doctor"], ["migrate"],
    ["backup", "nothing.db"],
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_whatever_is_wrong_with_an_address_is_one_line_without_the_password(
    at: Callable[[str], Cli], postgres_url: str, words: list[str]
) -> None:
    secret = urlsplit(postgres_url).password or ""
    said = {
        "there is no such database": changed(postgres_url, database="nowhere"),
        "user or password is wrong": changed(postgres_url, password="wr0ng-secret"),
        "no server listens there": changed(postgres_url, host="127.0.0.1:1"),
        "no host of this name": changed(postgres_url, host="nowhere.invalid:5432"),
        "write postgresql://user:password@host": changed(postgres_url, host="[::1"),
        "of the password as %XX": changed(postgres_url, password="wr0ng-secret/1"),
    }
    for expected, address in said.items():
        line = at(address).bad(*words)
        assert expected in line
        assert secret not in line
        assert "wr0ng-secret" not in line


def test_a_database_without_our_tables_is_not_one_of_ours(at: Callable[[str], Cli], postgres_url: str) -> None:
    assert "has no ramet tables" in at(postgres_url).bad("status")


def test_a_role_that_may_not_make_tables_is_told_who_may(at: Callable[[str], Cli], postgres_url: str) -> None:
    with connect(postgres_url) as connection:
        name = f"ramet_test_{urlsplit(postgres_url).path[-8:]}"
        connection.execute(f"CREATE ROLE {quoted_name(name)} LOGIN PASSWORD 'x'".encode())
    try:
        line = at(changed(postgres_url, user=name, password="x")).bad("submit", APP, "node", '{"name": "a"}')
        assert "`ramet migrate`" in line
    finally:
        with connect(postgres_url) as connection:
            connection.execute(f"DROP ROLE {quoted_name(name)}".encode())


def test_no_output_log_or_list_of_processes_has_the_password(
    at: Callable[[str], Cli], start: Callable[..., Process], postgres_url: str, tmp_path: Path
) -> None:
    secret = urlsplit(postgres_url).password or ""
    cli = at(postgres_url)
    started, release = tmp_path / "started", tmp_path / "release"
    cli.submit("wait", {"started": str(started), "release": str(release)})
    command = [word for word in cli.command("worker", APP, "--until-idle") if word not in ("--db", postgres_url)]
    worker = Process(command, RAMET_DB=postgres_url)
    try:
        worker.wait_for("serves")
        while not started.exists():
            assert not worker.ended_within(0.05)
        listed = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        children = [line for line in listed if b"ramet.engine.worker.child" in line]
        assert children
        assert not any(secret.encode() in line for line in children)
        told = cli.good("status") + cli.good("status", "--json") + cli.good("workers", "--json")
        release.touch()
        assert worker.end() == 0
        assert secret not in told + json.dumps(worker.lines)
        assert shown(postgres_url) in told
        assert worker.said(f"from {shown(postgres_url)}")
    finally:
        worker.close()


def test_a_handler_asks_the_database_from_its_own_process(
    at: Callable[[str], Cli], start: Callable[..., Process], postgres_url: str
) -> None:
    cli, target = at(postgres_url), "tests.cli.apps.own_client_app:app"
    cli.good("migrate", "--app", target)
    task = json.loads(cli.good("submit", target, "asks", '"a"', "--json"))["id"]
    worker = Process(cli.command("worker", target, "--until-idle"))
    try:
        assert worker.end() == 0
    finally:
        worker.close()
    assert cli.documents("explain", task)[0]["task"]["result"] == {"tasks": 1, "in_time": True}
    with connect(postgres_url) as connection:
        assert connection.execute("SELECT name FROM asked").fetchall() == [("a",)]


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    assert shown("postgresql://u:p@h:5/d") == "postgresql://u@h:5/d"
    assert (
        shown("postgresql://u:a@b/c?d@h,i:5/d?password=x&sslmode=require") == "postgresql://u@h,i:5/d?sslmode=require"
    )
    assert shown("postgresql:///d?host=/run&user=u&PassWord=x") == "postgresql:///d?host=/run&user=u"
    assert shown("mysql://u:p@h/d") == "mysql://u@h/d"
    assert shown("a b/ramet.db") == "a b/ramet.db"
    assert shown("sqlite:///a@b.db") == "sqlite:///a@b.db"
