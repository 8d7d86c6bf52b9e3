"""The stand-in's server: HTTP on this machine only, in threads of its own."""

from __future__ import annotations

import socket
import tempfile
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from ramet.llm.testing.handling import Handler
from ramet.llm.testing.script import Script
from ramet.llm.testing.world import World, hang_up

LOOPBACK = "127.0.0.1"


class StandIn:
    """A running stand-in. A context manager; leaving it ends every connection and thread.

    ``url`` is what the SDK calls ``base_url``. A new `script` can be given at any time: then all is forgotten.
    """

    def __init__(self, script: Script | None = None, *, port: int = 0) -> None:
        """Listen on a port of this machine; 0: one that is free."""
        self._folder = tempfile.TemporaryDirectory(prefix="ramet-standin-")
        self._worlds = 0
        self.stopping = threading.Event()
        self.world = self._new_world(script or Script())
        self._server = _Server((LOOPBACK, port), Handler)
        self._server.standin = self
        self.port: int = self._server.server_address[1]
        self.url = f"http://{LOOPBACK}:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="stand-in")

    def begin(self, script: Script) -> None:
        """Forget everything and follow another script."""
        self.world.batches.settle()
        self.world = self._new_world(script)

    def start(self) -> StandIn:
        """Answer calls from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every connection and thread, and remove what was kept on disk."""
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.end_connections()
        self._server.server_close()
        self.world.batches.settle()
        self._folder.cleanup()

    def __enter__(self) -> StandIn:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _new_world(self, script: Script) -> World:
        self._worlds += 1
        folder = Path(self._folder.name) / str(self._worlds)
        folder.mkdir()
        return World(script, folder)


class _Server(ThreadingHTTPServer):
    # A thread that is joined has given its connection back.
    daemon_threads = False
    request_queue_size = 256
    standin: StandIn

    def __init__(self, *arguments: Any) -> None:
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """Wake every thread that waits for a client."""
        with self._lock:
            for connection in self._open:
                hang_up(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of ours; anything else is told on standard error."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
