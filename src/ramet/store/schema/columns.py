"""The columns of tasks, once: their tables, what is read and what is written are built from these two lists, by name.

A task has a wide row in ``ramet_tasks``, written when it is created and when it ends, and while it lives a hot row in
``ramet_live`` for what changes (docs/decisions/0003). To add a column: docs/guides/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ramet.model.task.task import LIVE, Standing


class Column(NamedTuple):
    """One column of one of the tables."""

    name: str
    sql: str
    """Type and constraints, as both dialects read them."""
    later: bool = False
    """True where it is not written for good with the row: a wide one when the task ends, a hot one by transitions."""
    since: int = 1
    """The version of the schema that added it, at the end of its table."""


WIDE = (
    Column("seq", "INTEGER PRIMARY KEY"),
    Column("id", "TEXT NOT NULL UNIQUE"),
    Column("tracking_id", "TEXT NOT NULL"),
    Column("parent_id", "TEXT"),
    Column("kind", "TEXT NOT NULL"),
    Column("key", "TEXT NOT NULL"),
    Column("queue", "TEXT NOT NULL"),
    Column("priority", "INTEGER NOT NULL"),
    Column("payload", "TEXT NOT NULL"),
    Column("ancestry_chain", "TEXT NOT NULL"),
    Column("spawn_depth", "INTEGER NOT NULL"),
    Column("max_attempts", "INTEGER"),
    Column("max_chain_depth", "INTEGER NOT NULL"),
    Column("task_seconds", "REAL"),
    Column("on_end", "INTEGER NOT NULL"),
    Column("breadth", "INTEGER NOT NULL DEFAULT 0"),
    Column("created_at", "REAL NOT NULL"),
    Column("state", "TEXT", later=True),
    Column("reason", "TEXT", later=True),
    Column("reason_facts", "TEXT", later=True),
    Column("error", "TEXT", later=True),
    Column("fingerprint", "TEXT", later=True),
    Column("result", "TEXT", later=True),
    Column("stage", "TEXT", later=True),
    Column("fence", "INTEGER", later=True),
    Column("attempts", "INTEGER", later=True),
    Column("losses", "INTEGER", later=True),
    Column("snoozes", "INTEGER", later=True),
    Column("chain_depth", "INTEGER", later=True),
    Column("fan_out", "INTEGER", later=True),
    Column("started_at", "REAL", later=True),
    Column("deadline_at", "REAL", later=True),
    Column("finished_at", "REAL", later=True),
    Column("unique_seconds", "REAL"),
    Column("path", "TEXT"),
    Column("path_scope", "TEXT"),
    Column("on_dependency_failure", "TEXT"),
    Column("resource", "TEXT"),
    Column("payload_version", "INTEGER", since=3),
    Column("retry", "TEXT", since=3),
)
"""Columns of ``ramet_tasks``. No index names one that is written later (docs/decisions/0039)."""

HOT = (
    Column("seq", "INTEGER PRIMARY KEY"),
    Column("tracking_id", "TEXT NOT NULL"),
    Column("kind", "TEXT NOT NULL"),
    Column("queue", "TEXT NOT NULL"),
    Column("rank", "INTEGER NOT NULL", later=True),
    Column("spawn_depth", "INTEGER NOT NULL"),
    Column("state", "TEXT NOT NULL CHECK (state IN ('pending', 'processing'))", later=True),
    Column("wait", "TEXT", later=True),
    Column("available_at", "REAL NOT NULL", later=True),
    Column("fence", "INTEGER NOT NULL", later=True),
    Column("lease_until", "REAL NOT NULL", later=True),
    Column("worker", "TEXT", later=True),
    Column("claimed_at", "REAL NOT NULL", later=True),
    Column("started_at", "REAL", later=True),
    Column("task_seconds", "REAL"),
    Column("deadline_at", "REAL", later=True),
    Column("attempts", "INTEGER NOT NULL", later=True),
    Column("max_attempts", "INTEGER"),
    Column("losses", "INTEGER NOT NULL", later=True),
    Column("losses_alone", "INTEGER NOT NULL", later=True),
    Column("snoozes", "INTEGER NOT NULL", later=True),
    Column("chain_depth", "INTEGER NOT NULL", later=True),
    Column("max_chain_depth", "INTEGER NOT NULL"),
    Column("progressed", "INTEGER NOT NULL", later=True),
    Column("fan_out", "INTEGER NOT NULL", later=True),
    Column("stage", "TEXT", later=True),
    Column("on_end", "INTEGER NOT NULL"),
    Column("ending", "TEXT", later=True),
    Column("ending_reason", "TEXT", later=True),
    Column("ending_facts", "TEXT", later=True),
    Column("bound_to", "TEXT", later=True),
    Column("turn", "INTEGER NOT NULL"),
    Column("unique_seconds", "REAL"),
    Column("resource", "TEXT"),
    Column("holds_path", "INTEGER CHECK (holds_path IS NULL OR holds_path = 1 OR state = 'pending')"),
)
"""Columns of ``ramet_live``: the fields of :class:`ramet.model.task.task.Standing`, in their order."""

WIDE_COLUMNS = tuple(column.name for column in WIDE)
BORN_COLUMNS = tuple(column.name for column in WIDE if not column.later)
"""Written when a task is created."""
CLOSED_COLUMNS = tuple(column.name for column in WIDE if column.later)
"""Written when it ends."""
LIVE_COLUMNS: tuple[str, ...] = Standing._fields
LIVE_LIST = ", ".join(LIVE_COLUMNS)
MOVED_COLUMNS = tuple(column.name for column in HOT if column.later)
"""Columns of the hot row that a transition may write."""


_LIVE_STATES = ", ".join(f"'{state}'" for state in sorted(LIVE))


def live_of_lineage(alias: str = "") -> str:
    """Condition on ``ramet_live``: the live tasks of one lineage, its ``tracking_id`` the parameter.

    The states are named because the index begins with them (docs/decisions/0057).
    """
    return f"{alias}state IN ({_LIVE_STATES}) AND {alias}tracking_id = ?"


def definition(columns: Iterable[Column]) -> str:
    """Return the columns of the first version as CREATE TABLE lists them."""
    return ",\n        ".join(f"{column.name} {column.sql}" for column in columns if column.since == 1)


def additions(table: str, columns: Iterable[Column], version: int) -> tuple[str, ...]:
    """Return the statements that add what came with a later version."""
    return tuple(
        f"ALTER TABLE {table} ADD COLUMN {column.name} {column.sql}" for column in columns if column.since == version
    )


def current(name: str) -> str:
    """Return SQL of what a task has now in a column, of ``ramet_tasks t LEFT JOIN ramet_live l``."""
    if name in BORN_COLUMNS or name not in LIVE_COLUMNS:
        return f"t.{name}"
    return f"COALESCE(l.{name}, t.{name})" if name in WIDE_COLUMNS else f"l.{name}"


def picker(given: Sequence[str], wanted: Sequence[str]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return a function that takes the wanted values from a row of the given names; of a name that is given twice, the
    last one.

    Raises:
        KeyError: a wanted name is not given.
    """
    places = {name: at for at, name in enumerate(given)}
    if len(wanted) > 1:
        return itemgetter(*(places[name] for name in wanted))
    only = places[wanted[0]]
    return lambda row: (row[only],)
