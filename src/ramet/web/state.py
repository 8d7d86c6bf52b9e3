"""What the routes of one dashboard share."""

from __future__ import annotations

from dataclasses import dataclass, field

from jinja2 import Environment
from starlette.requests import HTTPConnection

from ramet import Client
from ramet.web.access import Access
from ramet.web.events import Feeds
from ramet.web.flash import Flashes


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
