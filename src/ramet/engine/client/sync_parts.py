"""The parts of a client, for programs without an event loop: ``client.schedules`` and ``client.settings``.

As in :mod:`ramet.engine.client.sync_client` every method is made from the async one, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ramet.engine.client.schedules import Schedules
from ramet.engine.client.settings import Settings

Part = TypeVar("Part")
Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


class WaitFor(Protocol):
    """Runs a coroutine in a client's loop and waits for its answer."""

    def __call__(self, coroutine: Coroutine[Any, Any, Answer], /) -> Answer: ...


class SyncPart:
    """A part of a client whose methods wait."""

    def __init__(self, wait_for: WaitFor, asynchronous: Any) -> None:
        self._wait_for = wait_for
        self.asynchronous = asynchronous
        """The part that does the work."""


def blocking_part(
    method: Callable[Concatenate[Part, Parameters], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[SyncPart, Parameters], Answer]:
    """The method of a :class:`SyncPart` that waits for the answer of this method."""

    @wraps(method)
    def call(self: SyncPart, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return self._wait_for(method(self.asynchronous, *args, **kwargs))

    return call


class SyncSchedules(SyncPart):
    """:class:`ramet.engine.client.schedules.Schedules` without ``await``: ``client.schedules`` of a
    :class:`ramet.SyncClient`."""

    add = blocking_part(Schedules.add)
    declare = blocking_part(Schedules.declare)
    all = blocking_part(Schedules.all)
    get = blocking_part(Schedules.get)
    slots = blocking_part(Schedules.slots)
    pause = blocking_part(Schedules.pause)
    resume = blocking_part(Schedules.resume)
    remove = blocking_part(Schedules.remove)
    run = blocking_part(Schedules.run)


class SyncSettings(SyncPart):
    """:class:`ramet.engine.client.settings.Settings` without ``await``: ``client.settings`` of a
    :class:`ramet.SyncClient`."""

    refresh = blocking_part(Settings.refresh)
    limits = blocking_part(Settings.limits)
    all = blocking_part(Settings.all)
    get = blocking_part(Settings.get)
    set = blocking_part(Settings.set)
    set_many = blocking_part(Settings.set_many)
    unset = blocking_part(Settings.unset)
    preset = blocking_part(Settings.preset)
