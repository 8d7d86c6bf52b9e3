"""Metrics: true against what happened, on both stores; parsed by the official parsers; bounded; counters never fall."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from ramet import App, Client, Limits, StoreError
from ramet.model.flow.resources import WorkerStatus
from ramet.model.tallies import ZERO, ReasonTally, Tallies, tally_of
from ramet.model.task import events as ev
from ramet.store.store import Store
from ramet.telemetry.families import BY_NAME, DEEPER, FAMILIES, KINDS_MAX, OTHER, REASONS_MAX
from ramet.telemetry.metrics import FRESH_SECONDS, Exposition, LabelNames, Snapshot, Snapshots, read_snapshot
from tests.support.backends import BACKENDS, Backend
from tests.support.world import LEASE_SECONDS, SettableClock, World, failing

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
async def world(backend: Backend) -> AsyncIterator[World]:
    clock = SettableClock()
    world = World(backend.open(clock=clock, inline=True), clock)
    yield world
    await world.store.close()


def client_of(store: Store) -> Client:
    return Client(App().registry, store, Limits())


async def told(store: Store, exposition: Exposition | None = None) -> dict[str, dict[tuple[str, ...], float]]:
    """Sample name -> label values -> value, through the text format and its official parser."""
    text, _ = (exposition or Exposition()).text(await read_snapshot(client_of(store)))
    return samples(parse_text(text.decode()))


def samples(families: Iterable[Metric]) -> dict[str, dict[tuple[str, ...], float]]:
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


async def script(world: World) -> None:
    """Four pages and an image: two succeed after 3 s, one spawns the image, one fails, one is tried again."""
    await world.submit(*(world.task(f"page {n}") for n in range(4)), tracking_id="one")
    world.clock.advance(20.0)
    first, second, third, fourth = await world.claim(4)
    world.clock.advance(3.0)
    await world.grow(first, world.task("picture", kind="image"))
    await world.settle(second)
    await world.settle(third, failing(third, "broken", "permanent"))
    await world.settle(fourth, failing(fourth, "busy", "transient"))


async def test_what_is_told_is_what_happened(world: World) -> None:
    await script(world)
    await world.store.see_worker(WorkerStatus("w", "here", 1, ("page",), ("default",), 4))
    found = await told(world.store)
    assert found["ramet_up"] == {(): 1}
    assert found["ramet_tasks_created_total"] == {("page",): 4, ("image",): 1}
    assert found["ramet_tasks_ended_total"]["page", "success"] == 2
    assert found["ramet_tasks_ended_total"]["page", "failed"] == 1
    assert found["ramet_tasks_live"] == {("page",): 1, ("image",): 1}
    assert found["ramet_queue_size"] == {("page",): 1, ("image",): 1}
    assert found["ramet_attempts_total"]["page", "success"] == 2
    assert found["ramet_attempts_total"]["page", "error"] == 2
    assert found["ramet_attempts_by_retry_total"]["error", "0"] == 2
    assert sum(found["ramet_failures_total"].values()) == 1
    assert found["ramet_chain_depth_total"]["0",] == 3
    assert found["ramet_chain_depth_total"][DEEPER,] == 0
    assert found["ramet_lineages"]["running",] == 1
    assert found["ramet_workers"] == {(): 1}
    assert found["ramet_tasks_stuck"] == {(): 0}
    assert found["ramet_budget_used_ratio"]["tasks",] == 5 / 100_000


async def test_histograms_have_the_sums_counts_and_buckets_of_what_happened(world: World) -> None:
    await script(world)
    found = await told(world.store)
    assert found["ramet_attempt_seconds_count"]["page",] == 4
    assert found["ramet_attempt_seconds_sum"]["page",] == pytest.approx(12.0)
    assert found["ramet_attempt_seconds_bucket"]["page", "2.5"] == 0
    assert found["ramet_attempt_seconds_bucket"]["page", "5.0"] == 4
    assert found["ramet_wait_seconds_sum"]["page",] == pytest.approx(80.0)
    assert found["ramet_wait_seconds_bucket"]["page", "30.0"] == 4
    assert found["ramet_spawn_depth_bucket"]["0.0",] == 4
    assert found["ramet_spawn_depth_bucket"]["1.0",] == 5
    assert found["ramet_spawn_depth_sum"] == {(): 1}


async def test_claims_that_go_stale_are_stuck_and_their_age_is_told(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"))
    world.clock.advance(7.0)
    await world.claim(1)
    world.clock.advance(10.0)
    found = await told(world.store)
    assert found["ramet_claims_active"] == {("page",): 1}
    assert found["ramet_queue_claims_active"] == {("default",): 1}
    assert found["ramet_queue_size"] == {("page",): 1}
    assert found["ramet_tasks_waiting"]["worker",] == 1
    assert found["ramet_oldest_lease_seconds"] == {(): 10}
    assert found["ramet_oldest_waiting_seconds"] == {(): 17}
    world.clock.advance(LEASE_SECONDS)
    found = await told(world.store)
    assert found["ramet_tasks_stuck"] == {(): 1}
    assert found["ramet_lease_overdue_seconds"] == {(): 10}


async def test_blocked_spawns_are_told_by_reason(world: World) -> None:
    await world.submit(world.task("a"))
    claimed = await world.claim_one()
    assert await world.spawn(claimed, world.task("a", kind="image")) == ["cycle"]
    assert (await told(world.store))["ramet_blocks_total"] == {("image", "cycle"): 1}


async def test_no_counter_falls_when_lineages_are_pruned_and_workers_go(world: World) -> None:
    await script(world)
    await world.store.see_worker(WorkerStatus("w", "here", 1, ("page",), ("default",), 4))
    exposition = Exposition()
    before = await told(world.store, exposition)
    await world.store.cancel_lineage("one", by="test")
    await world.sweep()
    world.clock.advance(9 * 86_400.0)
    await world.sweep()
    while await world.store.prune(world.clock.now):
        pass
    await world.store.forget_worker("w")
    assert await world.store.lineages() == []
    after = await told(world.store, exposition)
    for family in FAMILIES:
        if family.type in ("counter", "histogram"):
            for name in family.samples:
                fallen = {labels for labels, value in before.get(name, {}).items() if after[name][labels] < value}
                assert not fallen, name


async def test_both_formats_are_read_by_the_official_parsers_and_say_the_same(world: World) -> None:
    await script(world)
    snapshot = await read_snapshot(client_of(world.store))
    text, plain = Exposition().text(snapshot, "text/plain")
    openmetrics, modern = Exposition().text(snapshot, OPENMETRICS)
    assert plain.startswith("text/plain")
    assert modern.startswith("application/openmetrics-text")
    read: Callable[[str], Iterable[Metric]] = cast(Any, parse_openmetrics)
    assert samples(parse_text(text.decode())) == samples(read(openmetrics.decode()))


async def test_every_family_is_told_and_nothing_else_with_the_labels_that_it_declares(world: World) -> None:
    await script(world)
    snapshot = await read_snapshot(client_of(world.store))
    found = {sample.name for family in Exposition().families(snapshot) for sample in family.samples}
    # Of these nothing has happened: a counter without any label value has no sample.
    empty = {"ramet_claims_active", "ramet_queue_claims_active", "ramet_alerts_firing", "ramet_blocks_total"}
    assert found == {name for family in FAMILIES for name in family.samples} - empty
    for family in Exposition().families(snapshot):
        for sample in family.samples:
            declared = BY_NAME.get(sample.name) or BY_NAME[sample.name.rpartition("_")[0]]
            assert set(sample.labels) - {"le"} == set(declared.labels), sample.name


# --- bounds


async def flooded(world: World, names: int) -> Snapshot:
    snapshot = await read_snapshot(client_of(world.store))
    row = tally_of("", 0.0, 0.0, [1, *ZERO[1:]])
    rows = tuple(row._replace(kind=f'kind "{n}"\n\\') for n in range(names))
    reasons = tuple(ReasonTally("failed", f"kind {n}", f"reason{n}", 0.0, 0.0, 1) for n in range(names))
    return snapshot._replace(tallies=Tallies(rows, reasons))


async def test_ten_thousand_kinds_and_reasons_do_not_flood_prometheus(world: World) -> None:
    text, _ = Exposition().text(await flooded(world, 10_000))
    found = samples(parse_text(text.decode()))
    created = found["ramet_tasks_created_total"]
    assert len(created) == KINDS_MAX + 1
    assert created[OTHER,] == 10_000 - KINDS_MAX
    assert sum(found["ramet_failures_total"].values()) == 10_000
    assert len({reason for _, reason in found["ramet_failures_total"]}) == REASONS_MAX + 1
    assert text.count(b"\n") < 10_000


def test_a_name_that_was_given_is_kept_whoever_comes() -> None:
    names = LabelNames(2)
    names.admit({"a": 1, "b": 2, "c": 1})
    names.admit({"c": 100, "d": 200})
    assert [names.of(name) for name in "abcd"] == ["a", "b", OTHER, OTHER]


# --- one reading for all, in bounded time


async def test_the_database_is_read_once_in_five_seconds_however_many_ask(world: World, monkeypatch: Any) -> None:
    reads, at = [], [0.0]
    client = client_of(world.store)
    tallies = client.tallies

    async def counted() -> Tallies:
        reads.append(at[0])
        return await tallies()

    monkeypatch.setattr(client, "tallies", counted)
    snapshots = Snapshots(client, monotonic=lambda: at[0])
    first = await snapshots.get()
    at[0] = FRESH_SECONDS - 0.1
    assert await snapshots.get() is first
    at[0] = FRESH_SECONDS
    assert await snapshots.get() is not first
    assert reads == [0.0, FRESH_SECONDS]


@pytest.mark.parametrize("error", [StoreError("away"), TimeoutError()])
async def test_a_database_that_does_not_answer_is_told_as_down(
    world: World, monkeypatch: Any, error: Exception
) -> None:
    client = client_of(world.store)

    async def away() -> Tallies:
        raise error

    monkeypatch.setattr(client, "tallies", away)
    snapshot = await Snapshots(client).get()
    text, _ = Exposition().text(snapshot)
    assert samples(parse_text(text.decode())).keys() == {"ramet_up", "ramet_build_info"}
    assert b"ramet_up 0.0" in text


async def test_a_parent_that_waits_for_its_children_is_in_no_queue(world: World) -> None:
    await world.submit(world.task(kind="image"))
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[world.task("a"), world.task("b")])
    found = await told(world.store)
    assert found["ramet_tasks_live"] == {("image",): 1, ("page",): 2}
    assert found["ramet_queue_size"] == {("image",): 0, ("page",): 2}
    assert found["ramet_tasks_waiting"]["tasks",] == 1
