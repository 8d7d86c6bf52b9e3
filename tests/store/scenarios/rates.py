"""Every statement about token buckets: a part of `tests.store.scenarios.every_verb`."""

from __future__ import annotations

from ramet.model.flow.resources import Policy, Told
from ramet.model.flow.shares import TakeRequest
from tests.support.world import World


async def rates(world: World) -> None:
    """Two lineages take from a bucket that has not enough for both, and a server tells of its limit."""
    await world.store.limit_resource(Policy("api", rate_per_second=1.0, burst=2.0), by="test")
    for name in ("takes first", "takes second"):
        await world.submit(world.task(kind="image"), tracking_id=name)
        claimed = await world.claim_one(kinds=("image",))
        standing = claimed.standing
        for _ in range(2):
            await world.store.take([TakeRequest(standing.seq, standing.fence, (("api", 2.0), ("free", 1.0)))])
    await world.store.adapt("api", Told(limit_per_minute=30.0, remaining=1.0))
    await world.store.adapt("api", Told(limit_per_minute=30.0))
