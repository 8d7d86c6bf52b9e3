"""Every way in which a user says where a task stands in line, and what the store is asked for then."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from ramet import App, Client, Context, Spawn, TaskOptions, testing
from ramet.engine.client.client import Client as AnyClient
from ramet.engine.client.schedules import check_declaration, lineage_of_slot, schedule_row
from ramet.model.lineage.limits import BALANCED
from ramet.model.paths import PathRule
from ramet.model.task.task import NewTask
from ramet.store.answers import SubmitResult
from ramet.store.requests import NewLineage
from ramet.store.rows.blocks import new_task_from_text, new_task_text
from ramet.store.sqlite.store import SqliteStore
from tests.support.fakes import Hands
from tests.support.world import SettableClock

DEEP = [str(n) for n in range(32)]


@pytest.fixture
def app() -> App:
    return App()


class Asked(SqliteStore):
    """Remembers what it was asked to create."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, clock=SettableClock(), inline=True)
        self.news: list[NewTask] = []

    async def submit(self, lineages: Any) -> list[SubmitResult]:
        self.news += [new for item in lineages for new in item.roots]
        return await super().submit(lineages)

    def submit_within(self, connection: Any, lineages: Any) -> list[SubmitResult]:
        self.news += [new for item in lineages for new in item.roots]
        return [SubmitResult(new.id, item.tracking_id, True) for item in lineages for new in item.roots]

    async def root_limits(self, kinds: Any, connection: Any = None) -> dict[str, str]:
        return {}


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with AnyClient(app.registry, Asked(tmp_path / "ramet.db"), app.limits, clock=Hands()) as client:
        yield client


def asked(client: Client) -> list[PathRule | None]:
    assert isinstance(client.store, Asked)
    return [new.path for new in client.store.news]


# --- submit


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({}, None),
        ({"path": None, "document_id": None}, None),
        ({"path": []}, None),
        ({"path": [], "reserve_path": True, "path_scope": "lineage"}, None),
        ({"path": ["doc1"]}, PathRule(("doc1",))),
        ({"path": ("doc1", "", "ü:/%", "root")}, PathRule(("doc1", "", "ü:/%", "root"))),
        ({"path": DEEP}, PathRule(tuple(DEEP))),
        ({"document_id": "doc1"}, PathRule(("doc1",))),
        ({"document_id": ""}, PathRule(("",))),
        ({"path": ["a"], "reserve_path": True, "delay_seconds": 60.0}, PathRule(("a",), reserved=True)),
        ({"path": ["a"], "path_scope": "lineage"}, PathRule(("a",), "lineage")),
        ({"path": ["a"], "on_dependency_failure": "run"}, PathRule(("a",), "queue", "run")),
    ],
)
async def test_a_submit_says_where_its_task_stands(
    client: Client, options: dict[str, Any], rule: PathRule | None
) -> None:
    submitted = await client.submit("edit", {"n": 1}, **options)
    assert asked(client) == [rule]
    task = await client.get(submitted.id)
    assert task is not None
    assert task.path == (rule.elements if rule else ())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"path": "doc1"}, r"a path is a list of strings, not 'doc1': write path=\['doc1'\]"),
        ({"path": ["a", 1]}, "path element 1 is not a string: give every element as text"),
        ({"path": ["a", None]}, "path element None is not a string"),
        ({"path": ["a\0b"]}, r"path element 'a\\x00b' contains a NUL character: leave it out"),
        ({"path": ["\ud800"]}, r"path element '\\ud800' contains a lone surrogate: leave it out"),
        ({"path": ["x" * 1_025]}, "a path element of 1025 bytes is too long: use at most 1024, or its hash"),
        ({"path": [*DEEP, "one more"]}, "a path of 33 elements is too deep: use at most 32"),
        ({"path": 7}, "a path is a list of strings, not 7"),
        ({"document_id": 7}, "path element 7 is not a string"),
        ({"path": ["a"], "document_id": "a"}, "path and document_id are both given: leave one out"),
        ({"path": ["a"], "path_scope": "global"}, "path_scope is 'global', give 'queue' or 'lineage'"),
        ({"path_scope": "global"}, "path_scope is 'global'"),
        ({"path": ["a"], "on_dependency_failure": "fail"}, "on_dependency_failure is 'fail', give 'skip' or 'run'"),
    ],
)
async def test_what_is_no_path_is_refused_with_one_line_and_nothing_is_created(
    client: Client, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        await client.submit("edit", 1, **options)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=why):
        await client.submit_many([("edit", 1), ("edit", 2, cast(TaskOptions, options))])
    assert asked(client) == []


