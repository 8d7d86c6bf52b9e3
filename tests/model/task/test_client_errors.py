"""Errors of well-known clients are classified by name, errno and what they carry; no package of theirs is imported."""

from __future__ import annotations

import asyncio
import errno
import http.client
import socket
import sqlite3
import ssl
import subprocess
import sys
import urllib.error
from email.message import Message
from typing import Any

import pytest

from ramet.model.task import retry
from ramet.model.task.retry import ErrorClass, classify

TRANSIENT, PERMANENT, UNCLASSIFIED = ErrorClass.TRANSIENT, ErrorClass.PERMANENT, ErrorClass.UNCLASSIFIED


def client_error(package: str, *names: str, **carried: Any) -> BaseException:
    """An error as a package of that name would define it: the last of these classes, each derived from the last."""
    base: type[Exception] = Exception
    for name in names:
        base = type(name, (base,), {"__module__": f"{package}._exceptions"})
    error = base("x")
    for name, value in carried.items():
        setattr(error, name, value)
    return error


def http_error(status: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://x", status, "x", Message(), None)


CASES: list[tuple[BaseException, ErrorClass]] = [
    (socket.gaierror(-2, "Name or service not known"), TRANSIENT),
    (TimeoutError("timed out"), TRANSIENT),
    (ssl.SSLError(1, "EOF occurred"), TRANSIENT),
    (ssl.SSLCertVerificationError(1, "self-signed"), PERMANENT),
    (urllib.error.URLError(ConnectionRefusedError(111, "refused")), TRANSIENT),
    (urllib.error.URLError(socket.gaierror(-3, "try again")), TRANSIENT),
    (urllib.error.URLError(ssl.SSLCertVerificationError(1, "self-signed")), PERMANENT),
    (urllib.error.URLError("unknown url type: x"), UNCLASSIFIED),
    (http_error(503), TRANSIENT),
    (http_error(429), TRANSIENT),
    (http_error(404), PERMANENT),
    (http.client.RemoteDisconnected("closed"), TRANSIENT),
    (http.client.IncompleteRead(b""), TRANSIENT),
    (http.client.InvalidURL("x"), PERMANENT),
    (asyncio.IncompleteReadError(b"", 3), TRANSIENT),
    (OSError(errno.EHOSTUNREACH, "no route"), TRANSIENT),
    (OSError(errno.EMFILE, "too many open files"), TRANSIENT),
    (FileNotFoundError(errno.ENOENT, "no such file"), UNCLASSIFIED),
    (OSError("disk"), UNCLASSIFIED),
    (client_error("httpx", "TransportError", "NetworkError", "ConnectError"), TRANSIENT),
    (client_error("httpx", "TransportError", "UnsupportedProtocol"), PERMANENT),
    (client_error("requests", "RequestException", "ConnectionError", "SSLError"), TRANSIENT),
    (client_error("requests", "RequestException", "MissingSchema"), PERMANENT),
    (client_error("requests", "RequestException"), UNCLASSIFIED),
    (client_error("aiohttp", "ClientError", "ClientConnectionError", "ServerDisconnectedError"), TRANSIENT),
    (client_error("aiohttp", "ClientError", "ClientResponseError", status=502), TRANSIENT),
    (client_error("aiohttp", "ClientError", "ClientResponseError", status=404), PERMANENT),
    (client_error("openai", "APIError", "APIConnectionError", "APITimeoutError"), TRANSIENT),
    (client_error("openai", "APIError", "APIStatusError", status_code=529), TRANSIENT),
    (client_error("anthropic", "APIError", "APIStatusError", "AuthenticationError", status_code=401), PERMANENT),
    (client_error("psycopg", "Error", "DatabaseError", "OperationalError"), TRANSIENT),
    (client_error("psycopg", "Error", "OperationalError", "InvalidPassword", sqlstate="28P01"), PERMANENT),
    (client_error("psycopg", "Error", "OperationalError", "DeadlockDetected", sqlstate="40P01"), TRANSIENT),
    (client_error("psycopg", "Error", "ProgrammingError"), PERMANENT),
    (client_error("psycopg", "Error", "IntegrityError", sqlstate="23505"), UNCLASSIFIED),
    (client_error("sqlalchemy", "DBAPIError", orig=client_error("psycopg", "OperationalError")), TRANSIENT),
    (client_error("mine", "TransportError"), UNCLASSIFIED),
    (client_error("mine", "Odd", status_code=True), UNCLASSIFIED),
    (client_error("mine", "Odd", code=503), UNCLASSIFIED),
    (sqlite3.OperationalError("no such table"), UNCLASSIFIED),
]


@pytest.mark.parametrize(
    ("error", "expected"), CASES, ids=[f"{number}-{type(error).__name__}" for number, (error, _) in enumerate(CASES)]
)
def test_what_a_clients_error_says_about_another_try(error: BaseException, expected: ErrorClass) -> None:
    assert classify(error) is expected


def test_a_kinds_own_table_goes_before_the_names_of_clients() -> None:
    error = client_error("httpx", "TransportError", "ConnectError")
    assert classify(error, {type(error): PERMANENT}) is PERMANENT
    assert classify(error, {Exception: PERMANENT}) is TRANSIENT, "the nearest wins"


def test_errors_that_are_about_each_other_in_a_circle_end() -> None:
    one, two = client_error("mine", "One"), client_error("mine", "Two")
    one.reason, two.reason = two, one  # type: ignore[attr-defined]
    assert classify(one) is UNCLASSIFIED


def test_an_error_that_does_not_answer_is_unclassified() -> None:
    def refuses(_: object) -> None:
        raise RuntimeError("not to be asked")

    names = ("response", "status_code", "status", "sqlstate", "pgcode", "errno", "reason", "orig")
    odd = type("Odd", (OSError,), {name: property(refuses) for name in names})
    assert classify(odd("x")) is UNCLASSIFIED


@pytest.mark.parametrize(
    ("package", "raises"),
    [("httpx2", "ConnectError"), ("requests", "ConnectionError"), ("psycopg", "OperationalError"),
     ("openai", "APITimeoutError"), ("anthropic", "RateLimitError"), ("urllib3", "MaxRetryError")],
)  # fmt: skip
def test_the_real_classes_have_the_names_that_are_looked_for(package: str, raises: str) -> None:
    found = getattr(pytest.importorskip(package, reason=f"{package} is not installed"), raises, None)
    found = found or getattr(__import__(f"{package}.exceptions").exceptions, raises)
    assert any(name in retry.TRANSIENT for _, name in retry.names_of(found))


@pytest.mark.process
def test_classifying_imports_none_of_these_packages() -> None:
    code = (
        "import sys\nfrom ramet.model.task.retry import classify\nclassify(ValueError('x'))\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'httpx', 'httpx2', 'requests', 'aiohttp', 'openai', 'anthropic', 'psycopg', 'urllib3'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


class Odd(Exception):
    """Known to nobody's table but its own."""


def test_the_error_inside_is_classified_by_the_same_table() -> None:
    table: dict[type[BaseException], ErrorClass] = {Odd: PERMANENT}
    for around in (urllib.error.URLError(Odd()), client_error("sqlalchemy", "Strange", orig=Odd()),
                   client_error("httpx", "TransportError", "ConnectError", reason=Odd())):  # fmt: skip
        assert classify(around, table) is PERMANENT
        assert classify(around, {}) is not PERMANENT


@pytest.mark.parametrize("name", ["sqlstate", "pgcode"])
@pytest.mark.parametrize(("state", "found"), [("40001", TRANSIENT), ("22001", PERMANENT), ("XX000", UNCLASSIFIED)])
def test_an_sqlstate_is_read_under_both_of_its_names(name: str, state: str, found: ErrorClass) -> None:
    assert classify(client_error("strange", "Failed", **{name: state})) is found
