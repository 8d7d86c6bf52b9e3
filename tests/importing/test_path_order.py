"""Rows with a path stand in line here as they did there: in the order of the file, whichever lineage they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ramet import App, Context, Limits
from ramet.engine.tools.import_files import ImportRefused
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from tests.importing.conftest import Move, row


async def swept(move: Move) -> None:
    while (await move.store.sweep()).changed:
        pass


async def claimed(move: Move) -> dict[str, Settlement]:
    """Everything that can be claimed now, with what ends it well."""
    request = ClaimRequest("w", ("default",), ("job", "edit"), 1_000, 300.0)
    found = await move.store.claim(request)
    return {one.id: Settlement(one.standing.seq, one.standing.fence, ev.Complete(one.standing.fence)) for one in found}


async def runs(move: Move) -> list[list[str]]:
    """The tasks in the rounds in which they could run, each round ended before the next began."""
    rounds: list[list[str]] = []
    while True:
        await swept(move)
        here = await claimed(move)
        if not here:
            await move.sound()
            return rounds
        rounds.append(sorted(here))
        await move.store.settle(list(here.values()))


ORDERED: Sequence[dict[str, Any]] = (
    row("z", queueHint=["d"], tracking_id="Z"),
    row("y", queueHint=["d", "x"], tracking_id="A"),
    row("x", queueHint=["d", "y"], tracking_id="M"),
    row("w", documentId="d", tracking_id="A"),
    row("v", queueHint=["d", "x"], tracking_id="Z"),
    row("u", queueHint=[], tracking_id="B"),
    row("t", tracking_id="B"),
)
ROUNDS = [["t", "u", "z"], ["x", "y"], ["w"], ["v"]]


async def test_tasks_line_up_in_the_order_of_the_file(move: Move) -> None:
    report = await move.fill(*ORDERED)
    assert (report.live, report.in_line) == (7, 5)
    assert [(await move.task(one["id"])).path for one in ORDERED] == [
        ("d",), ("d", "x"), ("d", "y"), ("d",), ("d", "x"), (), (),
    ]  # fmt: skip
    assert await runs(move) == ROUNDS


async def test_so_it_is_in_small_parts_and_after_a_run_that_was_cut_short(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("ramet.store.imports.staging.CHUNK", "ramet.engine.tools.import_tasks.CHUNK"):
        monkeypatch.setattr(place, 2)

    async def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(move.store, "import_line_up", dies)
        with pytest.raises(KeyboardInterrupt):
            await move.importer(*ORDERED[1:5]).fill(move.store, "tester")
    await swept(move)
    assert await claimed(move) == {}, "nobody stands in line before the whole file is there"
    await move.fill(*ORDERED)
    assert await runs(move) == ROUNDS


async def test_a_second_run_changes_no_place(move: Move) -> None:
    await move.fill(row("a", queueHint=["d"]), row("b", queueHint=["d"]))
    await swept(move)
    await move.fill(row("c", queueHint=["d"]), row("b", queueHint=["d"]), row("a", queueHint=["d"]))
    assert await runs(move) == [["a"], ["b"], ["c"]]


async def test_what_was_there_goes_first(move: Move) -> None:
    old = NewTask("old", "job", "old", "{}", path=PathRule(("d",)))
    await move.store.submit([NewLineage("L", [old])])
    await move.fill(row("a", queueHint=["d", "x"]))
    assert await runs(move) == [["old"], ["a"]]


async def test_a_check_tells_how_many_will_stand_in_line(move: Move) -> None:
    rows = [*ORDERED, row("s", queueHint=["d"], status="success"), row("r", "r", queueHint=["d"])]
    report = await move.importer(*rows).check(move.store)
    assert (report.live, report.in_line, report.history) == (7, 5, {"import_cycle": 1})
    assert (await move.fill(*rows)).in_line == 5
    assert (await move.importer(*rows).check(move.store)).in_line == 0, "they are there already"


async def test_what_ended_keeps_its_path_as_history_and_stands_nowhere(move: Move) -> None:
    deep = [str(n) for n in range(90)]
    await move.fill(row("a", queueHint=deep, status="failed"), row("b", queueHint=["0"]))
    assert (await move.task("a")).path == tuple(deep)
    assert await runs(move) == [["b"]]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ([str(n) for n in range(33)], "queue_hint: a path of 33 elements is too deep: use at most 32"),
        (["x" * 1_025], "queue_hint: a path element of 1025 bytes is too long"),
    ],
)
async def test_where_nobody_can_stand_a_live_row_is_named_and_nothing_is_written(
    move: Move, path: list[str], why: str
) -> None:
    with pytest.raises(ImportRefused, match=f"line 2 .id b.: {why}"):
        await move.importer(row("a"), row("b", queueHint=path)).fill(move.store, "tester")
    assert await move.everything() == []


async def test_the_kind_says_the_rest_of_the_rule_and_a_path_where_the_row_has_none(move: Move) -> None:
    move.app = App(limits=Limits())

    @move.app.task("edit", path=lambda edit: [edit["doc"]], path_scope="lineage", on_dependency_failure="run")
    async def edit(ctx: Context, edit: dict[str, Any]) -> None: ...

    rows = [
        row("a", type="edit", doc="d", tracking_id="L"),
        row("b", type="edit", doc="e", queueHint=["d", "x"], tracking_id="L"),
        row("c", type="edit", doc="d", queueHint=[], tracking_id="L"),
        row("e", type="edit", doc="d", tracking_id="M"),
    ]
    assert (await move.fill(*rows, strict=True)).in_line == 3
    stored = await move.store.read("SELECT id, path, path_scope, on_dependency_failure FROM ramet_tasks ORDER BY id")
    assert stored == [
        ("a", '["d"]', "lineage", "run"),
        ("b", '["d","x"]', "lineage", "run"),
        ("c", None, None, None),
        ("e", '["d"]', "lineage", "run"),
    ]
    assert await runs(move) == [["a", "c", "e"], ["b"]]