async def test_of_many_each_says_for_itself(client: Client) -> None:
    await client.submit_many(
        [
            ("edit", 1, {"path": ["a", "1"], "key": "mine", "priority": 3, "queue": "q", "delay_seconds": 9.0}),
            ("edit", 2),
            ("edit", 3, {"document_id": "a", "reserve_path": True}),
        ],
        one_lineage=True,
    )
    assert asked(client) == [PathRule(("a", "1")), None, PathRule(("a",), reserved=True)]
    assert isinstance(client.store, Asked)
    first = client.store.news[0]
    assert (first.key, first.priority, first.queue, first.delay_seconds) == ("mine", 3, "q", 9.0)
    with pytest.raises(TypeError, match="there is no option 'paht': of a path there are document_id, on_dep"):
        await client.submit("edit", 1, paht=["a"])  # type: ignore[call-overload]


async def test_a_submit_on_ones_own_connection_says_it_too(client: Client) -> None:
    await client.submit("edit", 1, document_id="d", connection=object())
    await client.submit_many([("edit", 1, {"path": ["d", "e"]})], connection=object())
    assert asked(client) == [PathRule(("d",)), PathRule(("d", "e"))]


# --- kinds


def test_a_kind_declares_scope_failure_and_path(app: App) -> None:
    @app.task(
        "edit", path=lambda edit: edit["path"], path_scope="lineage", on_dependency_failure="run", key=lambda _: "k"
    )
    async def edit(ctx: Context, edit: dict[str, Any]) -> None: ...

    kind = app.registry.get("edit")
    assert kind.new_task({"path": ["a"]}).path == PathRule(("a",), "lineage", "run")
    assert kind.new_task({"path": None}).path is None
    assert kind.new_task({"path": []}).path is None
    assert kind.new_task({"path": ["a"]}, path=[]).path is None, "what the caller says is stronger"
    assert kind.new_task({"path": ["a"]}, document_id="d").path == PathRule(("d",), "lineage", "run")
    told = kind.new_task({"path": ["a"]}, path_scope="queue", on_dependency_failure="skip")
    assert told.path == PathRule(("a",))
    with pytest.raises(ValueError, match=r"not 'doc1': write path=\['doc1'\]"):
        kind.new_task({"path": "doc1"})
    assert kind.end_task().path is None, "the task of a lineage's end stands in no line"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"path_scope": "global"}, "kind 'edit': path_scope is 'global', give 'queue' or 'lineage'"),
        ({"on_dependency_failure": "fail"}, "kind 'edit': on_dependency_failure is 'fail', give 'skip' or 'run'"),
        ({"path_scope": None}, "kind 'edit': path_scope is None"),
    ],
)
def test_a_kind_with_another_value_is_refused_where_it_is_declared(app: App, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:

        @app.task("edit", **options)
        async def edit(ctx: Context) -> None: ...

    assert "\n" not in str(caught.value)


# --- spawns


async def test_a_handler_spawns_below_beside_and_at_its_own_path(app: App) -> None:
    @app.task("plan")
    async def plan(ctx: Context) -> list[str]:
        own = list(ctx.path)
        ctx.spawn("part", 1, path=[*own, "below"])
        ctx.spawn("part", 2, path=[*own[:-1], "beside"], path_scope="lineage")
        await ctx.spawn_now("part", 3, path=own, on_dependency_failure="run")
        ctx.spawn("part", 4, document_id="other", reserve_path=True, delay_seconds=5.0)
        ctx.spawn("part", 5)
        return own

    @app.task("part")
    async def part(ctx: Context, n: int) -> None: ...

    run = await testing.run_task(app, "plan", path=["doc1", "review"])
    assert run.result == ["doc1", "review"]
    assert {spawn.payload: spawn.path for spawn in run.spawns} == {
        1: ("doc1", "review", "below"),
        2: ("doc1", "beside"),
        3: ("doc1", "review"),
        4: ("other",),
        5: (),
    }
    assert (await testing.run_task(app, "plan")).result == []


async def test_a_bad_path_of_a_spawn_is_the_handlers_error(app: App) -> None:
    @app.task("plan")
    async def plan(ctx: Context) -> None:
        ctx.spawn("plan", path=["a", 1])  # type: ignore[list-item]

    run = await testing.run_task(app, "plan")
    error = "InvalidPath: path element 1 is not a string: give every element as text"
    assert (run.outcome, run.error) == ("error", error)


def test_a_pulled_claims_spawn_has_the_options_of_a_handlers() -> None:
    # A root has no parent that could require it; a child has its kind's attempts and version.
    roots = {"max_attempts", "retry", "payload_version"}
    assert set(Spawn._fields) - {"kind", "payload", "keep_edge", "required"} == set(TaskOptions.__annotations__) - roots


def test_a_later_stage_stands_where_the_first_one_stood(app: App) -> None:
    pipeline = app.pipeline("listing", task_per_stage=True, path=lambda url: ["by", "payload"])

    @pipeline.stage()
    async def scrape(ctx: Context, url: str) -> str:
        return url

    @pipeline.stage()
    async def save(ctx: Context, url: str) -> str:
        return url

    first = app.registry.get("listing").new_task("u", path=["a", "b"], path_scope="lineage", reserve_path=True)
    assert first.path == PathRule(("a", "b"), "lineage", reserved=True)
    assert app.registry.get("listing").new_task("u").path == PathRule(("by", "payload"))


# --- what keeps a task that somebody wants


def test_a_refused_spawn_that_is_offered_again_keeps_its_path() -> None:
    new = NewTask("id", "kind", "key", "{}", path=PathRule(("a", "ü"), "lineage", "run", True))
    assert new_task_from_text(new_task_text(new)) == new
    old = json.loads(new_task_text(new._replace(path=None)))
    del old["path"]
    assert new_task_from_text(json.dumps(old)).path is None, "a block that was stored before there were paths"


def test_every_slot_of_a_schedule_stands_where_it_was_told(app: App) -> None:
    @app.task("report", path_scope="lineage", on_dependency_failure="run")
    async def report(ctx: Context) -> None: ...

    wanted = check_declaration(
        None, "report", cron=None, every_seconds=60.0, timezone="UTC", default_seconds=60.0, path={"path": ["a", "b"]}
    )
    row = schedule_row(app.registry, wanted, 1_000.0, "app", BALANCED)
    lineage: NewLineage = lineage_of_slot(row, 1_020.0, BALANCED, app.registry.live)
    [root] = lineage.roots
    assert root.path == PathRule(("a", "b"), "lineage", "run")
    app.schedule(every_seconds=60.0, kind="report", document_id="d")
    assert app.schedules[0].path == {"document_id": "d"}
    with pytest.raises(ValueError, match="a path is a list of strings, not 'd'"):
        app.schedule(every_seconds=60.0, kind="report", name="other", path="d")


async def test_a_schedule_that_a_person_adds_stands_where_it_was_told(client: Client) -> None:
    schedule = await client.schedules.add("report", every_seconds=60.0, document_id="d")
    assert json.loads(schedule.task)["path"] == [["d"], "queue", "skip", False]
    with pytest.raises(ValueError, match="path element 1 is not a string"):
        await client.schedules.add("report", every_seconds=60.0, name="other", path=[1])  # type: ignore[list-item]
