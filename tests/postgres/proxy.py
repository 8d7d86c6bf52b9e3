"""A proxy between clients and a PostgreSQL server on loopback that does what networks do to both.

It runs in a thread of its own. Every method may be called from any other thread, and what it asks for has been done
when it returns; a fault that waits for a COMMIT was met when :attr:`Proxy.swallowed` or :attr:`Proxy.prevented` counts.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Literal, TypeVar
from urllib.parse import urlsplit, urlunsplit

from tests.postgres.wire import CANCEL, GSS, SSL, Commits, Message, Messages, committed, failed

Side = Literal["client", "server"]
Answer = TypeVar("Answer")
CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends a reset, and the peer learns of it at its next read or write."""


class Cut(Exception):
    """This connection was cut on purpose."""


class Link:
    """One client's connection and the one to the server that it stands for."""

    def __init__(self, proxy: Proxy, client: tuple[StreamReader, StreamWriter]) -> None:
        self._proxy = proxy
        self._client_reader, self._client = client
        self._server: StreamWriter | None = None
        self._commits = Commits()
        self._to_swallow = False
        self._held = b""
        self._pumps: list[asyncio.Task[None]] = []

    async def run(self, host: str, port: int) -> None:
        """Carry messages until one side ends, or the proxy makes an end."""
        first, said = await self._begin()
        if first is None:
            return
        reader, self._server = await asyncio.open_connection(host, port)
        self._server.write(first.raw)
        if first.code == CANCEL:
            self.close()
            return
        self._pumps = [
            asyncio.create_task(self._carry(self._client_reader, self._server, said, self._from_client)),
            asyncio.create_task(self._carry(reader, self._client, Messages(begins=False), self._from_server)),
        ]
        done, _ = await asyncio.wait(self._pumps, return_when=asyncio.FIRST_COMPLETED)
        if not self._held and not any(pump.cancelled() for pump in done):
            self.close()

    async def _begin(self) -> tuple[Message | None, Messages]:
        """Refuse encryption, which the proxy could not read through; returns what the client says then."""
        messages = Messages(begins=True)
        while data := await self._client_reader.read(CHUNK):
            for message in messages.feed(data):
                if message.code not in (SSL, GSS):
                    return message, messages
                self._client.write(b"N")
        return None, messages

    async def _carry(
        self, reader: StreamReader, writer: StreamWriter, messages: Messages, look: Callable[[Message], None]
    ) -> None:
        with suppress(Cut, ConnectionError):
            while data := await reader.read(CHUNK):
                await self._proxy.pass_on()
                for message in messages.feed(data):
                    look(message)
                    writer.write(message.raw)
                await writer.drain()

    def _from_client(self, message: Message) -> None:
        statement = self._commits.said(message)
        if statement is None or not self._proxy.means(statement):
            return
        if self._proxy.take("hold"):
            self._held = message.raw
            self._proxy.hold(self)
            _reset(self._client)
            raise Cut
        if self._proxy.take("prevent"):
            self.cut()
            self._proxy.prevented += 1
            raise Cut
        self._to_swallow = self._proxy.take("swallow")

    def _from_server(self, message: Message) -> None:
        if not self._to_swallow:
            return
        if committed(message):
            if self._proxy.take("refuse"):
                self._proxy.refuse_all()
            self.cut()
            self._proxy.swallowed += 1
            raise Cut
        if failed(message):
            self._to_swallow = False
            self._proxy.give_back("swallow")

    def cut(self) -> None:
        """A reset to both sides, without what is still on its way."""
        _reset(self._client)
        if self._server is not None:
            _reset(self._server)

    def half_open(self, gone: Side) -> None:
        """One side is reset; the other hears nothing of it, nor anything else."""
        for pump in self._pumps:
            pump.cancel()
        _reset(self._client if gone == "client" or self._server is None else self._server)

    def release(self) -> None:
        """The COMMIT that was held goes on to the server, which finds its client gone when it answers."""
        assert self._server is not None
        self._server.write(self._held)
        self._server.close()

    def close(self) -> None:
        """An orderly end of both sides."""
        self._client.close()
        if self._server is not None:
            self._server.close()


def _reset(writer: StreamWriter) -> None:
    own: socket.socket | None = writer.get_extra_info("socket")
    if own is not None and own.fileno() >= 0:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


