"""What must hold when everything has ended, whatever was killed on the way."""

from __future__ import annotations

from collections import Counter

from ramet import Client
from tests.crash.crash_app import SIZE
from tests.invariants.check import violations


async def assert_promises_hold(client: Client, roots: dict[str, str], budgets: dict[str, int]) -> None:
    """Every acknowledged lineage grew to exactly its size, each task ended once, each effect is there once.

    Args:
        roots: ids of acknowledged roots by tracking_id.
        budgets: max_tasks of the lineages that were given less than their size.
    """
    assert await violations(client.store) == []
    assert await client.read("PRAGMA integrity_check") == [("ok",)]
    log = Counter((task, effect) for task, effect in await client.read("SELECT task, effect FROM crash_log"))
    assert max(log.values()) == 1, "an effect was there twice"
    assert {*await client.read("SELECT task, effect FROM crash_effects")} == set(log)
    expected: set[tuple[str, str]] = set()
    for tracking_id, root in roots.items():
        tasks = [task async for task in client.all_tasks(tracking_id=tracking_id)]
        assert root in {task.id for task in tasks}, "an acknowledged task is gone"
        numbers = {task.payload["n"]: task for task in tasks}
        assert len(numbers) == len(tasks) == budgets.get(tracking_id, SIZE)
        assert {n for n, task in numbers.items() if task.state == "filtered"} == {n for n in numbers if n % 6 == 0}
        assert {n for n, task in numbers.items() if task.state == "success"} == {n for n in numbers if n % 6}
        assert all(task.stage == "half" for task in tasks), "the checkpoint was kept"
        expected |= {(task.id, effect) for task in tasks for effect in ("first", "second")}
        lineage = await client.lineage(tracking_id)
        assert lineage is not None
        assert (lineage.state, lineage.live, lineage.tasks) == ("finished", 0, len(tasks))
        budget_blocks = await client.blocks(tracking_id, reason="budget")
        assert bool(budget_blocks) == (tracking_id in budgets)
    assert set(log) == expected
    ends = await client.read(
        "SELECT seq, COUNT(*) FROM ramet_attempts WHERE outcome IN ('success', 'filtered') GROUP BY seq"
    )
    assert len(ends) == sum(budgets.get(name, SIZE) for name in roots)
    assert {count for _, count in ends} == {1}, "a task ended twice"
