"""What the errors of well-known clients say about another try, by name: none of their packages is imported (DESIGN §6).

An error is looked up by the package that defines its class and by the name of the class, from the most derived class
on. What is not here has no opinion: an HTTP status, an errno or an SQLSTATE may still say something.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping

_HTTPX = ("TransportError", "UnsupportedProtocol LocalProtocolError InvalidURL TooManyRedirects")
_API = (
    "APIConnectionError RateLimitError InternalServerError",
    "AuthenticationError PermissionDeniedError NotFoundError BadRequestError UnprocessableEntityError",
)
_DATABASE = ("InterfaceError OperationalError", "DataError NotSupportedError ProgrammingError")

_NAMES: Mapping[str, tuple[str, str]] = {
    "aiohttp": ("ClientConnectionError ClientPayloadError ServerTimeoutError",
                "InvalidURL TooManyRedirects ClientConnectorCertificateError"),
    "anthropic": _API,
    "asyncio": ("IncompleteReadError", ""),
    "asyncpg": ("PostgresConnectionError InterfaceError", ""),
    "botocore": ("ConnectionError HTTPClientError", "ParamValidationError NoCredentialsError"),
    "http": ("RemoteDisconnected IncompleteRead BadStatusLine", "InvalidURL"),
    "httpcore": ("NetworkError TimeoutException RemoteProtocolError ProxyError ConnectionNotAvailable",
                 "UnsupportedProtocol LocalProtocolError"),
    "httpcore2": ("NetworkError TimeoutException RemoteProtocolError ProxyError ConnectionNotAvailable",
                  "UnsupportedProtocol LocalProtocolError"),
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "openai": _API,
    "psycopg": _DATABASE,
    "psycopg2": _DATABASE,
    "psycopg_pool": ("PoolTimeout TooManyRequests PoolClosed", ""),
    "pymongo": ("AutoReconnect NetworkTimeout", ""),
    "redis": ("ConnectionError TimeoutError BusyLoadingError", "AuthenticationError"),
    "requests": ("ConnectionError Timeout ChunkedEncodingError",
                 "MissingSchema InvalidSchema InvalidURL InvalidHeader InvalidProxyURL TooManyRedirects"),
    "socket": ("gaierror herror", ""),
    "ssl": ("SSLError", "SSLCertVerificationError"),
    "urllib": ("ContentTooShortError", ""),
    "urllib3": ("MaxRetryError ProtocolError TimeoutError ProxyError SSLError ClosedPoolError", "LocationValueError"),
    "websockets": ("ConnectionClosed", "InvalidURI"),
}  # fmt: skip
"""By package: names of transient errors, and of permanent ones."""

TRANSIENT = frozenset((package, name) for package, (names, _) in _NAMES.items() for name in names.split())
PERMANENT = frozenset((package, name) for package, (_, names) in _NAMES.items() for name in names.split())

TRANSIENT_ERRNO = frozenset(
    getattr(errno, name)
    for name in (
        "EAGAIN EINTR EBUSY EPIPE ECONNREFUSED ECONNRESET ECONNABORTED ETIMEDOUT ENOTCONN ESHUTDOWN "
        "EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENETRESET EADDRNOTAVAIL EADDRINUSE ENOBUFS EMFILE ENFILE ESTALE"
    ).split()
    if hasattr(errno, name)
)
"""Of an ``OSError``: the network, a busy system, or too many open files."""

TRANSIENT_SQLSTATE = ("08", "40", "53", "55P03", "57")
"""How the SQLSTATE of a database's error begins: connection, rollback, resources, locks, operator."""
PERMANENT_SQLSTATE = ("0A", "22", "28", "3D", "42")
"""Not supported, data, authorization, no such database, syntax or access."""


def names_of(error_type: type[BaseException]) -> Iterator[tuple[type, tuple[str, str]]]:
    """The classes of an error from the most derived on, each with its package and name."""
    for ancestor in type.__dict__["__mro__"].__get__(error_type):
        module = ancestor.__dict__.get("__module__")
        package = module.partition(".")[0] if isinstance(module, str) else ""
        yield ancestor, (package.removeprefix("_"), type.__dict__["__name__"].__get__(ancestor))
