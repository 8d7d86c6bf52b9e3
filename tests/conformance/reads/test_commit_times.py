"""How long commits take: every worker's part is added once, and the sums never fall, whoever ends or is forgotten."""

from __future__ import annotations

import pytest

from ramet.model.flow.resources import COMMIT_BUCKETS_SECONDS, COMMIT_VERBS, WorkerStatus
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.errors import StoreError, StoreUncertain
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.rows.workers import CommitTimer
from ramet.store.store import Store

WORKER = WorkerStatus("w", "here", 1, ("page",), ("default",), 4)


async def work(store: Store, tasks: int, tracking_id: str = "line") -> None:
    """One submit, one claim and one settlement."""
    roots = [NewTask(f"{tracking_id} {n}", "page", f"key {n}", "null") for n in range(tasks)]
    await store.submit([NewLineage(tracking_id, roots)])
    taken = await store.claim(ClaimRequest("w", ("default",), ("page",), tasks, 300.0))
    await store.settle(
        [Settlement(item.standing.seq, item.standing.fence, ev.Complete(item.standing.fence)) for item in taken]
    )


async def counted(store: Store) -> dict[str, int]:
    return {times.verb: times.commits for times in await store.commit_times()}


async def test_commits_are_counted_by_what_they_were_for_once_each(shared: Store) -> None:
    await work(shared, 3)
    await work(shared, 5, "second")
    assert sum((await counted(shared)).values()) == 0
    await shared.see_worker(WORKER)
    first = await counted(shared)
    assert {verb: first[verb] for verb in ("claim", "settle", "submit")} == {"claim": 2, "settle": 2, "submit": 2}
    await shared.see_worker(WORKER)
    again = await counted(shared)
    assert again == first | {"other": first["other"] + 1}  # The first time that the worker was seen.


async def test_every_commit_is_in_one_bucket_and_its_seconds_are_in_the_sum(shared: Store) -> None:
    await work(shared, 3)
    await shared.see_worker(WORKER)
    times = await shared.commit_times()
    assert [each.verb for each in times] == list(COMMIT_VERBS)
    for each in times:
        assert len(each.counts) == len(COMMIT_BUCKETS_SECONDS) + 1
        least = sum(n * low for n, low in zip(each.counts, (0.0, *COMMIT_BUCKETS_SECONDS), strict=True))
        assert each.seconds >= least
        assert bool(each.seconds) == bool(each.commits)


async def test_what_a_worker_measured_stays_when_it_is_forgotten(shared: Store) -> None:
    await work(shared, 3)
    await shared.see_worker(WORKER)
    before = await counted(shared)
    await work(shared, 3, "after it was seen last")
    await shared.forget_worker("w")
    assert await shared.workers() == []
    after = await counted(shared)
    assert all(after[verb] >= before[verb] for verb in COMMIT_VERBS)
    assert after["settle"] == before["settle"] + 1


async def test_what_could_not_be_handed_over_is_handed_over_the_next_time(
    shared: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work(shared, 3)
    with monkeypatch.context() as patched:
        patched.setattr(shared, "_write_beside", refused(StoreError("full")))
        with pytest.raises(StoreError):
            await shared.see_worker(WORKER)
    await shared.see_worker(WORKER)
    assert (await counted(shared))["settle"] == 1


async def test_what_may_have_been_handed_over_is_not_handed_over_twice(
    shared: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work(shared, 3)
    with monkeypatch.context() as patched:
        patched.setattr(shared, "_write_beside", refused(StoreUncertain("away")))
        with pytest.raises(StoreUncertain):
            await shared.see_worker(WORKER)
    await shared.see_worker(WORKER)
    assert (await counted(shared))["settle"] == 0


def refused(error: StoreError) -> object:
    async def write(verb: object) -> None:
        raise error

    return write


def test_a_commit_at_the_bound_of_a_bucket_is_in_it_and_one_beyond_all_is_kept() -> None:
    at = [0.0]
    timer = CommitTimer(lambda: at[0])
    for seconds in (COMMIT_BUCKETS_SECONDS[0], COMMIT_BUCKETS_SECONDS[-1], COMMIT_BUCKETS_SECONDS[-1] + 1):
        at[0] = seconds
        timer.note("other", 0.0)
    assert {bucket for _, bucket in timer.take()} == {0, len(COMMIT_BUCKETS_SECONDS) - 1, len(COMMIT_BUCKETS_SECONDS)}
    assert timer.take() == {}
