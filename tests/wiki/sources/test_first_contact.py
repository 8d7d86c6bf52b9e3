"""A wiki that a person names and that does not answer as one: a line says what is wrong, and nothing is written."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from ramet import RetryAfter
from ramet.cli import main
from ramet.wiki import expansion
from ramet.wiki.runs import RunSettings
from ramet.wiki.sources import mediawiki_calls

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")


@contextmanager
def serving(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """A server with one answer to everything; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api.php"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are of no interest here."""
    monkeypatch.setattr(mediawiki_calls, "PAUSE_SECONDS", (0.001, 0.001))


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that names a minute is not waited for."""
    monkeypatch.setattr(expansion, "START_WAIT_SECONDS_MAX", 59.0)


def refused(folder: Path, source: str) -> str:
    """The line that the command ends with."""
    words = ["wiki", "expand", "One", "--source", source, "--no-embed"]
    words += ["--db", str(folder / "wiki.db"), "--graph", str(folder / "wiki.lbug"), "--data", str(folder / "data")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert list(folder.iterdir()) == []
    [line] = result.stderr.strip().splitlines()
    return line


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.network
@pytest.mark.parametrize(
    ("status", "body", "headers", "told"),
    [
        (429, b"busy", {"Retry_After": "60"}, "cannot be asked just now: retry after 60 s"),
        (503, b"down", {}, "cannot be asked just now.*HTTP 503"),
        (404, b"<html>", {"Content_Type": "text/html"}, r"no MediaWiki API.*give the address of its api\.php"),
        (200, b"{}", {"Content_Type": "application/json"}, r"api\.php"),
        (403, b"who are\nyou?", {}, "HTTP 403.*who are you"),
        (302, b"", {"Location": "https://elsewhere.example/"}, "elsewhere.example.*give its address"),
        (200, b'{"error": {"code": "readapidenied"}}', {"Content_Type": "application/json"}, "only its members"),
    ],
    ids=["busy", "down", "no api", "other api", "forbidden", "moved", "members"],
)
def test_a_wiki_that_gives_no_answer_is_told_in_a_line(
    tmp_path: Path, status: int, body: bytes, headers: dict[str, str], told: str
) -> None:
    with serving(status, body, **headers) as address:
        line = refused(tmp_path, address)
    assert re.search(told, line), line


async def test_a_wiki_that_names_the_time_to_come_back_is_waited_for_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []
    told: list[str] = []
    answers = iter([RetryAfter(2.0, "host:w"), RetryAfter(0.1, "host:w"), {"A": "A"}])

    async def resolve(*_: object) -> object:
        answer = next(answers)
        if isinstance(answer, RetryAfter):
            raise answer
        return answer

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    (tmp_path / "world.jsonl").write_text('{"title": "A", "text": "a"}', encoding="utf-8")
    monkeypatch.setattr(expansion, "_resolve", resolve)
    monkeypatch.setattr(expansion, "pause", pause)
    settings = RunSettings(
        source=str(tmp_path / "world.jsonl"), data_dir=str(tmp_path), graph=str(tmp_path / "g.sqlite"), embedder="none"
    )
    assert (await expansion.prepare(["A"], settings, progress=told.append)).titles == ("A",)
    assert paused == [2.0, 1.0]
    assert [line for line in told if "come back" in line] == [
        "world.jsonl asks to come back in 2 s: waiting (Ctrl-C stops)",
        "world.jsonl asks to come back in 1 s: waiting (Ctrl-C stops)",
    ]


@pytest.mark.network
def test_a_wiki_that_nobody_reaches_is_told_in_a_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        line = refused(tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}/api.php")
    assert "cannot be reached" in line


def test_an_address_that_no_wiki_has_is_told_in_a_line(tmp_path: Path) -> None:
    assert "nothing is fetched there" in refused(tmp_path, "http://169.254.169.254/api.php")


def test_wikimedia_asks_for_a_contact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def somewhere(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("198.41.0.4", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", somewhere)
    assert "contact" in refused(tmp_path, "https://en.wikipedia.org/wiki/One")
