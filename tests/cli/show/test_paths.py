"""`ramet paths`, and what `explain`, `status` and `pause` say of paths: the line as it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from ramet.model.paths import PathRule
from ramet.store.opening import open_store
from tests.cli.conftest import Cli
from tests.cli.test_hostile import ESCAPES, HIDDEN, MARKUP, ORDINARY, harmless
from tests.support.world import SettableClock, World, failing

ID = "01a20015-5754-729c-af1b-f1746f57f3c{}"
"""As long as ids are."""


def do(cli: Cli, steps: Any) -> None:
    """Run steps on the database of the command line, on its own clock."""

    async def run() -> None:
        world = World(open_store(cli.address), SettableClock())
        work: Coroutine[Any, Any, None] = steps(world)
        await work
        await world.store.close()

    asyncio.run(run())


def on(*elements: str, **rule: Any) -> PathRule:
    return PathRule(elements, **rule)


@pytest.fixture
def line(cli: Cli) -> Cli:
    """``doc-1`` runs; ``doc-1:review`` twice and ``doc-1`` wait; ``doc-2`` is free."""

    async def steps(world: World) -> None:
        rules = [on("doc-1"), on("doc-1", "review"), on("doc-1", "review"), on("doc-1"), on("doc-2")]
        tasks = [world.task(id=ID.format(n), path=rule) for n, rule in enumerate(rules)]
        await world.submit(*tasks, tracking_id="docs")
        await world.claim_one()

    do(cli, steps)
    return cli


def cells(output: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    table = output.partition("\n\n")[0]
    return [row.split() for row in table.splitlines()[1:]]


def test_a_line_is_a_table_in_the_order_in_which_it_goes(line: Cli) -> None:
    rows = cells(line.good("paths", "doc-1"))
    assert [row[0] for row in rows] == ["runs", "waits", "waits", "waits"]
    assert [row[1] for row in rows] == ["3", "2", "1", "0"]
    assert [row[4] for row in rows] == ["doc-1", "doc-1:review", "doc-1:review", "doc-1"]
    assert [row[5] for row in rows] == [ID.format(n) for n in range(4)]
    assert [row[6:] for row in rows] == [[], [ID.format(0)], [ID.format(1)], [ID.format(2)]]
    assert [row[5] for row in cells(line.good("paths", "doc-1", "other"))] == [ID.format(0), ID.format(3)]
    assert [row[5] for row in cells(line.good("paths", "--path-json", '["doc-1"]'))] == [row[5] for row in rows]


def test_without_a_path_holders_are_listed(line: Cli) -> None:
    rows = cells(line.good("paths"))
    assert [(row[0], row[1], row[4]) for row in rows] == [("runs", "3", "doc-1"), ("next", "0", "doc-2")]
    assert [row[4] for row in cells(line.good("paths", "--lineage", "docs"))] == ["doc-1", "doc-2"]


def test_there_may_be_more(line: Cli) -> None:
    said = line.good("paths", "doc-1", "--limit", "2")
    assert "... and more: --limit\n" in said
    assert len(line.documents("paths", "doc-1", "--limit", "2")[0]["tasks"]) == 2
    assert "... and more: --limit, or give a path\n" in line.good("paths", "--limit", "1")


def test_all_of_it_for_machines(line: Cli) -> None:
    [found] = line.documents("paths", "doc-1", "review")
    assert (found["path"], found["queue"], found["more"]) == (["doc-1", "review"], None, False)
    first, second = found["tasks"][:2]
    assert (first["state"], first["holds"], first["waits_for"], first["behind"]) == ("processing", True, None, 3)
    assert (second["wait"], second["holds"], second["waits_for"]) == ("path", False, ID.format(0))
    assert found["at"] >= first["since"] > 0


def test_nobody_is_one_clear_line(line: Cli) -> None:
    assert line.good("paths", "doc-9", "a:b") == "no task holds or waits for doc-9:a%3Ab in queue default\n"
    assert line.good("paths", "doc-1", "--queue", "q") == "no task holds or waits for doc-1 in queue q\n"
    assert line.good("paths", "--queue", "q") == "no task holds a path in queue q\n"


def test_watching_ends_when_nobody_is_there(line: Cli) -> None:
    assert line.good("paths", "doc-9", "--watch") == "no task holds or waits for doc-9 in queue default\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--path-json", "[1]"], "path element 1 is not a string"),
        (["--path-json", '"doc"'], "a path is a list of strings"),
        (["--path-json", '{"a": 1}'], "a path is a list of strings"),
        (["--path-json", "["], "--path-json is not valid JSON"),
        (["--path-json", '["\\ud800"]'], "a lone surrogate"),
        (["--path-json", "[]", "doc"], "not both"),
        (["x"] * 33, "too deep: use at most 32"),
        (["--limit", "0"], "--limit"),
        (["--lineage", "nope"], "no lineage nope"),
    ],
)
def test_what_cannot_be_a_path_is_one_line(line: Cli, words: list[str], said: str) -> None:
    assert said in line.bad("paths", *words)


def test_explain_tells_the_line_to_its_end(line: Cli) -> None:
    said = line.good("explain", ID.format(3))
    assert f"it waits for task {ID.format(2)} (page key3) on path doc-1:review, which waits for task" in said
    assert "path doc-1, ticket " in said
    assert ", 3 tasks before it, 0 behind it" in said
    below = said.partition("before it in line:\n")[2].splitlines()
    assert [row.split()[2] for row in below[:3]] == [ID.format(n) for n in (2, 1, 0)]
    assert "runs since" in below[2]
    assert "before it in line" not in line.good("explain", ID.format(1))
    [found] = line.documents("explain", ID.format(3))
    assert [step["task_id"] for step in found["path"]["chain"]["steps"]] == [ID.format(n) for n in (2, 1, 0)]
    assert found["path"]["last"].startswith("runs since ")
    assert found["headline"].startswith(f"it waits for task {ID.format(2)}")


def test_explain_and_status_say_what_a_pause_holds_back(line: Cli) -> None:
    async def others(world: World) -> None:
        await world.submit(world.task(path=on("doc-1", "a")), world.task(path=on("doc-1", "b")), tracking_id="others")

    do(line, others)
    line.good("pause", "--lineage", "docs")
    assert "the pause of its lineage holds back 2 tasks of other lineages" in line.good("explain", ID.format(1))
    waits = [row[-2:] for row in cells(line.good("status").partition("\n\n")[2]) if row[1] == "pending"]
    assert ["its", "path"] in waits


def test_explain_names_the_root_cause_and_what_brings_all_back(cli: Cli) -> None:
    async def steps(world: World) -> None:
        tasks = [world.task(id=f"t{n}", path=on(*"abc"[: n + 1])) for n in range(3)]
        await world.submit(*tasks, tracking_id="docs")
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed))
        await world.sweep()

    do(cli, steps)
    for task_id in ("t1", "t2"):
        said = cli.good("explain", task_id)
        assert "it ended as skipped: dependency_failed: t0" in said
        assert "it was skipped because task t0 (page " in said
        assert "ramet retry t0 brings that one back, and all that were skipped because of it" in said
    assert [cli.documents("explain", "t2")[0]["path"]["cause"]["state"]] == ["failed"]


@pytest.mark.parametrize("text", [ESCAPES.replace("\x00", ""), HIDDEN.replace("\ud800", ""), MARKUP, ORDINARY, ""])
def test_elements_are_shown_harmless(cli: Cli, text: str) -> None:
    async def steps(world: World) -> None:
        await world.submit(
            world.task(id="t0", path=on(text)), world.task(id="t1", path=on(text, text)), world.task(path=on(text))
        )

    do(cli, steps)
    outputs = [cli.good("paths", text), cli.good("paths"), cli.good("explain", "t1"), cli.good("paths", text, "x")]
    for output in outputs:
        assert harmless(output), output
    assert cli.good("paths", text, "--json").isascii()


def test_ids_stay_whole_at_80_columns(line: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["paths"], ["paths", "doc-1"]):
        output = line.good(*words)
        assert ID.format(0) in output
        assert all(len(row) <= 80 for row in output.splitlines())


def test_a_path_is_sized_paused_resumed_and_cleared(cli: Cli, line: Cli) -> None:
    assert "--pause is about one path: give its elements" in cli.bad("paths", "--pause")
    assert "path element 1" in cli.bad("paths", "--path-json", "[1]", "--pause")
    assert cli.good("paths", "doc-1", "--size") == "at doc-1 and below: 3 pending, 1 processing\n"
    assert cli.documents("paths", "doc-1", "review", "--size") == [{"path": ["doc-1", "review"], "pending": 2}]
    assert cli.good("paths", "nothing", "--size") == "at nothing and below: nothing\n"
    assert cli.good("paths", "doc-1", "--resume") == "path doc-1 is not paused\n"
    assert cli.good("paths", "doc-1", "--pause", "--reason", "full") == "paused path doc-1\n"
    assert cli.good("paths", "doc-1", "--pause") == "path doc-1 is paused already\n"
    assert "path doc-1 in queue default is paused for " in cli.good("paths")
    assert [one["paused_reason"] for one in cli.documents("paths", "doc-1")[0]["paused"]] == ["full"]
    assert cli.documents("paths", "doc-1", "--resume") == [{"path": ["doc-1"], "resumed": True}]
    assert "give --yes" in cli.bad("cancel", "--path", "doc-1", "--state", "pending")
    assert cli.good("cancel", "--path", "doc-1", "--state", "pending", "--yes", "--reason", "clear") == (
        "cancelled 3 tasks\n"
    )
    assert cli.good("paths", "doc-1", "--size") == "at doc-1 and below: 1 processing\n"
    [act, *_] = cli.documents("audit-log")
    assert (act["act"], act["reason"], act["detail"]["path"], act["detail"]["queue"]) == (
        "bulk_cancel", "clear", ["doc-1"], "default",
    )  # fmt: skip
