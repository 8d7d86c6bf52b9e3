"""One JSON request and its answer over HTTP/1.1, for calls that are made by the ten thousand.

A call through the SDK and its client costs ten times as much processor time as the same through h11 and asyncio's own
streams (docs/decisions/0075), so plain calls go this way. As everywhere in this pipeline no proxy, credential or header
that environment variables name is used, nothing is retried, and redirects are not followed. Faults of the connection
are httpx2's errors, so that they mean the same on both ways.
"""

from __future__ import annotations

import asyncio
import json
import select
import ssl
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import h11
import httpx2

from ramet.commands.errors import one_line
from ramet.llm.providers.base import Sending
from ramet.llm.providers.sdk_transport import ANSWER_BYTES_MAX, KEEPALIVE_SECONDS, AnswerTooLarge

CONNECT_SECONDS_MAX = 10.0
READ_BYTES = 65_536


class HttpAnswer(NamedTuple):
    """An answer of any status."""

    status: int
    headers: dict[str, str]
    """Headers by lower-case name."""
    content: bytes

    def json(self) -> Any:
        """Return the JSON value of the body.

        Raises:
            ValueError: the body is not JSON.
        """
        return json.loads(self.content)


class Connection(NamedTuple):
    """A connection on which the next request may be written."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    protocol: h11.Connection
    idle_since: float

    @property
    def usable(self) -> bool:
        """Whether the server has neither closed it nor said anything unasked, and will hardly do so now."""
        if time.monotonic() - self.idle_since > KEEPALIVE_SECONDS or self.reader.at_eof() or self.writer.is_closing():
            return False
        waiting = select.poll()
        waiting.register(self.writer.get_extra_info("socket").fileno(), select.POLLIN)
        return not waiting.poll(0)


class HttpCalls:
    """Connections to one server, as many as there are calls at once. Belongs to one event loop."""

    def __init__(self, url: str, headers: Mapping[str, str], query: Mapping[str, str]) -> None:
        """Connect to nothing yet.

        Args:
            url: where the server's addresses begin, http or https.
            headers: of every request, beside those of JSON.
            query: of every address.
        """
        parts = urlsplit(url)
        self._https = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._https else 80)
        self._path, self._query = parts.path.rstrip("/"), f"?{urlencode(query)}" if query else ""
        own = {"Host": parts.netloc, "Content-Type": "application/json", "Accept": "application/json",
               "Accept-Encoding": "identity", "User-Agent": "ramet"}  # fmt: skip
        named = {name.lower() for name in headers}
        self._headers = [*((name, value) for name, value in own.items() if name.lower() not in named), *headers.items()]
        self._idle: list[Connection] = []
        self._ssl: ssl.SSLContext | None = None

    async def post(self, path: str, body: Mapping[str, Any], sending: Sending) -> HttpAnswer:
        """Send a JSON object and read the whole answer. The caller bounds the time.

        Args:
            path: below the server's address.
            body: of the request.
            sending: called when the first bytes may have left.

        Raises:
            ValueError: the body cannot be written as JSON; nothing was sent.
            httpx2.TransportError: there is no connection, or no whole answer; ``sending`` says which.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        connection = await self._connect()
        try:
            answer = await self._exchange(connection, path, content, sending)
        except (OSError, h11.RemoteProtocolError) as error:
            connection.writer.close()
            raise httpx2.RemoteProtocolError(one_line(error) or type(error).__name__) from error
        except BaseException:
            connection.writer.close()
            raise
        self._keep(connection)
        return answer

    async def close(self) -> None:
        """Close the connections that are not in use."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.writer.close()

    async def _connect(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            connection.writer.close()
        if self._https and self._ssl is None:
            # Certificates that the administrator of this machine trusts (SSL_CERT_FILE); they are not credentials.
            self._ssl = httpx2.create_ssl_context()
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._ssl)
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(f"no connection within {CONNECT_SECONDS_MAX:g} s") from error
        except OSError as error:
            raise httpx2.ConnectError(one_line(error) or type(error).__name__) from error
        return Connection(reader, writer, h11.Connection(h11.CLIENT), time.monotonic())

    async def _exchange(self, connection: Connection, path: str, content: bytes, sending: Sending) -> HttpAnswer:
        reader, writer, protocol, _ = connection
        headers = [*self._headers, ("Content-Length", str(len(content)))]
        head = protocol.send(h11.Request(method="POST", target=f"{self._path}{path}{self._query}", headers=headers))
        body, end = protocol.send(h11.Data(data=content)), protocol.send(h11.EndOfMessage())
        sending.began = True
        writer.write(b"".join((head or b"", body or b"", end or b"")))
        await writer.drain()
        status, told, parts, size = 0, dict[str, str](), list[bytes](), 0
        while True:
            event = protocol.next_event()
            if event is h11.NEED_DATA:
                protocol.receive_data(await reader.read(READ_BYTES))
            elif isinstance(event, h11.Response):
                status = event.status_code
                told = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
                if told.get("content-encoding", "identity") != "identity":
                    raise AnswerTooLarge("the answer is compressed, though that was not asked for")
            elif isinstance(event, h11.Data):
                parts.append(event.data)
                size += len(event.data)
                if size > ANSWER_BYTES_MAX:
                    raise AnswerTooLarge("the answer is larger than any that is taken")
            elif isinstance(event, h11.EndOfMessage):
                return HttpAnswer(status, told, b"".join(parts))
            elif not isinstance(event, h11.InformationalResponse):
                raise httpx2.RemoteProtocolError("the server closed the connection before it answered")

    def _keep(self, connection: Connection) -> None:
        protocol = connection.protocol
        if protocol.our_state is h11.DONE and protocol.their_state is h11.DONE:
            protocol.start_next_cycle()
            self._idle.append(connection._replace(idle_since=time.monotonic()))
        else:
            connection.writer.close()
