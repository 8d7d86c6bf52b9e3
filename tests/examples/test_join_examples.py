"""The examples about tasks that wait for others do exactly what examples/README.md says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples import agent_tree
from ramet import App
from ramet.testing import drain, fresh_client
from tests.examples.test_loops import run
from tests.examples.test_uses import printed, states_of
from tests.invariants.check import violations

CENT = agent_tree.CENT


@pytest.mark.process
@pytest.mark.parametrize("name", ["agent_tree.py", "from_celery.py"])
def test_a_path_that_is_no_database_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a folder" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


async def run_agent() -> tuple[dict[str, Any], dict[str, str], int]:
    """Run the agent in this process; return its answer, how each question ended, and what was spent."""
    async with fresh_client(agent_tree.app) as client:
        root = await agent_tree.submit(client)
        await drain(agent_tree.app, client)
        assert await violations(client.store) == []
        lineage, answered = await client.lineage("rain"), await client.get(root)
        assert lineage is not None
        assert answered is not None
        ends = {task.key: task.why or "" async for task in client.all_tasks() if task.state != "success"}
        assert lineage.reserved == 0
        return answered.result, ends, lineage.spent


async def test_an_agent_that_keeps_nothing_aside_cannot_pay_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_tree, "KEPT", 0)
    tree, ends, spent = await run_agent()
    assert list(ends) == ["why does it fall"], "its three parts left it one cent"
    assert "cost" in ends["why does it fall"]
    assert tree["failed"] == ["why does it fall"]
    assert spent <= 60 * CENT


@pytest.mark.parametrize("cents", [60, 45, 30, 9, 5])
async def test_every_question_of_an_agent_is_answered_and_no_ceiling_is_passed(
    cents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_tree, "BUDGETS", [cents * CENT, *agent_tree.BUDGETS[1:]])
    tree, ends, spent = await run_agent()
    assert ends == {}
    assert spent <= cents * CENT
    assert len(tree["parts"]) == max(0, cents - 5) // 18, "each has 18 cents for itself, or is not asked"
    assert set(tree["not asked"].values()) <= {"branch_budget"}


@pytest.mark.process
async def test_an_agent_prints_its_tree_of_answers_and_what_it_cost(tmp_path: Path) -> None:
    assert printed("agent_tree.py", tmp_path) == [
        "why does it rain: because of 3 things",
        "  where does the water come from: because of 2 things",
        "    how much is in the sea: because it is so",
        "    how much is in the air: because it is so",
        "  why does it fall: because of 2 things",
        *(
            line
            for part in ("why does it fall, a", "why does it fall, b")
            for line in (
                f"    {part}: because it is so",
                *(f"      {part}, {name}: not asked, branch_budget" for name in "abc"),
            )
        ),
        "    why does it fall, c: not asked, branch_budget",
        "  when does it stop: because it is so",
        "  who asked first: not asked, branch_budget",
        "8 questions asked, $0.37 of $0.60 spent",
    ]
    async with App().client(tmp_path / "kept.db", create=False) as client:
        assert await states_of(client) == {("ask", "success"): 8}
        assert (await client.lineages())[0].spent == (8 * 2 + 5 * 3 + 3 * 2) * CENT


@pytest.mark.process
async def test_a_chord_runs_its_body_without_the_failed_and_a_graph_skips_what_cannot_be(tmp_path: Path) -> None:
    lines = printed("from_celery.py", tmp_path)
    assert [line for line in lines if "report" in line or "publish" in line][:2] == [
        'album, report {"payload":"album"}: success, album: small-owl.jpg, small-bird.jpg, small-night.jpg; '
        "without blank",
        "monday, publish monday: success, monday: 3 of 12, 5 at most",
    ]
    async with App().client(tmp_path / "kept.db", create=False) as client:
        assert await states_of(client) == {
            ("thumbnail", "success"): 3,
            ("thumbnail", "failed"): 1,
            ("report", "success"): 1,
            ("extract", "success"): 1,
            ("extract", "failed"): 1,
            **{
                (kind, state): 1
                for kind in ("orders", "visits", "merge", "publish")
                for state in ("success", "skipped")
            },
        }
        [extract] = (await client.tasks(kind="extract", states=["failed"])).tasks
        [publish] = (await client.tasks(kind="publish", states=["skipped"])).tasks
        assert publish.why == f"dependency_failed: {extract.id}"
