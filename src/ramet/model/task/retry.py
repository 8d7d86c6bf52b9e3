"""Rules of retries: errors worth another try, the moment of it, and errors that repeat (DESIGN §6)."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from ramet.model.lineage.limits import BACKOFF_SECONDS_MAX
from ramet.model.values import seconds_from_now


class ErrorClass(StrEnum):
    """Classes of errors, by whether another try is worthwhile."""

    TRANSIENT = "transient"
    """The world was busy: try again."""
    PERMANENT = "permanent"
    """Trying again gives the same: fail at once."""
    UNCLASSIFIED = "unclassified"
    """Unknown: try again, unless it is the same error that ended this work before."""


class Transient(Exception):
    """Raise in a handler for time-outs, busy servers and broken connections: it will be tried again."""


class Permanent(Exception):
    """Raise in a handler when another try cannot help (not found, invalid input, unparsable): it fails at once."""


class RetryAfter(Exception):
    """Raise in a handler when a server named the time to come back. Costs no attempt.

    Args:
        seconds: how long to wait; a finite number.
        resource: what was busy (a host, a provider); named in the reason. Left out, the task's own, if it has one.
    """

    def __init__(self, seconds: float, resource: str = "") -> None:
        seconds = seconds_from_now("RetryAfter's seconds", seconds)
        super().__init__(f"retry after {seconds:g} s" + (f" ({resource})" if resource else ""))
        self.seconds = seconds
        self.resource = resource


class NewerPayload(Transient):
    """Raised for a payload that a newer program wrote. Costs no attempt: a worker of that version will take it."""


ErrorTable = Mapping[type[BaseException], ErrorClass]

ERRORS: ErrorTable = {
    Transient: ErrorClass.TRANSIENT,
    Permanent: ErrorClass.PERMANENT,
    TimeoutError: ErrorClass.TRANSIENT,
    ConnectionError: ErrorClass.TRANSIENT,
    UnicodeError: ErrorClass.PERMANENT,
    json.JSONDecodeError: ErrorClass.PERMANENT,
    NotImplementedError: ErrorClass.PERMANENT,
}
"""The engine's own table; an app and a kind add theirs, and the most derived type wins."""

_TRANSIENT_STATUS = frozenset({408, 425, 429})
_INSIDE = ("reason", "orig")
"""Attributes in which clients keep the error that theirs is about (urllib, urllib3, SQLAlchemy)."""
_INSIDE_MAX = 5


def classify(error: BaseException, table: ErrorTable = ERRORS) -> ErrorClass:
    """Classify an error by whether another try is worthwhile (DESIGN §6).

    The nearest type of the table wins, then the nearest class of a well-known client (:mod:`ramet.model.task.retry`).
    Of such a class, and where no type is known, what the error carries is asked first: an HTTP status (408, 425, 429
    and 5xx are transient, other 4xx permanent), an SQLSTATE, an errno, the error inside it.

    Raises:
        BaseException: an attribute of the error raised something that is not an ``Exception``.
    """
    return _classified(error, table, _INSIDE_MAX)


def _classified(error: BaseException, table: ErrorTable, deep: int) -> ErrorClass:
    for ancestor, name in names_of(type(error)):
        found = table.get(ancestor)
        if found is not None:
            return found
        if name in TRANSIENT:
            return _class_of_values(error, table, deep) or ErrorClass.TRANSIENT
        if name in PERMANENT:
            return ErrorClass.PERMANENT
    return _class_of_values(error, table, deep) or ErrorClass.UNCLASSIFIED


def _class_of_values(error: BaseException, table: ErrorTable, deep: int) -> ErrorClass | None:
    """Classify an error by the values that it carries; None where they are inconclusive."""
    status = _status(error)
    if status is not None:
        is_transient = status in _TRANSIENT_STATUS or status >= 500
        return ErrorClass.TRANSIENT if is_transient else ErrorClass.PERMANENT
    state = _safe_attribute(error, "sqlstate") or _safe_attribute(error, "pgcode")
    if isinstance(state, str) and state.startswith(TRANSIENT_SQLSTATE):
        return ErrorClass.TRANSIENT
    if isinstance(state, str) and state.startswith(PERMANENT_SQLSTATE):
        return ErrorClass.PERMANENT
    if isinstance(error, OSError) and _safe_attribute(error, "errno") in TRANSIENT_ERRNO:
        return ErrorClass.TRANSIENT
    inside = (_safe_attribute(error, name) for name in _INSIDE if deep)
    for one in inside:
        if isinstance(one, BaseException):
            found = _classified(one, table, deep - 1)
            return None if found is ErrorClass.UNCLASSIFIED else found
    return None


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of an error that is the server's answer."""
    found = [
        _safe_attribute(_safe_attribute(error, "response"), "status_code"),
        _safe_attribute(error, "status_code"),
        _safe_attribute(error, "status"),
    ]
    return next((one for one in found if type(one) is int and 400 <= one < 600), None)


