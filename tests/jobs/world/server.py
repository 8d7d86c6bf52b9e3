"""A web server on loopback for any host name, over TLS and without, in a thread of its own.

It is thread and loop of its own, so that workers, command lines and other processes can be its clients alike.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import trustme

from tests.jobs.world.messages import Asked, Line, Play, Reply

HOST = "127.0.0.1"
HEAD_BYTES_MAX = 256 * 1024


class Certificates:
    """A certificate for whatever name a client asks for, all by one authority."""

    def __init__(self) -> None:
        self.authority = trustme.CA()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self.context = self._context("localhost")
        self.context.sni_callback = self._named

    def write(self, path: Path) -> Path:
        """Write the authority's certificate, for ``SSL_CERT_FILE``."""
        self.authority.cert_pem.write_to_path(str(path))
        return path

    def trusting(self) -> ssl.SSLContext:
        """For clients of this process."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def _context(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(name).configure_cert(context)
        return context

    def _named(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None:
            if name not in self._contexts:
                self._contexts[name] = self._context(name)
            connection.context = self._contexts[name]


class Server:
    """Answers what ``answer`` says, over connections that stay open."""

    def __init__(self, answer: Callable[[Asked], Reply | Play]) -> None:
        self._answer = answer
        self.certificates = Certificates()
        self.port = self.plain_port = 0
        self._lines: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="world", daemon=True)
        self._started: Future[None] = Future()

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()
        self._started.result()

    def stop(self) -> None:
        """Close all connections, whatever they are at."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def release(self) -> None:
        """Let go of what hangs."""
        self._loop.call_soon_threadsafe(self._released.set)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve_until_stopped())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve_until_stopped(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped, self._released = asyncio.Event(), asyncio.Event()
        servers = [
            await asyncio.start_server(self._accepted("https"), HOST, 0, ssl=self.certificates.context),
            await asyncio.start_server(self._accepted("http"), HOST, 0),
        ]
        self.port, self.plain_port = (server.sockets[0].getsockname()[1] for server in servers)
        self._started.set_result(None)
        await self._stopped.wait()
        for server in servers:
            server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    def _accepted(self, scheme: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._serve(scheme, reader, writer))
            self._lines.add(task)
            task.add_done_callback(self._lines.discard)

        return accepted

    async def _serve(self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that had enough is what many tests are about; a cancelled line is the end of the test.
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
                while True:
                    asked = await _read(scheme, reader)
                    action = self._answer(asked)
                    if not isinstance(action, Reply):
                        await action(asked, Line(writer, self._released))
                        break
                    writer.write(action.encoded(asked))
                    await writer.drain()
        finally:
            if self._stopped.is_set():
                writer.transport.abort()
            else:
                writer.close()


async def _read(scheme: str, reader: asyncio.StreamReader) -> Asked:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:] if ": " in line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    host = headers.get("host", "").lower().removesuffix(":443" if scheme == "https" else ":80")
    return Asked(method, scheme, host, target, headers, body, time.monotonic())
