"""Addresses of databases: what kind they are, and how they may be shown. The password of an address is never shown."""

from __future__ import annotations

import re
from pathlib import Path

SCHEMES = ("postgresql://", "postgres://")
_OPTIONS = frozenset(
    "application_name channel_binding connect_timeout dbname gssencmode host hostaddr keepalives load_balance_hosts "
    "port replication sslmode sslnegotiation target_session_attrs tcp_user_timeout user".split()
)
"""Options of an address that may be shown; whatever else is there, or looks like one, may be a password."""
_VALUE = re.compile(r"[\w.,:*/\[\]-]*")
_USER = re.compile(r"[\w.%+-]*")
_HOST = re.compile(r"(?:[\w.%-]*|\[[\w:.%]*\]?)(?::\d*)?")
_WORDS = re.compile(
    r"\s*(?:application_name|client_encoding|connect_timeout|dbname|host|hostaddr|options|passfile|password|port|service"
    r"|sslmode|target_session_attrs|user)\s*=",
    re.IGNORECASE,
)
_MISSPELT = re.compile(r"\s*(?:postgres|postgresql|pgsql|psql)(?::|//)", re.IGNORECASE)


def is_postgres(address: str | Path) -> bool:
    """Return True for an address of a PostgreSQL database."""
    return str(address).startswith(SCHEMES)


def is_file(address: str | Path) -> bool:
    """Return True for a SQLite file: a path, or ``sqlite:///path``. A server's address in another form, or with a
    typing error, is not one: a file of that name would have a password for a name.
    """
    text = str(address)
    if text.startswith("sqlite:///"):
        return True
    return "://" not in text and not _WORDS.match(text) and not _MISSPELT.match(text)


def file_of(address: str | Path) -> Path:
    """Return the SQLite file of an address."""
    return Path(str(address).removeprefix("sqlite:///"))


def shown(address: str | Path) -> str:
    """Return an address as it may be printed, logged and stored: without what is secret in it, however it is
    misspelt.
    """
    text = str(address)
    if is_file(text):
        return text
    if _WORDS.match(text):
        return "host=... (words for libpq)"
    slip = _MISSPELT.match(text)
    scheme, rest = (slip[0], text[slip.end() :]) if slip is not None else text.split("://", 1)
    scheme, rest = scheme.strip().rstrip(":/"), rest.removeprefix("//") if slip is not None else rest
    # A password may hold any character, quoted or not: it ends at the last "@".
    who, at, where = rest.rpartition("@")
    if "?" in who and "=" in who:  # Or that "@" is in a password among the options.
        return f"{_matching(_USER, scheme)}://..."
    place, mark, options = where.partition("?")
    hosts, slash, path = place.partition("/")
    shown_hosts = ",".join(host if _HOST.fullmatch(host) else host.partition(":")[0] for host in hosts.split(","))
    kept = [option for option in re.split("[&;]", options) if _may_be_shown(option)]
    user = _matching(_USER, who.partition(":")[0])
    return f"{_matching(_USER, scheme)}://{user}{at}{shown_hosts}{slash}{path}{mark if kept else ''}{'&'.join(kept)}"


def _matching(pattern: re.Pattern[str], text: str) -> str:
    return text if pattern.fullmatch(text) else "..."


def _may_be_shown(option: str) -> bool:
    name, _, value = option.partition("=")
    return name in _OPTIONS and _VALUE.fullmatch(value) is not None


def has_password(address: str | Path) -> bool:
    """Return True where user and password stand before the host."""
    who, at, _ = str(address).partition("://")[2].rpartition("@")
    return bool(at) and ":" in who
