"""``ramet import``: three steps, each told in a few lines; a mistake in one."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import APP, Cli


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """A small queue: a tree, a copy, a circle, an orphan."""
    rows: list[dict[str, Any]] = [
        {"id": "c", "type": "company", "url": "https://x.example", "status": "processing", "parent_item_id": "j"},
        {"id": "j", "type": "job", "url": "https://x.example/1", "status": "done"},
        {"id": "j2", "type": "job", "url": "https://x.example/1", "status": "pending", "parent_item_id": "j"},
        {"id": "s", "type": "job", "url": "self", "parent_item_id": "s"},
        {"id": "o", "type": "job", "url": "o", "parent_item_id": "gone"},
    ]
    path = tmp_path / "old queue.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_check_fill_and_enforce(cli: Cli, queue: Path) -> None:
    lines = [
        "5 tasks from 5 rows, in 3 lineages",
        "arriving as: pending 4, success 1",
        "1 row being processed there: pending here",
        "1 row with a parent that is nowhere: a root, at the depth that the file gives",
        "1 row with the identity of another: kept as history (import_duplicate)",
        "1 row in a circle: kept as history (import_cycle)",
    ]
    assert cli.good("import", str(queue), "--check").splitlines() == [f"would create {lines[0]}", *lines[1:]]
    assert not cli.database.exists()
    filled = cli.good("import", str(queue)).splitlines()
    assert filled == [f"created {lines[0]}", *lines[1:], "next: the same command with --enforce"]
    again = cli.good("import", str(queue)).splitlines()
    assert again[0] == "created 0 tasks, 5 of 5 rows were there already, in 3 lineages"
    assert cli.good("import", str(queue), "--check").splitlines()[0].startswith("would create 0 tasks, 5 of 5 rows")
    closed = cli.good("import", str(queue), "--enforce")
    assert closed == f"all 5 rows of {queue} are sound tasks; the import old queue.jsonl is closed\n"
    assert "is closed: give --name to import more" in cli.bad("import", str(queue))
    assert cli.good("import", str(queue), "--name", "second").startswith("created 0 tasks")
    assert "import_cycle" in cli.good("explain", "s")


def test_a_report_as_json(cli: Cli, queue: Path) -> None:
    [report] = cli.documents("import", str(queue))
    assert (report["step"], report["rows"], report["created"], report["live"]) == ("fill", 5, 5, 2)
    assert report["history"] == {"import_duplicate": 1, "import_cycle": 1}


def test_types_states_columns_and_payloads_are_given_by_options(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE jobs (key, type, status, data)")
        db.execute("INSERT INTO jobs VALUES ('a', 'greeting', 'odd', '{\"text\": \"hello\"}')")
        db.execute("CREATE TABLE other (key)")
    db.close()
    words = ["import", str(path), "--table", "jobs", "--column", "key=id", "--payload", "data", "--kinds", APP]
    assert "row 1 of table jobs (id a)" not in cli.bad(*words)
    assert "say what it means with --status odd=STATE" in cli.bad(*words)
    words += ["--status", "odd=filtered"]
    assert "say which one with --map greeting=KIND" in cli.bad(*words)
    [report] = cli.documents(*words, "--map", "greeting=rejects")
    assert report["states"] == {"filtered": 1}
    [task] = cli.documents("explain", "a")
    assert (task["task"]["kind"], task["task"]["key"], task["task"]["payload"]) == (
        "rejects",
        "hello",
        {"text": "hello"},
    )


def test_a_bad_row_is_named_and_leaves_no_database(cli: Cli, queue: Path) -> None:
    queue.write_text(queue.read_text() + '{"id": "\\u001b[31m", "type": "job", "retry_count": "many"}\n')
    said = cli.bad("import", str(queue))
    assert "line 6" in said
    assert "retry_count is 'many': give a whole number" in said
    assert "\x1b" not in said
    assert not cli.database.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--map", "job"], "--map job is not a pair"), (["--status", "a=b"], "--status: 'b' is not a valid TaskState"),
     (["--column", "a=b"], "--column: there is no field b"), (["--table", "t"], "--table goes with --format sqlite")],
)  # fmt: skip
def test_a_mistake_is_one_line(cli: Cli, queue: Path, words: list[str], message: str) -> None:
    assert message in cli.bad("import", str(queue), *words)
    assert not cli.database.exists()


def test_every_row_that_cannot_be_imported_is_named_before_the_line_that_says_what_to_do(cli: Cli, queue: Path) -> None:
    result = cli.run("import", str(queue), "--format", "csv")
    *rows, last = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, "")
    assert [row.partition(" line ")[2].split()[0].rstrip(":") for row in rows] == ["2", "3", "4", "5"]
    assert rows[0].endswith("does not have 5 fields as the first line has")
    assert last == "ramet: 4 rows cannot be imported, nothing was written: correct them, or give --skip-bad"
    assert not cli.database.exists()


def test_nothing_is_enforced_before_it_was_filled(cli: Cli, queue: Path, backend: str) -> None:
    said = cli.bad("import", str(queue), "--enforce")
    assert ("no database at" if backend == "sqlite" else "it is not in the database") in said


def test_an_import_that_is_not_whole_cannot_be_closed(cli: Cli, queue: Path) -> None:
    cli.good("import", str(queue))
    queue.write_text(queue.read_text() + '{"id": "late", "type": "job"}\n')
    said = cli.bad("import", str(queue), "--enforce")
    assert "line 6 (id late): it is not in the database: run the import again without --enforce" in said
    cli.good("import", str(queue))
    cli.good("import", str(queue), "--enforce")


def test_imported_tasks_are_worked_off_like_any(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("id,type,name,depth,status\nroot,node,r,1,pending\nold,node,r.0,0,success\n")
    words = ["import", str(path), "--kinds", APP]
    assert "the payload does not fit kind node" not in cli.good(*words)
    cli.work()
    [task] = cli.documents("explain", "root")
    assert task["task"]["state"] == "success"
    assert cli.documents("alerts", "check") == []


def test_who_will_stand_in_line_is_told_before_and_after(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    rows: list[dict[str, object]] = [
        {"id": "a", "type": "old", "queueHint": ["doc1"]},
        {"id": "b", "type": "old", "queueHint": ["doc1", "review"]},
        {"id": "c", "type": "old", "queueHint": ["doc1"], "status": "success"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = "2 tasks {} in line on their paths, in the order of the file"
    assert said.format("would stand") in cli.good("import", str(path), "--check").splitlines()
    assert said.format("stand") in cli.good("import", str(path)).splitlines()
    [task] = [task for task in cli.documents("tasks") if task["id"] == "b"]
    assert (task["path"], task["wait"]) == (["doc1", "review"], "ticket")
    path.write_text(json.dumps({"id": "d", "type": "old", "queueHint": [str(n) for n in range(33)]}))
    assert "line 1 (id d): queue_hint: a path of 33 elements is too deep" in cli.bad("import", str(path))


STEPS = ("fetch", "extract", "analyze", "save")


@pytest.fixture
def job_queue(tmp_path: Path) -> Path:
    """A job finder's queue: openings, and companies with a row per step, each the child of the one before."""
    rows: list[dict[str, Any]] = [
        {
            "id": f"job {n}",
            "type": "JOB" if n else "job",
            "url": f"https://boards.example/jobs/{n}",
            "status": "pending",
        }
        for n in range(3)
    ]
    for name, done in (("acme", 4), ("beta", 0)):
        for n, step in enumerate(STEPS):
            row = {
                "id": f"{name} {step}",
                "type": "company",
                "company_sub_task": step,
                "url": f"https://{name}.example/",
            }
            before = {"parent_item_id": f"{name} {STEPS[n - 1]}"} if n else {}
            rows.append(row | before | {"status": "success" if n < done else "pending", "tracking_id": f"line {name}"})
    path = tmp_path / "queue.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_an_app_says_which_kind_a_type_is_and_steps_of_a_company_are_one_task(cli: Cli, job_queue: Path) -> None:
    words = ("import", str(job_queue), "--kinds", "tests.cli.apps.import_app:app")
    [report] = cli.documents(*words)
    assert (report["rows"], report["created"], report["lineages"]) == (11, 11, 5)
    assert report["history"] == {"import_duplicate": 6}
    tasks = [task for state in ("pending", "success") for task in cli.documents("tasks", "--state", state)]
    ours = [task for task in tasks if "#" not in task["key"]]  # What is kept as history has a key of its own.
    assert sorted((task["kind"], task["id"], task["state"]) for task in ours) == [
        ("COMPANY", "acme fetch", "success"),
        ("COMPANY", "beta fetch", "pending"),
        ("LISTING", "job 0", "pending"),
        ("LISTING", "job 1", "pending"),
        ("LISTING", "job 2", "pending"),
    ]
    assert "import_duplicate" in cli.good("explain", "beta save")
    cli.good(*words, "--enforce")


def test_what_the_command_says_of_a_type_goes_before_what_the_app_says(cli: Cli, job_queue: Path) -> None:
    words = ("import", str(job_queue), "--kinds", "tests.cli.apps.import_app:app", "--check")
    refused = cli.run(*words, "--map", "JOB=PAGE")
    assert (refused.exit_code, refused.stderr.count("no kind 'PAGE' is registered")) == (2, 2)
    [report] = cli.documents(*words, "--map", "JOB=COMPANY")
    assert report["rows"] == 11


def test_without_the_app_types_keep_their_names(cli: Cli, job_queue: Path) -> None:
    cli.good("import", str(job_queue))
    assert {task["kind"] for task in cli.documents("tasks", "--state", "pending")} == {"JOB", "job", "company"}
