"""Who commits wakes who waits on other machines, promptly and seldom; and nothing ever waits for that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from ramet.store.postgres import listen
from ramet.store.postgres.listen import RING_SECONDS, channel_of
from ramet.store.postgres.listen_connection import ListenConnection
from tests.store.postgres.listener import Listener
from tests.support.waiting import HANG_SECONDS, until_now

Make = Callable[[], Listener]


@pytest.fixture
def make(postgres_url: str) -> Iterator[Make]:
    made: list[Listener] = []

    def make() -> Listener:
        made.append(Listener(postgres_url))
        return made[-1]

    yield make
    for listener in made:
        listener.bell.close()
        if listener.bell._thread is not None:
            listener.bell._thread.join(HANG_SECONDS)  # On a busy machine it needs longer than anybody waits who ends.
        assert all(connection.closed for connection in listener.opened)


@pytest.fixture
def ear(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that hears everything, beside all bells."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"LISTEN {channel_of('public')}")
        yield connection


def terminate(url: str, pid: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))


def test_a_ring_is_heard_by_everybody_but_the_one_who_rang(make: Make) -> None:
    one, two, three = make(), make(), make()
    for listener in (one, two, three):
        listener.listen()
        assert listener.heard == 1, "what was rung before it listened may have been missed"
    one.bell.ring()
    until_now(lambda: (two.heard, three.heard) == (2, 2), "the others heard it")
    two.bell.ring()
    until_now(lambda: (one.heard, three.heard) == (2, 3), "the others heard it")
    assert two.heard == 2, "nobody is woken by himself"


def test_the_first_ring_goes_out_at_once_and_many_become_few(make: Make, ear: psycopg.Connection[Any]) -> None:
    sender = make()
    started_at = time.monotonic()
    while time.monotonic() - started_at < 4 * RING_SECONDS:
        sender.bell.ring()
    sender.bell.close()
    took = time.monotonic() - started_at
    came = list(ear.notifies(timeout=0.0))
    came += ear.notifies(timeout=HANG_SECONDS, stop_after=1) if not came else []
    assert 1 <= len(came) <= 2 + took / RING_SECONDS


def test_a_ring_just_before_the_end_still_goes_out(make: Make, ear: psycopg.Connection[Any]) -> None:
    sender = make()
    sender.bell.ring()
    sender.bell.close()
    assert len(list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))) == 1


def test_a_ring_before_the_pause_is_over_goes_out_after_it(make: Make, ear: psycopg.Connection[Any]) -> None:
    sender = make()
    for _ in range(2):
        sender.bell.ring()
        assert len(list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))) == 1


def test_who_only_sends_opens_one_connection_and_does_not_listen(make: Make, ear: psycopg.Connection[Any]) -> None:
    sender = make()
    assert sender.opened == []
    sender.bell.ring()
    assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))
    assert (len(sender.opened), sender.bell.hears) == (1, False), "a second one would be the probe's"


def test_who_has_nothing_to_send_closes_its_connection_and_opens_it_again(
    make: Make, ear: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "IDLE_SECONDS", 0.01)
    sender = make()
    for rings in (1, 2):
        sender.bell.ring()
        assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))
        until_now(lambda: all(connection.closed for connection in sender.opened), "it is closed")
        assert len(sender.opened) == rings


def test_a_lost_connection_is_made_again_and_whoever_waits_looks_once(make: Make, postgres_url: str) -> None:
    one, two = make(), make()
    one.listen()
    two.listen()
    for _ in range(3):
        one.heard = 0
        terminate(postgres_url, one.pid)
        until_now(lambda: one.heard == 1, "it may have missed something")
        two.bell.ring()
        until_now(lambda: one.heard == 2, "it hears again")


def test_a_ring_while_the_server_is_away_waits_for_nobody_and_goes_out_when_it_is_back(
    make: Make, ear: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="ramet.store")
    sender = make()
    sender.away = True
    for _ in range(10_000):
        sender.bell.ring()
    until_now(lambda: sender.bell._backoff.failures > 2, "it tries again")
    assert caplog.text.count("polling goes on") == 1, "told once, not at every try"
    sender.away = False
    assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))


def test_a_ring_whose_connection_is_lost_as_it_goes_out_is_sent_again(
    make: Make, ear: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = make()
    run, ended = ListenConnection.run, list[int]()

    def end_once(line: ListenConnection, sql: str, seconds: float) -> Any:
        if "NOTIFY" in sql and not ended:
            ended.append(sender.pid)
            terminate(sender.url, sender.pid)
        return run(line, sql, seconds)

    monkeypatch.setattr(ListenConnection, "run", end_once)
    sender.bell.ring()
    assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))
    assert len(ended) == 1
    assert len(sender.opened) == 2


def test_the_end_does_not_wait_for_a_server_that_is_away(make: Make) -> None:
    sender = make()
    sender.away = True
    sender.bell.ring()
    until_now(lambda: sender.bell._backoff.failures, "it tried")
    sender.bell.close()
    assert sender.bell._thread is not None
    sender.bell._thread.join(HANG_SECONDS)
    assert not sender.bell._thread.is_alive()
    sender.bell.ring()
    sender.bell.listen()
    sender.bell.close()


def test_without_a_ring_or_a_wait_nothing_is_opened(make: Make) -> None:
    quiet = make()
    quiet.bell.close()
    quiet.bell.close()
    quiet.bell.ring()
    assert (quiet.opened, quiet.bell._thread) == ([], None)


def test_a_listener_asks_now_and_then_whether_the_server_is_there(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "ALIVE_SECONDS", 0.01)
    listener = make()
    listener.listen()
    asked = listener.opened[0]
    with psycopg.connect(listener.url, autocommit=True) as other:
        said = "SELECT query FROM pg_stat_activity WHERE pid = %s"
        until_now(lambda: other.execute(said, (asked.info.backend_pid,)).fetchone() == ("SELECT 1",), "it asked")
    assert (listener.heard, asked.closed) == (1, False)


class Deaf:
    """A pooler in transaction mode, as far as one can be had without: its connections never hear anything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        run = ListenConnection.run

        def deaf(line: Any, sql: str, seconds: float) -> Any:
            self.statements.append(sql)
            return run(line, "" if sql.startswith("LISTEN") else sql, seconds)

        monkeypatch.setattr(ListenConnection, "run", deaf)


