"""Scopes of the API and the tokens that have them. Only digests of tokens are kept in memory."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Self

TOKEN_CHARACTERS_MIN = 16
NAME_CHARACTERS_MAX = 100
DIGEST = "sha256:"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


class Scope(StrEnum):
    """Permission of a token. ``ADMIN`` includes all others."""

    SUBMIT = "submit"
    """Start lineages and add roots to them."""
    WORK = "work"
    """Claim tasks and settle them."""
    READ = "read"
    """Look at everything: pages, lists, payloads, results, events."""
    ADMIN = "admin"
    """Act as an operator: cancel, retry, pause, limits, settings."""


EVERY_SCOPE = frozenset(Scope)
_BELOW = {"/api/v1/submit": Scope.SUBMIT, "/api/v1/claims": Scope.WORK}


def required_scope(method: str, path: str) -> Scope:
    """Return the scope that a request needs, by its method and its path from the server's root.

    The one rule for every route, asked before any of them: what is not listed reads with ``read`` and acts with
    ``admin``, so that a new route is never open by mistake.
    """
    for below, scope in _BELOW.items():
        if path == below or path.startswith(f"{below}/"):
            return scope
    return Scope.READ if method in SAFE else Scope.ADMIN


class BadToken(ValueError):
    """Text that gives no token; one line says what to give."""


class Token(NamedTuple):
    """A token that is let in."""

    name: str
    """Name under which acts are recorded, and calls are counted."""
    scopes: frozenset[Scope]
    digest: bytes
    """SHA-256."""

    @classmethod
    def of(cls, name: str, scopes: Iterable[Scope], text: str) -> Self:
        """Return the token with this text, or with the digest after ``sha256:``.

        Raises:
            BadToken: it is too short, or not printable ASCII, or not a valid digest.
        """
        given = frozenset(scopes)
        held = EVERY_SCOPE if Scope.ADMIN in given else given
        if text.startswith(DIGEST):
            try:
                digest = bytes.fromhex(text.removeprefix(DIGEST))
            except ValueError:
                digest = b""
            if len(digest) != hashlib.sha256().digest_size:
                raise BadToken(f"the digest of token {name} is not valid: give sha256: and 64 hexadecimal digits")
            return cls(name, held, digest)
        if len(text) < TOKEN_CHARACTERS_MIN or not (text.isascii() and text.isprintable()) or " " in text:
            raise BadToken(
                f"token {name} is not valid: give at least {TOKEN_CHARACTERS_MIN} ASCII characters without blanks, "
                "for example of `openssl rand -hex 32`"
            )
        return cls(name, held, hashlib.sha256(text.encode()).digest())


def tokens_from(text: str) -> tuple[Token, ...]:
    """Return the tokens of a file: a line for each, ``NAME SCOPE[,SCOPE...] TOKEN``; # begins a comment.

    The token is its text, or ``sha256:`` and its digest in hexadecimal.

    Raises:
        BadToken: a line is not in this form, or a name or a token comes twice. Tokens are not shown.
    """
    found: list[Token] = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        if len(parts) != 3:
            raise BadToken(f"line {number} is not in the form NAME SCOPE[,SCOPE...] TOKEN")
        name, listed, token = parts
        unknown = sorted(set(listed.split(",")) - EVERY_SCOPE)
        if unknown:
            raise BadToken(f"line {number}: {unknown[0]!r} is not a scope: give some of {', '.join(sorted(Scope))}")
        if len(name) > NAME_CHARACTERS_MAX:
            raise BadToken(f"line {number}: the name is too long: give at most {NAME_CHARACTERS_MAX} characters")
        found.append(Token.of(name, map(Scope, listed.split(",")), token))
    check_distinct(found)
    return tuple(found)


def check_distinct(tokens: Sequence[Token]) -> None:
    """Refuse tokens of which two have the same name, or the same text.

    Raises:
        BadToken: names both.
    """
    for at, one in enumerate(tokens):
        for other in tokens[:at]:
            if one.name == other.name:
                raise BadToken(f"two tokens have the name {one.name}: give each its own")
            if hmac.compare_digest(one.digest, other.digest):
                raise BadToken(f"the tokens {other.name} and {one.name} are the same: give two")


def token_of(tokens: Iterable[Token], text: str) -> Token | None:
    """Return the token with this text, in constant time; None for an unknown one."""
    given = hashlib.sha256(text.encode()).digest()
    found = None
    for one in tokens:
        if hmac.compare_digest(given, one.digest):
            found = one
    return found
