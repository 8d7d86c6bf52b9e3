"""A guarded HTTP client: an answer counts as hostile until it was measured.

One request here is one answer or one error; trying again is the caller's. An answer's time, its size once decoded, its
type, its redirects and the addresses behind its host's name are all bounded. Proxies and credentials that environment
variables name are not used, since a proxy would connect to addresses that were not checked, and no cookies are kept.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import idna

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.fetch.addresses import GuardedBackend, Resolve, WebError, host_and_port, joined, resolve
from ramet.fetch.decoding import BrokenEncoding, accepted, decoder_of, unpacks_too_far
from ramet.fetch.errors import FETCH_EXTRA, TooLarge, Trouble, WrongType
from ramet.fetch.host_map import HostMap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
"""Most seconds from asking to the last byte, redirects included: two of these fit into the time of a call."""
ANSWER_BYTES_MAX = 16 * 1024 * 1024
"""Most bytes of one answer, decoded; twice the size at which a MediaWiki stops."""
PACKING_BYTES_MAX = 65_536
"""Bytes that gzip may add to what it packs, beside a hundredth: its header, names, and blocks of little content."""
REDIRECTS_MAX = 3
CONNECTIONS_MAX = 3
QUERY_BYTES_MAX = 2_000
"""Longer parameters go into the body of a POST: servers and caches refuse long addresses."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_AUTHORITY = re.compile(r"(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]{0,4000}")
_OWN_HEADERS = frozenset(
    "accept-encoding connection content-encoding content-length cookie expect host proxy-authorization "
    "proxy-connection te trailer transfer-encoding upgrade".split()
)
"""Headers that the client sends by itself or never sends."""


class WebRefused(WebError):
    """The server answered with what is not taken, whatever it was asked for: another host, another type, a ring."""


class AnswerTooLarge(TooLarge, WebRefused):
    """The answer is larger than `ANSWER_BYTES_MAX`."""


class ServerTrouble(Trouble):
    """No answer came, or half of one, or one that speaks of an error of the server's own."""


