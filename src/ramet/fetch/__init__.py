"""Polite, guarded fetching for handlers: public addresses only, bounded answers, robots.txt, a pace for each host.

``await fetch(ctx, url)`` in any handler of an app that called :func:`declare_fetching`. The names in `__all__` here and
in :mod:`ramet.fetch.testing` are published; the modules below are this package's own.
"""

from ramet.fetch.errors import (
    FetchError,
    Gone,
    HostBusy,
    HostTurnLater,
    Refused,
    RobotsRefused,
    TooLarge,
    Trouble,
    WrongType,
)
from ramet.fetch.handlers import declare_fetching, fetch, fetch_sync
from ramet.fetch.host_map import HostMap
from ramet.fetch.page import Page
from ramet.fetch.settings import FetchSettings

__all__ = [
    "FetchError",
    "FetchSettings",
    "Gone",
    "HostBusy",
    "HostMap",
    "HostTurnLater",
    "Page",
    "Refused",
    "RobotsRefused",
    "TooLarge",
    "Trouble",
    "WrongType",
    "declare_fetching",
    "fetch",
    "fetch_sync",
]
