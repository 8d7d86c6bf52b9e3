"""What pages and commands show of a large database: answers for which a bounded number of rows is looked at.

A number that such an answer could not count to its end says so: see :class:`BoundedCount`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import Block, Task
from ramet.model.values import Json

CLAIMABLE = ""
"""Among waits: tasks that wait for nothing but a worker."""
COUNT_MAX = 10_000
"""So many live tasks or lineages of a sort are counted."""
BRANCH_LOOKS_MAX = 5_000
"""So many roots or children are looked at for branches, and for a page of twigs."""
LINEAGE_LOOKS_MAX = 20_000
"""So many tasks of a lineage are looked at for its counts."""
FAILED_LOOKS_MAX = 5_000
"""Most failed tasks of a lineage that are counted below its tasks."""
CHILDREN_MAX = 1_000
"""So many children of one task are counted."""
BELOW_LOOKS_MAX = 50_000
"""So many tasks below those of one page of twigs are counted together."""
BELOW_ONE_MAX = 20_000
"""Most tasks that are counted below one of them."""
BLOCK_LOOKS_MAX = 5_000
"""So many refused spawns are looked at for a page of them."""
DELAYS_MAX = 100
"""So many reasons of waiting are told of one lineage."""
CALL_LOOKS_MAX = 20_000
"""So many reservations and charges of one task are summed up."""
HELD_BACK_LOOKS_MAX = 2_000
"""So many tasks of each sort that cannot be claimed are looked at for the queues that they are of."""
FULLEST_LOOKS_MAX = 2_000
"""So many lineages of each state, the newest, are compared for the fullest."""
LINEAGE_ORDERS = ("newest", "fullest", "deadline")
"""How lineages can be listed."""


class BoundedCount(NamedTuple):
    """How many there are, as far as was looked."""

    number: int
    more: bool = False
    """True when the counting stopped at a bound: there are at least ``number``."""


class LiveCounts(NamedTuple):
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
    waits: Mapping[str, BoundedCount]
    """Pending tasks by what they wait for: :data:`CLAIMABLE`, or a :class:`ramet.model.task.task.Wait`."""
    oldest_waiting_at: float | None
    """Since when the longest waiting of the tasks that could be claimed waits, Unix seconds. Only the first tasks in
    line of each queue, kind, priority and resource are compared."""
    oldest_waiting: str | None
    """The id of that task."""
    lineages: Mapping[str, BoundedCount]
    """Lineages by state."""
    workers_alive: int
    """Workers that were seen within a minute."""
    alerts_firing: int
    """At most :data:`COUNT_MAX`."""
    breakers_open: int
    """At most :data:`COUNT_MAX`."""
    next_due_at: float | None
    """When the next delayed task becomes claimable, Unix seconds."""
    joined: Mapping[str, int]
    """Tasks that wait for other tasks (``waits["tasks"]``), by kind."""


class ProblemCounts(NamedTuple):
    """Problems at one moment, for the frame of every page."""

    failed: int
    """Tasks that failed within the last hour."""
    alerts_firing: int
    """At most :data:`COUNT_MAX`."""
    stale: int
    """Claims whose lease expired; at most :data:`COUNT_MAX` claims are looked at."""
    breakers_open: int
    """At most :data:`COUNT_MAX`."""


class LineagePage(NamedTuple):
    """Lineages in an order, and where to go on."""

    lineages: tuple[Lineage, ...]
    next_before: str | None
    """Given as ``before`` it continues behind this page; None at the end."""


class BlockPage(NamedTuple):
    """Refused spawns of one lineage by kind, key and reason, and where to go on."""

    blocks: tuple[Block, ...]
    """May be fewer than were asked for although there are more: few of those looked at are like that."""
    next_after: str | None
    """Given as ``after`` it continues behind this page; None at the end."""


class TreeGroup(NamedTuple):
    """Children of one task, or roots of one lineage, that are of one kind and in one state."""

    kind: str
    state: str
    tasks: BoundedCount
    depth: int
    """Their spawn depth."""
    with_children: bool
    """True when any of those looked at has children."""


class TreeTask(NamedTuple):
    """A task of a branch."""

    task: Task
    children: BoundedCount
    below: BoundedCount
    """Everything that grew from it: children, their children, and so on."""
    waits_for: int | None = None
    """Number of tasks that it waits for since its last join; None while it waits for none."""
    failed_below: BoundedCount = BoundedCount(0)
    """Failed tasks among all that grew from it; the first 5,000 of the lineage are looked at."""
    until: float | None = None
    """Unix seconds: the last end of it and of what grew from it, as far as that is counted; None while any is live."""
    spent: int = 0
    """Nano-dollars that it and what grew from it spent, as far as that is counted."""


class TreePage(NamedTuple):
    """Tasks of a branch in the order of their numbers, and where to go on."""

    twigs: tuple[TreeTask, ...]
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


class KindStateCount(NamedTuple):
    """Tasks of one kind in one state."""

    kind: str
    state: str
    wait: str | None
    """What pending ones wait for (:class:`ramet.model.task.task.Wait`); ``stale`` where a claim's lease expired."""
    tasks: BoundedCount
    mean_depth: float | None
    """Of those looked at; None where nobody looked."""


