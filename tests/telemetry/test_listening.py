"""Metrics without a dashboard: who may read them, and what is refused."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ramet import App
from ramet.commands.errors import UserError
from ramet.telemetry.commands import metrics
from ramet.telemetry.families import board_text
from ramet.telemetry.metrics import address_of, application, check_address, served
from tests.support.waiting import HANG_SECONDS

TOKEN = "a token of some length"


def told(accept: str) -> tuple[bytes, str]:
    return f"for {accept}\n".encode(), "text/plain"


def asked(port: int, path: str = "/metrics", method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_metrics_are_at_one_path_and_only_read() -> None:
    with served(application(told, None, "127.0.0.1"), "127.0.0.1", 0) as port:
        assert asked(port, Accept="me") == (200, b"for me\n")
        assert asked(port, "/")[0] == 404
        assert asked(port, method="POST")[0] == 405


def test_without_the_token_every_path_is_refused() -> None:
    with served(application(told, TOKEN, "127.0.0.1"), "127.0.0.1", 0) as port:
        for headers in ({}, {"Authorization": "Bearer another"}, {"Authorization": TOKEN}):
            assert asked(port, **headers)[0] == 401
            assert asked(port, "/gone", **headers)[0] == 401
        assert asked(port, Authorization=f"Bearer {TOKEN}")[0] == 200


def test_a_page_that_makes_its_name_point_here_reads_nothing() -> None:
    with served(application(told, None, "127.0.0.1"), "127.0.0.1", 0) as port:
        assert asked(port, Host=f"evil.example:{port}")[0] == 403
        assert asked(port, Host=f"localhost:{port}")[0] == 200


def test_off_loopback_a_token_is_needed() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        check_address(host, None)
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        check_address(host, TOKEN)
        with pytest.raises(UserError, match="token"):
            check_address(host, None)


@pytest.mark.parametrize("text", ["", "9464", "host:", ":9464", "host:port", "host:99999", "host:\u0661"])
def test_what_is_no_address_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(UserError, match="HOST:PORT"):
        address_of(text)


def test_addresses_are_read() -> None:
    assert address_of("127.0.0.1:9464") == ("127.0.0.1", 9464)
    assert address_of("[::1]:0") == ("::1", 0)


# --- the command


async def make(path: Path) -> None:
    app = App()

    @app.task("page")
    async def page(ctx: Any) -> None:
        """Nothing."""

    async with app.client(str(path)) as client:
        await client.submit("page", key="a")


async def test_the_command_prints_them_once(tmp_path: Path) -> None:
    await make(tmp_path / "ramet.db")
    import asyncio

    found = await asyncio.to_thread(CliRunner().invoke, metrics, ["--db", str(tmp_path / "ramet.db")])
    assert found.exit_code == 0, found.output
    assert 'ramet_tasks_created_total{kind="page"} 1.0' in found.output


def test_the_files_are_written(tmp_path: Path) -> None:
    board, rules = tmp_path / "board.json", tmp_path / "rules.yaml"
    found = CliRunner().invoke(metrics, ["--grafana", str(board), "--rules", str(rules)])
    assert found.exit_code == 0, found.output
    assert board.read_text(encoding="utf-8") == board_text()
    assert json.loads(board_text())["title"] == "ramet"
    assert "RametTasksStuck" in rules.read_text()


def test_a_short_token_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    short = tmp_path / "token"
    short.write_text("short\n")
    for path in (short, tmp_path / "gone"):
        found = CliRunner().invoke(metrics, ["--listen", "127.0.0.1:0", "--token-file", str(path)])
        assert isinstance(found.exception, UserError)
