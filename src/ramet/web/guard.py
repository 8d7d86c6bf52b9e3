"""The guard before every route: authentication, permissions, and the headers of every answer.

It is outside of all routing, so no page, stream, asset, API route or extension can forget it. Unsafe methods need
the admin scope and, from a browser, a token that another site cannot know (CSRF); it is checked here, for all alike.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Send

from ramet.engine.base.logs import own_logger
from ramet.web.access import (
    COOKIE,
    SESSION_SECONDS,
    Access,
    CallRates,
    LoginFailures,
    Session,
    Sessions,
    Visitor,
    name_of,
)
from ramet.web.errors import problem
from ramet.web.tokens import EVERY_SCOPE, SAFE, Scope, Token, required_scope, token_of

log = own_logger("ramet.dashboard")

BODY_BYTES_MAX = 65_536
WORK_BODY_BYTES_MAX = 8 * 1_048_576
"""Most bytes of a body with payloads, states and results, which is read only after the token."""
JSON_DEPTH_MAX = 100
"""Most levels of lists and objects in each other."""
TARGET_BYTES_MAX = 32_768
"""Most bytes of an address with its query: 2,000 characters of text may take 24,000 there, percent-encoded."""
FIELDS_MAX = 100
LOGIN, LOGOUT = "/login", "/logout"

LOGIN_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;"
    "padding:0 1rem}form{display:grid;gap:.75rem}label{display:grid;gap:.25rem}input,button{font:inherit;padding:.4rem}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(LOGIN_STYLE.encode()).digest()).decode()

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; "
        f"style-src 'self' 'sha256-{_STYLE_HASH}'; img-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Under no-referrer a browser sends `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer."""

Connection = MutableMapping[str, Any]


