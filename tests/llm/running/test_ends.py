"""What a person ends is cancelled at the provider, and what is revived asks anew and is booked anew."""

from __future__ import annotations

import pytest

from ramet import testing
from ramet.llm import pipeline
from ramet.llm.providers.base import Mode
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM
from ramet.llm.status import ItemState
from tests.llm.running.conftest import Desk
from tests.llm.running.test_jobs import PRICE_OF_ONE


@pytest.mark.parametrize("mode", [Mode.BACKGROUND, Mode.BATCH])
async def test_a_cancelled_job_is_cancelled_at_the_provider_at_once(desk: Desk) -> None:
    desk.provider.seconds = 10_000.0
    job = await desk.submit(["owl", "finch"])
    await desk.slot()
    assert (await desk.status()).items[ItemState.PROCESSING] == 2
    await desk.client.cancel_lineage(job.job_id, by="test")
    await testing.drain(pipeline.app, desk.client, advance=False)
    await desk.slot()
    assert sorted(desk.provider.cancels) == sorted(desk.provider.taken)
    after = await desk.status()
    assert (after.state, after.items[ItemState.CANCELLED]) == ("cancelled", 2)


@pytest.mark.parametrize("mode", [Mode.BACKGROUND, Mode.CHAT])
async def test_what_failed_and_is_revived_is_asked_and_booked_again(desk: Desk) -> None:
    desk.provider.lose_answer = lambda submit_key: True
    job = await desk.submit(["owl"], call_retries=0)
    await desk.run()
    assert (await desk.results())["owl"].startswith("unknown: ")
    spent = (await desk.status()).job.lineage.spent
    assert spent > 0
    desk.provider.lose_answer = lambda submit_key: False
    page = await desk.client.tasks(tracking_id=job.job_id, kind=ITEM)
    assert await desk.client.revive([page.tasks[0].id], by="test") == [page.tasks[0].id]
    await desk.run()
    after = await desk.status()
    assert (after.state, after.ambiguous) == ("succeeded", 1)
    assert after.job.lineage.spent == spent + PRICE_OF_ONE
    assert list(desk.provider.journal.values()) == [2]


@pytest.mark.parametrize("mode", [Mode.BATCH])
async def test_an_uncertain_batch_is_found_and_not_sent_again(desk: Desk) -> None:
    lost: list[str] = []

    def lose(submit_key: str) -> bool:
        lost.append(submit_key)
        return len(lost) == 1

    desk.provider.lose_answer = lose
    await desk.submit(["owl", "finch"])
    await desk.run()
    assert await desk.results() == {"owl": "OWL", "finch": "FINCH"}
    assert set(desk.provider.journal.values()) == {1}
    [(outcome, items)] = await desk.client.read("SELECT outcome, items FROM llm_ambiguous")
    assert (outcome, items) == ("found", 2)
    counts = {count.kind for count in await desk.client.counts() if count.state == "success"}
    assert BATCH_ITEM in counts


@pytest.mark.parametrize("mode", [Mode.BATCH])
async def test_a_batch_whose_items_all_timed_out_is_cancelled_at_the_provider(desk: Desk) -> None:
    desk.provider.seconds = float("inf")
    await desk.submit(["owl", "finch"], item_seconds=3_000.0)
    await desk.run()
    assert desk.provider.cancels == list(desk.provider.taken)
    assert {reason.partition(":")[0] for reason in (await desk.results()).values()} == {"task_deadline"}
    assert (await desk.status()).job.lineage.reserved == 0


@pytest.mark.parametrize("mode", [Mode.BATCH])
async def test_items_of_a_batch_that_failed_are_revived_with_their_lane(desk: Desk) -> None:
    answer = desk.provider.answer
    desk.provider.answer = lambda request: None
    job = await desk.submit(["owl"])
    await desk.run()
    assert (await desk.results())["owl"].startswith("no_answer: ")
    desk.provider.answer = answer
    for kind in (BATCH_ITEM, BATCH):
        page = await desk.client.tasks(tracking_id=job.job_id, kind=kind)
        assert len(await desk.client.revive([task.id for task in page.tasks], by="test")) == 1
    await desk.run()
    assert await desk.results() == {"owl": "OWL"}
    assert (await desk.status()).job.lineage.spent == PRICE_OF_ONE
