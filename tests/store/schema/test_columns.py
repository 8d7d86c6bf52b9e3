"""The one table of the columns of tasks says what the values say."""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from pathlib import Path

import pytest

from ramet.model.task.newborn import new_standing
from ramet.model.task.task import NewTask, Standing, Task
from ramet.store.answers import ClaimedTask
from ramet.store.reads.tasks import TASK_LIST, task_of
from ramet.store.schema.columns import BORN_COLUMNS, CLOSED_COLUMNS, HOT, MOVED_COLUMNS, WIDE, current, picker
from ramet.store.sqlite.store import SqliteStore

ONLY_HOT = {"rank", "wait", "available_at", "lease_until", "worker", "claimed_at", "losses_alone", "progressed"} | {
    "ending", "ending_reason", "ending_facts", "bound_to", "turn", "holds_path",
}  # fmt: skip
"""Fields of the standing that end with the task: a revived one starts with new values."""


def test_the_hot_row_is_the_standing_column_for_column() -> None:
    assert tuple(column.name for column in HOT) == Standing._fields


def test_what_the_hot_row_loses_with_the_task_is_named() -> None:
    assert {column.name for column in HOT} - {column.name for column in WIDE} == ONLY_HOT


def test_a_wide_column_is_written_at_birth_or_at_the_end() -> None:
    assert {*BORN_COLUMNS} | {*CLOSED_COLUMNS} == {column.name for column in WIDE}
    assert not {*BORN_COLUMNS} & {*CLOSED_COLUMNS}


def test_no_transition_writes_what_is_said_at_birth() -> None:
    assert not {*MOVED_COLUMNS} & {*BORN_COLUMNS}


def test_the_tables_have_the_columns_in_their_order(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "ramet.db", inline=True).close_now()
    connection = sqlite3.connect(tmp_path / "ramet.db")
    for table, columns in (("ramet_tasks", WIDE), ("ramet_live", HOT)):
        found = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        assert found == [column.name for column in columns]
    connection.close()


def test_what_a_task_has_now_is_of_the_hot_row_while_there_is_one() -> None:
    assert current("key") == "t.key"
    assert current("finished_at") == "t.finished_at"
    assert current("attempts") == "COALESCE(l.attempts, t.attempts)"
    assert current("worker") == "l.worker"


def test_values_are_picked_by_name_and_of_two_the_last() -> None:
    assert picker(("a", "b", "a"), ("b", "a"))((1, 2, 3)) == (2, 3)
    assert picker(("a", "b"), ("b",))((1, 2)) == (2,)
    with pytest.raises(KeyError):
        picker(("a",), ("b",))


def test_every_field_of_a_task_is_read_at_its_own_place() -> None:
    names = [field.name for field in fields(Task)]
    stored = {name: f"value of {name}" for name in names}
    read: dict[str, object] = {"payload": {"a": 1}, "ancestry_chain": ("b",), "state": "pending", "result": None}
    read |= {"path": ("c",), "pulled": True, "tags": ()}
    stored |= {"payload": '{"a": 1}', "ancestry_chain": '["b"]', "state": "pending", "path": '["c"]'}
    row: list[object] = [stored[name] for name in names]
    row[names.index("result")], row[names.index("pulled")] = None, 2
    task = task_of((1, *row, None))
    assert {name: getattr(task, name) for name in names} == stored | read
    assert TASK_LIST.startswith("t.seq, t.id, t.tracking_id")


def test_a_claim_has_what_the_standing_has_not() -> None:
    standing = new_standing(1, "t", NewTask("i", "k", "key", "{}"), 0, 0.0)
    assert not {*ClaimedTask._fields} & {*standing._fields}
