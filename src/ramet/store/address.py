"""Addresses of databases: what kind they are, and how they may be shown. The password of one is shown by nobody."""

from __future__ import annotations

from pathlib import Path

SCHEMES = ("postgresql://", "postgres://")
_SECRETS = ("password", "sslpassword", "passfile", "sslkey")
"""Options of an address whose values are nobody's business."""


def is_postgres(address: str | Path) -> bool:
    """True for an address of a PostgreSQL database."""
    return str(address).startswith(SCHEMES)


def is_file(address: str | Path) -> bool:
    """True for a SQLite file: a path, or ``sqlite:///path``."""
    text = str(address)
    return "://" not in text or text.startswith("sqlite:///")


def file_of(address: str | Path) -> Path:
    """The SQLite file of an address."""
    return Path(str(address).removeprefix("sqlite:///"))


def shown(address: str | Path) -> str:
    """An address as it may be printed, logged and stored: without what is secret in it, however it is misspelt."""
    text = str(address)
    scheme, found, rest = text.partition("://")
    if not found or scheme == "sqlite":
        return text
    # A password may hold any character, quoted or not: all of it stands before the last "@".
    who, at, where = rest.rpartition("@")
    path, mark, options = where.partition("?")
    kept = [option for option in options.split("&") if option.partition("=")[0].lower() not in _SECRETS]
    user = who.partition(":")[0]
    return f"{scheme}://{user}{at}{path}{mark if any(kept) else ''}{'&'.join(kept)}"


def has_password(address: str | Path) -> bool:
    """True where user and password stand before the host."""
    who, at, _ = str(address).partition("://")[2].rpartition("@")
    return bool(at) and ":" in who
