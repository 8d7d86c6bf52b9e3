"""The server that the tests bring along does what a server does, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ramet.testing.postgres import Cluster, ServerError, terminate_backends
from ramet.testing.postgres_server import server
from ramet.testing.postgres_server.programs import alive, family
from ramet.testing.postgres_server.server import HOST, connect, value
from tests.support.waiting import until_now


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Of the ports that it found free when it was started, somebody took the first one meanwhile."""
    with socket.socket() as taken, pytest.MonkeyPatch.context() as patched:
        taken.bind((HOST, 0))
        taken.listen()
        found = [server.free_port(), taken.getsockname()[1]]
        patched.setattr(server, "free_port", found.pop)
        cluster = Cluster().start()
        assert found == []
    with cluster:
        yield cluster


def test_both_addresses_reach_the_same_server(cluster: Cluster) -> None:
    started = "SELECT pg_postmaster_start_time()"
    assert value(cluster.url(), started) == value(cluster.url(by_socket=True), started)
    assert value(cluster.url(), "SHOW server_version_num") == value(
        cluster.url(by_socket=True), "SHOW server_version_num"
    )
    assert str(value(cluster.url(), "SHOW server_version_num")).startswith(str(cluster.version))


def test_a_port_that_somebody_took_meanwhile_is_passed_over(cluster: Cluster) -> None:
    tried = [line for line in cluster.server.log.read_text().splitlines() if "could not bind" in line]
    assert tried
    assert str(cluster.server.port) not in "".join(tried)
    assert (cluster.server.folder / "port").read_text() == f"{cluster.server.port}\n"


@pytest.mark.parametrize("by_socket", [False, True])
def test_nobody_enters_without_the_password(cluster: Cluster, by_socket: bool) -> None:
    url = cluster.url(by_socket=by_socket)
    with pytest.raises(ServerError, match="password authentication failed") as told:
        connect(url.replace(cluster.server.password, "guess"))
    assert "guess" not in str(told.value)


def test_a_database_copies_its_template_and_a_drop_cuts_its_connections(cluster: Cluster) -> None:
    first = cluster.create_database()
    with connect(first) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS found")
    copy = cluster.create_database(template=first.rpartition("/")[2])
    held = connect(copy)
    assert value(copy, "SELECT found FROM kept") == 1
    cluster.drop_database(copy)
    with pytest.raises(psycopg.OperationalError):
        held.execute("SELECT 1")
    held.close()
    with pytest.raises(ServerError, match="does not exist"):
        connect(copy)


def test_terminated_backends_have_ended_and_those_of_other_databases_have_not(cluster: Cluster) -> None:
    url, other = cluster.create_database(), cluster.create_database()
    held = [connect(url), connect(url)]
    pids = [connection.info.backend_pid for connection in held]
    elsewhere = connect(other)
    assert terminate_backends(url) == 2
    assert elsewhere.execute("SELECT pid FROM pg_stat_activity WHERE pid = ANY(%s)", (pids,)).fetchall() == []
    for connection in held:
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()
    elsewhere.execute("SELECT 1")
    elsewhere.close()


def test_a_backend_that_does_not_end_is_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    url = cluster.create_database()
    monkeypatch.setattr(server, "ENDED_SECONDS_MAX", 0.01)
    with closing(connect(url)) as held:
        os.kill(held.info.backend_pid, signal.SIGSTOP)
        try:
            with pytest.raises(ServerError, match=r"a connection did not end within 0\.01 seconds"):
                terminate_backends(url)
        finally:
            os.kill(held.info.backend_pid, signal.SIGCONT)


def test_a_killed_server_is_gone_at_once_and_a_start_recovers_what_was_committed() -> None:
    with Cluster(settings={"shared_buffers": "16MB"}) as cluster:
        url = cluster.create_database()
        held = connect(url)
        held.execute("CREATE TABLE kept (found integer)")
        held.execute("INSERT INTO kept VALUES (7)")
        processes = family(cluster.server.pid or 0)
        assert len(processes) > 2
        cluster.kill()
        assert not cluster.running
        assert not any(map(alive, processes))
        with pytest.raises(ServerError, match="does not answer"):
            connect(url)
        with pytest.raises(ServerError, match="nothing to kill"):
            cluster.kill()
        cluster.start()
        assert value(url, "SELECT found FROM kept") == 7
        assert value(url, "SHOW shared_buffers") == "16MB"
        held.close()


def test_a_restart_keeps_address_and_data_and_cuts_connections(cluster: Cluster) -> None:
    url = cluster.create_database()
    held = connect(url)
    held.execute("CREATE TABLE kept (found integer)")
    cluster.restart()
    with pytest.raises(psycopg.OperationalError):
        held.execute("SELECT 1")
    held.close()
    assert value(url, "SELECT COUNT(*) FROM kept") == 0


def test_a_commit_is_durable_when_asked_for_and_quick_otherwise(cluster: Cluster) -> None:
    assert value(cluster.url(), "SHOW fsync") == "off"
    assert value(cluster.url(), "SHOW synchronous_commit") == "on"
    with Cluster(durable=True) as durable:
        assert value(durable.url(), "SHOW fsync") == "on"


def test_a_close_leaves_neither_process_nor_folder() -> None:
    cluster = Cluster().start()
    first = cluster.server.pid or 0
    assert alive(first)
    cluster.close()
    assert not alive(first)
    assert not cluster.server.folder.exists()
    cluster.close()


def test_a_fork_of_the_program_ends_without_it() -> None:
    with Cluster() as cluster:
        pid = os.fork()
        if pid == 0:
            cluster.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert value(cluster.url(), "SELECT 1") == 1


MAKES_ONE = """
import os, sys
from ramet.testing.postgres import Cluster
cluster = Cluster().start()
print(cluster.server.pid, cluster.server.folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["end", "kill"])
def test_a_program_that_ends_or_is_killed_takes_its_server_along(how: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", MAKES_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    pid, folder = program.stdout.readline().split()
    assert alive(int(pid))
    if how == "kill":
        program.kill()
    program.communicate()
    until_now(lambda: not alive(int(pid)), "the server ends")
    until_now(lambda: not Path(folder).exists(), "the folder is deleted")


def test_a_setting_that_does_not_exist_is_told_in_one_line() -> None:
    with pytest.raises(ServerError, match="no_such_setting") as told, Cluster(settings={"no_such_setting": 1}):
        pass
    assert "\n" not in str(told.value)


def test_programs_that_are_not_there_are_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="has no initdb, pg_ctl, postgres"):
        Cluster(binaries=tmp_path)


def test_a_settings_value_is_quoted() -> None:
    with Cluster(settings={"cluster_name": "it's a \\ name"}) as cluster:
        assert value(cluster.url(), "SHOW cluster_name") == "it's a \\ name"


def test_variables_of_the_user_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGPORT", "1")
    with Cluster() as cluster:
        assert value(cluster.url(), "SELECT 1") == 1
    assert os.environ["PGPORT"] == "1"


def test_every_test_has_an_empty_database_of_its_own(postgres_url: str) -> None:
    assert value(postgres_url, "SELECT COUNT(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == 0
    assert value(postgres_url, "SELECT current_database()") == postgres_url.rpartition("/")[2]
