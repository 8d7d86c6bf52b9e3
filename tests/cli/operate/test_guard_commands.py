"""What people do about refused spawns: `exclude`, `lineage raise`, `blocks reoffer`, `deny-list`, `audit-log`."""

from __future__ import annotations

import json

import pytest

from tests.cli.apps.guard_app import app
from tests.cli.conftest import Cli, NoJitter

APP = "tests.cli.apps.guard_app:app"
SITE = "https://example.com"


def submit(cli: Cli, kind: str, *links: str, url: str = f"{SITE}/", options: tuple[str, ...] = ()) -> tuple[str, str]:
    """(task id, tracking id) of a new task."""
    payload = json.dumps({"url": url, "links": [SITE + link for link in links], "keep_edge": True})
    [answer] = cli.documents("submit", APP, kind, payload, *options)
    return answer["id"], answer["tracking_id"]


def work(cli: Cli) -> None:
    app.run(cli.address, poll_seconds=0.01, rng=NoJitter())


# --- raise and reoffer


def test_a_raised_limit_lets_what_it_blocked_be_offered_again(cli: Cli) -> None:
    _, lineage = submit(cli, "page", "/a", "/b", "/c", "/d", options=("--max-tasks", "3"))
    work(cli)
    said = cli.good("lineage", "raise", lineage, "--max-tasks", "5", "--reason", "honest")
    assert said.splitlines() == [
        "max_tasks: 3 -> 5",
        f"2 blocked spawns can be offered again: ramet blocks reoffer {lineage}",
    ]
    assert cli.good("blocks", "reoffer", lineage, "--reason", "honest") == "created 2 tasks\n"
    work(cli)
    [root] = cli.documents("tree", lineage)[0]["roots"]
    assert len(root["children"]) == 4
    assert "offered again" in cli.good("explain", "page", f"{SITE}/d", "--lineage", lineage)
    acts = [(act["act"], act["by"], act["reason"]) for act in cli.documents("audit-log", lineage)]
    assert acts == [("reoffer", "tester", "honest"), ("raise_limits", "tester", "honest")]
    assert "raise_limits" in cli.good("audit-log")
    assert cli.good("blocks", "reoffer", lineage) == "created 0 tasks\n"


def test_offering_tells_what_is_still_blocked_and_what_no_row_remembers(cli: Cli) -> None:
    links = [f"/{letter}" for letter in "abcdefgh"]
    _, lineage = submit(cli, "page", *links, options=("--max-tasks", "3"))
    work(cli)
    [told] = cli.documents("blocks", "reoffer", lineage)
    assert told == {"created": [], "there_already": 0, "still_blocked": {"budget": 3}, "not_remembered": 3}
    assert cli.good("blocks", "reoffer", lineage, "--blocked-by", "budget,depth").splitlines()[1:] == [
        "still blocked, budget: 3",
        "3 more refusals went beyond the rows that the lineage may store, and cannot be offered",
    ]
    assert cli.good("blocks", "reoffer", lineage, "--blocked-by", "depth") == "created 0 tasks\n"


def test_listing_blocks_needs_no_word(cli: Cli) -> None:
    _, lineage = submit(cli, "page", "/a", "/a", "/")
    work(cli)
    assert cli.documents("blocks", lineage) == cli.documents("blocks", "list", lineage)
    assert "cycle" in cli.good("blocks", lineage)
    assert "in_flight" in cli.good("blocks", "--blocked-by", "in_flight", lineage)
    told = cli.good("blocks", "--help", database=False)
    assert all(word in told for word in ("reoffer", "--blocked-by", "--kind", "--key", "--limit", "--json"))


def test_former_names_of_options_are_taken_until_the_next_release(cli: Cli) -> None:
    _, lineage = submit(cli, "page", "/a", "/b", "/c", options=("--max-tasks", "2"))
    work(cli)
    for words, said in (
        (["blocks", lineage, "--reason", "budget"], "--reason is called --blocked-by here"),
        (["blocks", "reoffer", lineage, "--reason", "depth"], "--reason is called --blocked-by here"),
        (["blocks", "reoffer", lineage, "--reason", "depth", "--why", "because"], "--why is called --reason here"),
    ):
        result = cli.run(*words)
        assert result.exit_code == 0
        assert result.stderr.startswith(said)
    assert cli.documents("audit-log", lineage) == [], "nothing is blocked by depth"