def test_a_connection_that_hears_nothing_only_sends_and_says_so_once(
    make: Make, ear: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listen, "PROBE_SECONDS", 0.01)
    caplog.set_level("INFO", logger="ramet.store")
    pooled = Deaf(monkeypatch)
    listener = make()
    listener.bell.listen()
    until_now(lambda: "found by polling" in caplog.text, "it knows")
    for _ in range(3):
        listener.bell.ring()
        assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))
    assert (listener.bell.hears, listener.heard) == (False, 0)
    listened = [sql for sql in pooled.statements if sql.startswith("LISTEN")]
    assert len(listened) == 1, "the connection is tried again much later"
    assert listened[0].startswith("LISTEN ramet_probe_"), "a pooler's processes listen for ever"


def test_a_connection_that_was_deaf_is_tried_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "PROBE_SECONDS", 0.2)
    monkeypatch.setattr(listen, "PROBE_AGAIN_SECONDS", 0.01)
    with monkeypatch.context() as patched:
        pooled = Deaf(patched)
        listener = make()
        listener.bell.listen()
        until_now(lambda: sum(sql.startswith("LISTEN") for sql in pooled.statements) > 2, "it tries again")
    until_now(lambda: listener.bell.hears, "the pooler is gone")


def test_a_ring_changes_no_setting_of_its_session(make: Make, ear: psycopg.Connection[Any]) -> None:
    """Behind a pooler the session is the next one's too, and a verb's commit has to reach the disk."""
    sender = make()
    sender.bell.ring()
    assert list(ear.notifies(timeout=HANG_SECONDS, stop_after=1))
    [connection] = sender.opened
    with psycopg.connect(sender.url) as other:
        [query] = other.execute(
            "SELECT query FROM pg_stat_activity WHERE pid = %s", (connection.info.backend_pid,)
        ).fetchone() or [""]
    assert "SET LOCAL synchronous_commit = off" in query
    assert query.startswith("BEGIN")
