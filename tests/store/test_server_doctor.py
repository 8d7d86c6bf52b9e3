"""The doctor on a server: quiet about a sound one, and each kind of trouble is named with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ramet.engine.tools.doctor import doctor
from ramet.store import open_store
from ramet.store.answers import Finding
from ramet.store.errors import StoreError, StoreMissing, StoreUnreachable
from ramet.store.postgres import doctor as postgres_doctor
from ramet.store.postgres.connect import open_connection
from ramet.store.postgres.doctor import examine_server
from ramet.store.postgres.store import PostgresStore
from ramet.store.schema import versions
from ramet.store.session import Session
from ramet.testing.postgres import Cluster, terminate_backends
from ramet.testing.postgres_server.server import connect, database_of, quoted_name, value
from tests.postgres.bouncer import Bouncer
from tests.support.world import SettableClock, World
from tests.upgrade.plans import NEXT, NOW
from tests.upgrade.recorded import make_postgres, recorded

QUICK = {"fsync", "full_page_writes"}
"""What is off for tests."""


@pytest.fixture
async def url(postgres_url: str) -> str:
    """A sound database with a task that ended."""
    store = open_store(postgres_url)
    world = World(store, SettableClock())
    await world.submit(world.task("a"))
    await world.settle(await world.claim_one())
    await store.close()
    return postgres_url


def found(url: str) -> dict[str, Finding]:
    """What is found beyond the settings of a test's server, by check."""
    return {item.check: item for item in doctor(url) if item.what.split()[0] not in QUICK}


def change(url: str, *statements: str) -> None:
    with connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_a_sound_server_is_in_order(url: str) -> None:
    assert found(url) == {}


def test_a_server_that_may_lose_commits_is_an_error(url: str) -> None:
    [item] = [item for item in doctor(url) if item.what.startswith("fsync")]
    assert (item.severity, item.do) == ("error", "set fsync = on and restart the server")


def test_settings_that_lose_what_was_acknowledged_are_errors(url: str) -> None:
    name = quoted_name(database_of(url))
    change(url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    item = found(url)["server"]
    assert (item.severity, "synchronous_commit is off" in item.what) == ("error", True)
    change(url, f"ALTER DATABASE {name} RESET synchronous_commit",
           f"ALTER DATABASE {name} SET default_transaction_read_only = on")  # fmt: skip
    try:
        assert "nothing can be written" in found(url)["server"].what
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())


def test_rows_are_recounted_as_in_a_file(url: str) -> None:
    change(url, "UPDATE ramet_lineages SET success = 7", "DELETE FROM ramet_identities",
           "INSERT INTO ramet_checkpoints (seq, tracking_id, updated_at) VALUES (999, 'line', 1)")  # fmt: skip
    assert {"counters", "identities", "orphans"} <= set(found(url))


def test_every_check_of_rows_runs_on_a_full_database(postgres_url: str) -> None:
    make_postgres(postgres_url, recorded())
    assert {item.check for item in doctor(postgres_url)} <= {
        "server", "clock", "counters", "leases", "schedules", "workers", "lineages", "settings", "identities",
    }  # fmt: skip


def test_who_pins_the_horizon_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_doctor, "PINNED_SECONDS", -1.0)
    with psycopg.connect(url, application_name="report") as reader:
        reader.execute("SELECT * FROM ramet_live").fetchall()
        item = found(url)["horizon"]
        assert f"process {reader.info.backend_pid} (report) has had a transaction open" in item.what


def test_a_crowd_of_dead_rows_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_doctor, "DEAD_ROWS_MIN", -1)
    monkeypatch.setattr(postgres_doctor, "DEAD_SHARE", -1.0)
    assert "dead rows beside" in found(url)["vacuum"].what


def test_connections_near_the_limit_and_a_clock_that_is_off_are_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_doctor, "CONNECTIONS_SHARE", 0.0)
    monkeypatch.setattr(postgres_doctor, "ahead_seconds", lambda connection: 75.0)
    seen = found(url)
    assert "connections are taken" in seen["connections"].what
    assert "this machine's clock is 75 s behind the server's" in seen["clock"].what


