"""`ramet limit`, `resources`, `resource` and `workers`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli


def test_limits_are_set_shown_and_lifted(cli: Cli) -> None:
    task, _ = cli.submit("node", {"name": "a"})
    assert cli.good("limit", "kind", "node", "--concurrency", "2") == "kind node: at most 2 at once\n"
    assert cli.good("limit", "queue", "default", "--concurrency", "3", "--reason", "quiet") == (
        "queue default: at most 3 at once\n"
    )
    shown = cli.good("resources")
    assert "node" in shown
    assert "default" in shown
    [told] = cli.documents("limit", "kind", "node", "--concurrency", "none")
    assert told == {"what": "kind", "name": "node", "concurrency": None}
    acts = [(act["act"], act["subject"], act["by"]) for act in cli.documents("audit-log")]
    assert acts == [
        ("limit_kind", "node", "tester"), ("limit_queue", "default", "tester"), ("limit_kind", "node", "tester"),
    ]  # fmt: skip
    cli.work()
    assert cli.documents("explain", task)[0]["task"]["state"] == "success"


def test_a_resource_is_limited_switched_off_and_on(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert cli.good("limit", "resource", "host:*", "--rate", "2", "--burst", "5", "--cooldown", "60") == (
        "resource host:*: 2 a second, bursts of 5; off after 5 failures in a row, for 60 s\n"
    )
    assert cli.good("resource", "open", "host:a", "--reason", "asked us to stop") == "resource host:a is off\n"
    assert cli.good("resource", "open", "host:a") == "resource host:a is off already\n"
    [shown] = cli.documents("resources", "host:a")
    assert [item["opened_reason"] for item in shown["resources"]] == ["asked us to stop"]
    assert "off since" in cli.good("resources")
    assert cli.good("resource", "close", "host:a") == "resource host:a is on\n"
    assert "no task ever named resource nothing" in cli.bad("resources", "nothing")


def test_a_rate_is_given_by_the_minute_and_shown_with_what_is_in_store(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    told = "resource host:*: 30 a minute, bursts of 500; off after 5 failures in a row, until a person closes it\n"
    assert cli.good("limit", "resource", "host:*", "--per-minute", "30", "--burst", "500") == told
    cli.good("resource", "open", "host:a")
    cli.good("resource", "close", "host:a")
    shown = " ".join(cli.good("resources").split())
    assert "30 a minute by its policy; 500 of 500 in store" in shown
    assert "not both" in cli.bad("limit", "resource", "a", "--per-minute", "30", "--rate", "1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kind", "node", "--concurrency", "0"), "give a number of at least 1, or none"),
        (("queue", "q", "--concurrency", "many"), "give a number of at least 1, or none"),
        (("resource", "a*b", "--rate", "1"), "give a name, or a prefix followed by one *"),
        (("kind", "node"), "--concurrency"),
    ],
)
def test_limits_that_make_no_sense_are_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    cli.submit("node", {"name": "a"})
    assert said in cli.bad("limit", *words)


def test_kinds_that_nobody_serves_are_named(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    line = "no worker serves kind node on queue default: 1 live"
    assert line in cli.good("workers")
    assert line in cli.good("status")
    [told] = cli.documents("workers")
    missing = {"queue": "default", "kind": "node", "tasks": 1, "more": False, "waiter": None}
    assert told == {"workers": [], "unserved": [missing]}
