"""The Store protocol: one method per intent, always in batches.

Every method is one transaction. Times inside come from the store's own clock, so that one clock judges leases.
Requests and answers are plain values; nothing of a dialect shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ramet.model.binding import ItemAnswer, ItemSettlement
from ramet.model.blobs import NewBlob
from ramet.model.cost import Charge
from ramet.model.events import Event
from ramet.model.guard import BlockReason
from ramet.model.lineage import Lineage
from ramet.model.task import Block, NewTask, Standing, Task, TaskHistory
from ramet.store.base_binding import BindingStore
from ramet.store.base_cost import CostStore
from ramet.store.base_ends import EndsStore
from ramet.store.base_explaining import ExplainingStore
from ramet.store.base_flow import FlowStore
from ramet.store.base_import import ImportStore
from ramet.store.base_monitor import MonitorStore
from ramet.store.base_operations import OperationsStore
from ramet.store.base_paths import PathStore
from ramet.store.base_persons import PersonsStore
from ramet.store.base_queries import KindCount, TaskPage, TaskQuery
from ramet.store.base_schedules import ScheduleStore
from ramet.store.base_tallies import TallyStore
from ramet.store.base_views import ViewStore
from ramet.store.base_waiting import WaitingStore


class NewLineage(NamedTuple):
    """A lineage to create, with its roots."""

    tracking_id: str
    roots: Sequence[NewTask]
    max_spawn_depth: int = 10
    max_tasks: int = 100_000
    max_fan_out: int = 5_000
    lineage_seconds: float = 172_800.0
    retries_per_minute: int = 600
    max_shape: int = 1_000
    max_cost: int | None = None
    blobs: Sequence[NewBlob] = ()
    """What payloads of the roots refer to; kept in the same transaction."""
    blob_bytes_max: int = 0
    """Largest sum of the lineage's blobs."""
    on_end: NewTask | None = None
    """The task that runs once after the lineage has ended; its payload will be the totals."""
    soft_cost: int | None = None
    allow_shapes: Sequence[str] = ()
    """As :func:`ramet.model.shapes.allowed_shapes` reads them."""
    generation: int = 0
    """Of a lineage that a handler begins: one more than that of its own lineage."""


class Submitted(NamedTuple):
    """The answer for one submitted root."""

    id: str
    tracking_id: str
    created: bool
    """False when the lineage already had a task of this kind and key, or another one holds the key of a kind with
    ``unique="global"``; ``id`` and ``tracking_id`` are then that task's."""


class Write(NamedTuple):
    """A statement on a pipeline's own tables that commits with the task. ``?`` stands for parameters."""

    sql: str
    parameters: tuple[Any, ...] = ()


class Settlement(NamedTuple):
    """What a worker asks for under a claim: an end, a checkpoint, progress, or spawns at once."""

    seq: int
    fence: int
    event: Event
    result: str | None = None
    """JSON text; kept when the task ends."""
    spawns: Sequence[NewTask] = ()
    writes: Sequence[Write] = ()
    pipeline_state: str | None = None
    """JSON text; None keeps what is stored."""
    progress: str | None = None
    """JSON text shown to people."""
    lower: tuple[tuple[str, int], ...] = ()
    """Lineage limits to lower first, as (name, value); a value above the present one changes nothing."""
    charge: Charge | None = None
    items: Sequence[ItemSettlement] = ()
    """What becomes of tasks that are bound to this one; each is refused by itself."""
    hold_seconds: float | None = None
    """With an end: how long a unique key stays held, at most the task's ``unique_seconds``."""
    switch_off: str | None = None
    """Opens the breaker of the task's resource, for this reason."""


class Statement(NamedTuple):
    """A statement on a program's own tables for ``ctx.transaction``. ``?`` stands for parameters."""

    sql: str
    parameters: Sequence[Any] = ()
    expect_rows: int | None = None
    """How many rows it must change (or, for a SELECT or RETURNING, give): with another number nothing is kept."""


class Ran(NamedTuple):
    """What one statement of a transaction did."""

    row_count: int
    """Rows changed or given."""
    rows: tuple[tuple[Any, ...], ...] = ()
    """What a SELECT or RETURNING gave."""


class SpawnAnswer(NamedTuple):
    """What the guard said to one wanted task."""

    id: str | None
    """The new task, or None when blocked."""
    kind: str
    key: str
    reason: BlockReason | None = None
    detail: str = ""
    winner: str | None = None