def test_honest_pages_of_one_shape_are_let_in_and_the_rest_stays_out(cli: Cli) -> None:
    links = [*(f"/a/{n}" for n in range(3)), *(f"/day/{n}" for n in range(3))]
    _, lineage = submit(cli, "page", *links, options=("--max-shape", "1"))
    work(cli)
    assert cli.documents("status", lineage)[0]["lineages"][0]["outcome"] == "incomplete: 4 refused by trap"
    said = cli.good("lineage", "raise", lineage, "--allow-shape", f"{SITE}/a/#", "--reason", "articles")
    assert said.splitlines()[0] == "allowed: any number of the shape example.com/a/#"
    assert cli.good("lineage", "raise", lineage, "--allow-shape", f"{SITE}/a/#").startswith(f"lineage {lineage} has ")
    assert cli.good("blocks", "reoffer", lineage, "--shape", f"{SITE}/day/#").splitlines() == [
        "created 0 tasks", "still blocked, trap: 2",
    ]  # fmt: skip
    assert cli.good("blocks", "reoffer", lineage, "--kind", "page", "--key", f"{SITE}/a/2") == "created 1 task\n"
    assert cli.good("blocks", "reoffer", lineage, "--shape", f"{SITE}/a/#") == "created 1 task\n"
    work(cli)
    assert "incomplete: 2 refused by trap" in cli.good("status", lineage)
    assert "incomplete: 2 refused by trap" in cli.good("tree", lineage)
    assert cli.documents("status", "--outcome", "clean")[0]["lineages"] == []
    assert cli.documents("status", "--outcome", "incomplete")[0]["lineages"][0]["tracking_id"] == lineage
    allowed = submit(cli, "page", *links, options=("--max-shape", "1", "--allow-shape", f"{SITE}/a/#=2"))[1]
    work(cli)
    assert cli.documents("status", allowed)[0]["refused"]["trap"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lineage", "raise", "nope", "--max-tasks", "5"], "no lineage nope"),
        (["lineage", "raise", "LINE"], "nothing to raise"),
        (["lineage", "raise", "LINE", "--max-tasks", "1"], "max_tasks of lineage"),
        (["lineage", "raise", "LINE", "--max-tasks", "x"], "not a valid integer"),
        (["lineage", "raise", "LINE", "--max-cost", "5"], "without bound already"),
        (["lineage", "raise", "LINE", "--soft-cost", "5"], "without bound already"),
        (["lineage", "raise", "LINE", "--max-cost", "nan"], "is not an amount of dollars"),
        (["lineage", "raise", "LINE", "--max-cost", "1e300"], "is not an amount of dollars"),
        (["lineage", "raise", "LINE", "--max-tasks", "1" + "0" * 30], "give a whole number from 0"),
        (["lineage", "raise", "LINE", "--extend", "nan"], "--extend"),
        (["lineage", "raise", "LINE", "--extend", "inf"], "--extend"),
        (["blocks", "reoffer", "nope"], "no lineage nope"),
        (["blocks", "reoffer", "LINE", "--blocked-by", "cycle"], "'cycle' is not one of depth, branch_budget"),
        (["exclude", "nope", "--reason", "x"], "no task nope"),
        (["exclude", "a", "b", "c", "--reason", "x"], "give a task id, or a kind and a key"),
        (["exclude", "a", "--lineage", "LINE", "--reason", "x"], "--lineage goes with KIND KEY"),
        (["exclude", "page", "nope", "--reason", "x"], "no task of kind 'page', key 'nope'"),
        (["exclude", "a"], "Missing option '--reason'"),
        (["deny-list", "add", "host", "https://example.com/"], "is not a valid host"),
        (["deny-list", "add", "domain", "com"], "not a domain that has others below it"),
        (["deny-list", "add", "site", "a"], "'site' is not one of"),
        (["deny-list", "remove", "host", "example.com"], "is not on the list"),
        (["audit-log", "nope"], "no lineage nope"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(cli: Cli, words: list[str], message: str) -> None:
    _, lineage = submit(cli, "page", options=("--max-tasks", "3"))
    assert message in cli.bad(*[lineage if word == "LINE" else word for word in words])
    assert cli.documents("audit-log") == []


# --- exclude


def test_a_task_is_excluded_by_id_or_by_kind_and_key_and_revived(cli: Cli) -> None:
    one, lineage = submit(cli, "broken", url=f"{SITE}/1")
    two, _ = submit(cli, "broken", url=f"{SITE}/2")
    work(cli)
    assert cli.good("exclude", one, "--reason", "not ours") == "excluded 1 task\n"
    assert cli.documents("exclude", "broken", f"{SITE.upper()}/2", "--reason", "nor this") == [
        {"excluded": [two], "left": {}}
    ]
    told = cli.documents("explain", one)[0]
    assert (told["task"]["state"], told["task"]["reason"]) == ("skipped", "excluded: not ours")
    assert told["transitions"][-1]["by"] == "tester"
    assert "is skipped: only a failed or cancelled one" in cli.bad("exclude", one, "--reason", "again")
    assert cli.good("retry", one) == "revived 1 task\n"
    assert cli.good("exclude", "broken", f"{SITE}/1", "--lineage", lineage, "--reason", "x") == "excluded 1 task\n"


def test_retry_names_the_holder_of_a_unique_key(cli: Cli) -> None:
    first, lineage = submit(cli, "broken")
    work(cli)
    cli.change("UPDATE ramet_uniques SET held_until = 1.0")  # the day has passed
    other, _ = submit(cli, "broken")
    assert other != first
    assert f"task {first} cannot be revived: task {other} of lineage" in cli.bad("retry", first)
    assert f"task {first} cannot be revived: task {other} of lineage" in cli.run("retry", "--failed", lineage).stderr


def test_a_submit_of_a_held_key_names_the_holder(cli: Cli) -> None:
    first = submit(cli, "company")
    assert submit(cli, "company") == first


# --- deny list


def test_the_stop_list_is_kept_by_people_and_refuses_submits(cli: Cli) -> None:
    submit(cli, "page")
    assert cli.good("deny-list", "list") == "the deny list is empty\n"
    assert cli.good("deny-list", "add", "domain", "Example.ORG", "--reason", "robots") == "stopped domain example.org\n"
    assert "is on the list already, added by tester" in cli.good("deny-list", "add", "domain", "example.org")
    [entry] = cli.documents("deny-list", "list")
    assert (entry["entry_type"], entry["value"], entry["reason"]) == ("domain", "example.org", "robots")
    assert "example.org" in cli.good("deny-list", "list")
    refused = cli.bad("submit", APP, "page", '{"url": "https://a.example.org/x"}')
    assert "domain example.org (robots) is on the stop list" in refused
    assert cli.documents("deny-list", "remove", "domain", "example.org") == [
        {"removed": True, "entry_type": "domain", "value": "example.org"}
    ]
    assert cli.good("submit", APP, "page", '{"url": "https://a.example.org/x"}')


# --- edges


def test_tree_and_explain_show_edges_to_existing_tasks(cli: Cli) -> None:
    root, lineage = submit(cli, "page", "/a", "/a", "/")
    work(cli)
    child = cli.documents("tree", lineage)[0]["roots"][0]["children"][0]["task"]["id"]
    links = sorted([child, root])
    assert cli.documents("tree", lineage)[0]["roots"][0]["links"] == links
    shown = cli.good("tree", lineage)
    assert all(f"-> {link}" in shown for link in links)
    assert cli.documents("explain", root)[0]["links"] == links
    told = cli.good("explain", root).partition("also wanted 2 tasks that existed already:")[2].splitlines()
    assert sorted(line.split()[0] for line in told[2:4]) == links
    assert {" ".join(line.split()[2:]) for line in told[2:4]} == {
        "in_flight page https://example.com/a", "cycle page https://example.com/",
    }  # fmt: skip