class Unreachable(ServerTrouble):
    """There was no connection: what was asked for had no part in it."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, as it goes out.

    Attributes:
        url: an http or https URL.
        method: ``GET`` or ``POST``.
        body: of a POST.
        headers: beside those that the client sends with every request.
        seconds: the most that it may take; None for the client's own.
        bytes_max: the most that the answer may have, decoded; None for the client's own.
        cut: whether a longer answer is cut there, and is not an error.
        media_types: how the content type of an answer of 2xx may begin, such as ``text/``; empty for any.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    bytes_max: int | None = None
    cut: bool = False
    media_types: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Answer of a server, whatever its status.

    Attributes:
        url: the address that answered, after redirects.
        status: HTTP's.
        headers: by lower-case name; of a repeated one, the last.
        body: decoded.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The content type without parameters, such as `application/json`; empty if none is stated."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class WebClient:
    """Asks servers over HTTP/1.1, at most `CONNECTIONS_MAX` at once. Belongs to one event loop."""

    def __init__(
        self,
        *,
        user_agent: str,
        extra: str = FETCH_EXTRA,
        private: bool = False,
        answer_seconds: float = ANSWER_SECONDS,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        connections_max: int = CONNECTIONS_MAX,
        resolver: Resolve = resolve,
        mapped: HostMap | None = None,
    ) -> None:
        """Prepare; no connection is opened yet.

        Args:
            user_agent: sent with every request; one line of printable ASCII.
            extra: the requirement of the package that speaks HTTP, as given to pip.
            private: whether addresses of this machine and its network are allowed.
            answer_seconds: the most that one request may take.
            answer_bytes_max: the most that one answer may have, decoded.
            connections_max: connections at once, over all hosts.
            resolver: asks for the addresses of a host.
            mapped: names that lead to an address and port that were given, whatever these are.
        """
        if not user_agent.isascii() or not user_agent.isprintable():
            raise WebError("the user agent has a character that no header may have: use plain ASCII")
        self.extra = extra
        self._core = import_extra("httpcore2", extra)
        self._pool = self._core.AsyncConnectionPool(
            ssl_context=self._core.default_ssl_context(),  # Once: the pool would read all authorities for each line.
            max_connections=connections_max,
            keepalive_expiry=30.0,
            network_backend=GuardedBackend(extra=extra, private=private, resolver=resolver, mapped=mapped),
        )
        self._user_agent = user_agent
        self._answer_seconds = answer_seconds
        self._answer_bytes_max = answer_bytes_max

    async def get(self, url: str, parameters: Mapping[str, str] | None = None, *, accept: str = "*/*") -> HttpResponse:
        """Ask for `url`; parameters that would make a long address are posted, for servers that take them either way.

        Raises:
            WebRefused: a redirect to elsewhere or without end, an answer too large or in an unknown encoding.
            AddressRefused, NameUnknown: see `GuardedBackend`.
            Trouble: no whole answer came in time, or the name could not be looked up just now.
        """
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await self._follow(plain_url(url), urlencode(parameters or {}), accept)
        except TimeoutError:
            raise ServerTrouble(f"{host_of(url)} gave no whole answer in {self._answer_seconds:g} s") from None

    async def send(self, question: HttpRequest) -> HttpResponse:
        """Ask once. A redirect is an answer like any other: see `redirected`.

        Raises:
            AnswerTooLarge: the answer is larger than the question allows.
            WrongType: it is of another type; none of it is read.
            WebRefused: it is in an unknown encoding.
            WebError: the address or a header cannot be sent.
            AddressRefused, NameUnknown: see `GuardedBackend`.
            Trouble: no whole answer came in time, or the name could not be looked up just now.
        """
        seconds = self._answer_seconds if question.seconds is None else question.seconds
        _check_headers(question.headers)
        try:
            async with asyncio.timeout(seconds):
                return await self._ask(replace(question, url=plain_url(question.url)))
        except TimeoutError:
            raise ServerTrouble(f"{host_of(question.url)} gave no whole answer in {seconds:g} s") from None

    async def close(self) -> None:
        """Close the connections; further calls do nothing."""
        await self._pool.aclose()

    async def _follow(self, url: str, query: str, accept: str) -> HttpResponse:
        posted = len(query) > QUERY_BYTES_MAX
        here = f"{url}?{query}" if query and not posted else url
        form = {"Content-Type": "application/x-www-form-urlencoded"} if posted else {}
        question = HttpRequest(
            here, "POST" if posted else "GET", query.encode() if posted else None, {"Accept": accept, **form}
        )
        for _ in range(REDIRECTS_MAX + 1):
            answer = await self._ask(question)
            if answer.status not in REDIRECTS:
                return answer
            here = redirected(question.url, answer.headers.get("location", ""))
            question = replace(question, url=here)
        raise WebRefused(f"{host_of(url)} redirects more than {REDIRECTS_MAX} times: give the address that it ends at")

    async def _ask(self, question: HttpRequest) -> HttpResponse:
        url = question.url
        given = {name.lower() for name in question.headers}
        own = {"Host": host_of(url), "User-Agent": self._user_agent, "Accept": "*/*", "Accept-Encoding": accepted()}
        headers = {name: value for name, value in own.items() if name.lower() not in given} | dict(question.headers)
        seconds = self._answer_seconds if question.seconds is None else question.seconds
        wait = {"connect": min(CONNECT_SECONDS, seconds), "read": seconds, "write": seconds}
        async with (
            self._translated(url),
            self._pool.stream(
                question.method, url, headers=list(headers.items()), content=question.body, extensions={"timeout": wait}
            ) as response,
        ):
            stated = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            _check_type(question, response.status, stated)
            return HttpResponse(url, response.status, stated, await self._read(question, stated, response))

    @asynccontextmanager
    async def _translated(self, url: str) -> AsyncIterator[None]:
        """Convert the client's errors to those of this module."""
        core = self._core
        try:
            yield
        except (core.ConnectError, core.ConnectTimeout) as error:
            raise Unreachable(f"{host_of(url)} cannot be reached: {_reason(error)}") from None
        except (core.NetworkError, core.TimeoutException) as error:
            raise ServerTrouble(f"{host_of(url)} broke off: {_reason(error)}") from None
        except core.ProtocolError as error:
            raise ServerTrouble(f"{host_of(url)} does not speak proper HTTP: {_reason(error)}") from None

    async def _read(self, question: HttpRequest, headers: Mapping[str, str], response: Any) -> bytes:
        """Return the body, decoded, of at most this number of bytes; bytes beyond are never held in memory."""
        host = host_of(question.url)
        bytes_max = self._answer_bytes_max if question.bytes_max is None else question.bytes_max
        encoding = headers.get("content-encoding", "")
        try:
            decoder = decoder_of(encoding)
        except LookupError:
            said = f"{host} answers in the encoding {encoding[:40]!a}, which was not asked for"
            raise WebRefused(said) from None
        packed_max = bytes_max + bytes_max // 100 + PACKING_BYTES_MAX
        body = bytearray()
        received = 0
        try:
            async with aclosing(response.aiter_stream()) as chunks:
                async for chunk in chunks:
                    received += len(chunk)
                    if decoder is not None and (decoder.eof or received > packed_max):
                        # The decoder would keep what follows the end; what unpacks to nothing would be read for ever.
                        break
                    # One byte more than there is room for shows that there is more.
                    room = bytes_max - len(body) + 1
                    body += decoder.decode(chunk, room) if decoder else chunk[:room]
                    if len(body) > bytes_max:
                        if question.cut:
                            return bytes(body[:bytes_max])
                        raise AnswerTooLarge(f"{host} answers with more than {bytes_max:,} bytes")
                    if decoder is not None and unpacks_too_far(len(body), received):
                        raise AnswerTooLarge(f"{host} packs {len(body):,} bytes into {received:,}: no page does that")
        except BrokenEncoding as error:
            raise ServerTrouble(f"{host} answers with broken {encoding.strip()[:20]}: {error}") from None
        if decoder is not None and received and not decoder.eof:
            if received > packed_max and question.cut:
                return bytes(body)
            if received > packed_max:
                raise AnswerTooLarge(f"{host} answers with more than {bytes_max:,} bytes")
            raise ServerTrouble(f"{host} broke off in the middle of its answer")
        return bytes(body)


