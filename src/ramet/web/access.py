"""Who may see and do what: scopes, tokens, and the visitor that a request turned out to be."""

from __future__ import annotations

import hashlib
import hmac
from enum import StrEnum
from typing import NamedTuple

TOKEN_CHARACTERS_MIN = 16
NAME_CHARACTERS_MAX = 100
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Scope(StrEnum):
    """What a visitor may do. Whoever may act may read."""

    READ = "read"
    ADMIN = "admin"


class Visitor(NamedTuple):
    """Who is behind a request."""

    scope: Scope
    by: str
    """The name under which acts are recorded."""
    csrf: str
    """What a form must carry as ``csrf``, and a script as ``X-CSRF-Token``; empty for who came with a bearer token."""

    @property
    def may_act(self) -> bool:
        """Whether actions are offered and taken."""
        return self.scope is Scope.ADMIN


class Access(NamedTuple):
    """How a dashboard is reached."""

    admin_token: str | None = None
    """None only on loopback: then whoever reaches it may act."""
    read_token: str | None = None
    hosts: frozenset[str] = LOOPBACK
    """Names in the Host header that are answered: another name is a page of somebody else that was led here."""
    person: str = "dashboard"
    """Under which name acts are recorded where nobody gave one."""
    secure: bool = False
    """Cookies only over TLS: what stands before this terminates it."""

    @property
    def open(self) -> bool:
        """True when no token is asked for."""
        return self.admin_token is None and self.read_token is None

    def scope_of(self, token: str) -> Scope | None:
        """What a token allows. Takes the same time whichever it is, and whether it is one."""
        given = hashlib.sha256(token.encode()).digest()
        found = None
        for known, scope in ((self.read_token, Scope.READ), (self.admin_token, Scope.ADMIN)):
            if known is not None and hmac.compare_digest(given, hashlib.sha256(known.encode()).digest()):
                found = scope
        return found


def name_of(text: str, default: str) -> str:
    """A name that somebody gave for the record: visible characters only, and not too many."""
    shown = "".join(character for character in text if character.isprintable()).strip()
    return shown[:NAME_CHARACTERS_MAX] or default
