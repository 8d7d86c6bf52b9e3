"""Two processes of eight threads each grow in one branch: its tasks and its money are used up, and never passed."""

from __future__ import annotations

import asyncio
import json

from ramet.model.lineage.branches import Budget
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.store import Store
from tests.conformance.guard.growing_process import INNER, KIND, THREADS, Granted, grow_in_threads
from tests.conformance.guard.test_concurrent_spawns import rival
from tests.invariants.check import violations
from tests.support.backends import Backend

GROWERS = 2 * THREADS
BRANCH = Budget(max_tasks=150, max_cost=500, keep_cost=50)


async def grown(store: Store, address: str) -> list[Granted]:
    """Create the branch, and let all of both processes grow in it at once; return what each was granted."""
    await store.submit([NewLineage("line", [NewTask("root", "root", "root", "null")], max_tasks=400, max_cost=2_000)])
    for kind, children in (
        ("root", [NewTask("trunk", "trunk", "trunk", "null", budget=BRANCH)]),
        ("trunk", [NewTask(f"grower{n}", KIND, f"grower{n}", "null") for n in range(GROWERS)]),
    ):
        [claimed] = await store.claim(ClaimRequest("w", ("default",), (kind,), 1, 300.0))
        seq, fence = claimed.standing.seq, claimed.standing.fence
        [answer] = await store.settle([Settlement(seq, fence, ev.Complete(fence), spawns=children)])
        assert [told.reason for told in answer.spawns] == [None] * len(children)
    with rival(address, "growing_process") as process:
        telling = asyncio.create_task(asyncio.to_thread(process.communicate, "go\n"))
        ours = await grow_in_threads(store, "ours")
        text, _ = await telling
        assert process.returncode == 0
    return ours + [Granted(*row) for row in json.loads(text)]


async def test_a_branch_is_used_up_and_never_passed_by_sixteen_at_once(shared: Store, backend: Backend) -> None:
    granted = await grown(shared, backend.address)
    plain, inner, amount = (sum(column) for column in zip(*granted, strict=True))
    assert len(granted) == GROWERS
    assert inner > 0
    assert 1 + GROWERS + plain + inner * int(INNER.max_tasks or 0) == BRANCH.max_tasks
    assert amount + inner * int(INNER.max_cost or 0) == int(BRANCH.max_cost or 0) - BRANCH.keep_cost
    assert await violations(shared) == []
    lineage = await shared.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.spent, lineage.reserved) == (1 + int(BRANCH.max_tasks or 0), 0, BRANCH.max_cost)
    assert await shared.cancel_lineage("line", by="me")
    while (await shared.sweep(limit=100)).changed:
        pass
    assert await violations(shared) == []
    over = await shared.lineage("line")
    assert over is not None
    assert (over.tasks, over.spent, over.reserved) == (2 + GROWERS + plain + inner, amount, 0)
