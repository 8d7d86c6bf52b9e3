"""A part of an id is taken where it means one id: by every command, for tasks and lineages, on every store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from ramet.cli.output import shortened
from ramet.store.reads.tasks import ids_like
from ramet.store.session import Session
from tests.cli.conftest import Cli

TASK_COMMANDS = (
    ("explain",),
    ("tree",),
    ("cancel",),
    ("retry",),
    ("exclude", "--reason", "no"),
    ("reprioritise", "5"),
    ("reschedule", "--in", "60"),
)
LINEAGE_COMMANDS = (
    ("status",),
    ("tasks",),
    ("tree",),
    ("costs",),
    ("audit-log",),
    ("blocks", "list"),
    ("blocks", "reoffer"),
    ("lineage", "raise", "--max-tasks", "2000"),
    ("pause", "--lineage"),
    ("paths", "--lineage"),
    ("alerts", "--lineage"),
)


def with_id(words: tuple[str, ...], one: str) -> tuple[str, ...]:
    """The command about this id, which comes after its words and before its options, or at the end."""
    if words[0] == "reprioritise":
        return words[0], one, words[1]
    at = next((at for at, word in enumerate(words) if word.startswith("--") and word != "--lineage"), len(words))
    return *words[:at], one, *words[at:]


def test_a_part_that_several_ids_have_is_refused_and_changes_nothing(cli: Cli) -> None:
    first, second = (cli.submit("node", {"name": name})[0] for name in "ab")
    cli.change(f"UPDATE ramet_tasks SET id = '{second[:-8]}{first[-8:]}' WHERE id = '{second}'")
    said = cli.bad("cancel", first[-8:])
    assert first in said
    assert f"{second[:-8]}{first[-8:]}" in said
    assert "give more" in said
    assert {task["state"] for task in cli.documents("tasks")} == {"pending"}
    assert cli.documents("cancel", first[:-1])


def test_a_part_that_no_id_has_is_an_unknown_id(cli: Cli) -> None:
    cli.submit("bare")
    assert "no task ffffffff" in cli.bad("explain", "ffffffff")
    assert "no lineage ffffffff" in cli.bad("status", "ffffffff")


def test_a_part_of_fewer_than_six_characters_is_no_id(cli: Cli) -> None:
    task, _ = cli.submit("bare")
    assert f"no task {task[-5:]}:" in cli.bad("explain", task[-5:])
    assert task in cli.good("explain", task[-6:])


@pytest.mark.parametrize("words", TASK_COMMANDS, ids=" ".join)
def test_commands_about_a_task_take_the_end_of_its_id(cli: Cli, words: tuple[str, ...]) -> None:
    task, _ = cli.submit("node", {"name": "a"})
    if words[0] == "retry":
        cli.good("cancel", task)
    result = cli.run(*with_id(words, task[-8:]))
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("words", LINEAGE_COMMANDS, ids=" ".join)
def test_commands_about_a_lineage_take_the_end_of_its_id(cli: Cli, words: tuple[str, ...]) -> None:
    _, lineage = cli.submit("node", {"name": "a"})
    result = cli.run(*with_id(words, lineage[-8:]))
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_whole_name_of_a_lineage_goes_before_a_part_of_another(cli: Cli) -> None:
    cli.submit("node", {"name": "a"}, "--tracking-id", "deadbeef")
    cli.submit("node", {"name": "b"}, "--tracking-id", "deadbeef01")
    [found] = cli.documents("status", "deadbeef")
    assert found["tracking_id"] == "deadbeef"


def test_a_key_that_looks_like_a_part_of_an_id_stays_a_key(cli: Cli) -> None:
    task, _ = cli.submit("fails", {"text": "a"}, "--key", "abcdef12")
    assert cli.documents("explain", "fails", "abcdef12")
    assert task in cli.good("explain", "fails", "abcdef12")


def test_ids_are_shortened_to_one_length_that_tells_them_apart() -> None:
    ids = [f"01a21d57-9a93-74f0-9d59-82{number:04x}000000" for number in (1, 2)]
    assert shortened([*ids, "nightly"]) == {one: one[-8:] for one in ids}
    near = ["01a21d57-9a93-74f0-9d59-822002cc9d59", "01a21d57-9a94-74f0-9d58-822002cc9d59"]
    assert set(shortened(near).values()) == {"9-822002cc9d59", "8-822002cc9d59"}


class Plans:
    """A session that tells how its questions would be answered."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.seen: list[str] = []

    def rows(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        self.seen += [row[3] for row in self.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        return []


@pytest.mark.parametrize("of", ["task", "lineage"])
def test_a_part_is_looked_for_in_indexes_alone_without_sorting(tmp_path: Path, of: str) -> None:
    cli = Cli(tmp_path / "plans.db")
    cli.submit("bare")
    with closing(sqlite3.connect(cli.database)) as connection:
        plans = Plans(connection)
        ids_like(cast(Session, plans), "abcdef12", of)
    read = [step for step in plans.seen if "ramet_" in step]
    assert len(read) == 2
    assert all("COVERING INDEX" in step for step in read)
    assert "SEARCH" in read[0]
    assert [step for step in plans.seen if "TEMP B-TREE" in step] == []
