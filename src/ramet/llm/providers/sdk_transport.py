"""The connections under the SDK: notes when a request begins to leave, and bounds what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import httpx2

from ramet.llm.providers.base import Sending

ANSWER_BYTES_MAX = 32 * 1024 * 1024
"""Most bytes of one answer that is held in memory."""
FILE_BYTES_MAX = 4 * 1024 * 1024 * 1024
"""Most bytes of one file, which is streamed."""
CONNECTIONS_MAX = 100
KEEPALIVE_SECONDS = 2.0
"""Shorter than servers keep a connection: one that closes as we write would leave a submit in doubt."""
STREAMED = ("/content", "/results")
"""End of the addresses of files, which are read line by line."""


class AnswerTooLarge(httpx2.TransportError):
    """More came than is taken, or it came compressed though that was not asked for."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """HTTP/1.1 without a proxy. Tells the call's `Sending` when its first bytes may have left."""

    def __init__(self, sending: ContextVar[Sending | None]) -> None:
        """Connect to nothing yet."""
        super().__init__(
            # Certificates that the administrator of this machine trusts (SSL_CERT_FILE); they are not credentials.
            verify=httpx2.create_ssl_context(),
            trust_env=False,
            limits=httpx2.Limits(max_connections=CONNECTIONS_MAX, keepalive_expiry=KEEPALIVE_SECONDS),
        )
        self._sending = sending

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request, one answer whose size is bounded while it is read."""
        sending = self._sending.get()

        async def trace(event: str, _: Any) -> None:
            if sending is not None and event.endswith("send_request_headers.started"):
                sending.began = True

        request.extensions = {**request.extensions, "trace": trace}
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise AnswerTooLarge("the answer is compressed, though that was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        most = FILE_BYTES_MAX if request.url.path.endswith(STREAMED) else ANSWER_BYTES_MAX
        response.stream = _Bounded(response.stream, most)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, bytes_max: int) -> None:
        self._stream = stream
        self._left = bytes_max

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise AnswerTooLarge("the answer is larger than any that is taken")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def open_http_client(sending: ContextVar[Sending | None]) -> httpx2.AsyncClient:
    """Return the client that the SDK calls through."""
    return httpx2.AsyncClient(
        transport=BoundedTransport(sending),
        headers={"Accept-Encoding": "identity"},
        trust_env=False,
        follow_redirects=False,
    )
