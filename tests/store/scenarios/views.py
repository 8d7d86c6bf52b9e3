"""A run through the bounded reads, in every way that leads to a statement of its own."""

from __future__ import annotations

from tests.support.world import World


async def watch(world: World, parent_id: str) -> None:
    """What is live, lineages, branches of the lineage ``line`` and of one task."""
    await world.store.present()
    await world.store.lineages()
    await world.store.lineages(states=["running"])
    await world.store.lineage("line")
    newest = await world.store.lineage_page(limit=1)
    await world.store.lineage_page(limit=1, before=newest.next_before)
    for name, parent in (("line", None), (None, parent_id)):
        await world.store.branches(tracking_id=name, parent_id=parent)
        await world.store.twigs(tracking_id=name, parent_id=parent, kind="page", state="success")
    await world.store.checkpoint(parent_id)
    await world.store.deepest(["line"])
    await world.store.lineage_counts("line")
    for order in ("fullest", "deadline"):
        await world.store.lineage_page(order=order)
    await world.store.lineage_page(prefix="li", states=["running"])
    await world.store.block_page("line")
    await world.store.block_page("line", kind="page", keys=["x"], reason="done", after='["", "", ""]')
    await world.store.task_calls(parent_id)
    await world.store.tasks_with_key("x")
    await world.store.backlogs()
    await world.store.resource_backlogs(["host:a"])
    await world.store.in_hand()
    await world.store.delays("line")