def test_a_role_without_rights_is_told_how_to_get_them(url: str) -> None:
    name = f"ramet_test_{database_of(url)[-8:]}"
    change(url, f"CREATE ROLE {quoted_name(name)} LOGIN PASSWORD 'x'",
           f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {quoted_name(name)}")  # fmt: skip
    try:
        from tests.cli.database.test_postgres_unreachable import changed

        item = found(changed(url, user=name, password="x"))["rights"]
        assert "may not read and change" in item.what
        assert "ramet migrate --grant" in item.do
    finally:
        change(url, f"DROP OWNED BY {quoted_name(name)}", f"DROP ROLE {quoted_name(name)}")


def test_no_database_of_ours_is_refused(postgres_url: str) -> None:
    with pytest.raises(StoreMissing, match="has no ramet tables"):
        doctor(postgres_url)
    with pytest.raises(StoreError, match="cannot read the database address mysql://u@h/d"):
        doctor("mysql://u:p@h/d")


def test_an_older_schema_is_told_and_its_rows_are_not_counted(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(url, "UPDATE ramet_lineages SET success = 7")
    monkeypatch.setattr(versions, "PLAN", NEXT)
    item = found(url)["schema"]
    assert (item.severity, item.do) == ("warning", "run `ramet migrate`")
    assert item.what == f"the schema is {NOW}, this ramet writes {NOW + 1}"
    assert "counters" not in found(url)


def test_a_server_that_goes_away_meanwhile_is_one_line(url: str) -> None:
    def look(session: Session) -> Iterator[Finding]:
        terminate_backends(url)
        session.rows("SELECT 1")
        yield from ()

    with pytest.raises(StoreError, match="terminating connection due to administrator command"):
        examine_server(url, [look])


@pytest.mark.parametrize("why", ["no second connection", "it ends"])
def test_where_notifications_cannot_be_tried_the_rest_is_looked_at(
    url: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(url, "UPDATE ramet_lineages SET success = 7")
    opened: list[psycopg.Connection[Any]] = []

    def hindered(url: str) -> psycopg.Connection[Any]:
        if opened and why == "no second connection":
            raise StoreUnreachable("all of its connections are taken")
        opened.append(open_connection(url))
        if len(opened) > 1:
            value(url, f"SELECT pg_terminate_backend({opened[1].info.backend_pid}, 60000)")
        return opened[-1]

    monkeypatch.setattr(postgres_doctor, "open_connection", hindered)
    seen = found(url)
    assert seen["wake-up"].severity == "note"
    assert seen["wake-up"].what.startswith("notifications cannot be tried: ")
    assert "counters" in seen


@pytest.fixture
def pooled(url: str, bouncer: Bouncer) -> str:
    return bouncer.through(url)


def test_behind_a_pooler_a_note_says_that_work_is_found_by_polling(pooled: str) -> None:
    item = found(pooled)["wake-up"]
    assert item.severity == "note"
    assert "found by polling" in item.what


@pytest.mark.server
def test_a_slot_that_nobody_reads_is_named_and_a_standby_is_not_taken_for_the_server() -> None:
    with Cluster(settings={"wal_level": "logical"}) as cluster:
        url = cluster.create_database()
        PostgresStore(url, inline=True).close_now()
        change(url, "SELECT pg_create_logical_replication_slot('gone', 'pgoutput')")
        item = found(url)["horizon"]
        assert item.what == "the replication slot gone has no reader, and it keeps dead rows"
        assert item.do.endswith("SELECT pg_drop_replication_slot('gone')")
        change(url, item.do.rpartition(": ")[2])
        assert "horizon" not in found(url)
        standby = cluster.standby()
        try:
            what = [item.what for item in examine_server(standby.url(database_of(url)), ())]
        finally:
            standby.close()
    assert any("this is a standby" in line for line in what)
