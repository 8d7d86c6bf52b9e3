"""``ramet settings`` and ``ramet prune``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.fake_package import installed_package


def test_a_setting_is_listed_set_got_and_unset(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert cli.good("settings", "get", "max_tasks") == "100000\n"
    assert cli.good("settings", "list", "--stored") == "nothing is stored: every default holds\n"
    assert cli.good("settings", "set", "max_tasks", "500", "--reason", "too dear") == "limits.max_tasks is 500 tasks\n"
    assert cli.good("settings", "set", "maintenance.retention_days", "none") == "maintenance.retention_days is none\n"
    [tasks, days] = cli.documents("settings", "list", "--stored")
    assert (tasks["name"], tasks["value"], tasks["default"], tasks["unit"]) == (
        "limits.max_tasks",
        500,
        100_000,
        "tasks",
    )
    assert (days["value"], days["default"]) == (None, 30.0)
    assert "limits.max_tasks" in cli.good("settings", "list")
    assert cli.good("settings", "unset", "max_tasks") == "max_tasks is at its default\n"
    assert cli.good("settings", "unset", "max_tasks") == "max_tasks is at its default already\n"
    assert [(act["act"], act["by"]) for act in cli.documents("audit-log")] == [
        ("unset_setting", "tester"), ("set_setting", "tester"), ("set_setting", "tester"),
    ]  # fmt: skip


def test_a_preset_is_stored_and_taken_back(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert "limits.max_chain_depth 1" in cli.good("settings", "preset", "conservative")
    assert cli.good("settings", "get", "task_seconds") == "3600\n"
    assert cli.good("settings", "preset", "balanced") == "preset balanced\n  limits.max_cost $100.00\n"
    assert [item["name"] for item in cli.documents("settings", "list", "--stored")] == ["limits.max_cost"]


BAD = [
    (["set", "max_task", "5"], "no setting 'max_task': did you mean limits.max_tasks"),
    (["get", "lease"], "did you mean worker.lease_seconds?"),
    (["set", "max_tasks", "many"], "limits.max_tasks is 'many': give a whole number of tasks, 1 or more"),
    (["set", "max_tasks", "-1"], "give a whole number of tasks, 1 or more"),
    (["unset", "zzz"], "no setting 'zzz': `ramet settings list` shows all"),
    (["preset", "bold"], "bold"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_what_may_not_be_is_one_line_and_stores_nothing(cli: Cli, words: list[str], said: str) -> None:
    cli.submit("node", {"name": "a"})
    assert said in cli.bad("settings", *words)
    assert cli.documents("settings", "list", "--stored") == []


def test_old_lineages_are_pruned_after_a_dry_run_says_how_much(cli: Cli) -> None:
    cli.submit("node", {"name": "a", "depth": 1})
    cli.submit("node", {"name": "b"})
    cli.work()
    assert cli.good("prune", "--older-than", "1h") == "pruned 0 lineages with 0 tasks\n"
    assert cli.good("prune", "--older-than", "0s", "--dry-run") == "would prune 2 lineages with 4 tasks\n"
    assert cli.documents("prune", "--older-than", "0s") == [{"lineages": 2, "tasks": 4, "pruned": 2}]
    assert cli.good("prune", "--older-than", "0s") == "pruned 0 lineages with 0 tasks\n"


@pytest.mark.parametrize("age", ["", "soon", "30", "-1d", "1e3d", "d"])
def test_an_age_that_cannot_be_read_is_one_line(cli: Cli, age: str) -> None:
    cli.submit("node", {"name": "a"})
    assert "give a number and s, m, h, d or w" in cli.bad("prune", f"--older-than={age}")


@pytest.mark.usefixtures("all_extras")
def test_a_packages_settings_follow_the_engines_in_the_list(cli: Cli, tmp_path: Path) -> None:
    cli.submit("node", {"name": "a"})
    cli.work()
    with installed_package(tmp_path):
        names = [item["name"] for item in cli.documents("settings", "list")]
        assert names[-4:] == ["shop.names", "shop.pages", "shop.price_max", "shop.title"]
        assert names[0].startswith("alerts.")
        listed = cli.documents("settings", "list", "--prefix", "shop.")
        assert [item["name"] for item in listed] == names[-4:]
        assert cli.good("settings", "set", "shop.names", '["ä", "b"]') == 'shop.names is ["ä", "b"]\n'
        assert cli.good("settings", "get", "shop.names") == '["ä", "b"]\n'
        assert "no setting begins with 'shops.'" in cli.bad("settings", "list", "--prefix", "shops.")
        assert "shop.pages: 3 is odd: give an even number" in cli.bad("settings", "set", "shop.pages", "3")
        assert cli.good("doctor") == "all is in order\n"
    assert "no setting 'shop.names'" in cli.bad("settings", "get", "shop.names")


def test_a_long_value_does_not_fill_the_list(cli: Cli, tmp_path: Path) -> None:
    cli.submit("node", {"name": "a"})
    with installed_package(tmp_path):
        cli.good("settings", "set", "shop.names", json.dumps(["x" * 30] * 30))
        listed = cli.good("settings", "list", "--stored")
        assert "…" in listed
        assert max(map(len, listed.splitlines())) < 200
        assert len(cli.good("settings", "get", "shop.names")) > 900


@pytest.mark.usefixtures("all_extras")
def test_the_settings_of_an_app_are_known_where_it_is_named(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    cli.work()
    app = ("--app", "tests.cli.apps.settings_app:app")
    assert "no setting 'own.colour'" in cli.bad("settings", "set", "own.colour", "blue")
    assert cli.good("settings", "set", "own.colour", "blue", *app) == "own.colour is blue\n"
    assert cli.good("settings", "get", "own.colour", *app) == "blue\n"
    assert [item["name"] for item in cli.documents("settings", "list", "--stored", *app)] == ["own.colour"]
    assert cli.documents("settings", "list", "--stored") == []
    assert (
        "where an app declares it: ramet doctor --app APP; else: ramet settings unset own.colour"
        in cli.run("doctor").stdout
    )
    assert cli.good("doctor", *app) == "all is in order\n"
    assert cli.good("settings", "unset", "own.colour", *app) == "own.colour is at its default\n"