class WaitReason(NamedTuple):
    """Tasks of one kind in a lineage that wait for their time, by what made them wait."""

    kind: str
    outcome: str | None
    """Of their last attempt: ``snooze``, ``error``, ``returned``, ``lost``; None where there was none yet."""
    reason: str | None
    """What a snooze or a return said; of an error its class."""
    tasks: BoundedCount


class TaskCall(NamedTuple):
    """A reservation of a task, or a charge that came with a settlement. Money is whole nano-dollars."""

    id: str
    fence: int
    """The claim under which it was made."""
    amount: int
    """What was reserved; 0 for a charge."""
    actual: int | None
    """What it cost; None until somebody settled it."""
    reserved_at: float
    """Unix seconds."""
    closed_at: float | None
    """When the end of the task closed it unsettled: its amount counts as spent since then."""
    settled_at: float | None


class TaskCalls(NamedTuple):
    """What one task cost, nano-dollars."""

    calls: int
    """Reservations and charges."""
    spent: int
    reserved: int
    """Held for calls that nobody settled yet."""
    more: bool
    """True when the numbers are those of the first 20,000 calls only."""
    latest: tuple[TaskCall, ...]
    """The newest first."""


class Backlog(NamedTuple):
    """What waits in a queue, or for a resource."""

    name: str
    waiting: BoundedCount
    """Of a queue: tasks that a worker could take now. Of a resource: tasks that wait for it."""
    oldest_at: float | None
    """Since when the longest waiting of those waits, Unix seconds. Only the first in line of each kind and priority
    are compared."""
    oldest: str | None
    """The id of that task."""
    kinds: tuple[str, ...] = ()
    """Of a queue: kinds of the tasks that wait for a worker, by name."""
    held_back: Mapping[str, BoundedCount] = {}
    """Of a queue: pending tasks by what they wait for beside a worker (:class:`ramet.model.task.task.Wait`)."""


class RunningTask(NamedTuple):
    """A task under a claim."""

    id: str
    tracking_id: str
    kind: str
    key: str
    queue: str
    worker: str | None
    """Who claimed it, as it called itself."""
    fence: int
    attempts: int
    claimed_at: float
    """Unix seconds."""
    lease_until: float
    """Unix seconds; in the past when the claim is stale."""


class ActiveClaims(NamedTuple):
    """What is claimed at one moment, by whom."""

    tasks: tuple[RunningTask, ...]
    """Those whose lease ends first come first."""
    workers: Mapping[str, int]
    """All claims, up to :data:`COUNT_MAX`, by the name of whoever has them."""
