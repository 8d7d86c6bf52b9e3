"""Pulled claims are kept alive by heartbeats while somebody works on them, and let go when they are lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ramet import App, Claim, ClaimLost, Client
from tests.support.waiting import until


async def test_heartbeats_keep_a_block_and_a_lost_claim_ends_it(tmp_path: Path) -> None:
    async with App().client(tmp_path / "real.db") as client:
        submitted = await client.submit("page")
        [claim] = await client.claim("page", lease_seconds=3.0)
        task = await client.get(submitted.id)
        assert task is not None
        first_end = task.lease_until or 0.0

        async def work() -> None:
            async with claim:
                await until(lambda: lease_past(client, claim, first_end + 1.2), "a second heartbeat")
                await client.cancel(claim.id)
                await asyncio.Event().wait()

        with pytest.raises(ClaimLost, match="while working on it"):
            await work()
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0
        assert claim.lost


async def lease_past(client: Client, claim: Claim, moment: float) -> bool:
    task = await client.get(claim.id)
    return task is not None and (task.lease_until or 0.0) > moment


async def test_a_batch_is_kept_and_what_has_no_outcome_goes_back(tmp_path: Path) -> None:
    async with App().client(tmp_path / "real.db") as client:
        for n in range(3):
            await client.submit("page", n)
        claims = await client.claim("page", n=3, lease_seconds=3.0)
        before = {task.id: task.lease_until or 0.0 for task in (await client.tasks()).tasks}
        async with client.keep(claims):
            for claim in claims:
                await until(lambda c=claim: lease_past(client, c, before[c.id]), "a heartbeat")  # type: ignore[misc]
            await claims[0].complete()
        states = [str(task.state) for task in (await client.tasks()).tasks]
        assert sorted(states) == ["pending", "pending", "success"]
        for claim in claims:
            await client.cancel(claim.id)
