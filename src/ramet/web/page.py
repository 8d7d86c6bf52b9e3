"""Pages and the state they share: address, template and view of a page, its request, and checked parameters."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import quote

from fastapi import Depends, Path, Query
from jinja2 import Environment
from starlette.requests import HTTPConnection, Request

from ramet import Client
from ramet.web.access import Access, Visitor
from ramet.web.events import Feeds

LINE_CHARACTERS_MAX = 500
FLASH_SECONDS = 60.0
"""Seconds after which a line that no page has shown is dropped."""
SESSIONS_MAX = 1_000
"""Sessions with a waiting line; the oldest are forgotten first."""


class Flashes:
    """The newest line of each session that no page has shown yet. Bounded in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lines: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def tell(self, session: str, line: str) -> None:
        """Keep a line for the next page of a session, instead of one that still waits.

        Args:
            session: secret of the server and that session; empty for a visitor without one, who gets no line.
            line: cut to 500 characters.
        """
        if not session:
            return
        self._lines.pop(session, None)
        self._lines[session] = (self._clock(), line[:LINE_CHARACTERS_MAX])
        while len(self._lines) > SESSIONS_MAX:
            self._lines.popitem(last=False)

    def take(self, session: str) -> str | None:
        """Return and forget the line that waits for a session; None where there is none."""
        at, line = self._lines.pop(session, (0.0, ""))
        return line if line and self._clock() - at <= FLASH_SECONDS else None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard over one database."""

    client: Client
    access: Access
    templates: Environment
    feeds: Feeds = field(default_factory=Feeds)
    flashes: Flashes = field(default_factory=Flashes)


def dashboard_of(connection: HTTPConnection) -> Dashboard:
    """Return the dashboard that a request came to."""
    found = connection.app.state.dashboard
    assert isinstance(found, Dashboard)
    return found


Thing = TypeVar("Thing")

TEXT_MAX = 2_000
"""Characters of one parameter of an address."""


class BadInput(ValueError):
    """A parameter that cannot be used; one line says what to give. Answered with 400."""


class NothingDone(BadInput):
    """There was nothing to do: it is so already, or too late. Answered with 409."""


class NotFound(LookupError):
    """There is no such thing (any more); one line says where to look. Answered with 404."""


def existing(thing: Thing | None, line: str) -> Thing:
    """Return what was read.

    Raises:
        NotFound: there is nothing; says the line.
    """
    if thing is None:
        raise NotFound(line)
    return thing


def no_task(task_id: str) -> str:
    """Return the line for a task that does not exist."""
    return f"no task {task_id}: it was never there, or its lineage was pruned"


class RedirectTo(Exception):
    """The result has a page of its own: redirect to it by name and parts."""

    def __init__(self, name: str, **parts: str) -> None:
        super().__init__(name)
        self.name = name
        self.parts = parts


@dataclass(frozen=True, slots=True)
class Visit:
    """One request for a page, as its view sees it. Parameters are bounded here, whatever the address says."""

    request: Request
    dashboard: Dashboard
    visitor: Visitor

    @property
    def client(self) -> Client:
        """The database."""
        return self.dashboard.client

    @property
    def now(self) -> float:
        """Unix seconds by the database's clock."""
        return self.client.clock.now()

    @property
    def by(self) -> str:
        """The name under which the visitor's acts are recorded."""
        return self.visitor.by

    @property
    def path(self) -> Mapping[str, str]:
        """The named parts of the address."""
        return self.request.path_params

    @property
    def address(self) -> str:
        """Path and query as they came, still encoded: an id may hold what would end a path."""
        raw = self.request.scope.get("raw_path") or quote(self.request.url.path).encode()
        path = raw.decode("latin-1").partition("?")[0]
        return f"{path}?{self.request.url.query}" if self.request.url.query else path

    def take_flash(self) -> str | None:
        """Take the message about the visitor's last action; shown by the first whole page after it only."""
        if self.request.method != "GET":
            return None
        return self.dashboard.flashes.take(self.visitor.csrf)

    def id(self, name: str) -> str:
        """Return an id: a named part of the address, else a parameter; see :func:`ramet.web.templating.url`.

        Raises:
            BadInput: there is none, or it is too long.
        """
        value = self.path.get(name) or self.text(name)
        if not value or len(value) > TEXT_MAX or "\x00" in value:
            raise BadInput(f"give a {name} of at most {TEXT_MAX} characters, without a NUL")
        return value

    def text(self, name: str, most: int = TEXT_MAX) -> str | None:
        """Return a parameter as text; None when it is absent or empty.

        Raises:
            BadInput: it is longer than ``most`` characters, or holds a NUL.
        """
        value = self.request.query_params.get(name)
        if not value:
            return None
        if len(value) > most or "\x00" in value:
            raise BadInput(f"{name} is too long or holds a NUL: give at most {most} characters")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a parameter as a whole number within bounds.

        Raises:
            BadInput: it is not such a number.
        """
        value = self.text(name, 20)
        if value is None:
            return default
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise BadInput(f"{name} is {value!r}: give a whole number from {least} to {most}")
        return number

    def word(self, name: str, allowed: Collection[str]) -> str | None:
        """Return a parameter as one of some words; None when it is absent.

        Raises:
            BadInput: it is none of them.
        """
        value = self.text(name, 200)
        if value is not None and value not in allowed:
            raise BadInput(f"{name} is {value!r}: give one of {', '.join(sorted(allowed))}")
        return value


View = Callable[[Visit], Awaitable[dict[str, Any]]]


class Page(NamedTuple):
    """One page of the dashboard."""

    path: str
    """Path as Starlette writes it: ``/lineages/{tracking_id}``."""
    name: str
    """Unique; templates make addresses of it: ``url("lineage", tracking_id=...)``."""
    template: str
    view: View
    """Reads what the template shows."""
    live: bool = True
    """Whether the block ``live`` of the template is sent again while the page is open."""


def visit_of(request: Request) -> Visit:
    """Return the visit that a request makes."""
    return Visit(request, dashboard_of(request), request.state.visitor)


def _client(request: Request) -> Client:
    return dashboard_of(request).client


ClientDep = Annotated[Client, Depends(_client)]
"""The client of the database, for a route."""
Limit = Annotated[int, Query(ge=1, le=200, description="Most items to list.")]
After = Annotated[int, Query(ge=0, le=2**62, description="`next_after` of the page before this one.")]
_NO_NUL = r"^[^\x00]+$"
"""Pattern of text without NUL, which PostgreSQL cannot store."""
Text = Annotated[str, Query(min_length=1, max_length=TEXT_MAX, pattern=_NO_NUL)]
OptionalText = Annotated[str | None, Query(min_length=1, max_length=TEXT_MAX, pattern=_NO_NUL)]
Cursor = Annotated[str | None, Query(min_length=1, max_length=10_000, pattern=_NO_NUL)]
"""End of the previous page, as that page gave it."""
Id = Annotated[str, Path(min_length=1, max_length=TEXT_MAX, pattern=_NO_NUL)]
"""An id in the path: percent-encoded, slashes too."""