def redirected(url: str, location: str, *, elsewhere: bool = False) -> str:
    """Return the address that an answer from `url` redirects to: the same host and port, or from http to https of the
    same host.

    Args:
        elsewhere: whether other hosts and ports are taken too; never from https to http.

    Raises:
        WebError: it redirects to an address that is not followed.
    """
    if not location:
        raise WebRefused(f"{host_of(url)} redirects to nowhere")
    target = plain_url(joined(url, location))
    (host, port), (to_host, to_port) = host_and_port(url), host_and_port(target)
    schemes = urlsplit(url).scheme, urlsplit(target).scheme
    if elsewhere:
        if schemes == ("https", "http"):
            raise WebRefused(f"{host_of(url)} redirects to {target[:200]!a}, which is not encrypted any more")
        return target
    upgraded = schemes == ("http", "https") and (port, to_port) == (80, 443)
    if host != to_host or not (upgraded or (schemes[0] == schemes[1] and port == to_port)):
        raise WebRefused(f"{host_of(url)} redirects to {target[:200]!a}: if that is the same site, give its address")
    return target


def _check_type(question: HttpRequest, status: int, headers: Mapping[str, str]) -> None:
    wanted = tuple(question.media_types)
    found = HttpResponse(question.url, status, headers, b"").media_type
    if wanted and 200 <= status < 300 and not found.startswith(wanted):
        said = f"{host_of(question.url)} answers with {found[:60] or 'no content type'}, not {' or '.join(wanted)}"
        raise WrongType(said, status=status, url=question.url)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS or not _HEADER_VALUE.fullmatch(value):
            raise WebError(f"{name[:60]!a} is not a header that can be sent with this value: {value[:60]!a}")


def plain_url(url: str) -> str:
    """Return an http or https URL in ASCII, without its fragment; the host's name by IDNA.

    Raises:
        WebError: it is not such a URL, or has a user name or password in it.
    """
    host_and_port(url)
    parts = urlsplit(url)
    authority = parts.netloc.lower()
    if not authority.isascii():
        name, colon, port = authority.partition(":")
        try:
            authority = idna.encode(name, uts46=True).decode() + colon + port
        except idna.IDNAError as error:
            raise WebError(f"{name!a} is not a valid host name: {error}") from None
    if not _AUTHORITY.fullmatch(authority):
        raise WebError(f"{authority[:100]!a} is not a valid host name")
    safe = "%/:=&?~+!$,;'@()*[]|"
    return urlunsplit((parts.scheme, authority, quote(parts.path or "/", safe=safe), quote(parts.query, safe=safe), ""))


def host_of(url: str) -> str:
    """Return the host of a URL, with its port where one is given; for messages."""
    return urlsplit(url).netloc


def _reason(error: Exception) -> str:
    return one_line(error) or type(error).__name__
