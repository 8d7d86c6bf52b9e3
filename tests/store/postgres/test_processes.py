"""Processes on one PostgreSQL database wake each other, on one machine and on several; no other proves a death."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ramet.store.postgres.listen import channel_of
from ramet.store.postgres.processes import PostgresProcesses, identity_of
from tests.support.waiting import until

PROJECT = Path(__file__).parents[3]
Start = Callable[..., "Neighbour"]


class Neighbour:
    """Another process on the database."""

    def __init__(self, url: str, name: str, runtime: Path) -> None:
        command = [sys.executable, "-m", "tests.store.postgres.second_process", url, name, str(runtime)]
        self.process = subprocess.Popen(
            command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    async def hear(self) -> str:
        """The next word that it says."""
        assert self.process.stdout is not None
        return (await asyncio.to_thread(self.process.stdout.readline)).strip()

    def ring(self) -> None:
        """Have it wake everybody."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def machines(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Runtime folders by machine. Their names are short: a socket's path has a hundred bytes at most."""
    place = tmp_path_factory.mktemp("m")

    def machine(name: str) -> Path:
        folder = place / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    return machine


@pytest.fixture
def start(postgres_url: str, machines: Callable[[str], Path]) -> Iterator[Start]:
    started: list[Neighbour] = []

    def start(name: str, machine: str = "here") -> Neighbour:
        started.append(Neighbour(postgres_url, name, machines(machine)))
        return started[-1]

    yield start
    for neighbour in started:
        neighbour.kill()
        neighbour.process.communicate()


@pytest.fixture
def here(postgres_url: str, machines: Callable[[str], Path]) -> Iterator[PostgresProcesses]:
    neighbours = new(postgres_url, machines("here"))
    yield neighbours
    neighbours.leave()


def new(url: str, runtime: Path, connect: Callable[[], Any] | None = None) -> PostgresProcesses:
    with psycopg.connect(url) as connection:
        identity = identity_of(connection)
    environ = {"XDG_RUNTIME_DIR": str(runtime)}
    return PostgresProcesses(connect or (lambda: psycopg.connect(url)), identity, environ=environ)


def no_connection() -> Any:
    raise psycopg.OperationalError("the server is away")


@pytest.mark.parametrize("machine", ["here", "there"])
async def test_who_commits_wakes_who_waits_in_another_process(
    here: PostgresProcesses, start: Start, machine: str
) -> None:
    neighbour = start("n", machine)
    assert await neighbour.hear() == "ready"
    for _ in range(3):
        here.ring()
        assert await neighbour.hear() == "rung"


@pytest.mark.parametrize("machine", ["here", "there"])
async def test_a_neighbours_commit_wakes_who_waits_here(here: PostgresProcesses, start: Start, machine: str) -> None:
    here.join("here")
    neighbour = start("n", machine)
    assert await neighbour.hear() == "ready"
    while not here.hears:
        await here.wait(0.01)
    await here.wait(0.001)
    waiting = asyncio.create_task(here.wait(3_600.0))
    await asyncio.sleep(0)
    neighbour.ring()
    await waiting


async def test_processes_of_one_machine_wake_each_other_while_the_server_is_away(
    postgres_url: str, machines: Callable[[str], Path], start: Start
) -> None:
    neighbour = start("n")
    assert await neighbour.hear() == "ready"
    cut_off = new(postgres_url, machines("here"), no_connection)
    cut_off.ring()
    assert await neighbour.hear() == "rung"
    cut_off.leave()


async def test_a_bell_that_rang_before_the_wait_is_not_lost(here: PostgresProcesses) -> None:
    await here.wait(0.001)
    here.ring()
    await here.wait(3_600.0)


async def test_without_a_bell_the_time_out_ends_the_wait(postgres_url: str, machines: Callable[[str], Path]) -> None:
    cut_off = new(postgres_url, machines("here"), no_connection)
    await cut_off.wait(0.001)
    await cut_off.wait(0.001)
    cut_off.leave()


async def test_only_the_death_of_a_process_of_this_machine_is_proven(here: PostgresProcesses, start: Start) -> None:
    near, far = start("near", "here"), start("far", "there")
    assert (await near.hear(), await far.hear()) == ("ready", "ready")
    assert (here.dead(), here.alive()) == ([], ["near"])
    near.kill()
    far.kill()
    assert (here.dead(), here.alive()) == (["near"], [])
    assert here.last_running(["near"]) == {"near": None}


async def test_a_worker_whose_connections_are_cut_or_who_is_stopped_is_not_dead(
    here: PostgresProcesses, start: Start, postgres_url: str
) -> None:
    neighbour = start("n")
    assert await neighbour.hear() == "ready"
    neighbour.process.send_signal(signal.SIGSTOP)
    try:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert (here.dead(), here.alive()) == ([], ["n"])
    finally:
        neighbour.process.send_signal(signal.SIGCONT)


async def test_what_a_dead_worker_left_goes_at_the_second_sweep_that_found_nothing(
    here: PostgresProcesses, start: Start
) -> None:
    """Its last transaction may commit after its death; the claims of it need the proof too."""
    neighbour = start("n")
    assert await neighbour.hear() == "ready"
    neighbour.kill()
    here.forget("n")
    assert here.dead() == ["n"]
    here.forget("n")
    assert here.dead() == []


async def test_whoever_left_leaves_nothing_behind(here: PostgresProcesses) -> None:
    folder = here.folder
    assert folder is not None
    here.join("here")
    await here.wait(0.001)
    assert sorted(path.name for path in folder.iterdir()) == ["here.lock", "here.sock"]
    here.leave()
    here.leave()
    assert not folder.exists()


async def test_without_a_safe_folder_notifications_still_wake(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "nowhere"))
    neighbours = new(postgres_url, tmp_path / "missing")
    assert neighbours.folder is None
    neighbours.join("n")
    await neighbours.wait(0.001)
    assert (neighbours.dead(), neighbours.alive(), neighbours.last_running([])) == ([], [], {})
    neighbours.forget("n")
    neighbours.forget("n")

    async def hears() -> bool:
        await neighbours.wait(0.01)
        return neighbours.hears

    await until(hears, "it hears")
    waiting = asyncio.create_task(neighbours.wait(3_600.0))
    await asyncio.sleep(0)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"NOTIFY {channel_of('public')}")
    await waiting
    neighbours.leave()


def as_superuser(url: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(url)
    if connection.execute("SHOW is_superuser").fetchone() != ("on",):
        connection.close()
        pytest.skip("the named server's user is no superuser")
    return connection


def test_a_databases_identity_is_its_own_and_depends_on_no_role(postgres_url: str) -> None:
    with as_superuser(postgres_url) as connection:
        identity = identity_of(connection)
        connection.execute("CREATE SCHEMA other")
        connection.execute("SET LOCAL search_path TO other")
        assert identity_of(connection) != identity
        connection.execute("SET LOCAL search_path TO public")
        connection.execute("SET LOCAL ROLE pg_monitor")
        assert identity_of(connection) == identity, "it can be asked in the middle of a transaction"
    system, number, schema = identity.split(":")
    assert (system.isdigit(), number.isdigit(), schema) == (True, True, "public")


def test_a_server_that_does_not_tell_its_identifier_has_an_identity(postgres_url: str) -> None:
    with as_superuser(postgres_url) as connection:
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        connection.execute("SET LOCAL ROLE pg_monitor")
        system, number, _ = identity_of(connection).split(":")
        assert (system, number.isdigit()) == ("", True)
        connection.rollback()
