"""A pooler in transaction mode: sessions are shared, so nothing that belongs to a session can be counted on."""

from __future__ import annotations

import psycopg
import pytest

from ramet.store.postgres.listen import channel_of
from ramet.testing.postgres_server.server import connect, value
from tests.postgres.bouncer import Bouncer
from tests.store.postgres.listener import Listener
from tests.support.waiting import HANG_SECONDS, until_now

BACKEND = "SELECT pg_backend_pid()"


def test_transactions_of_many_clients_share_the_sessions_of_one_database(bouncer: Bouncer, postgres_url: str) -> None:
    through = bouncer.through(postgres_url)
    clients = [connect(through) for _ in range(30)]
    sessions = {client.execute(BACKEND).fetchone() for client in clients}
    assert len(sessions) < len(clients)
    assert value(through, "SELECT current_database()") == value(postgres_url, "SELECT current_database()")
    for client in clients:
        client.close()


def test_a_setting_of_a_session_outlives_its_client(bouncer: Bouncer, postgres_url: str) -> None:
    through = bouncer.through(postgres_url)
    with connect(through) as one:
        session = one.execute(BACKEND).fetchone()
        one.execute("SET work_mem = '77MB'")
    with connect(through) as other:
        assert other.execute(BACKEND).fetchone() == session
        assert other.execute("SHOW work_mem").fetchone() == ("77MB",)


def test_a_killed_pooler_cuts_its_clients_and_comes_back_where_it_was(bouncer: Bouncer, postgres_url: str) -> None:
    through = bouncer.through(postgres_url)
    held = connect(through)
    held.execute("SELECT 1")
    bouncer.kill()
    with pytest.raises(psycopg.OperationalError):
        held.execute("SELECT 1")
    held.close()
    bouncer.start()
    assert value(through, "SELECT 1") == 1


def test_it_pools_by_transaction(bouncer: Bouncer) -> None:
    modes = {row[0]: row[1] for row in bouncer.command("SHOW CONFIG")}
    assert modes["pool_mode"] == "transaction"


def test_a_bell_behind_it_only_rings_because_it_would_hear_nothing(
    bouncer: Bouncer, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a process of the pooler tells itself something, it tells it at once to whoever has it just then."""
    caplog.set_level("INFO", logger="ramet.store")
    pooled = Listener(bouncer.through(postgres_url))
    pooled.bell.listen()
    until_now(lambda: "found by polling" in caplog.text, "it knows")
    with connect(postgres_url) as ear:
        ear.execute(f"LISTEN {channel_of('public')}")
        for _ in range(3):
            pooled.bell.ring()
            assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))
    assert (pooled.bell.hears, pooled.heard) == (False, 0)
    with connect(pooled.url) as next_one:
        assert next_one.execute("SHOW synchronous_commit").fetchone() == ("on",)
        channels = next_one.execute("SELECT * FROM pg_listening_channels()").fetchall()
        assert (channel_of("public"),) not in channels, "a process of the pooler listens for as long as it lives"
    pooled.bell.close()
