"""`ramet submit`: what it starts, and what it refuses before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import APP, Cli

NODE = '{"name": "a"}'


def the_task(cli: Cli, task_id: str) -> dict[str, object]:
    [document] = cli.documents("explain", task_id)
    task: dict[str, object] = document["task"]
    return task


def test_it_prints_the_task_and_its_lineage(cli: Cli) -> None:
    words = cli.good("submit", APP, "node", NODE).split()
    assert words[::2] == ["task", "lineage"]
    task = the_task(cli, words[1])
    assert (task["kind"], task["key"], task["tracking_id"]) == ("node", "a", words[3])
    assert task["payload"] == {"name": "a", "depth": 0, "width": 2}


def test_options_reach_the_task_and_its_lineage(cli: Cli) -> None:
    limits = ["--max-tasks", "7", "--max-depth", "3", "--max-fan-out", "2", "--max-seconds", "60"]
    limits += ["--max-shape", "5", "--retries-per-minute", "4", "--max-cost", "1.25"]
    limits += ["--soft-cost", "1"]
    words = ["--key", "own", "--priority", "9", "--delay", "3600", "--tracking-id", "mine", *limits]
    task_id, tracking_id = cli.submit("node", {"name": "a"}, *words)
    task = the_task(cli, task_id)
    assert (task["key"], task["priority"], task["wait"], tracking_id) == ("own", 9, "due", "mine")
    [lineage] = cli.documents("status")[0]["lineages"]
    assert (lineage["max_tasks"], lineage["max_spawn_depth"], lineage["max_fan_out"]) == (7, 3, 2)
    assert (lineage["max_shape"], lineage["retries_per_minute"], lineage["max_cost"]) == (5, 4, 1_250_000_000)
    assert lineage["soft_cost"] == 1_000_000_000
    assert lineage["deadline_at"] - lineage["created_at"] == pytest.approx(3_660)


def test_limits_come_from_the_app_unless_a_preset_is_named(cli: Cli) -> None:
    cli.submit("node", {"name": "a"}, "--tracking-id", "app")
    cli.submit("node", {"name": "a"}, "--tracking-id", "preset", "--preset", "aggressive", "--max-depth", "1")
    found = {row["tracking_id"]: row for row in cli.documents("status")[0]["lineages"]}
    assert (found["app"]["max_tasks"], found["app"]["max_spawn_depth"]) == (1_000, 4)
    assert (found["preset"]["max_tasks"], found["preset"]["max_spawn_depth"]) == (1_000_000, 1)


def test_a_payload_comes_from_a_file_or_standard_input(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"name": "from a file: é"}', encoding="utf-8")
    [answer] = cli.documents("submit", APP, "node", f"@{file}")
    assert the_task(cli, answer["id"])["key"] == "from a file: é"
    [answer] = cli.documents("submit", APP, "node", "-", input='{"name": "from a pipe"}')
    assert the_task(cli, answer["id"])["key"] == "from a pipe"


def test_many_are_one_lineage_or_one_each(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text('{"name": "a"}\n\n{"name": "b"}\n{"name": "a"}\n', encoding="utf-8")
    answers = cli.documents("submit", APP, "node", "--many", str(file), "--one-lineage", "--tracking-id", "all")
    assert [answer["created"] for answer in answers] == [True, True, False]
    assert answers[0]["id"] == answers[2]["id"]
    said = cli.good("submit", APP, "node", "--many", str(file))
    assert said == "submitted 3 tasks in 3 lineages\n"
    assert cli.documents("status", "all")[0]["tasks"] == 2


def test_the_same_submit_again_changes_nothing(cli: Cli) -> None:
    first = cli.submit("node", {"name": "a"}, "--tracking-id", "x")
    assert cli.submit("node", {"name": "a"}, "--tracking-id", "x") == first
    assert "was there already" in cli.good("submit", APP, "node", NODE, "--tracking-id", "x")
    assert "choose another tracking_id" in cli.bad("submit", APP, "node", '{"name": "b"}', "--tracking-id", "x")


def test_the_app_may_come_from_an_option_or_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.good("submit", "node", NODE, "--app", APP)
    monkeypatch.setenv("RAMET_APP", APP)
    cli.good("submit", "node", NODE)
    cli.good("submit", "bare")
    cli.good("submit", APP, "bare")
    cli.good("submit", APP, "node", NODE)
    assert cli.documents("status")[0]["tasks"] == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([APP], "give the kind"),
        ([APP, "nope", NODE], "no kind 'nope' is registered"),
        ([APP, "node"], "needs a payload"),
        ([APP, "node", "{"], "is not JSON"),
        ([APP, "node", "{"], """write it like '{"n": 1}'"""),
        ([APP, "node", "orders.csv"], """write it like '"orders.csv"'"""),
        ([APP, "node", "an 'apostrophe'"], """write it like '{"n": 1}'"""),
        ([APP, "node", '{"name": NaN}'], "is not JSON"),
        ([APP, "node", "[" * 100_000], "nested too deeply"),
        ([APP, "node", '{"name": "a", "depth": "x"}'], "depth: "),
        ([APP, "node", '{"name": "  "}'], "the key is empty"),
        ([APP, "node", NODE, "--key", " "], "the key is empty"),
        ([APP, "node", '{"name": "a\\u0000"}'], "ramet: "),
        ([APP, "fails", json.dumps({"text": "x" * 300_000})], "over 262144"),
        ([APP, "bare", "{}"], "takes no payload"),
        ([APP, "node", "@no-such-file"], "cannot read no-such-file"),
        ([APP, "node", NODE, "more"], "single quotes"),
        ([APP, "node", NODE, "--one-lineage"], "--many"),
        ([APP, "node", NODE, "--many", "x"], "does not go with --many"),
        ([APP, "node", "--many", "no-such-file"], "cannot read no-such-file"),
        ([APP, "node", "--many", "/dev/null"], "has no lines"),
        ([APP, "node", "--many", "x", "--key", "k"], "--key does not go"),
        ([APP, "node", "--many", "x", "--tracking-id", "t"], "--one-lineage"),
        ([APP, "node", NODE, "--max-tasks", "0"], "max-tasks"),
        ([APP, "node", NODE, "--delay", "-1"], "delay"),
        ([APP, "node", NODE, "--delay", "inf"], "delay"),
        ([APP, "node", NODE, "--delay", "nan"], "delay"),
        ([APP, "node", NODE, "--delay", "1e300"], "delay"),
        ([APP, "node", NODE, "--delay", "3000000", "--path", "doc", "--reserve-path"], "delay_seconds is 3000000.0"),
        ([APP, "node", NODE, "--priority", "-1000000000000"], "priority is -1000000000000: give a whole number from"),
        ([APP, "node", NODE, "--max-cost", "5 euros"], "--max-cost 5 euros is not an amount of dollars"),
        ([APP, "node", NODE, "--max-shape", "-1"], "max-shape"),
        ([APP, "node", NODE, "--max-tasks", str(10**19)], "max-tasks"),
        (
            [APP, "node", NODE, "--max-cost", "nan"],
            "--max-cost nan is not an amount of dollars: give at most 1,000,000,000",
        ),
        ([APP, "node", NODE, "--max-cost", "-1"], "max-cost"),
        ([APP, "node", NODE, "--soft-cost", "inf"], "--soft-cost inf is not an amount of dollars"),
        (
            [APP, "node", NODE, "--max-cost", "1", "--soft-cost", "2"],
            "--soft-cost is over the hard ceiling: give at most $1.00, or more as --max-cost",
        ),
        ([APP, "node", NODE, "--max-seconds", "nan"], "--max-seconds"),
        ([APP, "node", NODE, "--max-seconds", "inf"], "max-seconds"),
        (["no_such_module:app", "node"], "no module 'no_such_module'"),
        (["tests.cli.apps.sample_app:nope", "node"], "no App named 'nope'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(words: list[str], said: str, cli: Cli) -> None:
    assert said in cli.bad("submit", *words)
    assert not cli.database.exists()


def test_one_bad_line_of_many_stops_them_all(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text('{"name": "a"}\n{"name": 5}\n', encoding="utf-8")
    assert "payload 2 of --many: " in cli.bad("submit", APP, "node", "--many", str(file))
    file.write_text('{"name": "a"}\nnonsense\n', encoding="utf-8")
    assert f"{file} line 2 is not JSON" in cli.bad("submit", APP, "node", "--many", str(file))
    file.write_bytes(b'{"name": "\xff"}\n')
    assert "is not UTF-8" in cli.bad("submit", APP, "node", "--many", str(file))
    assert not cli.database.exists()


def test_a_module_that_breaks_says_where(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_app_module.py").write_text("import ramet\n\nunknown_name\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    line = cli.bad("submit", "broken_app_module:app", "node")
    assert "NameError" in line
    assert "broken_app_module.py:3" in line
