"""Every command that changes or shows the engine's state: hostile text stays visible text, bad input is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import APP, Cli
from tests.cli.test_hostile import ESCAPES, HIDDEN, MARKUP, ORDINARY, harmless

TEXTS = [ESCAPES.replace("\x00", ""), HIDDEN.replace("\ud800", ""), MARKUP, ORDINARY]


@pytest.mark.parametrize("text", TEXTS)
def test_what_people_write_about_flow_is_shown_harmless(cli: Cli, text: str) -> None:
    name = text.strip()
    task, lineage = cli.submit("node", {"name": text}, "--tracking-id", f"lineage {name}")
    said = ("--reason", name)
    outputs = [
        cli.good("pause", "--queue", f"queue {name}", *said),
        cli.good("pause", "--lineage", lineage, *said),
        cli.good("status"),
        cli.good("explain", task),
        cli.good("resume", "--queue", f"queue {name}", *said),
        cli.good("resume", "--lineage", lineage, *said),
        cli.good("limit", "queue", f"queue {name}", "--concurrency", "3", *said),
        cli.good("limit", "kind", f"kind {name}", "--concurrency", "3", *said),
        cli.good("limit", "resource", f"host:{name.replace('*', '')}", "--rate", "2", *said),
        cli.good("resource", "open", f"host:{name}", *said),
        cli.good("resources"),
        cli.good("resource", "close", f"host:{name}", *said),
    ]
    for output in outputs:
        assert harmless(output), output


@pytest.mark.parametrize("text", TEXTS)
def test_what_people_store_is_shown_harmless_by_every_command(cli: Cli, text: str) -> None:
    name = text.strip()
    _, lineage = cli.submit("node", {"name": text}, "--tracking-id", f"lineage {name}")
    pending, other = cli.submit("node", {"name": "second"})
    said = ("--reason", name)
    outputs = [
        cli.good("deny-list", "add", "pattern", f"x{name}*", *said),
        cli.good("deny-list", "list"),
        cli.good("schedule", "add", "node", '{"name": "s"}', "--app", APP, "--name", "nightly", "--key", f"k {name}"),
        cli.good("schedule", "pause", "nightly", *said),
        cli.good("schedule", "list"),
        cli.good("schedule", "list", "nightly"),
        cli.good("settings", "set", "max_tasks", "50", *said),
        cli.good("settings", "list"),
        cli.good("lineage", "raise", lineage, "--max-tasks", "200000", *said),
        cli.good("costs"),
        cli.good("costs", lineage),
        cli.good("exclude", pending, *said),
        cli.good("explain", pending),
        cli.good("tasks"),
        cli.good("tasks", lineage),
        cli.good("audit-log"),
        cli.good("audit-log", lineage),
        cli.good("workers"),
        cli.good("alerts", "--all"),
        cli.good("blocks", "reoffer", other),
    ]
    for output in outputs:
        assert harmless(output), output
    for words in (
        ["audit-log"],
        ["resources"],
        ["deny-list", "list"],
        ["schedule", "list"],
        ["tasks"],
        ["settings", "list"],
    ):
        output = cli.good(*words, "--json")
        assert output.isascii()
        assert [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("text", TEXTS)
def test_what_an_import_meets_is_shown_harmless(cli: Cli, text: str, tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "type": text,
            "url": text.replace("://", ""),
            "status": "failed",
            "error_details": text,
            "created_at": 1,
        }
    ]
    source = tmp_path / "queue.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert harmless(cli.good("import", str(source), "--check"))
    assert harmless(cli.good("import", str(source)))
    assert harmless(cli.good("explain", "1"))
    source.write_text(json.dumps({"id": text, "type": "a", "status": text}) + "\n", encoding="utf-8")
    assert harmless(cli.bad("import", str(source), "--check", "--name", "other"))


BAD = [
    ["audit-log", "nope"],
    ["audit-log", "--limit", "0"],
    ["alerts", "--lineage", "nope"],
    ["alerts", "--limit", "x"],
    ["alerts", "nope"],
    ["alerts", "check", "now"],
    ["backup", "/nowhere/at/all/copy.db"],
    ["blocks", "reoffer", "nope"],
    ["blocks", "reoffer", "known", "--blocked-by", "cycle"],
    ["costs", "nope"],
    ["exclude", "nope", "--reason", "r"],
    ["exclude", "known-task"],
    ["exclude", "a", "b", "c", "--reason", "r"],
    ["import", "gone.jsonl"],
    ["import", "."],
    ["limit"],
    ["limit", "queue", "crawl"],
    ["limit", "queue", "crawl", "--concurrency", "0"],
    ["limit", "resource", "a*b", "--rate", "1"],
    ["limit", "resource", "a", "--rate", "0"],
    ["limit", "resource", "a", "--rate", "nan"],
    ["limit", "resource", "a", "--rate", "inf"],
    ["limit", "resource", "a", "--burst", "inf"],
    ["limit", "resource", "a", "--cooldown", "nan"],
    ["lineage", "raise", "known"],
    ["lineage", "raise", "nope", "--max-tasks", "9"],
    ["lineage", "raise", "known", "--extend", "nan"],
    ["lineage", "raise", "known", "--max-cost", "inf"],
    ["paths", "--path-json", "x"],
    ["paths", "--path-json", "[null]"],
    ["paths", "--lineage", "nope"],
    ["paths", "a", "--limit", "0"],
    ["pause"],
    ["pause", "--queue", "a", "--lineage", "b"],
    ["pause", "--lineage", "nope"],
    ["resume"],
    ["resume", "--lineage", "nope"],
    ["prune"],
    ["prune", "--older-than", "soon"],
    ["prune", "--older-than", "-1d"],
    ["resources", "nope"],
    ["resource", "open"],
    ["restore", "gone.db"],
    ["schedule", "add", "node", "--app", APP, "--cron", "99 * * * *"],
    ["schedule", "add", "node", "--app", APP, "--every", "0"],
    ["schedule", "add", "node", "--app", APP, "--every", "nan"],
    ["schedule", "add", "node", "--app", APP, "--cron", "@daily", "--every", "60"],
    ["schedule", "add", "node", "--app", APP, "--cron", "@daily", "--timezone", "Nowhere/At_All"],
    ["schedule", "add", "gone", "--app", APP],
    ["schedule", "add", "node", "{", "--app", APP],
    ["schedule", "run", "nope"],
    ["schedule", "pause", "nope"],
    ["schedule", "list", "nope"],
    ["settings", "get", "nope"],
    ["settings", "set", "nope", "1"],
    ["settings", "set", "max_tasks", "many"],
    ["settings", "set", "max_tasks", "-1"],
    ["settings", "set", "task_seconds", "nan"],
    ["settings", "unset", "nope"],
    ["settings", "preset", "reckless"],
    ["stages"],
    ["stages", "node", "x", "y"],
    ["deny-list", "add", "planet", "x"],
    ["deny-list", "add", "host", "a b"],
    ["deny-list", "add", "host", ""],
    ["deny-list", "remove", "host", "example.com"],
    ["tasks", "--state", "asleep"],
    ["tasks", "--limit", "0"],
    ["tasks", "nope"],
    ["tree", "nope"],
    ["reclaim", "now"],
    ["workers", "now"],
    ["doctor", "now"],
]  # fmt: skip


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_bad_input_is_one_line_and_changes_nothing(cli: Cli, words: list[str]) -> None:
    cli.submit("node", {"name": "a"}, "--tracking-id", "known")
    acts, status = cli.good("audit-log", "--json"), cli.documents("status", "known")
    line = cli.bad(*words)
    assert harmless(line)
    assert len(line) < 400
    assert cli.good("audit-log", "--json") == acts
    assert cli.documents("status", "known")[0]["tasks"] == status[0]["tasks"]
