"""`ramet retry` and `ramet cancel`: recorded with who and why; asked once on a terminal."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.cli.conftest import Cli


def state(cli: Cli, task: str) -> str:
    return str(cli.documents("explain", task)[0]["task"]["state"])


def transitions(cli: Cli, task: str) -> list[tuple[str, str, str | None]]:
    found = cli.documents("explain", task)[0]["transitions"]
    return [(row["name"], row["by"], row["reason"]) for row in found]


def test_retry_revives_and_records_who_and_why(cli: Cli) -> None:
    task, _ = cli.submit("fails", {"text": "x"})
    cli.work()
    assert cli.good("retry", task, "--reason", "the page is back") == "revived 1 task\n"
    assert state(cli, task) == "pending"
    assert transitions(cli, task) == [("revive", "tester", "the page is back")]


def test_retry_of_all_that_failed_leaves_the_rest(cli: Cli) -> None:
    failed, lineage = cli.submit("fails", {"text": "x"})
    other, _ = cli.submit("fails", {"text": "y"})
    cli.work()
    assert cli.good("retry", "--failed", lineage) == f"revived 1 task of lineage {lineage}\n"
    assert (state(cli, failed), state(cli, other)) == ("pending", "failed")
    assert cli.good("retry", "--failed", lineage) == f"no failed task of lineage {lineage}\n"


def test_retry_of_what_needs_none_says_so(cli: Cli) -> None:
    good, _ = cli.submit("node", {"name": "a"})
    bad, _ = cli.submit("fails", {"text": "x"})
    cli.work()
    assert f"task {good} is success" in cli.bad("retry", good)
    result = cli.run("retry", good, bad)
    assert (result.exit_code, result.stdout) == (0, "revived 1 task\n")
    assert f"task {good} is success" in result.stderr


def test_retry_with_one_unknown_id_revives_none(cli: Cli) -> None:
    task, _ = cli.submit("fails", {"text": "x"})
    cli.work()
    assert "no task nope" in cli.bad("retry", task, "nope")
    assert state(cli, task) == "failed"


def test_retry_past_the_deadline_needs_an_extension(cli: Cli) -> None:
    task, lineage = cli.submit("fails", {"text": "x"})
    cli.work()
    cli.change("UPDATE ramet_lineages SET deadline_at = 1.0")
    assert "--extend" in cli.bad("retry", task)
    cli.good("retry", task, "--extend", "600")
    found = cli.documents("status", lineage)[0]
    assert found["lineages"][0]["deadline_at"] == pytest.approx(found["at"] + 600, abs=60)


def test_cancel_a_task_records_who_and_why(cli: Cli) -> None:
    task, _ = cli.submit("node", {"name": "a"}, "--delay", "1000")
    assert cli.good("cancel", task, "--reason", "not needed") == f"cancelled task {task} (node a)\n"
    assert transitions(cli, task) == [("cancel", "tester", "cancelled by tester: not needed")]
    assert "is over already" in cli.good("cancel", task)


def test_cancel_a_tree_covers_what_is_below_it(cli: Cli) -> None:
    root, lineage = cli.submit("node", {"name": "r", "depth": 1, "width": 2})
    cli.work()
    children = cli.documents("tree", root)[0]["roots"][0]["children"]
    assert len(children) == 2
    waiting, _ = cli.submit("node", {"name": "w"}, "--delay", "1000")
    assert "everything below it" in cli.good("cancel", waiting, "--tree")
    assert state(cli, waiting) == "cancelled"
    assert cli.documents("status", lineage)[0]["live"] == 0


def test_cancel_a_lineage_ends_its_tasks_without_any_worker(cli: Cli) -> None:
    task, lineage = cli.submit("node", {"name": "a"}, "--delay", "1000")
    assert cli.good("cancel", "--lineage", lineage) == f"cancelled lineage {lineage} with 1 live task\n"
    assert state(cli, task) == "cancelled"
    [found] = cli.documents("cancel", "--lineage", lineage)
    assert found["cancelled"] is False


@pytest.mark.parametrize(("answer", "cancelled"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks_once(cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: str, cancelled: bool) -> None:
    task, _ = cli.submit("node", {"name": "a"}, "--delay", "1000")
    on_a_terminal(monkeypatch)
    result = cli.run("cancel", task, input=answer)
    assert f"cancel task {task} (node a)?" in result.stderr
    assert (result.exit_code == 0) is cancelled
    assert (state(cli, task) == "cancelled") is cancelled


def test_yes_does_not_ask(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = cli.submit("node", {"name": "a"}, "--delay", "1000")
    on_a_terminal(monkeypatch)
    cli.good("cancel", task, "--yes")


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner's own standard input replaces sys.stdin, so the question itself is answered here."""
    from ramet.cli import operations

    class Terminal:
        def __getattr__(self, name: str) -> Any:
            return (lambda: True) if name == "isatty" else getattr(sys.stdin, name)

    class System:
        stdin = Terminal()

    monkeypatch.setattr(operations, "sys", System)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["retry"], "either task ids, or --failed"),
        (["retry", "a", "--failed", "b"], "either task ids, or --failed"),
        (["retry", "--failed", "nope"], "no lineage nope"),
        (["cancel"], "either a task id, or --lineage"),
        (["cancel", "nope"], "no task nope"),
        (["cancel", "--lineage", "nope"], "no lineage nope"),
        (["cancel", "--lineage", "nope", "--tree"], "--tree goes with a task id"),
    ],
)
def test_misuse_is_one_line(words: list[str], said: str, cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert said in cli.bad(*words)
