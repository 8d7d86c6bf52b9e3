"""`ramet tasks` and `ramet reclaim`: what is listed is what is stored, by what was asked for."""

from __future__ import annotations

import asyncio

import pytest

from ramet import App
from tests.cli.conftest import APP, Cli


def hold(cli: Cli, kind: str, lease_seconds: float) -> str:
    """Claim a task of this kind and forget it; returns its id."""

    async def claim() -> str:
        async with App().client(cli.address) as client:
            [claim] = await client.claim(kind, lease_seconds=lease_seconds)
            return claim.id

    return asyncio.run(claim())


def test_tasks_are_listed_by_what_was_asked_for(cli: Cli) -> None:
    root, lineage = cli.submit("node", {"name": "r", "depth": 2, "width": 2})
    cli.work()
    waiting, other = cli.submit("node", {"name": "later"}, "--delay", "5000")
    assert {row["id"] for row in cli.documents("tasks", other)} == {waiting}
    assert len(cli.documents("tasks", lineage)) == 7
    assert [row["id"] for row in cli.documents("tasks", "--state", "pending")] == [waiting]
    assert len(cli.documents("tasks", "--state", "pending", "--state", "success")) == 8
    assert {row["spawn_depth"] for row in cli.documents("tasks", "--min-depth", "2")} == {2}
    assert [row["id"] for row in cli.documents("tasks", "--key", "r", "--kind", "node")] == [root]
    said = cli.good("tasks", lineage, "--limit", "2")
    assert said.count("success") == 2
    [after] = [line.split()[-1] for line in said.splitlines() if "--after" in line]
    assert len(cli.documents("tasks", lineage, "--after", after)) == 5
    newest = [row["id"] for row in cli.documents("tasks", lineage)]
    oldest = [row["id"] for row in cli.documents("tasks", lineage, "--oldest")]
    assert newest == oldest[::-1]
    assert oldest[0] == root
    assert "due in" in cli.good("tasks", other)
    assert cli.good("tasks", "--state", "filtered") == "no such task\n"


def test_a_stale_claim_is_listed_and_taken_back(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    gone = hold(cli, "node", 0.001)
    cli.submit("node", {"name": "b"})
    kept = hold(cli, "node", 300.0)
    assert [row["id"] for row in cli.documents("tasks", "--stale")] == [gone]
    said = cli.good("tasks", "--stale")
    assert gone in said
    assert kept not in said
    assert cli.good("reclaim") == "reclaimed 1 stale claim\n"
    assert cli.documents("reclaim") == [{"reclaimed": 0}]
    assert cli.good("tasks", "--stale") == "no such task\n"


def test_what_makes_no_sense_is_one_line(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert "--stale" in cli.bad("tasks", "--stale", "--kind", "node")
    assert "no lineage" in cli.bad("tasks", "nowhere")
    assert "not one of" in cli.bad("tasks", "--state", "sleeping")


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_ids_keys_and_errors_are_whole_however_narrow_the_terminal_is(
    cli: Cli, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "https://example.org/" + "a-long-way/" * 12
    failed, lineage = cli.submit("fails", {"text": key})
    cli.work()
    waiting, _ = cli.submit("node", {"name": "later"}, "--delay", "5000")
    monkeypatch.setenv("COLUMNS", str(columns))
    said = cli.good("tasks")
    assert "permanent_error" not in said
    assert said.index(waiting) < said.index(failed), "the newest comes first"
    if columns < 140:
        joined = said.replace("\n", "")
        assert f"fails {key}" in joined
        assert f"Permanent: {key}" in joined
    assert "failed" in said
    assert failed in cli.good("tasks", lineage)


def test_tasks_are_listed_by_their_tag(cli: Cli) -> None:
    tagged, _ = cli.submit("node", {"name": "a"}, "--tag", "red", "--tag", "blue")
    cli.submit("node", {"name": "b"})
    [found] = cli.documents("tasks", "--tag", "red")
    assert (found["id"], found["tags"]) == (tagged, ["blue", "red"])
    assert cli.documents("tasks", "--tag", "green") == []
    assert "a tag" in cli.bad("submit", APP, "node", '{"name": "c"}', "--tag", "x" * 65)
    assert "--stale" in cli.bad("tasks", "--stale", "--tag", "red")


def test_tasks_since_a_moment_are_listed_the_newest_first(cli: Cli) -> None:
    old, _ = cli.submit("node", {"name": "old"})
    cli.change(f"UPDATE ramet_tasks SET created_at = created_at - 7200 WHERE id = '{old}'")
    young = [cli.submit("node", {"name": name})[0] for name in "ab"]
    assert [task["id"] for task in cli.documents("tasks", "--since", "1h")] == young[::-1]
    assert [task["id"] for task in cli.documents("tasks", "--since", "3h", "--newest")] == [*young[::-1], old]
    assert "and more" not in cli.good("tasks", "--since", "1h")
    assert "and more" in cli.good("tasks", "--since", "1h", "--limit", "1")


def test_a_since_that_is_no_moment_or_does_not_go_with_the_order_is_refused(cli: Cli) -> None:
    cli.submit("bare")
    assert "is not a valid moment" in cli.bad("tasks", "--since", "soon")
    assert "--oldest" in cli.bad("tasks", "--since", "1h", "--oldest")
    assert "--stale" in cli.bad("tasks", "--since", "1h", "--stale")
