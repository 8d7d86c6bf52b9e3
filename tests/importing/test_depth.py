"""A depth that a row gives is never lost: where its ancestors were left behind, the row begins at that depth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ramet import App, Context, Worker
from ramet.engine.tools.import_files import ImportRefused
from ramet.engine.tools.import_tasks import Importer, ImportSource
from ramet.store.sqlite.store import SqliteStore
from tests.importing.conftest import Move, row


async def test_a_row_whose_ancestors_are_nowhere_keeps_its_depth_and_its_children_count_from_it(move: Move) -> None:
    rows = [
        row("chained", ancestry_chain=["T", "gone", "away"], tracking_id="T", spawn_depth=9),
        row("orphan", "gone", spawn_depth=4), row("alone", spawn_depth=2), row("below", "orphan", spawn_depth=1),
    ]  # fmt: skip
    report = await move.fill(*rows)
    assert (report.created, report.orphans, report.history) == (4, 2, {})
    tasks = await move.tasks("chained", "orphan", "alone", "below")
    assert [(task.spawn_depth, task.parent_id, task.ancestry_chain) for task in tasks] == [
        (9, None, ()), (4, None, ()), (2, None, ()), (5, "orphan", ("orphan",)),
    ]  # fmt: skip
    history = await move.store.history("chained")
    assert history is not None
    assert history.transitions[0].reason == "its parent there: away; its depth there: 9"
    again = await move.fill(*rows)
    assert (again.created, again.there) == (0, 4)
    await move.importer(*rows).enforce(move.store, "tester")


async def test_a_row_that_is_too_deep_is_history_and_stays_deep(move: Move) -> None:
    rows = [row("deep", "gone", spawn_depth=12), row("t", spawn_depth=10), row("u", "t"), row("v", "u")]
    checked = await move.importer(*rows).check(move.store)
    report = await move.fill(*rows)
    assert checked.history == report.history == {"import_depth": 3}
    deep, t, u, v = await move.tasks("deep", "t", "u", "v")
    assert (deep.reason, deep.spawn_depth) == ("import_depth: depth 12 is over max_spawn_depth 10", 10)
    assert (t.state, t.spawn_depth) == ("pending", 10)
    assert [(task.state, task.spawn_depth, task.parent_id) for task in (u, v)] == [("skipped", 10, None)] * 2
    await move.importer(*rows).enforce(move.store, "tester")


async def test_a_row_of_another_lineage_than_its_parents_and_rows_in_a_circle_keep_their_depth(move: Move) -> None:
    await move.fill(row("a", tracking_id="A"), row("b", "a", tracking_id="B", spawn_depth=3),
                    row("c", "d", spawn_depth=5), row("d", "c", spawn_depth=6))  # fmt: skip
    assert [task.spawn_depth for task in await move.tasks("a", "b", "c", "d")] == [0, 3, 5, 6]


async def test_a_parent_in_the_file_or_in_the_database_decides_about_the_depth(move: Move) -> None:
    await move.fill(row("a"), row("b", "a", spawn_depth=7))
    await move.fill(row("c", "b", spawn_depth=7))
    assert [task.spawn_depth for task in await move.tasks("b", "c")] == [1, 2]


async def test_a_task_that_lost_its_depth_is_named_before_the_import_is_closed(move: Move) -> None:
    await move.fill(row("a"))
    with pytest.raises(ImportRefused, match=r"line 1 \(id a\): it is at depth 0, and the file gives 9"):
        await move.importer(row("a", spawn_depth=9)).enforce(move.store, "tester")


async def test_roots_below_depth_0_are_at_the_top_of_their_tree(move: Move) -> None:
    here = {"tracking_id": "T"}
    rows = [row("root", **here), row("child", "root", **here), row("orphan", "gone", spawn_depth=4, **here)]
    await move.fill(*rows, row("below", "orphan", **here))
    assert [task.id for task in await move.store.roots("T")] == ["root", "orphan"]
    branches = await move.store.branches(tracking_id="T")
    assert [(branch.depth, branch.tasks.number) for branch in branches] == [(0, 1), (4, 1)]
    page = await move.store.twigs(tracking_id="T", kind="job", state="pending")
    assert [twig.task.id for twig in page.twigs] == ["root", "orphan"]


async def test_what_it_spawns_is_refused_by_depth_as_before(tmp_path: Path) -> None:
    app = App()

    @app.task("page")
    async def page(ctx: Context, payload: dict[str, str]) -> None:
        ctx.spawn("page", {"below": ctx.id})

    path, store = tmp_path / "queue.jsonl", SqliteStore(tmp_path / "ramet.db", inline=True)
    rows = [{"id": "a", "type": "page", "parent_item_id": "gone", "spawn_depth": 9, "tracking_id": "T"}]
    path.write_text("".join(json.dumps(one) for one in rows))
    await Importer(ImportSource(path, "jsonl", strict=True), app.registry, app.limits).fill(store, "tester")
    await store.close()
    async with app.client(tmp_path / "ramet.db") as client:
        await Worker(app, client, until_idle=True, poll_seconds=0.01).run()
        depths = sorted([task.spawn_depth async for task in client.all_tasks(tracking_id="T")])
        assert depths == [9, 10]
        assert await client.block_totals("T") == {("page", "depth"): 1}
