"""What people read and write: keys as their payload's text, lists of words with commas, the newest lineage unasked."""

from __future__ import annotations

import asyncio
import json

import pytest

from ramet import App, SubmitResult
from ramet.model.keys import display_key, json_key
from tests.cli.conftest import Cli
from tests.cli.operate.test_guard_commands import submit, work


@pytest.mark.parametrize(
    ("payload", "shown"),
    [("why", "why"), (7, "7"), (1.5, "1.5"), (None, "null"), (["a", 1], '["a",1]'), ('"', '"'), ("", "")],
)
def test_a_key_that_is_a_payload_is_shown_as_the_payload(payload: object, shown: str) -> None:
    assert display_key(json_key({"payload": payload})) == shown


@pytest.mark.parametrize(
    "key",
    ["why", "https://a/", '{"a":1,"payload":"x"}', '{"a":1}', "{}", '{"payload":', '{"payload":x}', '{"payload":"x"'],
)
def test_every_other_key_is_shown_as_it_is(key: str) -> None:
    assert display_key(key) == key
    long = json_key({"payload": "x" * 1_000})
    assert display_key(long) == long, "its end is a digest"


def test_people_see_the_payload_and_programs_the_stored_key(cli: Cli) -> None:
    async def submit() -> SubmitResult:
        async with App().client(cli.address) as client:
            return await client.submit("anything", "why")

    submitted = asyncio.run(submit())
    task_id, lineage = submitted.id, submitted.tracking_id
    stored = '{"payload":"why"}'
    for words in (("tasks",), ("tree", lineage), ("explain", task_id), ("explain", "anything", "why")):
        said = cli.good(*words)
        assert "why" in said
        assert stored not in said, words
        assert json.dumps(stored) in cli.good(*words, "--json"), words


def test_tree_without_an_id_shows_the_newest_lineage_and_says_so(cli: Cli) -> None:
    assert "there is no lineage yet" in cli.bad("tree") if cli.good("migrate") else True
    cli.submit("bare")
    task_id, lineage = cli.submit("node", {"name": "n"})
    first, *rest = cli.good("tree").splitlines()
    assert first == f"the newest lineage, {lineage}; `ramet status` lists them"
    assert rest == cli.good("tree", lineage).splitlines()
    assert cli.documents("tree") == cli.documents("tree", lineage)
    assert task_id in rest[0]


def test_states_and_reasons_take_commas_and_repeats(cli: Cli) -> None:
    failed, _ = cli.submit("fails", {"text": "x"})
    _, lineage = cli.submit("node", {"name": "n", "depth": 1, "width": 1})
    cli.work()
    pending, _ = cli.submit("bare", None, "--delay", "3600")
    for words in (("--state", "failed,pending"), ("--state", "failed", "--state", "pending, failed")):
        assert {one["id"] for one in cli.documents("tasks", *words)} == {failed, pending}
    assert "'ended' is not one of pending, processing" in cli.bad("tasks", "--state", "failed,ended")
    for words in (("--blocked-by", "cycle,budget"), ("--blocked-by", "budget", "--blocked-by", "cycle")):
        assert [one["reason"] for one in cli.documents("blocks", lineage, *words)] == ["cycle"]
    assert cli.documents("blocks", lineage, "--blocked-by", "budget,depth") == []
    assert "is not one of" in cli.bad("blocks", "reoffer", lineage, "--blocked-by", "budget,cycle")
    assert cli.good("blocks", "reoffer", lineage, "--blocked-by", "budget,depth,cost") == "created 0 tasks\n"
    former = cli.run("blocks", "reoffer", lineage, "--reason", "budget,depth", "--reason", "cost")
    assert (former.exit_code, former.stdout) == (0, "created 0 tasks\n")
    assert former.stderr == "--reason is called --blocked-by here: the former name goes with the next release\n"


def test_the_doctor_names_missing_extras_in_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from ramet.cli import database
    from ramet.commands.extras import Extra

    cli.submit("bare")
    cli.work()
    found = [Extra("jobs", ("selectolax",)), Extra("metrics", ()), Extra("wiki", ("ladybug", "numpy"))]
    monkeypatch.setattr(database, "extras", lambda: found)
    said = cli.good("doctor").splitlines()
    assert [line for line in said if "extra" in line] == [
        "note: extras that are not installed: jobs, wiki; for one that you need: pip install 'ramet[NAME]'"
    ]
    told = [one for one in cli.documents("doctor") if one["check"] == "extras"]
    assert [one["what"] for one in told] == ["the extra jobs lacks selectolax", "the extra wiki lacks ladybug, numpy"]


def test_commands_find_a_key_in_any_spelling(cli: Cli) -> None:
    task_id, lineage = submit(cli, "page", "/", url="https://example.com")
    work(cli)
    for key in ("https://example.com/", "https://Example.com"):
        assert [one["id"] for one in cli.documents("tasks", "--kind", "page", "--key", key)] == [task_id]
        assert [one["key"] for one in cli.documents("blocks", lineage, "--key", key)] == ["https://example.com/"]
        [known] = cli.documents("explain", "page", key)
        assert known["key"] == "https://example.com/"


def test_exclude_and_the_stop_list_take_any_spelling(cli: Cli) -> None:
    task_id, _ = submit(cli, "page", url="https://example.com/a")
    [done] = cli.documents("exclude", "page", "HTTPS://example.com/x/../a", "--reason", "not wanted")
    assert done["excluded"] == [task_id]
    [added] = cli.documents("deny-list", "add", "pattern", "https://Example.org")
    assert added["value"] == "https://example.org/"
    assert "is on the stop list" in cli.bad(
        "submit", "tests.cli.apps.guard_app:app", "page", '{"url": "https://example.org"}'
    )
    [removed] = cli.documents("deny-list", "remove", "pattern", "https://Example.org/")
    assert removed["removed"] is True


def test_where_nothing_is_found_commands_say_what_they_compared(cli: Cli) -> None:
    submit(cli, "page")
    for said in (
        cli.good("tasks", "--key", "https://nowhere.com"),
        cli.good("blocks", "--key", "https://nowhere.com"),
        cli.bad("exclude", "page", "https://nowhere.com", "--reason", "no"),
        cli.bad("explain", "page", "https://nowhere.com"),
    ):
        assert "key 'https://nowhere.com' (nor 'https://nowhere.com/'" in " ".join(said.split())
