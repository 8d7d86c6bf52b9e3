"""`ramet pause` and `ramet resume`: what is held, by whom and why."""

from __future__ import annotations

import pytest

from ramet import Client, PathImpact
from tests.cli.conftest import Cli


def test_a_paused_lineage_does_not_run_until_it_goes_on(cli: Cli) -> None:
    task, lineage = cli.submit("node", {"name": "a"})
    assert cli.good("pause", "--lineage", lineage, "--reason", "look first") == (
        f"paused lineage {lineage}: 1 task held, 0 running to their end\n"
    )
    assert f"lineage {lineage} paused" in cli.good("status")
    [explained] = cli.documents("explain", task)
    assert explained["headline"].startswith("its lineage is paused since ")
    assert explained["headline"].endswith(" by tester: look first")
    assert cli.good("resume", "--lineage", lineage) == f"resumed lineage {lineage}: 1 task waiting\n"
    cli.work()
    assert cli.documents("explain", task)[0]["task"]["state"] == "success"
    acts = [(act["act"], act["by"], act["reason"]) for act in cli.documents("audit-log")]
    assert acts == [("resume_lineage", "tester", None), ("pause_lineage", "tester", "look first")]


def test_a_paused_queue_says_so_everywhere(cli: Cli) -> None:
    task, _ = cli.submit("node", {"name": "a"})
    assert cli.good("pause", "--queue", "default") == "paused queue default: 1 task held, 0 running to their end\n"
    assert cli.good("pause", "--queue", "default").startswith("was paused before: queue default")
    assert "queue default paused" in cli.good("status")
    assert cli.documents("explain", task)[0]["headline"].startswith("its queue default is paused since ")
    [told] = cli.documents("resume", "--queue", "default")
    assert told == {"resumed": True, "queue": "default", "tracking_id": None, "waiting": 1, "processing": 0}
    assert cli.good("resume", "--queue", "default") == "queue default is not paused\n"


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_one_of_queue_and_lineage_is_needed_and_must_exist(cli: Cli, verb: str) -> None:
    cli.submit("node", {"name": "a"})
    assert "give either --queue or --lineage" in cli.bad(verb)
    assert "give either --queue or --lineage" in cli.bad(verb, "--queue", "q", "--lineage", "x")
    assert "no lineage nothing" in cli.bad(verb, "--lineage", "nothing")


def test_what_is_over_cannot_be_paused(cli: Cli) -> None:
    _, lineage = cli.submit("node", {"name": "a"})
    cli.work()
    assert f"lineage {lineage} is finished: only a running one can be paused" in cli.bad("pause", "--lineage", lineage)


def test_a_paused_lineage_keeps_its_places_in_line_and_says_who_waits_behind_them(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lineage = cli.submit("node", {"name": "a"}, "--path", "d", "--path", "x")
    assert cli.good("pause", "--lineage", lineage).count("\n") == 1, "nobody else is held back"
    first, _ = cli.submit("node", {"name": "b"}, "--path", "d")
    said = f"was paused before: lineage {lineage}: 1 task held, 0 running to their end\n"
    behind = "1 task of other lineages waits behind its places in line\n"
    assert cli.good("pause", "--lineage", lineage) == said + behind
    cli.submit("node", {"name": "c"}, "--path", "d", "--path", "y")
    cli.submit("node", {"name": "e"}, "--path", "e")
    behind = "2 tasks of other lineages wait behind its places in line\n"
    assert cli.good("pause", "--lineage", lineage) == said + behind
    [told] = cli.documents("pause", "--lineage", lineage)
    assert (told["holds_back"], told["holds_back_more"]) == (2, False)
    assert cli.documents("explain", first)[0]["task"]["wait"] == "path"
    held_back = Client.held_back

    async def at_most_one(client: Client, tracking_id: str) -> PathImpact:
        return await held_back(client, tracking_id, limit=1)

    monkeypatch.setattr(Client, "held_back", at_most_one)
    assert "at least 1 task of other lineages waits behind" in cli.good("pause", "--lineage", lineage)
    cli.good("resume", "--lineage", lineage)
    cli.work()
    assert {task["state"] for task in cli.documents("tasks")} == {"success"}


def test_a_paused_queue_holds_back_nobody_elsewhere(cli: Cli) -> None:
    cli.submit("node", {"name": "a"}, "--path", "d")
    [told] = cli.documents("pause", "--queue", "default")
    assert (told["waiting"], told["holds_back"]) == (1, 0)
