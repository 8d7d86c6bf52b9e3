"""Paths in a handler process: what it is told, what it asks for, and what it may not wait for."""

from __future__ import annotations

from pathlib import Path

from tests.engine.apps.path_app import app
from tests.invariants.check import violations
from tests.support.waiting import worked_off

TARGET = "tests.engine.apps.path_app:app"


async def test_a_child_knows_its_path_and_may_not_wait_for_what_it_holds_back(tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        root = await client.submit("waits", path=["doc1", "é:%"])
        await worked_off(app, client, target=TARGET)
        [child] = (await client.tasks(kind="part")).tasks
        said = f"task {root.id} must not wait for task {child.id}: its own path holds that one back"
        assert (await client.result(root.id)).startswith(said)
        assert child.result == ["doc1", "é:%", "below"]
        assert await violations(client.store) == []


async def test_a_later_stage_stands_on_the_path_of_the_first_with_a_new_ticket(tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        await client.submit_many(
            [
                ("staged", "a", {"path": ["d"], "path_scope": "lineage", "on_dependency_failure": "run"}),
                ("part", "between", {"path": ["d"], "path_scope": "lineage"}),
            ],
            one_lineage=True,
        )
        await worked_off(app, client, target=TARGET)
        steps = [step for (step,) in await client.read("SELECT step FROM steps ORDER BY at")]
        assert steps == ["first a", "part between", "second a"]
        [last] = (await client.tasks(kind="staged.second")).tasks
        assert last.result == [["d"], ["d"]]
        [rule] = await client.read(
            "SELECT path, path_scope, on_dependency_failure FROM ramet_tasks WHERE id = ?", (last.id,)
        )
        assert rule == ('["d"]', "lineage", "run")
        assert await violations(client.store) == []
