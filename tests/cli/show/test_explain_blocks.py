"""``ramet explain`` of a task shows every spawn that it asked for and did not get, why, and what was in the way."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from ramet import Client, Limits, Worker
from tests.cli.apps.explain_app import app
from tests.cli.conftest import Cli

ACME = ("company", "acme")


def submitted(cli: Cli, *payloads: dict[str, Any], limits: Limits | None = None) -> list[str]:
    """Run a lineage of listings to its end, one after the other; returns their ids."""

    async def work() -> list[str]:
        async with app.client(cli.address) as client:
            roots = await client.submit_many(
                [("listing", payload) for payload in payloads], one_lineage=True, tracking_id=None, limits=limits
            )
            await worked_off(client)
            return [root.id for root in roots]

    return asyncio.run(work())


async def worked_off(client: Client) -> None:
    await Worker(app, client, until_idle=True, concurrency=1, poll_seconds=0.02, rng=random.Random(0)).run()


def wishes(*wants: tuple[str, str], keep_edge: bool = True) -> list[dict[str, Any]]:
    """Five listings that want the same."""
    return [{"key": f"l{n}", "wants": wants, "keep_edge": keep_edge} for n in range(5)]


def test_each_of_several_parents_learns_what_was_in_its_way(cli: Cli) -> None:
    ids = submitted(cli, *wishes(ACME))
    told = [cli.documents("explain", task_id)[0]["wanted"] for task_id in ids]
    [held] = cli.documents("tasks", "--kind", "company")
    refused = [wanted for wanted in told if wanted]
    assert len(refused) == 4
    for [wanted] in refused:
        assert (wanted["id"], wanted["kind"], wanted["key"], wanted["state"]) == (held["id"], *ACME, "success")
        assert set(wanted["reasons"]) <= {"in_flight", "done"}
        assert wanted["reasons"]
    shown = [cli.good("explain", task_id) for task_id, wanted in zip(ids, told, strict=True) if wanted]
    assert all(held["id"] in text and "company" in text and "acme" in text for text in shown)


def test_a_task_of_another_lineage_in_the_way_is_named_with_its_lineage(cli: Cli) -> None:
    submitted(cli, {"key": "first", "wants": [ACME]})
    [second] = submitted(cli, {"key": "second", "wants": [ACME]})
    [held] = cli.documents("tasks", "--kind", "company")
    [found] = cli.documents("explain", second)
    [block] = found["blocks"]
    assert (block["reason"], block["winner"], block["count"]) == ("elsewhere", held["id"], 1)
    [wanted] = found["wanted"]
    assert (wanted["id"], wanted["tracking_id"], wanted["reasons"]) == (held["id"], held["tracking_id"], ["elsewhere"])
    shown = cli.good("explain", second)
    why = f"task {held['id']} of lineage {held['tracking_id']} ended as success and still holds this unique key"
    assert why in " ".join(shown.split())
    assert f"{held['id']} of {held['tracking_id']}" in shown


def test_a_narrow_terminal_shows_why_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    [one] = submitted(cli, {"key": "self", "wants": [("listing", "self"), ACME]})
    shown = cli.good("explain", one)
    assert "cycle" in shown
    [block] = cli.documents("explain", one)[0]["blocks"]
    assert (block["reason"], block["winner"]) == ("cycle", one)
    assert one in shown.partition("spawns refused to it (1 key):")[2].replace("\n", "").replace(" ", "")


def test_many_refusals_fit_on_one_screen_and_say_where_the_rest_is(cli: Cli) -> None:
    wants = [("listing", f"child {n}") for n in range(30)]
    [one] = submitted(cli, {"key": "wide", "wants": wants}, limits=Limits(max_fan_out=2))
    shown = cli.good("explain", one)
    assert "spawns refused to it (28 keys):" in shown
    assert "... and 8 more keys: ramet blocks " in shown
    assert len(cli.documents("explain", one)[0]["blocks"]) == 28


def test_refusals_beyond_the_stored_rows_are_told_by_their_number(cli: Cli) -> None:
    wants = [("listing", f"child {n}") for n in range(30)]
    [one] = submitted(cli, {"key": "wide", "wants": wants}, limits=Limits(max_tasks=3))
    [found] = cli.documents("explain", one)
    assert len(found["blocks"]) == 3
    assert found["more_blocks"] == [{"kind": "listing", "reason": "budget", "times": 25}]
    said = "beyond the rows that its lineage may have: listing refused 25 times, reason budget"
    assert said in cli.good("explain", one)


def test_a_key_beyond_the_stored_rows_may_be_one_of_those_that_are_counted_by_parent(cli: Cli) -> None:
    wants = [("listing", f"child {n:02}") for n in range(30)]
    submitted(cli, {"key": "wide", "wants": wants}, limits=Limits(max_tasks=3))
    [lineage] = {row["tracking_id"] for row in cli.documents("tasks", "--kind", "listing")}
    shown = " ".join(cli.good("explain", "listing", "child 29").split())
    assert "no task has this identity; if it was wanted, it is among those below" in shown
    assert "refused beyond the 3 rows that its lineage keeps, counted without keys" in shown
    assert "25 budget max_tasks 3 listing listing wide" in shown
    [found] = cli.documents("explain", "listing", "child 29")
    [counted] = found["unnamed"]
    assert (counted["times"], counted["reason"], counted["parent_key"]) == (25, "budget", "wide")
    assert (counted["rows_max"], counted["limit_name"], counted["limit"]) == (3, "max_tasks", 3)
    assert cli.documents("explain", "listing", "child 02")[0]["unnamed"] == []
    assert "no task and no refused spawn" in cli.bad("explain", "company", "child 29")
    assert "no task and no refused spawn" in cli.bad("explain", "company", "child 29", "--lineage", lineage)


def test_refused_spawns_that_no_row_names_are_listed_by_the_task_that_asked(cli: Cli) -> None:
    wants = [("listing", f"child {n:02}") for n in range(30)]
    submitted(cli, {"key": "wide", "wants": wants}, limits=Limits(max_tasks=3))
    [lineage] = {row["tracking_id"] for row in cli.documents("tasks", "--kind", "listing")}
    assert "25 budget max_tasks 3 listing listing wide" in " ".join(cli.good("blocks", lineage).split())
    shown = " ".join(cli.good("blocks", lineage, "--key", "child 29").split())
    assert "no stored row names such a refusal" in shown
    assert "25 budget max_tasks 3 listing listing wide" in shown
    assert [row.get("times") for row in cli.documents("blocks", lineage)] == [None, None, None, 25]
    assert "no refused spawns like that" in cli.good("blocks", lineage, "--blocked-by", "depth")


def test_who_is_named_by_no_refusal_is_told_where_they_are(cli: Cli) -> None:
    ids = submitted(cli, *wishes(("listing", "l0"), keep_edge=False))
    found = {task_id: cli.documents("explain", task_id)[0] for task_id in ids}
    [lineage] = {row["task"]["tracking_id"] for row in found.values()}
    unnamed = [task_id for task_id in ids[1:] if not found[task_id]["blocks"]]
    assert len(unnamed) == 2
    for task_id in ids:
        tip = f"each with the first and last task that asked: ramet blocks {lineage}"
        assert (tip in cli.good("explain", task_id)) == (task_id in unnamed)
    [block] = [row for row in cli.documents("blocks") if row["reason"] != "cycle"]
    assert block["count"] == 4
