"""Paths on the command line: where a submitted task stands, how that is shown, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ramet import App
from tests.cli.conftest import APP, Cli

NODE = '{"name": "a"}'


def the_task(cli: Cli, task_id: str) -> dict[str, Any]:
    [document] = cli.documents("explain", task_id)
    task: dict[str, Any] = document["task"]
    return task


def rules(cli: Cli) -> list[tuple[Any, ...]]:
    """(path, scope, on_dependency_failure) of all tasks as they are stored."""

    async def read() -> list[tuple[Any, ...]]:
        async with App().client(cli.address, create=False) as client:
            return await client.read("SELECT path, path_scope, on_dependency_failure FROM ramet_tasks ORDER BY seq")

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["--path", "doc1"], ["doc1"]),
        (["--path", "doc1", "--path", "a:b", "--path", ""], ["doc1", "a:b", ""]),
        (["--path-json", '["doc1", "é"]'], ["doc1", "é"]),
        (["--path-json", "[]"], []),
        (["--document-id", "doc1"], ["doc1"]),
        (["--document-id", "doc1", "--reserve-path", "--delay", "3600"], ["doc1"]),
    ],
)
def test_a_task_stands_where_the_command_line_says(cli: Cli, words: list[str], path: list[str]) -> None:
    task_id, _ = cli.submit("node", {"name": "a"}, *words)
    assert the_task(cli, task_id)["path"] == path


def test_scope_and_what_a_failure_means_reach_the_task(cli: Cli) -> None:
    cli.submit("node", {"name": "a"}, "--path", "d", "--path-scope", "lineage", "--on-dependency-failure", "run")
    cli.submit("node", {"name": "b"}, "--path", "d")
    assert rules(cli) == [('["d"]', "lineage", "run"), ('["d"]', None, None)]


def test_all_lines_of_many_stand_on_the_path_that_is_given(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text('{"name": "a"}\n{"name": "b"}\n', encoding="utf-8")
    cli.good("submit", APP, "node", "--many", str(file), "--path", "import", "--path", "1")
    assert [path for path, *_ in rules(cli)] == ['["import","1"]'] * 2


def test_with_rows_each_line_says_for_itself(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows: list[dict[str, Any]] = [
        {"payload": {"name": "a"}, "path": ["doc1", "review"], "on_dependency_failure": "run"},
        {"payload": {"name": "b"}, "document_id": "doc2", "key": "own", "priority": 7, "delay_seconds": 3_600},
        {"payload": {"name": "c"}},
        {"payload": {"name": "d"}, "path": [], "reserve_path": True},
        {"payload": {"name": "e"}, "path": None, "path_scope": "lineage", "queue": "default"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers = cli.documents("submit", APP, "node", "--many", str(file), "--rows", "--path", "all")
    assert rules(cli) == [
        ('["doc1","review"]', None, "run"),
        ('["doc2"]', None, None),
        ('["all"]', None, None),
        (None, None, None),
        ('["all"]', "lineage", None),
    ]
    second = the_task(cli, answers[1]["id"])
    assert (second["key"], second["priority"], second["state"]) == ("own", 7, "pending")


def test_rows_come_after_others_and_are_one_lineage(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows: list[dict[str, Any]] = [
        {"payload": {"name": "b"}, "key": "b", "after": [["node", "a"]]},
        {"payload": {"name": "a"}, "key": "a"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers = cli.documents("submit", APP, "node", "--many", str(file), "--rows")
    assert len({answer["tracking_id"] for answer in answers}) == 1
    assert the_task(cli, answers[0]["id"])["wait"] == "tasks"
    rows[1]["after"] = [["node", "b"]]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    said = cli.bad("submit", APP, "node", "--many", str(file), "--rows")
    assert "tasks wait for each other: node 'b' after node 'a' after node 'b'" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"name": "a"}', "row 2 has no payload: write each line like"),
        ("[1]", "row 2 has no payload"),
        (
            '{"payload": {"name": "a"}, "paht": ["a"]}',
            "row 2 has a field 'paht' that means nothing: give after, delay_",
        ),
        ('{"payload": {"name": "a"}, "path": "doc1"}', "path of row 2 is 'doc1': give list"),
        ('{"payload": {"name": "a"}, "priority": true}', "priority of row 2 is True: give int"),
        ('{"payload": {"name": "a"}, "delay_seconds": -1}', "delay_seconds of row 2 is -1: give 0 or more"),
        ('{"payload": {"name": "a"}, "delay_seconds": 1e999}', "delay_seconds of row 2 is inf: give 0 or more"),
        ('{"payload": {"name": "a"}, "path": ["a", 1]}', "payload 2 of --many: path element 1 is not a string"),
        ('{"payload": {"name": "a"}, "path_scope": "x"}', "payload 2 of --many: path_scope is 'x', give 'queue' or"),
        ('{"payload": {"name": "a"}, "after": [1]}', "payload 2 of --many: after has 1: give a task id, (kind, key)"),
        (
            '{"payload": {"name": "a"}, "path": ["a"], "document_id": "b"}',
            "payload 2 of --many: path and document_id are both given: leave one out",
        ),
    ],
)
def test_a_row_that_says_nonsense_is_named_and_nothing_is_written(
    cli: Cli, tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(f'{{"payload": {{"name": "a"}}}}\n{line}\n', encoding="utf-8")
    assert said in cli.bad("submit", APP, "node", "--many", str(file), "--rows")
    assert not cli.database.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--path", "a", "--document-id", "b"], "--path and --document-id both give the path of the task: use one"),
        (["--path", "a", "--path-json", "[]"], "--path and --path-json both give the path"),
        (["--path-json", "{"], "--path-json is not JSON"),
        (["--path-json", '"doc1"'], "a path is a list of strings, not 'doc1': write path=['doc1']"),
        (["--path-json", '["a", 1]'], "path element 1 is not a string: give every element as text"),
        (["--path-json", '["a\\u0000"]'], "contains a NUL character: leave it out"),
        (["--path", "x" * 1_025], "a path element of 1025 bytes is too long"),
        ([word for n in range(33) for word in ("--path", str(n))], "a path of 33 elements is too deep"),
        (["--path-scope", "global"], "path-scope"),
        (["--on-dependency-failure", "fail"], "on-dependency-failure"),
        (["--rows"], "--rows says how the lines of --many are to be read"),
    ],
)
def test_what_is_no_path_is_said_in_one_line_and_nothing_is_written(cli: Cli, words: list[str], said: str) -> None:
    assert said in cli.bad("submit", APP, "node", NODE, *words)
    assert not cli.database.exists()


def test_tree_and_tasks_show_the_path_as_people_read_it(cli: Cli) -> None:
    _, tracking_id = cli.submit("node", {"name": "a"}, "--path", "doc1", "--path", "a:b")
    assert "  on doc1:a%3Ab\n" in cli.good("tree", tracking_id)
    heads, line = cli.good("tasks").splitlines()
    assert "path" in heads.split()
    assert "doc1:a%3Ab" in line
    [task] = cli.documents("tasks")
    assert task["path"] == ["doc1", "a:b"]


def test_without_any_path_nothing_of_it_is_shown(cli: Cli) -> None:
    _, tracking_id = cli.submit("node", {"name": "a"})
    assert " on " not in cli.good("tree", tracking_id)
    assert "path" not in cli.good("tasks").splitlines()[0].split()


def test_a_schedule_stands_where_it_was_told(cli: Cli) -> None:
    words = ["--app", APP, "--every", "3600", "--path", "nightly", "--path", "import"]
    [made] = cli.documents("schedule", "add", "node", NODE, *words)
    assert json.loads(made["task"])["path"] == [["nightly", "import"], "queue", "skip", False]
    said = cli.bad("schedule", "add", "node", NODE, "--app", APP, "--name", "other", "--path-json", "[1]")
    assert "path element 1 is not a string" in said
