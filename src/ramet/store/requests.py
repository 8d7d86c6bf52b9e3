"""Requests: what callers ask of the Store, as plain values; text that no database holds is refused beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ramet.model.flow.resources import NAME_LENGTH_MAX
from ramet.model.lineage.limits import BALANCED, Limits
from ramet.model.money import Charge
from ramet.model.paths import PathElements
from ramet.model.schedule import Schedule
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.events import Complete, Event
from ramet.model.task.task import NewTask, TaskState
from ramet.model.values import BY_CHARACTERS_MAX, REASON_CHARACTERS_MAX, InvalidText, NewBlob, check_text
from ramet.store.errors import StoreError

Progress = Callable[[int, int], None]
"""Called with how much of how much is copied: pages of a file, rows of a server, where the whole is an estimate."""


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
    """Blobs of the payloads of the roots; kept in the same transaction."""
    blob_bytes_max: int = 0
    """Largest sum of the lineage's blobs."""
    on_end: NewTask | None = None
    """The task that runs once after the lineage has ended; its payload will be the totals."""
    soft_cost: int | None = None
    allow_shapes: Sequence[str] = ()
    """Allowed shapes as :func:`ramet.model.keys.allowed_shapes` reads them."""
    generation: int = 0
    """Generation of a lineage that a handler begins: one more than that of its own lineage."""


class Write(NamedTuple):
    """A statement on a pipeline's own tables that commits with the task. Each ``?`` is a parameter."""

    sql: str
    parameters: tuple[Any, ...] = ()


class Settlement(NamedTuple):
    """Request of a worker under a claim: an end, a checkpoint, progress, or spawns at once."""

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
    """Settlements of tasks that are bound to this one; each is refused by itself."""
    hold_seconds: float | None = None
    """Seconds for which a unique key stays held after an end, at most the task's ``unique_seconds``."""
    switch_off: str | None = None
    """Opens the breaker of the task's resource, for this reason."""
    log: str | None = None
    """Log lines of the attempt that this ends, as JSON: ``lines``, each with time, level, logger and message, and how
    many before them were ``left_out``."""

    @property
    def only_returned(self) -> bool:
        """True when the handler returned, perhaps with a result, and asked for nothing else."""
        event = self.event
        if type(event) is not Complete or event.reason is not None or event.fence != self.fence:
            return False
        return self.hold_seconds is None and not any(self[4:])


class Statement(NamedTuple):
    """A statement on a program's own tables for ``ctx.transaction``. Each ``?`` is a parameter."""

    sql: str
    parameters: Sequence[Any] = ()
    expect_rows: int | None = None
    """Number of rows that it must change (or, for a SELECT or RETURNING, return): with another number nothing is
    kept.
    """


class ClaimRequest(NamedTuple):
    """Tasks that a worker can take."""

    worker: str
    queues: Sequence[str]
    kinds: Sequence[str]
    limit: int
    lease_seconds: float
    pulled: bool = False
    """Also tasks of pulled kinds; without it only those that are ending."""
    path: PathElements = ()
    """Path at or below which tasks are claimed, in each of the queues; empty for any."""


class ImportTask(NamedTuple):
    """One task to import, with its place and its past."""

    new: NewTask
    tracking_id: str
    parent_id: str | None
    """Parent in the same lineage, imported before or in the same batch; None for a root."""
    ancestry_chain: tuple[str, ...]
    spawn_depth: int
    max_spawn_depth: int
    """Depth limit of the lineage, where it does not exist yet; its other limits are ``limits``."""
    state: str
    """``pending``, or a terminal state."""
    reason: str | None
    error: str | None
    attempts: int
    stage: str | None
    pipeline_state: str | None
    """JSON text."""
    path: str | None
    """JSON list of texts; of a live one what ``new`` says."""
    created_at: float
    noted: tuple[str, str] | None = None
    """Their word for the state and what is worth recording: a transition named ``import``."""
    number: int = 0
    """Number of its row: in this order tasks with paths take their places in line."""
    limits: Limits = BALANCED
    ended_at: float | None = None
    """Moment at which an ended one ended; None: now."""
    held_seconds_max: float | None = None
    """Most seconds for which an ended one of a kind with ``unique="global"`` holds its key; None: as its end gives."""


class ImportRunResult(NamedTuple):
    """Result of a run of an import, in rows."""

    rows: int
    """Number of rows in the file."""
    created: int
    history: int
    """Created as history only: duplicates, cycles, too deep."""


class SettingChange(NamedTuple):
    """A setting to store, or to remove so that its default holds again."""

    key: str
    value: Any = None
    value_type: str = "json"
    description: str = ""
    remove: bool = False


Cursor = tuple[str, str, str]
"""Kind, key and reason of the last block that was looked at."""


SEQ_MAX = 2**63 - 1
"""The largest number that a task can have."""


class TaskQuery(NamedTuple):
    """Filter of a list of tasks. Empty fields do not filter; ``limit`` is bounded by the store (1,000)."""

    tracking_id: str | None = None
    states: frozenset[TaskState] = frozenset()
    kind: str | None = None
    key: str | None = None
    min_depth: int | None = None
    parent_id: str | None = None
    limit: int = 100
    after: int = 0
    """Continue behind this task number (see :attr:`TaskPage.next_after`); 0 begins."""
    newest: bool = False
    """List the newest first: each page goes on with smaller numbers."""
    tag: str | None = None

    @property
    def first(self) -> tuple[str, int]:
        """The comparison that a task's number must hold, and with what."""
        return ("<", self.after or SEQ_MAX) if self.newest else (">", self.after)


class SlotPlan(NamedTuple):
    """Due slots of one schedule, as the worker read it."""

    seen: Schedule
    run: Sequence[tuple[float, NewLineage]]
    """Slots to run, ascending, each with the lineage that it becomes."""
    missed: int
    missed_from: float | None
    next_at: float


_CHARACTERS_MAX = {"by": BY_CHARACTERS_MAX, "reason": REASON_CHARACTERS_MAX, "name": NAME_LENGTH_MAX}
"""Argument of a verb that writes -> the longest that it may be."""


class TextRefused(StoreError, InvalidText):
    """An argument cannot be stored, or is too long; nothing was written."""


def check_arguments(verb: Callable[..., Any], *, writes: bool) -> None:
    """Do nothing if a verb's arguments can be bound.

    Raises:
        TextRefused: one holds a NUL or a lone surrogate, or is longer than is kept.
    """
    if not isinstance(verb, partial):
        return
    try:
        for name, value in verb.keywords.items():
            _check(name, value)
            if writes and isinstance(value, str):
                check_text(name, value, characters_max=_CHARACTERS_MAX.get(name))
    except InvalidText as error:
        raise TextRefused(str(error)) from None


_WITHOUT_TEXT = frozenset({type(None), bool, int, float, bytes})


def _check(name: str, value: object) -> None:
    # Rows of new tasks come by here, most of whose fields are numbers or None: an abstract class is asked last.
    if isinstance(value, str):
        check_text(name, value)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            kind = type(inner)
            if kind not in _WITHOUT_TEXT and not (kind is str and inner.isprintable()):
                _check(name, inner)
    elif type(value) not in _WITHOUT_TEXT and isinstance(value, Mapping):
        for key, inner in value.items():
            _check(name, key)
            _check(name, inner)
