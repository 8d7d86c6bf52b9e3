"""``ramet schedule``: make, look at, pause, run and remove; what cannot be read is one line and status 2."""

from __future__ import annotations

import asyncio

import pytest

from ramet import Lineage
from tests.cli.apps.sample_app import app
from tests.cli.conftest import APP, Cli


def lineage_of(cli: Cli, tracking_id: str) -> Lineage:
    """The row of a lineage."""

    async def look() -> Lineage:
        async with app.client(cli.address, create=False) as client:
            found = await client.lineage(tracking_id)
            assert found is not None
            return found

    return asyncio.run(look())


def add(cli: Cli, *words: str) -> str:
    return cli.good("schedule", "add", "--app", APP, *words)


def test_a_schedule_is_made_listed_paused_resumed_run_and_removed(cli: Cli) -> None:
    said = add(
        cli, "node", '{"name": "hello"}', "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--name", "nightly"
    )
    assert said.startswith("schedule nightly: 30 2 * * * (Europe/Berlin), next ")
    [told] = cli.documents("schedule", "list")
    assert (told["name"], told["kind"], told["state"], told["declared_by"]) == ("nightly", "node", "active", "person")
    assert "nightly" in cli.good("schedule", "list")
    assert cli.good("schedule", "pause", "nightly", "--reason", "too dear") == "schedule nightly is paused\n"
    assert cli.good("schedule", "pause", "nightly") == "schedule nightly was paused already\n"
    assert "paused (too dear)" in cli.good("schedule", "list")
    [slot] = cli.documents("schedule", "run", "nightly", "--reason", "to see")
    assert slot["outcome"] == "manual"
    assert "is not over" in cli.bad("schedule", "run", "nightly")
    cli.work()
    assert [slot["tracking_id"] for slot in cli.documents("schedule", "list", "nightly")] == [slot["tracking_id"]]
    assert "to see" in cli.good("schedule", "list", "nightly")
    assert cli.good("schedule", "resume", "nightly") == "schedule nightly goes on\n"
    assert cli.good("schedule", "remove", "nightly") == "schedule nightly is removed\n"
    assert "there are no schedules" in cli.good("schedule", "list")
    assert [act["act"] for act in cli.documents("audit-log")] == [
        "remove_schedule", "resume_schedule", "run_schedule", "pause_schedule", "put_schedule",
    ]  # fmt: skip


def test_without_times_it_is_every_five_minutes(cli: Cli) -> None:
    assert add(cli, "node", '{"name": "hello"}').startswith("schedule node: every 300 s, next ")


BAD = [
    (["node", '{"name": "x"}', "--cron", "* * *"], "cannot read the cron expression '* * *'"),
    (["node", '{"name": "x"}', "--cron", "0 0 30 2 *"], "cannot read the cron expression"),
    (["node", '{"name": "x"}', "--cron", "@daily", "--every", "5"], "give one of them"),
    (["node", '{"name": "x"}', "--cron", "@daily", "--timezone", "Mars"], "unknown time zone 'Mars'"),
    (["node", '{"name": "x"}', "--every", "0.1"], "give a number of seconds from 1 to"),
    (["node", '{"name": "x"}', "--name", "a b"], "a schedule cannot be called 'a b'"),
    (["node", '{"name": "x"}', "--catch-up", "-1"], "catch_up is -1"),
    (["node", "{"], "is not JSON"),
    (["node", '{"txt": 1}'], "the payload does not fit"),
    (["nothing"], "no kind 'nothing' is registered"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[said for _, said in BAD])
def test_what_cannot_be_is_refused_and_nothing_is_written(cli: Cli, words: list[str], said: str) -> None:
    add(cli, "node", '{"name": "hello"}', "--name", "there")
    assert said in cli.bad("schedule", "add", "--app", APP, *words)
    assert len(cli.documents("schedule", "list")) == 1


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced(cli: Cli) -> None:
    add(cli, "node", '{"name": "hello"}')
    assert "already" in cli.bad("schedule", "add", "--app", APP, "node", '{"name": "hello"}')
    add(cli, "node", '{"name": "hello"}', "--every", "60", "--replace")
    [told] = cli.documents("schedule", "list")
    assert told["every_seconds"] == 60.0


@pytest.mark.parametrize("verb", ["pause", "resume", "remove", "run", "list"])
def test_a_name_that_is_not_there_is_one_line(cli: Cli, verb: str) -> None:
    add(cli, "node", '{"name": "hello"}')
    assert cli.bad("schedule", verb, "nobody") == "ramet: no schedule 'nobody': `ramet schedule list` shows them"


def test_a_schedule_made_by_hand_has_the_limits_that_were_given_in_each_of_its_lineages(cli: Cli) -> None:
    add(
        cli,
        "node",
        '{"name": "hello"}',
        "--name",
        "small",
        "--max-tasks",
        "7",
        "--max-cost",
        "0.5",
        "--max-seconds",
        "60",
    )
    [slot] = cli.documents("schedule", "run", "small")
    lineage = lineage_of(cli, slot["tracking_id"])
    assert (lineage.max_tasks, lineage.max_cost) == (7, 500_000_000)
    assert round(lineage.deadline_at - lineage.created_at) == 60


def test_a_schedule_made_by_hand_may_have_a_preset(cli: Cli) -> None:
    add(cli, "node", '{"name": "hello"}', "--preset", "conservative", "--max-tasks", "9")
    [slot] = cli.documents("schedule", "run", "node")
    lineage = lineage_of(cli, slot["tracking_id"])
    assert (lineage.max_tasks, lineage.max_fan_out, lineage.max_cost) == (9, 500, 10_000_000_000)
