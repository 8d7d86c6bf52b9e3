"""Answers of a store, of copies of it and of the doctor: plain values; nothing of a dialect shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ramet.model.alerts.rules import Alert
from ramet.model.lineage.guard import BlockReason, GlobalHolder
from ramet.model.reasons import NO_FACTS, Fact, block_words, winner_of
from ramet.model.schedule import Schedule
from ramet.model.task.binding import ItemResult
from ramet.model.task.task import Block, Standing, Task
from ramet.store.requests import Cursor


class SubmitResult(NamedTuple):
    """The answer for one submitted root."""

    id: str
    tracking_id: str
    created: bool
    """False when the lineage already had a task of this kind and key, or another one holds the key of a kind with
    ``unique="global"``; ``id`` and ``tracking_id`` are then that task's."""


class StatementResult(NamedTuple):
    """Result of one statement of a transaction."""

    row_count: int
    """Rows changed or given."""
    rows: tuple[tuple[Any, ...], ...] = ()
    """Rows of a SELECT or RETURNING."""


class SpawnResult(NamedTuple):
    """Answer of the guard to one wanted task."""

    id: str | None
    """The new task, or None when blocked."""
    kind: str
    key: str
    reason: BlockReason | None = None
    facts: Mapping[str, Fact] = NO_FACTS
    """The values behind the reason."""

    @property
    def detail(self) -> str:
        """The reason in words; empty when the task was created."""
        return "" if self.reason is None else block_words(self.reason, self.facts)

    @property
    def winner(self) -> str | None:
        """Return the id of the task that holds the identity or closes the cycle."""
        return winner_of(self.facts)


class SettleResult(NamedTuple):
    """The answer to one settlement."""

    seq: int
    state: str | None
    """The state the task is in now; None when the settlement was refused."""
    refused: str | None = None
    spawns: Sequence[SpawnResult] = ()
    reason: str | None = None
    items: Sequence[ItemResult] = ()
    error: str | None = None
    """Error of an attempt that ended in one; also where the database refused the request."""


class ClaimedTask(NamedTuple):
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
    payload_version: int | None = None
    retry: str | None = None
    round: int = 0
    """Number of its joins so far."""
    after: int = 0
    """Number of tasks that it was created after."""


class SweepResult(NamedTuple):
    """Result of one round of maintenance."""

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


class BackupResult(NamedTuple):
    """A copy that was made and checked."""

    path: str
    size: int
    """Bytes."""
    lineages: int
    epoch: int
    """Epoch of a restored database, its own; of a backup, that of the database it was made from."""
    replaced: str | None = None
    """Place of the database that the restored one replaced."""
    left_out: tuple[str, ...] = ()
    """Tables that are not ours and were not copied, because a person said so."""
    carried: tuple[tuple[str, int], ...] = ()
    """Tables that are not ours and were copied, each with its rows. Rows of every table were counted on both sides."""


class Finding(NamedTuple):
    """One thing that is not as it should be."""

    check: str
    severity: str
    """``error``: a promise does not hold or cannot be kept. ``warning``: something is neglected. ``note``: unusual, and
    possibly intended.
    """
    what: str
    do: str
    """Remedy for the operator."""


REPORT = "restore a backup from before, and report what led here with this output"
"""Remedy where a promise does not hold."""


class KeyRecord(NamedTuple):
    """Stored records of a kind and key."""

    tasks: tuple[Task, ...]
    """Tasks that have this identity, those of the newest lineages first."""
    blocks: tuple[Block, ...]
    """Refused spawns of it, the one that was refused last first."""
    holder: GlobalHolder | None
    """Holder of the key over all lineages, for kinds with ``unique="global"``; that task's lineage may be pruned."""
    more: bool
    """There is, or there may be, more than was looked at."""


class ImportPlace(NamedTuple):
    """Place of an existing task in its lineage."""

    id: str
    tracking_id: str
    ancestry_chain: str
    """JSON list."""
    spawn_depth: int
    kind: str
    key: str
    max_spawn_depth: int


class ImportBatchResult(NamedTuple):
    """Result of a batch."""

    created: int
    there: int
    """Tasks that existed already, under their id: nothing was changed."""
    duplicates: tuple[tuple[str, str], ...]
    """(task, task that holds its identity) of those or its unique key, of those that became history because of it."""


class ImportRow(NamedTuple):
    """The record of one import."""

    name: str
    state: str
    """``open`` or ``closed``."""
    rows: int
    created: int
    history: int
    started_at: float
    closed_at: float | None
    by: str


class MonitorStepResult(NamedTuple):
    """Result of one step of the monitor."""

    ran: bool
    """False when it is not time yet, or another worker took this step."""
    more: bool = False
    """True when the look is not finished: another step follows at once."""
    fired: tuple[Alert, ...] = ()
    """Alerts that began to fire in this step."""
    resolved: tuple[Alert, ...] = ()


class SettingRow(NamedTuple):
    """A stored setting."""

    key: str
    value: Any
    value_type: str
    """``int``, ``float``, ``string`` or ``json``; a setting that is ``none`` is JSON's null."""
    description: str
    updated_at: float


class Prunable(NamedTuple):
    """Counts of what could be pruned."""

    lineages: int
    tasks: int
    slots: int
    """Outcomes of slots of schedules, in rows."""


class ReofferResult(NamedTuple):
    """Result of offering blocks again."""

    created: tuple[str, ...]
    """Ids of the new tasks."""
    there_already: int
    """Blocks whose task exists by now, here or, for a unique key, elsewhere."""
    still_blocked: Mapping[str, int]
    """Number of those that the guard refused again, by its reason now; ``parent_unknown`` where the parent is
    unknown.
    """
    after: Cursor | None = None
    """Position to go on from; None when nothing is left to offer."""


class TaskPage(NamedTuple):
    """Tasks in the order of their numbers, or the newest first, and where to go on."""

    tasks: tuple[Task, ...]
    next_after: int | None


class KindCount(NamedTuple):
    """Number of tasks of a kind in a state, with the wait of pending ones; ``stale`` where a claim's lease expired."""

    kind: str
    state: str
    wait: str | None
    tasks: int
    mean_depth: float


class DueSchedules(NamedTuple):
    """Schedules that want looking at, and when the next one will."""

    now: float
    """The store's clock."""
    schedules: tuple[Schedule, ...]
    next_at: float | None
    """Moment at which the next active schedule has a slot; None when there is none."""