class RequestRefused(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, code: str, line: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(line)
        self.status, self.code, self.line = status, code, line
        self.headers = dict(headers or {})


class SessionOver(Exception):
    """The session that an answer is sent to has ended before the answer did."""


class Authenticated(NamedTuple):
    """The visitor behind a request, and the session."""

    visitor: Visitor
    session: Session | None = None
    """None for a bearer token."""
    fresh: bool = False
    """The session begins with this answer."""


class Guard:
    """Middleware that authenticates every request and rejects the others."""

    def __init__(self, app: ASGIApp, access: Access, templates: Environment, *, pages: bool = True) -> None:
        """Guard an application; ``pages=False`` allows no login, and answers every refusal as JSON."""
        self._app = app
        self._access = access
        self._templates = templates
        self._pages = pages
        self._sessions = Sessions()
        self._guesses = LoginFailures()
        self._tokens = access.every_token
        self._rates = CallRates(access.calls_per_minute)

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if connection["type"] != "http":
            await self._app(connection, receive, send)
            return
        answers = _Answers(send, connection)
        try:
            await self._admit(connection, receive, answers)
        except RequestRefused as refused:
            await self._refusal(connection, refused)(connection, receive, answers)
        except SessionOver:
            await answers.cut_short()
        except Exception:
            log.exception("%s %s was not answered", connection["method"], ascii(connection["path"]))
            if not answers.begun:
                broken = RequestRefused(500, "error", "something went wrong here: the log of the dashboard says what")
                await self._refusal(connection, broken)(connection, receive, answers)

    async def _admit(self, connection: Connection, receive: Receive, answers: _Answers) -> None:
        headers = Headers(scope=connection)
        self._check_host(connection, headers)
        unsafe, path = connection["method"] not in SAFE, connection["path"]
        if unsafe and path == LOGIN and self._pages:
            body = await _body(receive, BODY_BYTES_MAX)
            await self._log_in(connection, headers, body)(connection, receive, answers)
            return
        known = self._authenticate(connection, headers)
        _check_scope(connection, known)
        if unsafe:
            scope = required_scope(connection["method"], path)
            most = WORK_BODY_BYTES_MAX if scope in (Scope.SUBMIT, Scope.WORK) else BODY_BYTES_MAX
            body = await _body(receive, most)
            self._check_unsafe(connection, headers, body, known)
            receive = _replayed(body, receive)
        if unsafe and path == LOGOUT and known.session is not None:
            self._sessions.end(known.session)
            answer = RedirectResponse("/", 303)
            answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=self._access.secure)
            await answer(connection, receive, answers)
            return
        if known.fresh and known.session is not None:
            answers.cookie = self._cookie(connection, known.session)
        answers.until = lambda: known.session is None or self._sessions.is_live(known.session)
        connection.setdefault("state", {})["visitor"] = known.visitor
        await self._app(connection, receive, answers)

    # --- who

    def _check_host(self, connection: Connection, headers: Headers) -> None:
        host = headers.get("host", "")
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name.lower() not in self._access.hosts:
            raise RequestRefused(
                421, "wrong_host", "this dashboard does not answer under that name: start it with --allow-host"
            )
        if len(connection.get("raw_path") or b"") + len(connection["query_string"]) > TARGET_BYTES_MAX:
            raise RequestRefused(414, "too_long", f"the address is too long: at most {TARGET_BYTES_MAX} bytes")

    def _authenticate(self, connection: Connection, headers: Headers) -> Authenticated:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            found = self._token_of(connection, token.strip())
            return Authenticated(Visitor(found.scopes, name_of(headers.get("x-ramet-by", ""), found.name), ""))
        session = self._sessions.read(cookie_parser(headers.get("cookie", "")).get(COOKIE))
        if session is not None:
            return Authenticated(self._sessions.visitor(session), session)
        if self._access.open:
            session = self._sessions.begin(EVERY_SCOPE, self._access.person)
            return Authenticated(self._sessions.visitor(session), session, fresh=True)
        raise RequestRefused(
            401, "unauthorized", "give the dashboard's token", {"www-authenticate": 'Bearer realm="ramet"'}
        )

    def _token_of(self, connection: Connection, text: str) -> Token:
        address = (connection.get("client") or ("",))[0]
        wait = self._guesses.wait_seconds(address)
        if wait > 0:
            raise RequestRefused(
                429, "too_many", "too many wrong tokens: try again later", {"retry-after": f"{wait:.0f}"}
            )
        token = token_of(self._tokens, text)
        if token is None:
            self._guesses.wrong(address)
            raise RequestRefused(401, "unauthorized", "that token is not valid here",
                          {"www-authenticate": 'Bearer realm="ramet"'})  # fmt: skip
        if connection["path"].startswith("/api/") and (wait := self._rates.wait_seconds(token.name)) > 0:
            raise RequestRefused(
                429, "too_many", f"token {token.name} made too many calls: send fewer, or more items with each",
                {"retry-after": f"{math.ceil(wait)}"},
            )  # fmt: skip
        return token

    def _check_unsafe(self, connection: Connection, headers: Headers, body: bytes, known: Authenticated) -> None:
        fields = fields_of(headers, body)
        api, is_json = connection["path"].startswith("/api/"), _content_type(headers) == "application/json"
        if api and body and not is_json:
            raise RequestRefused(415, "not_json", "send JSON, with Content-Type: application/json")
        if api and json_depth(body) > JSON_DEPTH_MAX:
            raise RequestRefused(400, "too_deep", f"the JSON is too deep: at most {JSON_DEPTH_MAX} lists and objects")
        if known.session is None:
            return  # No browser adds a bearer token by itself.
        _check_origin(connection, headers)
        if known.fresh and api and is_json:
            return  # A program on loopback: a page of another site cannot send JSON without being allowed to.
        given = headers.get("x-csrf-token") or fields.get("csrf", "")
        if known.fresh or not hmac.compare_digest(given.encode(), known.visitor.csrf.encode()):
            raise RequestRefused(403, "csrf", "the form is out of date: open the page again and repeat what you did")

    # --- coming and going

    def _log_in(self, connection: Connection, headers: Headers, body: bytes) -> Response:
        _check_origin(connection, headers)
        fields = fields_of(headers, body)
        scopes = self._token_of(connection, fields.get("token", "")).scopes
        session = self._sessions.begin(scopes, name_of(fields.get("by", ""), self._access.person))
        back = local(fields.get("back", "/"))
        return RedirectResponse(back, 303, headers={"set-cookie": self._cookie(connection, session)})

    def _cookie(self, connection: Connection, session: Session) -> str:
        made = Response()
        secure = self._access.secure or connection["scheme"] == "https"
        made.set_cookie(COOKIE, self._sessions.cookie(session), max_age=SESSION_SECONDS, path="/", httponly=True,
                        samesite="strict", secure=secure)  # fmt: skip
        return made.headers["set-cookie"]

    def _refusal(self, connection: Connection, refused: RequestRefused) -> Response:
        wants_page = "text/html" in Headers(scope=connection).get("accept", "")
        machine = connection["path"].startswith(("/api/", "/live")) and connection["path"] != "/api/docs"
        if not wants_page or machine or not self._pages:
            return JSONResponse(
                problem(refused.status, refused.line, refused.code), refused.status, headers=refused.headers
            )
        request = Request(connection)
        stays = request.method in SAFE and request.url.path not in (LOGIN, LOGOUT)
        back = f"{request.url.path}?{request.url.query}".rstrip("?") if stays else "/"
        page = self._templates.get_template("login.html").render(
            style=LOGIN_STYLE, line=refused.line, back=local(back), asks=refused.status in (401, 429)
        )
        return HTMLResponse(page, refused.status, headers=refused.headers)


