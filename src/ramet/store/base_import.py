"""The part of the Store protocol for importing tasks of another queue; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ramet.model.lineage.limits import BALANCED, Limits
from ramet.model.task.task import NewTask


class Arrival(NamedTuple):
    """One task to import, with its place and its past."""

    new: NewTask
    tracking_id: str
    parent_id: str | None
    """In the same lineage, imported before or in the same batch; None for a root."""
    ancestry_chain: tuple[str, ...]
    spawn_depth: int
    max_spawn_depth: int
    """Of the lineage, where it does not exist yet; its other limits are ``limits``."""
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
    told: tuple[str, str] | None = None
    """Their word for the state and what is worth recording: a transition named ``import``."""
    number: int = 0
    """Of its row: in this order tasks with paths take their places in line."""
    limits: Limits = BALANCED
    ended_at: float | None = None
    """When an ended one ended; None: now."""
    held_seconds_max: float | None = None
    """Of an ended one of a kind with ``unique="global"``: how long it holds its key at most; None: as its end gives."""


class ImportPlace(NamedTuple):
    """Where a task hangs that exists already."""

    id: str
    tracking_id: str
    ancestry_chain: str
    """JSON list."""
    spawn_depth: int
    kind: str
    key: str
    max_spawn_depth: int


class Imported(NamedTuple):
    """What became of a batch."""

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


class ImportDone(NamedTuple):
    """What a run of an import did, in rows."""

    rows: int
    """In the file."""
    created: int
    history: int
    """Created as history only: duplicates, cycles, too deep."""


class ImportStore(Protocol):
    """What an import asks of a database."""

    async def import_places(
        self, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()
    ) -> tuple[list[ImportPlace], dict[str, int]]:
        """Which of these tasks exist, and where; and ``max_spawn_depth`` of those lineages that exist."""
        ...

    async def import_tasks(
        self,
        name: str,
        batch: Sequence[Arrival],
        *,
        line_up_at: float | None = None,
        hold_until: float | None = None,
    ) -> Imported:
        """Create tasks with their past, all or none; a task whose id exists is left alone.

        The record of the import ``name``, which must have begun, counts them in the same transaction.

        A live task takes its unique key, or becomes history where another task holds it. An ended one holds it from its
        end on, unless a live task does, or one that holds it longer.

        Counters of lineages and parents stay exact; limits of size and fan-out are raised to what arrives. A pending
        task can be claimed at once, or with ``hold_until`` not before that moment or :meth:`import_release`.
        """
        ...

    async def import_release(self, tracking_id: str, hold_until: float) -> None:
        """Let tasks of a lineage be claimed that were imported with this ``hold_until``."""
        ...

    async def import_line_up(self, rows: Sequence[tuple[int, str]], since: float) -> None:
        """Let imported tasks with paths take their places in line, in the order of their rows: (number, id).

        Those that have done so are left alone.

        Args:
            since: when lining up began; the same for all calls of a run.
        """
        ...

    async def import_begin(self, name: str, by: str) -> ImportRow:
        """The record of an import, made when there is none."""
        ...

    async def import_imports(self) -> list[ImportRow]:
        """All imports, by name."""
        ...

    async def import_end(self, name: str, by: str, did: ImportDone, *, close: bool) -> None:
        """End a run, for the record of people's acts; with ``close`` nothing more can be imported under this name.

        Raises:
            StoreError: the import is closed already.
        """
        ...

    async def import_verify(self, task_ids: Sequence[str]) -> dict[str, str]:
        """What is wrong with these tasks, by id; sound ones are absent.

        A task must exist, with lineage, depth and ancestry that follow from its parent, and an identity row of its own.
        """
        ...

    async def import_recount(self, tracking_ids: Sequence[str]) -> dict[str, str]:
        """Lineages whose counters differ from a recount, by tracking_id, and how."""
        ...
