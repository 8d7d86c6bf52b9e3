"""A server on this machine that answers each call as a test says: for what no other server can be brought to answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """What the server sends back; no status: it hangs up."""

    status: int | None
    body: object = b""
    """Bytes, or what is sent as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """What came in."""

    method: str
    path: str
    body: Any
    headers: Mapping[str, str]


class Scripted:
    """The server; `calls` are those that came in."""

    def __init__(self, script: Callable[[Call], Said]) -> None:
        self.script = script
        self.calls: list[Call] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(inner) -> None:
                sent = inner.rfile.read(int(inner.headers.get("Content-Length", "0")))
                headers = {name.lower(): value for name, value in inner.headers.items()}
                call = Call(inner.command, inner.path, json.loads(sent) if sent else None, headers)
                self.calls.append(call)
                said = self.script(call)
                if said.status is None:
                    inner.close_connection = True
                    return
                body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
                inner.send_response(said.status)
                for name, value in {"Content-Length": str(len(body)), **said.headers}.items():
                    inner.send_header(name, value)
                inner.end_headers()
                inner.wfile.write(body)

            do_POST = do_GET

            def log_message(inner, *arguments: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(inner, *arguments: object) -> None:
                """A caller that has given up is no error of the server's."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def scripted(script: Callable[[Call], Said]) -> Iterator[Scripted]:
    """A server that answers by a script, for a while."""
    server = Scripted(script)
    try:
        yield server
    finally:
        server.close()
