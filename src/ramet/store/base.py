"""The Store protocol: one method per intent, always in batches.

Every method is one transaction. Times inside come from the store's own clock, so that one clock judges leases.
Requests and answers are plain values; nothing of a dialect shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import Block, Task, TaskHistory
from ramet.model.values import NewBlob
from ramet.store.answers import Claimed, Ran, Settled, Submitted, Swept
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
from ramet.store.requests import ClaimRequest, NewLineage, Settlement, Statement


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

    async def cancel(self, task_id: str, *, tree: bool = False, by: str = "client", reason: str | None = None) -> bool:
        """Cancel a task, with ``tree`` also everything below it. False when there was nothing to cancel."""
        ...

    async def cancel_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
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
        """Where a worker that joined keeps what its handlers run (:mod:`ramet.store.processes.running_notes`), so that
        a sweep after its death can tell that from what was only fetched; None where there is no such place."""
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
