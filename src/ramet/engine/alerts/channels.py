"""Ways to people: the log, and what packages bring in the entry-point group ``ramet.alert_channels``.

The engine speaks no HTTP. A package names a factory without arguments that reads its own environment variables and
returns a channel, or None where it is not configured. Errors of a configuration are one line, without secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ramet.model.alerts.notifications import LOG, MESSAGE, AlertNotice
from ramet.store.loggers import own_logger

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ramet.alert_channels"
NAME_CHARACTERS_MAX = 100
log = own_logger("ramet.monitor")


class NotDelivered(Exception):
    """A channel could not deliver a notice. The message is stored and shown: one line, without any secret.

    Args:
        message: why, for people.
        again: False where another attempt would end alike.
    """

    def __init__(self, message: str, *, again: bool = True) -> None:
        super().__init__(message)
        self.again = again


class Channel(Protocol):
    """A way to people."""

    @property
    def target(self) -> str:
        """Address that the channel sends to, without any secret: shown to people and stored."""
        ...

    async def send(self, notice: AlertNotice) -> None:
        """Deliver a notice. May be called again with the same ``delivery_id``.

        Raises:
            NotDelivered: it could not; of another exception only its name is stored.
        """
        ...


class LogChannel:
    """The log of whichever worker sends: a warning, or a note where something is over."""

    target = "the log of the worker that sends it"

    async def send(self, notice: AlertNotice) -> None:
        """Write one line, with ``tracking_id``, ``alert_id`` and ``severity``."""
        alert = notice.body.get("alert", {})
        extra = {"tracking_id": notice.tracking_id, "alert_id": notice.alert_id, "severity": alert.get("severity"),
                 "link": alert.get("link")}  # fmt: skip
        level = logging.INFO if notice.event in ("resolved", "test", MESSAGE) else logging.WARNING
        log.log(level, "%s %s", MESSAGE if notice.event == MESSAGE else "alert", notice.body["text"], extra=extra)


class Channels(NamedTuple):
    """Channels that this process can send through, and those that it could not set up."""

    by_name: Mapping[str, Channel]
    wrong: Mapping[str, str]
    """Name of a channel that is configured wrongly -> what to do, in one line."""


def configured(points: Mapping[str, Callable[[], Channel | None]] | None = None) -> Channels:
    """Return the log, and every installed channel that is configured.

    Args:
        points: factories by name, instead of those of installed packages.
    """
    found: dict[str, Channel] = {LOG: LogChannel()}
    wrong: dict[str, str] = {}
    factories = installed() if points is None else points
    for name, factory in sorted(factories.items()):
        if name == LOG or not name.isidentifier() or len(name) > NAME_CHARACTERS_MAX:
            wrong[name] = "no name for a channel: the package that brings it has to give another"
            continue
        try:
            channel = factory()
        except ValueError as error:
            wrong[name] = " ".join(str(error).split())
        except Exception as error:
            # Another package's factory must not end a worker, and its words may hold what it was configured with.
            wrong[name] = f"could not be set up: {type(error).__name__}"
        else:
            if channel is not None:
                found[name] = channel
    return Channels(found, wrong)


def installed() -> dict[str, Callable[[], Channel | None]]:
    """Factories of installed packages, by name. They are imported when they are called."""
    from importlib.metadata import entry_points

    return {point.name: _factory(point) for point in entry_points(group=GROUP)}


def _factory(point: EntryPoint) -> Callable[[], Channel | None]:
    def make() -> Channel | None:
        factory: Callable[[], Channel | None] = point.load()
        return factory()

    return make
