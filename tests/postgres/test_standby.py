"""A synchronous standby: what was acknowledged is on both, and a promotion loses nothing."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ramet.testing.postgres import Cluster, ServerError, either
from ramet.testing.postgres_server.server import connect, value
from tests.support.waiting import HANG_SECONDS, until_now


@pytest.fixture
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    with Cluster() as primary, primary.standby() as standby:
        yield primary, standby


def test_a_commit_waits_for_its_standby_and_is_seen_there(pair: tuple[Cluster, Cluster]) -> None:
    primary, standby = pair
    with connect(primary.url()) as connection:
        connection.execute("CREATE TABLE kept (found integer)")
        standby.stop()
        waiting = threading.Thread(target=connection.execute, args=("INSERT INTO kept VALUES (1)",))
        waiting.start()
        waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        until_now(lambda: value(primary.url(), waits) == 1, "the commit waits")
        assert waiting.is_alive()
        standby.start()
        waiting.join(HANG_SECONDS)
        assert not waiting.is_alive()
    until_now(lambda: value(standby.url(), "SELECT COUNT(*) FROM kept") == 1, "it is seen there")
    with connect(standby.url()) as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("INSERT INTO kept VALUES (2)")


def test_a_promoted_standby_has_every_acknowledged_row_and_takes_writes(pair: tuple[Cluster, Cluster]) -> None:
    primary, standby = pair
    url = primary.create_database()
    name = url.rpartition("/")[2]
    both = either(primary.url(name), standby.url(name))
    with connect(both) as connection:
        connection.execute("CREATE TABLE kept (found integer)")
        for number in range(50):
            connection.execute("INSERT INTO kept VALUES (%s)", (number,))
        primary.kill()
    with pytest.raises(ServerError, match="does not answer"):
        connect(both)
    standby.promote()
    assert value(both, "SELECT COUNT(*) FROM kept") == 50
    with connect(both) as connection:
        connection.execute("INSERT INTO kept VALUES (50)")
    assert value(standby.url(name), "SELECT pg_is_in_recovery()") is False


def test_only_a_standby_can_be_promoted(pair: tuple[Cluster, Cluster]) -> None:
    with pytest.raises(ServerError, match="not in standby mode"):
        pair[0].promote()


def test_no_password_shows_in_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    run = subprocess.run

    def spy(command: list[str], **options: Any) -> Any:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", spy)
    with Cluster() as primary, primary.standby() as standby:
        password = primary.server.password
        assert standby.server.password == password
        assert {Path(command[0]).name for command in commands} >= {"initdb", "pg_basebackup"}
        assert not any(password in word for command in commands for word in command)
        for server in (primary.server, standby.server):
            assert (server.folder / "password").stat().st_mode & 0o077 == 0
