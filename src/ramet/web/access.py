"""Visitors, and sessions in a signed cookie: nothing is stored, and a restart ends every session."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ramet.web.tokens import NAME_CHARACTERS_MAX, Scope, Token

CALLS_PER_MINUTE = 30_000

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Visitor(NamedTuple):
    """The user behind a request."""

    scopes: frozenset[Scope]
    by: str
    """The name under which acts are recorded."""
    csrf: str
    """Token that a form sends as ``csrf`` and a script as ``X-CSRF-Token``; empty with a bearer token."""

    @property
    def may_act(self) -> bool:
        """True when actions are offered and accepted."""
        return Scope.ADMIN in self.scopes


class Access(NamedTuple):
    """Tokens, host names and cookies of a dashboard."""

    admin_token: str | None = None
    """None, and no other token, only on loopback: then every visitor may act."""
    read_token: str | None = None
    hosts: frozenset[str] = LOOPBACK
    """Accepted names in the Host header; any other may be a foreign page that resolves to this server."""
    person: str = "dashboard"
    """Name in the audit log for visitors who gave none."""
    secure: bool = False
    """Whether cookies are sent over TLS only, which a proxy before this server terminates."""
    tokens: tuple[Token, ...] = ()
    """Further tokens, each with its scopes."""
    calls_per_minute: int = CALLS_PER_MINUTE
    """Calls of the API that each token may make."""

    @property
    def every_token(self) -> tuple[Token, ...]:
        """Return all tokens that are let in."""
        given = (("api", Scope.ADMIN, self.admin_token), ("api-read", Scope.READ, self.read_token))
        return (*(Token.of(name, [scope], text) for name, scope, text in given if text is not None), *self.tokens)

    @property
    def open(self) -> bool:
        """True when no token is asked for."""
        return not self.every_token


def name_of(text: str, default: str) -> str:
    """Return a given display name for the audit log: printable, at most 100 characters."""
    shown = "".join(character for character in text if character.isprintable()).strip()
    return shown[:NAME_CHARACTERS_MAX] or default


COOKIE = "ramet_session"
SESSION_SECONDS = 12 * 3_600
COOKIE_CHARACTERS_MAX = 2_000
GUESSES_MAX = 10
GUESS_SECONDS = 60.0
ADDRESSES_MAX = 1_000
ENDED_MAX = 10_000
"""Ended sessions that are remembered; the oldest are forgotten first."""


class Session(NamedTuple):
    """Content of a session cookie."""

    scopes: frozenset[Scope]
    by: str
    nonce: str
    until: float
    """Unix seconds."""


class Sessions:
    """Makes and reads the cookies of one dashboard."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, scopes: Iterable[Scope], by: str) -> Session:
        """Begin a new session."""
        return Session(frozenset(scopes), by, secrets.token_urlsafe(16), self._clock() + SESSION_SECONDS)

    def cookie(self, session: Session) -> str:
        """Return a session as the value of a cookie."""
        body = base64.urlsafe_b64encode(json.dumps([sorted(session.scopes), *session[1:]]).encode()).decode()
        return f"{body}.{self._sign('session', body)}"

    def read(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie; None for one that is foreign, changed or over."""
        if cookie is None or len(cookie) > COOKIE_CHARACTERS_MAX:
            return None
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", body).encode()):
            return None
        try:
            scopes, by, nonce, until = json.loads(base64.urlsafe_b64decode(body))
        except (ValueError, binascii.Error):
            return None
        session = Session(frozenset(map(Scope, scopes)), by, nonce, until)
        return session if self.is_live(session) else None

    def is_live(self, session: Session) -> bool:
        """Return whether the session is neither expired nor ended."""
        return session.until > self._clock() and session.nonce not in self._ended

    def end(self, session: Session) -> None:
        """End a session: its cookie is invalid from now on, copies included."""
        self._ended[session.nonce] = None
        while len(self._ended) > ENDED_MAX:
            self._ended.popitem(last=False)

    def visitor(self, session: Session) -> Visitor:
        """Return the visitor of a session."""
        return Visitor(session.scopes, session.by, self._sign("csrf", session.nonce))

    def _sign(self, what: str, text: str) -> str:
        return hmac.new(self._key, f"{what}:{text}".encode(), hashlib.sha256).hexdigest()


class LoginFailures:
    """Recent wrong tokens by address: after ``GUESSES_MAX`` of them an address has to wait. Bounded in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def wait_seconds(self, address: str) -> float:
        """Return the seconds until an address may try a token again; 0.0 for now."""
        recent = [at for at in self._wrong.get(address, ()) if at > self._clock() - GUESS_SECONDS]
        return 0.0 if len(recent) < GUESSES_MAX else recent[0] + GUESS_SECONDS - self._clock()

    def wrong(self, address: str) -> None:
        """Count a wrong token from an address."""
        recent = [at for at in self._wrong.pop(address, ()) if at > self._clock() - GUESS_SECONDS]
        self._wrong[address] = [*recent[-GUESSES_MAX:], self._clock()]
        while len(self._wrong) > ADDRESSES_MAX:
            self._wrong.popitem(last=False)


class CallRates:
    """Token buckets of calls, one for each token of access: each holds ten seconds' calls, and fills evenly."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._per_second = per_minute / 60
        self._most = max(1.0, float(per_minute) / 6)
        self._left: dict[str, tuple[float, float]] = {}

    def wait_seconds(self, name: str) -> float:
        """Take a call of this token; 0.0 if there was one, else the seconds until there is one again."""
        now = self._clock()
        left, at = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        if left < 1:
            self._left[name] = (left, now)
            return (1 - left) / self._per_second
        self._left[name] = (left - 1, now)
        return 0.0