class Proxy:
    """Use it as a context manager; clients connect to :attr:`port` of 127.0.0.1, or to :meth:`url`."""

    def __init__(self, host: str, port: int) -> None:
        """Args:
        host, port: of the server; :meth:`lead_to` changes both.
        """
        self._target = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._links: set[Link] = set()
        self._left: set[Link] = set()
        """Half of them is open still."""
        self._held: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._to_do = {"swallow": 0, "prevent": 0, "hold": 0, "refuse": 0}
        self._seconds = 0.0
        self._refusing = False
        self._open: asyncio.Event
        self._listener: asyncio.Server
        self.port = 0
        self.only_commits_with = b""
        """Faults leave COMMITs alone that are not in one query with this."""
        self.swallowed = 0
        """Answers to COMMIT that never arrived, so far."""
        self.prevented = 0
        """COMMITs that never arrived, so far."""

    def __enter__(self) -> Proxy:
        self._thread.start()

        async def listen() -> None:
            self._open = asyncio.Event()
            self._open.set()
            self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = self._listener.sockets[0].getsockname()[1]

        asyncio.run_coroutine_threadsafe(listen(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def end() -> None:
            self._listener.close()
            self._cut_all()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def url(self, url: str) -> str:
        """The same database through the proxy."""
        parts = urlsplit(url)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{self.port}"))

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        link = Link(self, (reader, writer))
        if self._refusing:
            link.cut()
            return
        self._links.add(link)
        self._tasks.add(task)
        try:
            await self.pass_on()
            await link.run(*self._target)
        except OSError:
            link.cut()  # The server is not there, and the client learns so.
        except asyncio.CancelledError:
            link.cut()
        finally:
            self._tasks.discard(task)
            self._links.discard(link)

    # --- what the links ask

    async def pass_on(self) -> None:
        """Returns when something may be passed on."""
        if self._seconds:
            await asyncio.sleep(self._seconds)
        await self._open.wait()

    def means(self, statement: bytes) -> bool:
        """Whether this COMMIT is of the transactions that faults are for."""
        return self.only_commits_with in statement

    def take(self, what: str) -> bool:
        """Whether this COMMIT is one to do that to."""
        if not self._to_do[what]:
            return False
        self._to_do[what] -= 1
        return True

    def hold(self, link: Link) -> None:
        """It keeps a COMMIT."""
        self._held.add(link)

    def give_back(self, what: str) -> None:
        """It was none: the server did not commit."""
        self._to_do[what] += 1

    # --- faults

    def _now(self, act: Callable[[], Answer]) -> Answer:
        async def run() -> Answer:
            return act()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return self._now(lambda: len(self._links))

    def cut(self) -> None:
        """Reset every connection, on both sides. New ones are welcome."""
        self._now(self._cut_all)

    def _cut_all(self) -> None:
        for link in (*self._links, *self._left, *self._held):
            link.cut()
        self._left.clear()
        self._held.clear()

    def refuse(self) -> None:
        """Reset every connection, and every new one at once, until :meth:`heal`."""

        self._now(self.refuse_all)

    def refuse_all(self) -> None:
        """:meth:`refuse`, for the links."""
        self._refusing = True
        self._cut_all()

    def delay(self, seconds: float) -> None:
        """Everything takes so much longer in each direction; 0 ends that."""
        self._now(lambda: setattr(self, "_seconds", seconds))

    def stall(self) -> None:
        """Nothing is passed on, and nobody is told, until :meth:`heal` passes all of it on."""
        self._now(self._open.clear)

    def half_open(self, gone: Side) -> None:
        """One side of every connection vanishes and the other is not told, until :meth:`heal` or :meth:`cut` tells.

        With the client gone, the server goes on to hold its transactions. New connections are welcome.
        """

        def act() -> None:
            for link in list(self._links):
                link.half_open(gone)
                self._left.add(link)

        self._now(act)

    def heal(self) -> None:
        """Whatever is going on ends: what stalled is passed on, what was half open is reset."""

        def act() -> None:
            self._seconds, self._refusing = 0.0, False
            self._to_do = dict.fromkeys(self._to_do, 0)
            for link in self._left:
                link.cut()
            self._left.clear()
            self._open.set()

        self._now(act)

    def swallow_commit_answers(self, count: int = 1) -> None:
        """The server does the next ``count`` COMMITs, and the connection is reset instead of saying so."""
        self._now(lambda: self._to_do.update(swallow=count))

    def cut_before_commit(self, count: int = 1) -> None:
        """The next ``count`` COMMITs never reach the server: the connection is reset instead."""
        self._now(lambda: self._to_do.update(prevent=count))

    def hold_commits(self, count: int = 1) -> None:
        """The next ``count`` COMMITs are held here while their client is reset, until :meth:`release_commits`."""
        self._now(lambda: self._to_do.update(hold=count))

    def release_commits(self) -> None:
        """What was held goes on to the server."""

        def act() -> None:
            for link in self._held:
                link.release()
            self._held.clear()

        self._now(act)

    def refuse_after_commit(self) -> None:
        """The server does the next COMMIT; instead of saying so the connection is reset, and so is every new one."""
        self._now(lambda: self._to_do.update(swallow=1, refuse=1))

    def lead_to(self, host: str, port: int) -> None:
        """New connections go to another server."""
        self._now(lambda: setattr(self, "_target", (host, port)))
