"""What pages and commands show of a large database: answers for which a bounded number of rows is looked at.

A number that such an answer could not count to its end says so: see :class:`Count`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ramet.model.lineage import Lineage
from ramet.model.task import Json, Task

CLAIMABLE = ""
"""Among waits: tasks that wait for nothing but a worker."""
COUNT_MAX = 10_000
"""So many live tasks or lineages of a sort are counted."""
BRANCH_LOOKS_MAX = 5_000
"""So many roots or children are looked at for branches, and for a page of twigs."""
LINEAGE_LOOKS_MAX = 20_000
"""So many tasks of a lineage are looked at for its counts."""
CHILDREN_MAX = 1_000
"""So many children of one task are counted."""


class Count(NamedTuple):
    """How many there are, as far as was looked."""

    number: int
    more: bool = False
    """True when the counting stopped at a bound: there are at least ``number``."""


class Present(NamedTuple):
    """What is live and what it waits for, at one moment."""

    at: float
    """Unix seconds by the store's clock."""
    processing: int
    """Claims in hand; at most :data:`COUNT_MAX` are counted, and the workers' slots bound them."""
    stale: int
    """Of these, claims whose lease expired."""
    oldest_lease_until: float | None
    """The end of the lease that ends first, Unix seconds; in the past when it is stale."""
    oldest_claimed_at: float | None
    """When the claim began that is held for longest, Unix seconds."""
    waits: Mapping[str, Count]
    """Pending tasks by what they wait for: :data:`CLAIMABLE`, or a :class:`ramet.model.task.Wait`."""
    oldest_waiting_at: float | None
    """Since when the longest waiting of the tasks that could be claimed waits, Unix seconds. Only the first tasks in
    line of each queue, kind, priority and resource are compared."""
    oldest_waiting: str | None
    """The id of that task."""
    lineages: Mapping[str, Count]
    """Lineages by state."""
    workers_alive: int
    """Workers that were seen within a minute."""
    alerts_firing: int
    """At most :data:`COUNT_MAX`."""
    breakers_open: int
    """At most :data:`COUNT_MAX`."""
    next_due_at: float | None
    """When the next delayed task becomes claimable, Unix seconds."""


class LineagePage(NamedTuple):
    """Lineages, newest first, and where to go on."""

    lineages: tuple[Lineage, ...]
    next_before: str | None
    """Given as ``before`` it continues behind this page; None at the end."""


class Branch(NamedTuple):
    """Children of one task, or roots of one lineage, that are of one kind and in one state."""

    kind: str
    state: str
    tasks: Count
    depth: int
    """Their spawn depth."""
    with_children: bool
    """True when any of those looked at has children."""


class Twig(NamedTuple):
    """A task of a branch."""

    task: Task
    children: Count


class TwigPage(NamedTuple):
    """Tasks of a branch in the order of their numbers, and where to go on."""

    twigs: tuple[Twig, ...]
    """May be fewer than were asked for although there are more: among many others few of this branch were found."""
    next_after: int | None
    """Given as ``after`` it continues behind this page; None at the end."""


class TaskCheckpoint(NamedTuple):
    """What a task kept of its work so far, beside its payload and its result."""

    pipeline_state: Json
    """What its stages have gathered; None before its first checkpoint."""
    progress: Json
    """What its handler last said about how far it is; None when it said nothing."""
    updated_at: float
    """Unix seconds."""


class KindState(NamedTuple):
    """Tasks of one kind in one state."""

    kind: str
    state: str
    wait: str | None
    """What pending ones wait for (:class:`ramet.model.task.Wait`); ``stale`` where a claim's lease expired."""
    tasks: Count
    mean_depth: float
    """Of those looked at."""
