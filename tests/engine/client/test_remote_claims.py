"""Claims of a program on another machine: they outlive the client that took them, and are settled by any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Claim, ClaimLost, Client
from ramet.testing import FakeClock, fresh_client

app = App()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Client]:
    async with fresh_client(app, folder=tmp_path, clock=clock) as client:
        yield client


async def test_a_claim_is_resumed_by_its_number_and_fence(client: Client) -> None:
    made = await client.submit("page", {"title": "Owl"}, key="a")
    [claim] = await client.claim("page", worker="node-1")
    await claim.advance("loaded", {"links": 2})
    task = await client.get(made.id)
    assert task is not None
    assert task.worker == "remote:node-1"
    [again] = await client.resume_claims([claim.pair])
    assert isinstance(again, Claim)
    assert (again.id, again.raw_payload, again.stage, again.state) == (
        made.id,
        {"title": "Owl"},
        "loaded",
        {"links": 2},
    )
    await again.complete("done")
    assert await client.result(made.id) == "done"


async def test_no_process_of_this_machine_ends_the_claims_of_another(client: Client) -> None:
    await client.submit("page", key="a")
    [claim] = await client.claim("page", worker="node-1", lease_seconds=60)
    assert await client.reclaim() == 0
    [again] = await client.resume_claims([claim.pair])
    assert isinstance(again, Claim)


async def test_what_became_of_a_claim_is_known_whatever_it_is(client: Client, clock: FakeClock) -> None:
    await client.submit("page", key="a")
    [first] = await client.claim("page", lease_seconds=10)
    clock.advance(11)
    await client.reclaim()
    [second] = await client.claim("page", worker="node-2")
    [lost] = await client.resume_claims([first.pair])
    assert isinstance(lost, ClaimLost)
    fate = await client.claim_fate(*first.pair)
    assert (fate.settled, fate.outcome, str(lost)) == (False, "lost", fate.message)
    assert fate.message.endswith(f"under fence {second.fence}, held by remote:node-2")
    await second.complete()
    assert (await client.claim_fate(*second.pair)).settled
    assert "was never given" in (await client.claim_fate(second.pair[0], 99)).message
    nothing = await client.claim_fate(999, 1)
    assert (nothing.task_id, nothing.outcome) == (None, None)


async def test_heartbeats_of_many_name_the_lost_ones(client: Client, clock: FakeClock) -> None:
    for key in "ab":
        await client.submit("page", key=key)
    claims = await client.claim("page", n=2, lease_seconds=10)
    await claims[0].release()
    clock.advance(8)
    lost = await client.heartbeat_many([claim.pair for claim in claims], lease_seconds=10)
    assert [*lost] == [claims[0].pair]
    assert lost[claims[0].pair].outcome == "returned"
    clock.advance(8)
    assert await client.reclaim() == 0
    assert await client.heartbeat_many([]) == {}


@pytest.mark.parametrize("worker", ["", "a\x00b", "x" * 1_000])
async def test_a_worker_has_a_name_that_can_be_stored(client: Client, worker: str) -> None:
    await client.submit("page", key="a")
    with pytest.raises(ValueError, match="worker"):
        await client.claim("page", worker=worker)
    assert [task.state for task in (await client.tasks()).tasks] == ["pending"]
