"""State that the routes of one dashboard share."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from jinja2 import Environment
from starlette.requests import HTTPConnection

from ramet import Client
from ramet.web.access import Access
from ramet.web.events import Feeds

LINE_CHARACTERS_MAX = 500
KEPT_SECONDS = 60.0
"""A line that no page has shown by then is about something long gone."""
SESSIONS_MAX = 1_000
"""So many sessions have a line that waits; the oldest are forgotten first."""


class Flashes:
    """The newest line of each session that no page has shown yet. Bounded in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lines: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def tell(self, session: str, line: str) -> None:
        """Keep a line for the next page of a session, instead of one that still waits.

        Args:
            session: what only the server and that session know of it; empty for who has none, and is told nothing.
            line: cut to 500 characters.
        """
        if not session:
            return
        self._lines.pop(session, None)
        self._lines[session] = (self._clock(), line[:LINE_CHARACTERS_MAX])
        while len(self._lines) > SESSIONS_MAX:
            self._lines.popitem(last=False)

    def take(self, session: str) -> str | None:
        """The line that waits for a session, which is forgotten with this; None where there is none."""
        at, line = self._lines.pop(session, (0.0, ""))
        return line if line and self._clock() - at <= KEPT_SECONDS else None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard over one database."""

    client: Client
    access: Access
    templates: Environment
    feeds: Feeds = field(default_factory=Feeds)
    flashes: Flashes = field(default_factory=Flashes)


def dashboard_of(connection: HTTPConnection) -> Dashboard:
    """The dashboard that a request came to."""
    found = connection.app.state.dashboard
    assert isinstance(found, Dashboard)
    return found
