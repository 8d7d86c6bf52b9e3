"""`ramet block` and `ramet unblock`: what is refused and shown, and the task that comes once a queue has drained."""

from __future__ import annotations

import pytest

from tests.cli.conftest import APP, Cli


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--payload", "1"], "--payload is that of the task of --on-drained: give both"),
        (["--on-drained", "node", "--payload", "{"], "--payload is not JSON"),
    ],
)
def test_bad_input_is_one_line_and_blocks_nothing(cli: Cli, words: list[str], said: str) -> None:
    cli.submit("node", {"name": "a"})
    assert said in cli.bad("block", "default", *words)
    cli.submit("node", {"name": "b"})


def test_a_blocked_queue_refuses_submits_until_it_is_unblocked(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert cli.good("block", "default", "--reason", "the move") == "blocked queue default\n"
    assert cli.good("block", "default") == "queue default is blocked already\n"
    refused = cli.bad("submit", APP, "node", '{"name": "b"}')
    assert refused.startswith("ramet: queue default is blocked for submits by tester: the move; submit into another")
    assert "queue default blocked for submits" in cli.good("status")
    assert cli.documents("unblock", "default") == [{"queue": "default", "unblocked": True}]
    assert cli.good("unblock", "default") == "queue default is not blocked\n"
    cli.submit("node", {"name": "b"})


def test_a_task_comes_once_the_queue_has_drained(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    words = ["--on-drained", "node", "--payload", '{"name": "last"}']
    assert cli.good("block", "default", *words) == "blocked queue default; node is submitted once it has drained\n"
    assert "node is submitted once it has drained" in cli.good("status")
    cli.work()
    assert sorted(task["key"] for task in cli.documents("tasks", "--kind", "node")) == ["a", '{"name":"last"}']
    assert "; drained " in cli.good("status")
