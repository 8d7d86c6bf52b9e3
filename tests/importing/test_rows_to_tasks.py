"""Rows become tasks: with one lineage each, written once, whatever their order and however often it runs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Context, Limits, Worker
from ramet.engine.tools.import_files import ImportRefused
from ramet.engine.tools.import_tasks import Importer, ImportReport, ImportSource
from ramet.model.importing import Rules
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage, SettingChange, Settlement
from ramet.store.sqlite.store import SqliteStore
from tests.importing.conftest import Move, row
from tests.invariants.check import violations
from tests.support.world import in_threads

CHAIN = [row("a"), row("b", "a"), row("c", "b"), row("d", "c")]


@pytest.mark.parametrize("seed", range(5))
async def test_missing_tracking_comes_from_the_parent_in_any_order_of_rows(move: Move, seed: int) -> None:
    rows = CHAIN[:]
    random.Random(seed).shuffle(rows)
    await move.fill(*rows)
    a, b, c, d = await move.tasks("a", "b", "c", "d")
    assert len({task.tracking_id for task in (a, b, c, d)}) == 1
    assert (a.parent_id, a.spawn_depth, a.ancestry_chain) == (None, 0, ())
    assert (d.parent_id, d.spawn_depth, d.ancestry_chain) == ("c", 3, ("a", "b", "c"))
    assert (b.ancestry_chain, c.ancestry_chain) == (("a",), ("a", "b"))


async def test_what_is_given_is_kept_and_older_forms_of_the_chain_mean_nothing(move: Move) -> None:
    await move.fill(
        row("a", tracking_id="T", ancestry_chain=["T"]),
        row("b", tracking_id="T", ancestry_chain=["T", "a"], spawn_depth=1),
        row("c", ancestry_chain=["c"], spawn_depth=0),
        row("d", "c", tracking_id="T"),
    )
    a, b, c, d = await move.tasks("a", "b", "c", "d")
    assert (a.tracking_id, a.ancestry_chain, a.spawn_depth) == ("T", (), 0)
    assert (b.tracking_id, b.ancestry_chain, b.parent_id) == ("T", ("a",), "a")
    assert (c.ancestry_chain, c.spawn_depth) == ((), 0)
    assert c.tracking_id != "T"
    assert (d.tracking_id, d.parent_id, d.spawn_depth) == ("T", None, 0), "a lineage that was given wins over a parent"


async def test_a_parent_may_be_in_the_database_or_nowhere(move: Move) -> None:
    await move.fill(row("a"), row("b", "a"))
    report = await move.fill(row("c", "b"), row("d", "c"), row("e", "gone"))
    assert (report.created, report.orphans) == (3, 1)
    a, d, e = await move.tasks("a", "d", "e")
    assert (d.tracking_id, d.ancestry_chain, d.spawn_depth) == (a.tracking_id, ("a", "b", "c"), 3)
    assert (e.parent_id, e.spawn_depth) == (None, 0)
    assert e.tracking_id not in (a.tracking_id, "e")


async def test_a_parent_that_ramet_itself_created_takes_imported_children(move: Move) -> None:
    await move.store.submit([NewLineage("own", [NewTask("r", "job", "https://x.example/r", "null")])])
    await move.fill(row("c", "r"), row("again", "c", url="https://x.example/r", type="company"))
    c, again = await move.tasks("c", "again")
    assert (c.tracking_id, c.ancestry_chain) == ("own", ("r",))
    assert (again.state, again.reason) == ("skipped", "import_cycle: ancestor r works on this key")


async def test_a_second_run_adds_nothing_and_splits_no_lineage(move: Move) -> None:
    rows = [*CHAIN, row("x", "y"), row("y", "x"), row("copy", url="https://x.example/a", tracking_id="T"),
            row("copy2", url="https://x.example/a", tracking_id="T")]  # fmt: skip
    first = await move.fill(*rows)
    before = await move.everything()
    again = await move.fill(*rows)
    assert (first.created, first.there) == (8, 0)
    assert (again.created, again.there, again.history) == (0, 8, {})
    assert await move.everything() == before
    more = await move.fill(*rows, row("e", "d"), row("copy3", url="https://x.example/a", tracking_id="T"))
    assert (more.created, more.there, more.history) == (2, 8, {"import_duplicate": 1})
    assert (await move.task("e")).ancestry_chain == ("a", "b", "c", "d")


async def test_a_row_that_was_being_processed_can_be_claimed_and_tells_so(move: Move) -> None:
    # Its kind goes on from what the row has; without a word of it the task starts at its first stage.
    rules = Rules(takeovers={"job": lambda stage, state: (stage, state)})
    await move.fill(row("a", status="processing", retry_count=2, max_retries=3, error_details="slow", stage="fetch",
                        pipeline_state={"page": [1, None, "ü"]}, queueHint=["doc", "A:B"],
                        created_at="2025-09-30T12:00:00Z"), rules=rules)  # fmt: skip
    task = await move.task("a")
    assert (task.state, task.attempts, task.max_attempts, task.stage) == ("pending", 2, 4, "fetch")
    assert task.created_at == 1_759_233_600.0
    history = await move.store.history("a")
    assert history is not None
    [change] = history.transitions
    assert (change.name, change.from_state, change.to_state) == ("import", "processing", "pending")
    assert change.reason == "was being processed there; its last error there: slow"
    assert await move.store.read("SELECT path FROM ramet_tasks") == [('["doc","A:B"]',)]
    assert (task.path, task.wait) == (("doc", "A:B"), "ticket")
    await move.store.sweep()
    [claimed] = await move.store.claim(ClaimRequest("w", ("default",), ("job",), 10, 300.0))
    assert (claimed.id, claimed.pipeline_state) == ("a", '{"page":[1,null,"ü"]}')
    fence = claimed.standing.fence
    error = ev.Error(fence, "slow", "transient", "print", jitter=1.0)
    [settled] = await move.store.settle([Settlement(claimed.standing.seq, fence, error)])
    assert settled.state == "pending", "two retries were made of three"


async def test_ended_rows_arrive_as_they_ended(move: Move) -> None:
    states = ("success", "failed", "skipped", "filtered", "cancelled")
    await move.fill(*(row(f"t{n}", status=state, error_details="why") for n, state in enumerate(states)))
    tasks = await move.tasks(*(f"t{n}" for n in range(5)))
    assert [task.state for task in tasks] == list(states)
    assert [task.reason for task in tasks[:2]] == [None, "imported as failed"]
    assert tasks[1].error == "why"
    assert {lineage.state for lineage in await move.store.lineages()} == {"finished"}
    assert await move.store.revive(["t1"], by="test")
    assert (await move.task("t1")).state == "pending"


async def test_of_one_identity_the_most_advanced_row_wins_and_none_is_lost(move: Move) -> None:
    same: dict[str, Any] = {"url": "https://x.example/same", "tracking_id": "T"}
    report = await move.fill(
        row("p", **same), row("f", status="failed", **same), row("s", status="success", **same),
        row("s2", status="success", retry_count=2, **same), row("r", status="processing", **same),
        row("other", type="company", **same), row("below", "f", tracking_id="T"),
    )  # fmt: skip
    assert (report.created, report.history) == (7, {"import_duplicate": 4})
    won = await move.task("s2")
    assert (won.state, won.key, won.reason) == ("success", "https://x.example/same", None)
    for own, state in (("p", "skipped"), ("f", "failed"), ("s", "success"), ("r", "skipped")):
        task = await move.task(own)
        assert (task.state, task.reason) == (state, "import_duplicate: of task s2"), own
        assert task.key == f"https://x.example/same#import_duplicate:{own}"
    assert (await move.task("other")).state == "pending"
    assert (await move.task("below")).parent_id == "f"


async def test_what_exists_already_is_never_changed_by_a_more_advanced_row(move: Move) -> None:
    await move.store.submit([NewLineage("T", [NewTask("r", "job", "https://x.example/r", "null")])])
    report = await move.fill(row("late", url="https://x.example/r", tracking_id="T", status="success"))
    assert report.history == {"import_duplicate": 1}
    assert (await move.task("r")).state == "pending"
    assert (await move.task("late")).reason == "import_duplicate: of task r"


async def test_circles_of_parents_arrive_terminal_and_what_hangs_below_does_not(move: Move) -> None:
    report = await move.fill(
        row("self", "self"), row("a", "c"), row("b", "a"), row("c", "b"), row("below", "a"), row("tail", "below"),
        row("done", "two", status="success"), row("two", "done", tracking_id="T"),
    )  # fmt: skip
    assert report.history == {"import_cycle": 6}
    for own in ("self", "a", "b", "c", "two"):
        task = await move.task(own)
        assert (task.state, task.parent_id, task.spawn_depth) == ("skipped", None, 0), own
        assert str(task.reason).startswith("import_cycle: parents form a circle: ")
    assert (await move.task("done")).state == "success"
    a, c, tail = await move.tasks("a", "c", "tail")
    assert a.tracking_id == c.tracking_id == tail.tracking_id
    assert (tail.state, tail.ancestry_chain) == ("pending", ("a", "below"))


async def test_rows_that_are_too_deep_arrive_terminal(move: Move) -> None:
    rows = [row("t0", max_spawn_depth=3), *(row(f"t{n}", f"t{n - 1}", max_spawn_depth=50) for n in range(1, 7))]
    report = await move.fill(*rows)
    assert report.history == {"import_depth": 3}
    assert [task.state.value for task in await move.tasks("t3", "t4", "t6")] == ["pending", "skipped", "skipped"]
    assert (await move.task("t4")).reason == "import_depth: depth 4 is over max_spawn_depth 3, below task t3"
    assert [lineage.max_spawn_depth for lineage in await move.store.lineages()] == [3]


async def test_of_several_roots_of_a_lineage_the_smallest_depth_holds_for_all(move: Move) -> None:
    roots = [row("wide", max_spawn_depth=9, tracking_id="T"), row("narrow", max_spawn_depth=1, tracking_id="T")]
    await move.fill(*roots, row("none", tracking_id="T"), row("b", "wide"), row("c", "b"), row("d", "none"))
    [lineage] = await move.store.lineages()
    assert lineage.max_spawn_depth == 1
    assert (await move.task("c")).reason == "import_depth: depth 2 is over max_spawn_depth 1, below task b"
    assert [(await move.task(name)).state for name in ("b", "d")] == ["pending", "pending"]


async def test_a_key_that_an_ancestor_works_on_arrives_terminal_unless_its_kind_allows_it(move: Move) -> None:
    @move.app.task("loose", cycle_on="kind+key")
    async def loose(ctx: Context, payload: dict[str, Any]) -> None:
        pass

    url = "https://x.example/u"
    report = await move.fill(
        row("a", url=url), row("b", "a"), row("c", "b", url=url, type="company"), row("d", "b", url=url, type="loose")
    )
    assert report.history == {"import_cycle": 1}
    c, d = await move.tasks("c", "d")
    assert (c.state, c.reason) == ("skipped", "import_cycle: ancestor a works on this key")
    assert d.state == "pending"
    assert c.parent_id == "b"


async def test_limits_of_size_and_fan_out_cover_what_arrives(move: Move) -> None:
    await move.fill(row("a"), *(row(f"c{n}", "a") for n in range(5_200)))
    [lineage] = await move.store.lineages()
    assert (lineage.tasks, lineage.live, lineage.max_fan_out) == (5_201, 5_201, 5_200)


async def test_a_lineage_of_several_batches_can_be_claimed_only_when_it_is_whole(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row("a"), *(row(f"c{n}", "a") for n in range(2_500)), row("small")]
    true_import, calls = move.store.import_tasks, []

    async def watched(name: str, batch: Any, **options: Any) -> Any:
        answer = await true_import(name, batch, **options)
        await move.store.sweep()
        found = await move.store.claim(ClaimRequest("w", ("default",), ("job",), 1, 300.0))
        [(tasks,)] = await move.store.read("SELECT MAX(tasks) FROM ramet_lineages")
        calls.append(([claimed.id for claimed in found], tasks))
        return answer

    monkeypatch.setattr(move.store, "import_tasks", watched)
    await move.fill(*rows)
    assert len(calls) == 4
    assert all(found in ([], ["small"]) for found, tasks in calls if tasks < 2_501), calls
    await move.store.sweep(limit=5_000)
    assert len(await move.store.claim(ClaimRequest("w", ("default",), ("job",), 5_000, 300.0))) >= 2_501


@pytest.mark.parametrize("broken_at", [2, *(pytest.param(at, marks=pytest.mark.nightly) for at in (0, 1, 3))])
async def test_a_run_that_is_cut_short_is_finished_by_the_next(
    move: Move, broken_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row("a"), *(row(f"c{n}", "a", status=("pending", "success")[n % 2]) for n in range(2_200)),
            *(row(f"small{n}") for n in range(500)), row("dup", url="https://x.example/small1")]  # fmt: skip
    true_import, calls = move.store.import_tasks, 0

    async def breaking(name: str, batch: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > broken_at:
            raise RuntimeError("cut short")
        return await true_import(name, batch, **options)

    with monkeypatch.context() as patch:
        patch.setattr(move.store, "import_tasks", breaking)
        with pytest.raises(RuntimeError):
            await move.importer(*rows).fill(move.store, "tester")
    await move.sound()
    report = await move.fill(*rows)
    assert report.created + report.there == len(rows)
    assert len({task.tracking_id for task in await move.tasks("a", "c0", "c2199")}) == 1
    await move.importer(*rows).enforce(move.store, "tester")


async def test_kinds_of_an_app_check_payloads_and_give_keys_and_limits(move: Move) -> None:
    @move.app.task("page", key=lambda payload: payload["slug"], queue="web", priority=7, limits=Limits(max_attempts=9))
    async def page(ctx: Context, payload: dict[str, Any]) -> None:
        pass

    @move.app.task("number")
    async def number(ctx: Context, payload: int) -> None:
        pass

    rules = Rules(kinds={"job": "page"})
    await move.fill(row("a", slug="S"), row("b", slug="B", max_retries=1), rules=rules, strict=True)
    a, b = await move.tasks("a", "b")
    assert (a.kind, a.key, a.queue, a.priority, a.max_attempts, b.max_attempts) == ("page", "S", "web", 7, 9, 2)
    with pytest.raises(ImportRefused, match=r"line 1 \(id c\): no kind 'job' is registered .* --map job=KIND"):
        await move.fill(row("c"), strict=True)
    with pytest.raises(ImportRefused, match=r"line 1 \(id c\): the payload does not fit kind number: it: Input should"):
        await move.fill(row("c", slug="C"), row("d"), rules=Rules(kinds={"job": "number"}), strict=True)
    assert await move.store.get("c") is None


async def test_a_check_writes_nothing_and_says_what_a_fill_does(move: Move) -> None:
    rows = [*CHAIN, row("x", "x"), row("y", "gone", status="processing"), row("z", status="success")]
    checked = await move.importer(*rows).check(move.store)
    assert await move.store.lineages() == []
    assert await move.store.import_imports() == []
    filled = await move.fill(*rows)
    assert checked._replace(step="fill") == filled
    assert (filled.created, filled.live, filled.running_before, filled.orphans) == (7, 5, 1, 1)
    assert filled.states == {"pending": 6, "success": 1}


async def test_enforce_closes_a_whole_import_and_nothing_else(move: Move) -> None:
    rows = [*CHAIN, row("x", "x")]
    await move.fill(*rows[:3])
    with pytest.raises(ImportRefused, match=r"line 4 \(id d\): it is not in the database: run the import again"):
        await move.importer(*rows).enforce(move.store, "tester")
    await move.fill(*rows)
    await move.importer(*rows).enforce(move.store, "tester")
    [record] = await move.store.import_imports()
    assert (record.name, record.state, record.rows, record.created, record.history) == (
        "queue.jsonl", "closed", 5, 5, 1,
    )  # fmt: skip
    for step in (Importer.fill, Importer.enforce):
        with pytest.raises(ImportRefused, match=r"the import queue.jsonl is closed: give --name"):
            await step(move.importer(*rows, row("new")), move.store, "tester")
    assert [act.act for act in await move.store.acts()] == ["import_close", "import", "import"]


async def test_two_runs_at_once_create_every_task_once(tmp_path: Path) -> None:
    rows = [*(row(f"a{n}", None if n == 0 else f"a{n // 3 - 1}" if n > 2 else "a0") for n in range(60)),
            *(row(f"s{n}", status="success", url=f"https://x.example/{n % 50}") for n in range(2_000))]  # fmt: skip
    path = tmp_path / "queue.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    source = ImportSource(path, "jsonl")

    async def run() -> None:
        store = SqliteStore(tmp_path / "ramet.db")
        reports.append(await Importer(source, App().registry, Limits()).fill(store, "tester"))
        await store.close()

    reports: list[ImportReport] = []
    await in_threads(run, run, run)
    assert sum(report.created for report in reports) == len(rows)
    store = SqliteStore(tmp_path / "ramet.db")
    [record] = await store.import_imports()
    assert (record.rows, record.created) == (len(rows), len(rows))
    found = await violations(store)
    await store.close()
    assert found == []


async def test_a_kind_without_a_payload_keeps_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "queue.csv"
    path.write_text("id,type,note\na,bare,hello\n")
    store = SqliteStore(tmp_path / "ramet.db", inline=True)
    app = App()

    @app.task("bare")
    async def bare(ctx: Context) -> None:
        pass

    await Importer(ImportSource(path, "csv", strict=True), app.registry, app.limits).fill(store, "tester")
    task = await store.get("a")
    assert task is not None
    assert task.payload == {"note": "hello"}
    async with app.client(tmp_path / "ramet.db") as client:
        await Worker(app, client, until_idle=True, poll_seconds=0.01).run()
        task = await client.get("a")
    assert task is not None
    assert task.state == "success"
    await store.close()


async def test_an_imported_lineage_has_the_limits_of_its_roots_kind(move: Move) -> None:
    @move.app.task("agent", key=str, limits=Limits(max_cost=7, max_tasks=3, lineage_seconds=300.0, max_spawn_depth=2))
    async def agent(ctx: Context, payload: object) -> None:
        """Nothing here runs."""

    move.limits = Limits(max_shape=9)
    await move.fill(
        row("a", type="agent", tracking_id="bounded"), row("b", "a", tracking_id="bounded"),
        row("c", "b", tracking_id="bounded"), row("d", "c", tracking_id="bounded"), row("e", tracking_id="free"),
    )  # fmt: skip
    bounded, free = [await move.store.lineage(name) for name in ("bounded", "free")]
    assert bounded is not None
    assert free is not None
    assert (bounded.max_cost, bounded.max_tasks, bounded.max_spawn_depth, bounded.max_shape) == (7, 4, 2, 9)
    assert (free.max_cost, free.max_tasks, free.max_spawn_depth, free.max_shape) == (None, 100_000, 10, 9)
    assert [round(one.deadline_at - one.created_at) for one in (bounded, free)] == [300, 172_800]
    [deep] = await move.tasks("d")
    assert (deep.state, deep.reason) == ("skipped", "import_depth: depth 3 is over max_spawn_depth 2, below task c")


async def test_settings_bound_what_is_imported(move: Move) -> None:
    await move.store.change_settings([SettingChange("limits.max_cost", 5, "int", "")], by="tester", reason=None)
    await move.fill(row("a", tracking_id="one"))
    found = await move.store.lineage("one")
    assert found is not None
    assert found.max_cost == 5