class Settled(NamedTuple):
    """The answer to one settlement."""

    seq: int
    state: str | None
    """The state the task is in now; None when the settlement was refused."""
    refused: str | None = None
    spawns: Sequence[SpawnAnswer] = ()
    reason: str | None = None
    items: Sequence[ItemAnswer] = ()
    error: str | None = None
    """Of an attempt that ended in one; also where the database would not take what was asked for."""


class ClaimRequest(NamedTuple):
    """What a worker can take."""

    worker: str
    queues: Sequence[str]
    kinds: Sequence[str]
    limit: int
    lease_seconds: float
    pulled: bool = False
    """Also tasks of pulled kinds; without it only those that are ending."""


class Claimed(NamedTuple):
    """A task in the hands of a worker."""

    standing: Standing
    id: str
    key: str
    parent_id: str | None
    payload: str
    ancestry_chain: str
    """JSON list of task ids."""
    created_at: float
    pipeline_state: str | None
    max_spawn_depth: int
    path: str | None = None
    """JSON list: path, scope, ``on_dependency_failure`` (:meth:`ramet.model.paths.PathRule.restored`)."""


class Swept(NamedTuple):
    """What one round of maintenance did."""

    due: int = 0
    reclaimed: int = 0
    poisoned: int = 0
    expired: int = 0
    lineages_ended: int = 0
    ended: int = 0
    followed: int = 0
    """Live tasks that the follow-up of an end, a tombstone or a resume has looked at."""
    unbound: int = 0

    @property
    def changed(self) -> bool:
        """True when another round at once may find more."""
        return any(self)


