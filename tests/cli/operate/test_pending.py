"""`ramet reprioritise` and `ramet reschedule`: refused in one line, recorded with who and why."""

from __future__ import annotations

import time

import pytest

from tests.cli.conftest import Cli


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reprioritise", "nope", "3"], "no task nope"),
        (["reprioritise", "nope", "1000000"], "priority is 1000000"),
        (["reschedule", "nope", "--in", "3"], "no task nope"),
        (["reschedule", "nope"], "give either --at with a date and time, or --in with seconds"),
        (["reschedule", "nope", "--in", "3", "--at", "2030-01-01"], "give either --at"),
        (["reschedule", "nope", "--at", "tomorrow"], "'tomorrow' is not a date and time: give one like"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, words: list[str], said: str) -> None:
    cli.submit("node", {"name": "a"})
    assert said in cli.bad(*words)


def test_an_ended_task_is_refused_with_words(cli: Cli) -> None:
    task, _ = cli.submit("node", {"name": "a"})
    cli.work()
    assert "has ended: only a pending task can be rescheduled" in cli.bad("reschedule", task, "--in", "3")


def test_priority_and_time_are_changed_and_recorded(cli: Cli) -> None:
    task, line = cli.submit("node", {"name": "a"})
    assert cli.good("reprioritise", task, "7", "--reason", "first") == f"task {task} has priority 7; it had 0\n"
    [found] = cli.documents("reschedule", task, "--in", "500", "--reason", "later")
    assert found["available_at"] > time.time() + 400
    assert cli.good("reschedule", task, "--at", "2019-01-01T10:00").startswith(f"task {task} may be claimed from ")
    acts = cli.documents("audit-log", line)
    assert [(act["by"], act["act"], act["reason"]) for act in acts[:3]] == [
        ("tester", "reschedule", None), ("tester", "reschedule", "later"), ("tester", "reprioritise", "first"),
    ]  # fmt: skip