def _safe_attribute(thing: object, name: str) -> object:
    """Return an attribute of a foreign object; None where it cannot be read."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


# Every repetition that can begin at many places is bounded, so that the work grows with the message and no faster.
_FOLDS = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE), "<url>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b[\w.+-]{1,64}@[\w-]+\.[\w.-]+\b"), "<address>"),
    # IPv6 and hardware addresses; the look-ahead leaves qualified names such as ``a::b`` alone.
    (
        re.compile(
            r"(?<![\w:])(?=[0-9a-f:]{0,40}\d|(?:[0-9a-f]{2}:){5})(?:[0-9a-f]{0,4}:){2,7}"
            r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{1,4})?(?![\w:])",
            re.IGNORECASE,
        ),
        "<address>",
    ),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    # Before ids: the digits of a number in scientific notation, with its e, look like one.
    (re.compile(r"(?:(?<![\w.])[-+])?\b\d+(?:\.\d+)?e[-+]\d+\b", re.IGNORECASE), "<n>"),
    (re.compile(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{12,}\b", re.IGNORECASE), "<id>"),
    # Letters and digits mixed more than once, as generated names have them (ULIDs, temporary files).
    (
        re.compile(
            r"(?<![a-z0-9])(?=[a-z0-9]*(?:[a-z][0-9]+[a-z]|[0-9][a-z]+[0-9]))[a-z0-9]{10,}(?![a-z0-9])", re.IGNORECASE
        ),
        "<id>",
    ),
    (re.compile(r"(?:(?<![\w.])[-+])?\d+(?:[.,]\d+)*"), "<n>"),
)


FINGERPRINT_CHARACTERS_MAX = 4_000
"""Characters of a message that are read: the work for it is bounded, however long a message is."""


def fingerprint(error_type: str, message: str) -> str:
    """Return a short name for "the same error": equal for messages that differ only in numbers, ids, addresses or URLs.

    Messages that are equal in their first ``FINGERPRINT_CHARACTERS_MAX`` characters are equal.

    Returns:
        16 hexadecimal digits.
    """
    folded = message[:FINGERPRINT_CHARACTERS_MAX]
    for pattern, stand_in in _FOLDS:
        folded = pattern.sub(stand_in, folded)
    text = f"{error_type}:{' '.join(folded.split())}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


Waits = tuple[float, float, float, float]
"""``base_seconds``, ``factor``, ``cap_seconds`` and ``jitter`` of a :class:`Retry`, as they travel with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Retries of a kind: the number of attempts, and the wait after each failure (DESIGN §6).

    The n-th wait is ``base_seconds * factor ** (n - 1)``, at most ``cap_seconds``, and of it the share ``jitter`` is
    drawn, so that tasks that failed together do not come back together. The default waits 1, 10 and 60 s, each between
    its half and its whole: longer than a server's restart.

    Raises:
        ValueError: a value is out of range.
    """

    SEED: ClassVar[Retry]
    """The schedule of the seeds: 1, 2, 4, 8 s ..., full jitter, at most an hour."""

    attempts: int | None = None
    """The first run included; None leaves it to ``Limits.max_attempts``, which is 4."""
    base_seconds: float = 1.0
    """The first wait."""
    factor: float = 10.0
    """Ratio of each wait to the one before; at least 1."""
    cap_seconds: float = 60.0
    """The longest wait."""
    jitter: float = 0.5
    """The share of a wait that is drawn: 0 for none of it, 1 for all (between nothing and the whole)."""

    def __post_init__(self) -> None:
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"Retry(attempts={self.attempts}): give at least 1, the first run counts")
        bounds = {"base_seconds": (0.0, BACKOFF_SECONDS_MAX), "factor": (1.0, 1_000.0),
                  "cap_seconds": (0.0, BACKOFF_SECONDS_MAX), "jitter": (0.0, 1.0)}  # fmt: skip
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"Retry({name}={value}): give {least:g} to {most:g}")

    @property
    def waits(self) -> Waits:
        """Waits of it that an error carries."""
        return (float(self.base_seconds), float(self.factor), float(self.cap_seconds), float(self.jitter))


Retry.SEED = Retry(factor=2.0, cap_seconds=BACKOFF_SECONDS_MAX, jitter=1.0)
DEFAULT_RETRY = Retry()
DEFAULT_WAITS = DEFAULT_RETRY.waits


def waits_text(waits: Waits) -> str:
    """Return a back-off as it is stored with a task."""
    return json.dumps(waits)


def waits_from_text(text: str) -> Waits:
    """Return a stored back-off."""
    base_seconds, factor, cap_seconds, jitter = json.loads(text)
    return (base_seconds, factor, cap_seconds, jitter)


def backoff_seconds(retry_count: int, draw: float, waits: Waits = DEFAULT_WAITS) -> float:
    """Return the seconds between a failure and the next attempt.

    Args:
        retry_count: retries made so far; 0 after the first run.
        draw: a number in [0, 1) from the caller's source of chance; 1.0 gives the whole wait.
        waits: of the kind's :class:`Retry`.
    """
    base_seconds, factor, cap_seconds, jitter = waits
    try:
        whole = base_seconds * factor ** max(retry_count, 0)
    except OverflowError:  # More than a float holds, and than any cap.
        whole = cap_seconds if base_seconds > 0 else 0.0
    return min(whole, cap_seconds) * (1.0 - jitter + jitter * draw)


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
"""Names of transient errors, and of permanent ones, by package."""

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
"""Numbers of an ``OSError`` that are transient: the network, a busy system, or too many open files."""

TRANSIENT_SQLSTATE = ("08", "40", "53", "55P03", "57")
"""Prefixes of the SQLSTATE of transient database errors: connection, rollback, resources, locks, operator."""
PERMANENT_SQLSTATE = ("0A", "22", "28", "3D", "42")
"""Not supported, data, authorization, no such database, syntax or access."""


def names_of(error_type: type[BaseException]) -> Iterator[tuple[type, tuple[str, str]]]:
    """Yield the classes of an error from the most derived on, each with its package and name."""
    for ancestor in type.__dict__["__mro__"].__get__(error_type):
        module = ancestor.__dict__.get("__module__")
        package = module.partition(".")[0] if isinstance(module, str) else ""
        yield ancestor, (package.removeprefix("_"), type.__dict__["__name__"].__get__(ancestor))
