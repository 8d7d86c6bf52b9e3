"""``ramet dashboard``: what it refuses, what it says, and that it ends when it is told to, whoever still looks."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from ramet import App
from ramet.cli import main
from ramet.web.serving import is_loopback, listen, origin_of
from tests.support.waiting import HANG_SECONDS

TOKEN = "a-token-of-sixteen-characters"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    async def make() -> None:
        async with App().client(tmp_path / "ramet.db"):
            pass

    asyncio.run(make())
    return tmp_path / "ramet.db"


def refused(database: Path, *words: str, command: str = "dashboard", **environment: str) -> str:
    """The one line of a command that ends with status 2."""
    result = CliRunner().invoke(main, [command, "--db", str(database), *words], env=environment)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@contextmanager
def running(
    database: Path, *words: str, command: str = "dashboard", **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A dashboard in a process of its own, and its address."""
    typed = [sys.executable, "-m", "ramet.cli", command, "--db", str(database), "--port", "0", *words]
    process = subprocess.Popen(
        typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " is at http://" in line, process.communicate()[1]
        yield process, line.partition(" is at ")[2].split()[0].rstrip("/")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_well_and_at_once_while_somebody_follows_a_page(database: Path, number: signal.Signals) -> None:
    with (
        running(database) as (process, origin),
        httpx.stream("GET", f"{origin}/live/", timeout=HANG_SECONDS) as stream,
    ):
        lines = stream.iter_lines()
        assert next(lines) == "event: page"
        process.send_signal(number)
        assert [line for line in lines if line.startswith("event:")] == []  # It ends, and was not torn off.
        _, complaints = process.communicate(timeout=HANG_SECONDS)
        assert (process.returncode, complaints) == (0, "")


def test_with_a_token_it_asks_for_it_and_says_nothing_about_itself(database: Path) -> None:
    with running(database, RAMET_DASHBOARD_TOKEN=TOKEN) as (_, origin):
        nobody = httpx.get(f"{origin}/")
        somebody = httpx.get(f"{origin}/", headers={"Authorization": f"Bearer {TOKEN}"})
        led_here = httpx.get(f"{origin}/", headers={"Host": "evil.example", "Authorization": f"Bearer {TOKEN}"})
    assert (nobody.status_code, somebody.status_code, led_here.status_code) == (401, 200, 421)
    assert "server" not in somebody.headers


def test_it_is_no_open_door_to_other_machines(database: Path) -> None:
    for host in ("0.0.0.0", "::"):
        assert "give a token" in refused(database, "--host", host)
    assert "give a token" in refused(database, "--host", "no-such-name.invalid")


def test_a_token_is_long_and_the_two_differ(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("short\n")
    assert "at least 16" in refused(database, "--token-file", str(file))
    assert "cannot be read" in refused(database, "--token-file", str(tmp_path / "none"))
    file.write_text(TOKEN + "\n")
    assert "are the same" in refused(database, "--token-file", str(file), RAMET_DASHBOARD_READ_TOKEN=TOKEN)
    assert TOKEN not in refused(database, "--read-token-file", str(file), RAMET_DASHBOARD_TOKEN=TOKEN)


def test_a_server_of_the_api_is_no_open_door_either(tmp_path: Path) -> None:
    nothing = tmp_path / "none.db"
    tokens = tmp_path / "tokens"
    for host in ("0.0.0.0", "::"):
        assert "give a token" in refused(nothing, "--host", host, command="serve")
    tokens.write_text("pool work\n")
    assert "line 1 is not in the form" in refused(nothing, "--tokens-file", str(tokens), command="serve")
    tokens.write_text(f"pool work {TOKEN}\nother read {TOKEN}\n")
    assert "are the same" in refused(nothing, "--tokens-file", str(tokens), command="serve")
    assert "cannot be read" in refused(nothing, "--tokens-file", str(tmp_path / "missing"), command="serve")
    assert "no_such_module" in refused(nothing, "--app", "no_such_module:app", command="serve")
    assert not nothing.exists()


def test_tokens_of_a_file_have_the_scopes_that_it_names(database: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"pool work {TOKEN}\n")
    words = ("--tokens-file", str(tokens), "--calls-per-minute", "100")
    with running(database, *words, command="serve") as (_, origin):
        root = origin.removesuffix("/api/v1")
        holding = {"Authorization": f"Bearer {TOKEN}"}
        claimed = httpx.post(f"{origin}/claims", json={"kinds": ["a"], "worker": "w"}, headers=holding)
        looked = httpx.get(f"{origin}/tasks", headers=holding)
        page = httpx.get(f"{root}/", headers={**holding, "Accept": "text/html"})
        nobody = httpx.post(f"{origin}/claims", json={"kinds": ["a"], "worker": "w"})
    assert (claimed.status_code, claimed.json()) == (200, [])
    assert (looked.status_code, looked.json()["error"]["code"]) == (403, "missing_scope")
    assert (page.status_code, nobody.status_code) == (403, 401)


def test_a_name_to_answer_to_is_a_name(database: Path) -> None:
    for name in ("https://ramet.example", "ramet.example:8371", " "):
        assert "--allow-host" in refused(database, "--allow-host", name)


def test_a_port_that_is_taken_is_said(database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen on 127.0.0.1 port" in refused(database, "--port", str(taken.getsockname()[1]))


def test_a_database_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "none.db" in refused(tmp_path / "none.db", "--port", "0")


def test_only_this_machine_reaches_loopback() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("", "0.0.0.0", "::", "192.0.2.1", "no-such-name.invalid"))


def test_an_address_can_be_put_into_a_browser() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert origin_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