def local(address: str) -> str:
    """Return the address where it is a path on this host; the first page where it leads anywhere else."""
    steps = address.replace("\\", "/")
    # An address that begins with one slash has neither a scheme nor a host, so there is nothing to parse.
    plain = address.isprintable() and steps.startswith("/") and not steps.startswith("//")
    return address if plain else "/"


def fields_of(headers: Headers, body: bytes) -> dict[str, str]:
    """Return the fields of a form, the last of each name; empty for another body."""
    if _content_type(headers) != "application/x-www-form-urlencoded":
        return {}
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except ValueError as error:
        raise RequestRefused(400, "bad_form", "the form cannot be read: at most 100 fields, in UTF-8") from error


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form that was sent here; the guard has checked its CSRF token."""
    fields = fields_of(request.headers, await request.body())
    fields.pop("csrf", None)
    return fields


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_origin(connection: Connection, headers: Headers) -> None:
    """Refuse a request that a browser sent from another site, whatever it carries."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    same = site in (None, "same-origin", "none") if origin is None else _host_of(origin) == headers.get("host")
    if not same or site in ("cross-site", "same-site"):
        raise RequestRefused(403, "wrong_origin", "this came from a page of another site")


def _host_of(origin: str) -> str | None:
    """Return host and port of an origin; None for an invalid one."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # A bracket that is not closed, for one.
        return None


def _check_scope(connection: Connection, known: Authenticated) -> None:
    needed = required_scope(connection["method"], connection["path"])
    leaves = known.session is not None and connection["path"] == LOGOUT
    if needed not in known.visitor.scopes and not leaves:
        has = ", ".join(sorted(known.visitor.scopes))
        raise RequestRefused(403, "missing_scope", f"this needs a token with the scope {needed}: yours has {has}")


_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def json_depth(body: bytes) -> int:
    """Return how deep lists and objects are nested in each other in a JSON text; any number for invalid JSON."""
    most = body.count(b"[") + body.count(b"{")
    if most <= JSON_DEPTH_MAX:
        return most  # No more than this, which is all that is asked of most bodies.
    depth = most = 0
    for found in _BRACKET.finditer(_STRING.sub(b"", body)):
        depth += 1 if found[0] in b"[{" else -1
        most = max(most, depth)
    return most


async def _body(receive: Receive, bytes_max: int) -> bytes:
    """Read the whole body, which the guard checks before the application gets it."""
    parts, size = [], 0
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise RequestRefused(400, "gone", "the request did not come whole")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > bytes_max:
            raise RequestRefused(413, "too_large", f"the body is too large: at most {bytes_max} bytes")
        more = message.get("more_body", False)
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    replayed = False

    async def again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Answers:
    """Sends an answer with what every answer carries."""

    def __init__(self, send: Send, connection: Connection) -> None:
        self._send = send
        self._asset = connection["path"].startswith("/static/")
        self.cookie: str | None = None
        self.until: Callable[[], bool] = lambda: True
        """Returns whether the receiver may still get the answer."""
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers["cache-control"] = "private, max-age=60" if self._asset else "no-store"
            if self.cookie is not None and message["status"] < 400:
                headers.append("set-cookie", self.cookie)
        elif message.get("more_body") and not self.until():
            raise SessionOver
        await self._send(message)

    async def cut_short(self) -> None:
        """End the answer here."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
