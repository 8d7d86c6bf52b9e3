"""What commits at once under a claim: blobs and a handler's own transactions, fenced, bounded, all or none."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.values import NewBlob, blob_of
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.errors import StoreError, TransactionRefused
from ramet.store.requests import NewLineage, Settlement, Statement
from ramet.store.store import Store
from tests.support.world import World, in_threads, settlement, with_fence

ADD = "INSERT INTO effects (name, amount) VALUES (?, ?)"
ROOM = 1_000
GONE = ["fence", "lapsed", "cancelled", "deadline", "tree"]


def blob(content: str) -> NewBlob:
    return blob_of(content)[0]


def progress(claimed: ClaimedTask) -> Settlement:
    return settlement(claimed, ev.Progress(claimed.standing.fence, 300.0))


def checkpoint(claimed: ClaimedTask) -> Settlement:
    return settlement(claimed, ev.Checkpoint(claimed.standing.fence, 300.0))


async def keep(world: World, claimed: ClaimedTask, content: str) -> SettleResult:
    return await world.store.put_blob(progress(claimed), blob(content), ROOM)


async def lost_claim(world: World, how: str) -> ClaimedTask:
    """A claim that is not current any more."""
    limits: dict[str, Any] = {"lineage_seconds": 100.0} if how == "deadline" else {}
    [root] = await world.submit(**limits)
    claimed = await world.claim_one()
    if how == "fence":
        return with_fence(claimed, claimed.standing.fence - 1)
    if how in ("lapsed", "deadline"):
        world.clock.advance(299.0 if how == "deadline" else 300.0)
        await world.sweep()
    else:
        await world.store.cancel(root, tree=how == "tree", by="test")
    return claimed


@pytest.mark.parametrize("how", GONE)
async def test_a_claim_that_is_not_current_keeps_nothing_and_changes_nothing(world: World, how: str) -> None:
    claimed = await lost_claim(world, how)
    kept = await keep(world, claimed, "late")
    settled, ran, _ = await world.store.transact(checkpoint(claimed), [Statement(ADD, ("late", 1))])
    assert (kept.state, settled.state, ran) == (None, None, [])
    assert kept.refused is not None
    assert settled.refused is not None
    assert await world.store.read("SELECT * FROM ramet_blobs") == []
    assert await world.effects() == []


async def test_a_blob_is_there_for_its_lineage_alone_and_counted_once(world: World) -> None:
    await world.submit(tracking_id="one")
    claimed = await world.claim_one()
    for content in ("same", "same", "other"):
        assert (await keep(world, claimed, content)).state == "processing"
    assert await world.store.blob("one", blob("same").sha256) == b"same"
    assert await world.store.blob("two", blob("same").sha256) is None
    assert await world.store.read("SELECT blob_bytes FROM ramet_lineages") == [(9,)]


async def test_the_sum_of_a_lineages_blobs_is_never_passed_by_a_byte(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await keep(world, claimed, "x" * 900)
    with pytest.raises(StoreError, match="1000 bytes"):
        await keep(world, claimed, "y" * 101)
    await keep(world, claimed, "z" * 100)
    with pytest.raises(StoreError):
        await keep(world, claimed, "1")
    assert await world.store.read("SELECT SUM(size) FROM ramet_blobs") == [(1_000,)]
    assert (await world.settle(claimed)).state == "success"


async def test_blobs_of_many_threads_stay_within_the_bound(shared: Store) -> None:
    world = World(shared, None)  # type: ignore[arg-type]
    await world.submit(*(world.task() for _ in range(4)))
    claims = await world.claim(4)
    refused: list[StoreError] = []

    async def fill(claimed: ClaimedTask) -> None:
        for n in range(30):
            try:
                await keep(world, claimed, f"{claimed.standing.seq:03}{n:03}" + "x" * 14)
            except StoreError as error:
                refused.append(error)

    await in_threads(*(lambda c=c: fill(c) for c in claims))
    assert len(refused) == 4 * 30 - 50
    assert await shared.read("SELECT COUNT(*), SUM(size) FROM ramet_blobs") == [(50, 1_000)]


async def test_blobs_come_with_their_roots_or_not_at_all(world: World) -> None:
    def lineage(name: str, *contents: str) -> NewLineage:
        return NewLineage(name, [world.task(key=name)], blobs=[blob(c) for c in contents], blob_bytes_max=10)

    await world.store.submit([lineage("one", "four", "five!"), lineage("two")])
    with pytest.raises(StoreError):
        await world.store.submit([lineage("three", "fine"), lineage("four", "too much for it")])
    await world.store.submit([lineage("one", "four", "five!")])
    assert await world.store.read("SELECT tracking_id, size FROM ramet_blobs ORDER BY size") == [("one", 4), ("one", 5)]
    assert await world.store.lineage("three") is None


async def test_a_transaction_tells_rows_and_counts_and_is_progress(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    statements = [
        Statement(ADD, ("a", 1), 1),
        Statement("UPDATE effects SET amount = amount + 1", (), 1),
        Statement("SELECT name, amount FROM effects", (), 1),
        Statement("WITH n AS (SELECT 'b' AS name) INSERT INTO effects SELECT name, 5 FROM n", (), 1),
        Statement("WITH n AS (SELECT 7) SELECT * FROM n", (), 1),
        Statement("DELETE FROM effects WHERE name = 'b' RETURNING amount", (), 1),
    ]
    settled, ran, _ = await world.store.transact(checkpoint(claimed), statements)
    assert settled.state == "processing"
    assert [(r.row_count, r.rows) for r in ran] == [
        (1, ()), (1, ()), (1, (("a", 2),)), (1, ()), (1, ((7,),)), (1, ((5,),))
    ]  # fmt: skip
    again = await world.settle(claimed, ev.Continue(claimed.standing.fence, progressed=False))
    assert again.state == "pending"


@pytest.mark.parametrize("bad", [Statement(ADD, ("a", 1)), Statement(ADD, ("b", 1), 2), Statement("SELECT 1", (), 0)])
async def test_a_refused_transaction_leaves_everything_as_it_was(world: World, bad: Statement) -> None:
    await world.submit()
    claimed = await world.claim_one()
    before = await world.store.read("SELECT * FROM ramet_live")
    world.clock.advance(10.0)
    with pytest.raises(TransactionRefused) as refused:
        await world.store.transact(checkpoint(claimed), [Statement(ADD, ("a", 1)), bad, Statement(ADD, ("c", 1))])
    assert refused.value.statement == 1
    assert await world.effects() == []
    assert await world.store.read("SELECT * FROM ramet_live") == before