class Store(
    FlowStore,
    PersonsStore,
    BindingStore,
    CostStore,
    ScheduleStore,
    MonitorStore,
    OperationsStore,
    ImportStore,
    WaitingStore,
    EndsStore,
    ExplainingStore,
    PathStore,
    TallyStore,
    ViewStore,
    Protocol,
):
    """What the engine asks of a database. See the package's conformance tests for what each method promises."""

    async def submit(self, lineages: Sequence[NewLineage]) -> list[Submitted]:
        """Create lineages with their roots, all or nothing; durable when it returns. Answers in order of roots.

        Raises:
            LineageExists: a tracking_id is taken by a lineage with other roots.
            Stopped: the stop list covers a root.
        """
        ...

    def submit_within(self, connection: object, lineages: Sequence[NewLineage]) -> list[Submitted]:
        """:meth:`submit` in a transaction that the caller began on its own connection to the same database.

        It runs in the caller's thread, takes effect if and when the caller commits, and wakes nobody: workers look
        again within their poll interval.

        Raises:
            StoreError: the connection is not to this database, or has no open transaction.
        """
        ...

    async def claim(self, request: ClaimRequest) -> list[Claimed]:
        """Take up to ``limit`` tasks, each under a new fence and lease."""
        ...

    async def settle(self, batch: Sequence[Settlement]) -> list[Settled]:
        """Apply what workers ask for under their claims; each is refused by itself when its fence is stale.

        Spawns, writes, state and result of one settlement commit together or not at all.
        """
        ...

    async def put_blob(self, settlement: Settlement, blob: NewBlob, bytes_max: int) -> Settled:
        """Keep a blob in a claim's lineage if the settlement (some progress) is accepted; the same content once.

        Raises:
            StoreError: the lineage's blobs would be over ``bytes_max`` together; nothing was written.
        """
        ...

    async def blob(self, tracking_id: str, sha256: str) -> bytes | None:
        """The content of one of a lineage's blobs."""
        ...

    async def transact(self, settlement: Settlement, statements: Sequence[Statement]) -> tuple[Settled, list[Ran]]:
        """Run statements on a program's own tables if the settlement (a checkpoint) is accepted; all or none.

        Raises:
            TransactionRefused: a statement failed or met another number of rows; nothing was written.
        """
        ...

    async def heartbeat(self, held: Sequence[tuple[int, int]], lease_seconds: float) -> frozenset[int]:
        """Extend the leases of ``(seq, fence)`` claims; returns the numbers of those that are lost."""
        ...

    async def ends(self) -> int:
        """A number that grows whenever a task in hand, a tree or a lineage is ended from outside.

        A worker that sees it grow asks for its claims at once, with :meth:`heartbeat`.
        """
        ...

    async def sweep(self, *, limit: int = 500) -> Swept:
        """One round of maintenance: due, stale, overdue, ended. Safe in any number of workers at once."""
        ...

    async def cancel(self, task_id: str, *, tree: bool, by: str, reason: str | None = None) -> bool:
        """Cancel a task, with ``tree`` also everything below it. False when there was nothing to cancel."""
        ...

    async def cancel_lineage(self, tracking_id: str, *, by: str, reason: str | None = None) -> bool:
        """Cancel a whole lineage in one transaction; its rows follow in batches."""
        ...

    async def revive(
        self,
        task_ids: Sequence[str],
        *,
        by: str,
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> list[str]:
        """Give ended tasks new attempts; returns the ids of those revived.

        Raises:
            StoreError: a lineage's deadline has passed and ``extend_seconds`` was not given.
        """
        ...

    async def get(self, task_id: str) -> Task | None:
        """One task by id."""
        ...

    async def history(self, task_id: str) -> TaskHistory | None:
        """One task with its attempts, recorded transitions and the spawns it was refused."""
        ...

    async def tasks(self, query: TaskQuery) -> TaskPage:
        """List tasks."""
        ...

    async def stale(self, tracking_id: str | None = None, *, limit: int = 100) -> list[Task]:
        """Tasks whose claim outlived its lease and was not reclaimed yet, by number; at most 1,000."""
        ...

    async def has_live(self, kind: str, key: str, tracking_id: str | None = None) -> bool:
        """True while a task of this kind and key is pending or processing, in one lineage or anywhere."""
        ...

    async def lineage(self, tracking_id: str) -> Lineage | None:
        """One lineage row."""
        ...

    async def lineages(self, *, states: Iterable[str] = (), limit: int = 100) -> list[Lineage]:
        """Lineages, newest first."""
        ...

    async def roots(self, tracking_id: str) -> list[Task]:
        """The roots of a lineage (at most 1,000)."""
        ...

    async def child_counts(self, task_ids: Sequence[str]) -> dict[str, int]:
        """How many children each of these tasks has; tasks without any are absent."""
        ...

    async def blocks(self, tracking_id: str, *, limit: int = 1_000, **filters: str) -> list[Block]:
        """Stored refusals of a lineage; ``filters`` by kind, key or reason."""
        ...

    async def block_totals(self, tracking_id: str) -> dict[tuple[str, str], int]:
        """How often spawns of each (kind, reason) were refused in a lineage, beyond stored rows included."""
        ...

    async def counts(self, tracking_id: str | None = None) -> list[KindCount]:
        """Live tasks by kind, state and wait, and ended ones by kind and state."""
        ...

    async def settings(self) -> dict[str, Any]:
        """All stored settings, typed."""
        ...

    async def put_setting(self, key: str, value: Any, value_type: str, description: str) -> None:
        """Store one setting. ``value_type`` is int, float, string or json."""
        ...

    async def ensure_tables(self, statements: Sequence[str]) -> None:
        """Run an app's ``CREATE TABLE IF NOT EXISTS`` statements and keep them, so that copies carry those tables."""
        ...

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a SELECT on a pipeline's own tables."""
        ...

    @property
    def slots_folder(self) -> Path | None:
        """Where a worker that joined keeps what its handlers run (:mod:`ramet.store.slots`), so that a sweep after
        its death can tell that from what was only fetched; None where there is no such place."""
        ...

    def join(self, worker: str, *, unless_joined: bool = False) -> None:
        """Be seen as alive by other processes on this database, and be woken by them, until closed: under one name,
        the last that joined. ``unless_joined`` leaves the one that did before."""
        ...

    async def idle(self, kinds: Sequence[str]) -> bool:
        """True when no task of these kinds is live."""
        ...

    async def any_live(self, kinds: Sequence[str]) -> bool:
        """True when a task of these kinds is live."""
        ...

    async def next_due_at(self) -> float | None:
        """When the next delayed task becomes claimable; None when none is delayed."""
        ...

    async def wait_for_work(self, timeout_seconds: float) -> None:
        """Return as soon as something may have become claimable, or after the time-out."""
        ...

    async def close(self) -> None:
        """Release everything. Leases of this process's claims stay until they expire or are handed back."""
        ...
