"""Queues, kinds and their limits as people see them and apps declare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ramet.model.flow.resources import Policy


class Queue(NamedTuple):
    """A queue that somebody limited or paused; of any other there is nothing to know."""

    name: str
    concurrency: int | None
    """Claims at once over all workers; None for no limit."""
    explicit: bool
    """True when a person set the limit, which an app's declaration does not change."""
    paused_at: float | None
    paused_by: str | None
    paused_reason: str | None


class KindLimit(NamedTuple):
    """How many tasks of a kind may run at once."""

    name: str
    concurrency: int
    """Claims at once over all workers."""
    explicit: bool
    """True when a person set the limit, which an app's declaration does not change."""


class Declared(NamedTuple):
    """What an app says about its queues, kinds and resources."""

    queues: Mapping[str, int | None]
    """Claims at once, by name; None takes a declared limit back."""
    kinds: Mapping[str, int | None]
    policies: Sequence[Policy]
    limits: Mapping[str, str | None] = MappingProxyType({})
    """What lineages may do whose root is of a kind, as JSON, by its name; None where the code says nothing."""


class Usage(NamedTuple):
    """Claims that are held now, by queue, kind and resource."""

    queues: Mapping[str, int]
    kinds: Mapping[str, int]
    resources: Mapping[str, int]


class WorkerSeen(NamedTuple):
    """A worker as it said itself."""

    name: str
    host: str
    pid: int
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    """Handlers at once."""
    started_at: float = 0.0
    seen_at: float = 0.0
    alive: bool = True
    """False when it has said nothing for a minute."""


class Unserved(NamedTuple):
    """Live tasks that no living worker serves."""

    queue: str
    kind: str
    tasks: int
    more: bool = False
    """True when counting stopped at a bound: there are at least ``tasks``."""
