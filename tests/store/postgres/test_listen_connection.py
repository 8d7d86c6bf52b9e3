"""A line waits no longer than told, tells what it heard, and is interrupted by a kick."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator

import psycopg
import pytest

from ramet.store.postgres.listen_connection import ListenConnection, ListenConnectionLost, drain

FOREVER = 600.0
"""Longer than any test may take: nothing here waits for it in vain."""


@pytest.fixture
def wire() -> Iterator[tuple[socket.socket, socket.socket]]:
    kick, kicked = socket.socketpair()
    kicked.setblocking(False)
    with kick, kicked:
        yield kick, kicked


@pytest.fixture
def line(postgres_url: str, wire: tuple[socket.socket, socket.socket]) -> Iterator[ListenConnection]:
    with ListenConnection(psycopg.connect(postgres_url), wire[1]) as line:
        yield line


def test_rows_come_as_text(line: ListenConnection) -> None:
    assert line.run("SELECT 1, 'ä', NULL UNION ALL SELECT 2, '', 'x' ORDER BY 1", FOREVER) == [
        ("1", "ä", None),
        ("2", "", "x"),
    ]
    assert line.run("", FOREVER) == []


def test_several_statements_are_one_message_and_the_last_one_answers(line: ListenConnection) -> None:
    assert line.run("BEGIN; SELECT 1; SELECT 2; COMMIT", FOREVER) == []
    assert line.run("SELECT 1; SELECT 2", FOREVER) == [("2",)]


def test_a_refused_statement_is_told_and_the_line_goes_on(line: ListenConnection) -> None:
    with pytest.raises(ListenConnectionLost, match="nowhere"):
        line.run("SELECT * FROM nowhere", FOREVER)
    assert line.run("SELECT 1", FOREVER) == [("1",)]


def test_a_server_that_does_not_answer_in_time_is_lost(line: ListenConnection) -> None:
    started_at = time.monotonic()
    with pytest.raises(ListenConnectionLost, match="does not answer"):
        line.run(f"SELECT pg_sleep({FOREVER})", 0.05)
    assert time.monotonic() - started_at < FOREVER / 2


def test_a_connection_that_the_server_ends_is_lost_to_whoever_waits_and_whoever_asks(
    line: ListenConnection, postgres_url: str
) -> None:
    [(pid,)] = line.run("SELECT pg_backend_pid()", FOREVER)
    with psycopg.connect(postgres_url) as other:
        other.execute(f"SELECT pg_terminate_backend({pid}, 60000)")

    def wait_for_the_end() -> None:
        while True:  # What the server says about it comes first.
            line.wait(FOREVER)

    with pytest.raises(ListenConnectionLost):
        wait_for_the_end()
    with pytest.raises(ListenConnectionLost):
        line.run("SELECT 1", FOREVER)


def test_what_is_notified_is_heard_with_its_sender(line: ListenConnection, postgres_url: str) -> None:
    line.run("LISTEN here; LISTEN there", FOREVER)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("NOTIFY here")
        other.execute("NOTIFY elsewhere")
        other.execute("NOTIFY there")
        pid = other.info.backend_pid
    while len(line.heard) < 2:
        line.wait(FOREVER)
    assert line.heard == [("here", pid), ("there", pid)]


def test_what_comes_while_a_statement_runs_is_not_lost(line: ListenConnection, postgres_url: str) -> None:
    line.run("LISTEN here", FOREVER)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("NOTIFY here")
    line.run("SELECT 1", FOREVER)
    while not line.heard:
        line.wait(FOREVER)
    assert [name for name, _ in line.heard] == ["here"]


def test_a_kick_ends_the_wait_and_is_used_up(line: ListenConnection, wire: tuple[socket.socket, socket.socket]) -> None:
    for _ in range(3):
        wire[0].send(b"1")
    line.wait(FOREVER)
    with pytest.raises(BlockingIOError):
        wire[1].recv(1)


def test_a_kick_in_the_middle_of_a_statement_does_not_disturb_it(
    line: ListenConnection, wire: tuple[socket.socket, socket.socket]
) -> None:
    wire[0].send(b"1")
    assert line.run("SELECT 1", FOREVER) == [("1",)]


def test_a_statement_that_does_not_fit_the_way_at_once_is_sent_piece_by_piece(line: ListenConnection) -> None:
    with socket.socket(fileno=os.dup(line._backend.socket)) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # The least that the system gives.
    assert line.run(f"/* {'x' * 4_000_000} */ SELECT 1", FOREVER) == [("1",)]


def test_kicks_are_read_away_up_to_the_end_of_who_kicks(wire: tuple[socket.socket, socket.socket]) -> None:
    wire[0].send(b"1" * 100)
    wire[0].close()
    drain(wire[1])
    assert wire[1].recv(1) == b""
