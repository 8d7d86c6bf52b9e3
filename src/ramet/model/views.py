"""Views of a large database for pages and commands: answers for which a bounded number of rows is read.

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
"""Most live tasks or lineages of a sort that are counted."""
BRANCH_LOOKS_MAX = 5_000
"""Most roots or children that are read for branches, and for a page of the tree."""
LINEAGE_LOOKS_MAX = 20_000
"""Most tasks of a lineage that are read for its counts."""
FAILED_LOOKS_MAX = 5_000
"""Most failed tasks of a lineage that are counted below its tasks."""
CHILDREN_MAX = 1_000
"""Most children of one task that are counted."""
BELOW_LOOKS_MAX = 50_000
"""Most tasks below those of one page of the tree that are counted together."""
BELOW_ONE_MAX = 20_000
"""Most tasks that are counted below one of them."""
BLOCK_LOOKS_MAX = 5_000
"""Most refused spawns that are read for a page of them."""
DELAYS_MAX = 100
"""Most reasons of waiting that are listed for one lineage."""
CALL_LOOKS_MAX = 20_000
"""Most reservations and charges of one task that are summed up."""
HELD_BACK_LOOKS_MAX = 2_000
"""Most unclaimable tasks of each sort that are read to find their queues."""
FULLEST_LOOKS_MAX = 2_000
"""Most lineages of each state, the newest, that are compared for the fullest."""
LINEAGE_ORDERS = ("newest", "fullest", "deadline")
"""Orders in which lineages can be listed."""


class BoundedCount(NamedTuple):
    """Number of rows, as far as they were counted."""

    number: int
    more: bool = False
    """True when the counting stopped at a bound: there are at least ``number``."""


class LiveCounts(NamedTuple):
    """Counts of live tasks, and of the things that they wait for, at one moment."""

    at: float
    """Unix seconds by the store's clock."""
    processing: int
    """Current claims; at most :data:`COUNT_MAX` are counted, and the workers' slots bound them."""
    stale: int
    """Number of these claims whose lease expired."""
    oldest_lease_until: float | None
    """The end of the lease that ends first, Unix seconds; in the past when it is stale."""
    oldest_claimed_at: float | None
    """Begin of the claim that is held for longest, Unix seconds."""
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
    """Number of firing alerts, at most :data:`COUNT_MAX`."""
    breakers_open: int
    """Number of open breakers, at most :data:`COUNT_MAX`."""
    next_due_at: float | None
    """Moment at which the next delayed task becomes claimable, Unix seconds."""
    joined: Mapping[str, int]
    """Tasks that wait for other tasks (``waits["tasks"]``), by kind."""


class ProblemCounts(NamedTuple):
    """Problems at one moment, for the frame of every page."""

    failed: int
    """Tasks that failed within the last hour."""
    alerts_firing: int
    """Number of firing alerts, at most :data:`COUNT_MAX`."""
    stale: int
    """Claims whose lease expired; at most :data:`COUNT_MAX` claims are looked at."""
    breakers_open: int
    """Number of open breakers, at most :data:`COUNT_MAX`."""


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
    """Stored part of a task's work so far, beside its payload and its result."""

    pipeline_state: Json
    """Values gathered by its stages; None before its first checkpoint."""
    progress: Json
    """Progress last reported by its handler; None when it reported none."""
    updated_at: float
    """Unix seconds."""


class KindStateCount(NamedTuple):
    """Tasks of one kind in one state."""

    kind: str
    state: str
    wait: str | None
    """Wait of pending ones (:class:`ramet.model.task.task.Wait`); ``stale`` where a claim's lease expired."""
    tasks: BoundedCount
    mean_depth: float | None
    """Mean depth of the tasks that were read; None where none were."""


class WaitReason(NamedTuple):
    """Tasks of one kind in a lineage that wait for their time, by what made them wait."""

    kind: str
    outcome: str | None
    """Outcome of their last attempt: ``snooze``, ``error``, ``returned``, ``lost``; None where there was none yet."""
    reason: str | None
    """Reason given by a snooze or a return; of an error its class."""
    tasks: BoundedCount


class TaskCall(NamedTuple):
    """A reservation of a task, or a charge that came with a settlement. Money is whole nano-dollars."""

    id: str
    fence: int
    """The claim under which it was made."""
    amount: int
    """Amount reserved, nano-dollars; 0 for a charge."""
    actual: int | None
    """Actual cost, nano-dollars; None until it is settled."""
    reserved_at: float
    """Unix seconds."""
    closed_at: float | None
    """Moment at which the end of the task closed it unsettled: its amount counts as spent since then."""
    settled_at: float | None


class TaskCalls(NamedTuple):
    """Calls of one task and their cost, nano-dollars."""

    calls: int
    """Reservations and charges."""
    spent: int
    reserved: int
    """Amount held for calls that are not settled yet."""
    more: bool
    """True when the numbers are those of the first 20,000 calls only."""
    latest: tuple[TaskCall, ...]
    """The newest first."""


class Backlog(NamedTuple):
    """Backlog of a queue or of a resource."""

    name: str
    waiting: BoundedCount
    """Number of tasks of a queue that a worker could take now, or of tasks that wait for the resource."""
    oldest_at: float | None
    """Since when the longest waiting of those waits, Unix seconds. Only the first in line of each kind and priority
    are compared."""
    oldest: str | None
    """The id of that task."""
    kinds: tuple[str, ...] = ()
    """Kinds of the queue's tasks that wait for a worker, by name."""
    held_back: Mapping[str, BoundedCount] = {}
    """Pending tasks of the queue by what they wait for beside a worker (:class:`ramet.model.task.task.Wait`)."""


class RunningTask(NamedTuple):
    """A task under a claim."""

    id: str
    tracking_id: str
    kind: str
    key: str
    queue: str
    worker: str | None
    """Name of the worker that claimed it."""
    fence: int
    attempts: int
    claimed_at: float
    """Unix seconds."""
    lease_until: float
    """Unix seconds; in the past when the claim is stale."""


class ActiveClaims(NamedTuple):
    """Claims at one moment, by worker."""

    tasks: tuple[RunningTask, ...]
    """Those whose lease ends first come first."""
    workers: Mapping[str, int]
    """Number of claims, up to :data:`COUNT_MAX`, by the name of the worker."""
