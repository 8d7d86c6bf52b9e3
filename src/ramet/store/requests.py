"""Requests to a store: plain values that callers build, by name; nothing of a dialect shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ramet.model.money import Charge
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.events import Event
from ramet.model.task.task import NewTask
from ramet.model.values import NewBlob

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
    """What payloads of the roots refer to; kept in the same transaction."""
    blob_bytes_max: int = 0
    """Largest sum of the lineage's blobs."""
    on_end: NewTask | None = None
    """The task that runs once after the lineage has ended; its payload will be the totals."""
    soft_cost: int | None = None
    allow_shapes: Sequence[str] = ()
    """As :func:`ramet.model.keys.allowed_shapes` reads them."""
    generation: int = 0
    """Of a lineage that a handler begins: one more than that of its own lineage."""


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


class ClaimRequest(NamedTuple):
    """What a worker can take."""

    worker: str
    queues: Sequence[str]
    kinds: Sequence[str]
    limit: int
    lease_seconds: float
    pulled: bool = False
    """Also tasks of pulled kinds; without it only those that are ending."""
