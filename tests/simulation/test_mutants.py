"""The simulation notices when any one guard of the engine is taken away, within a few seeds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ramet.model.flow import resources
from ramet.model.flow.resources import ClaimUsage, Resource, ResourceCapacity, ResourcePolicy
from ramet.model.lineage.guard import SpawnFacts, Verdict, check_spawn
from ramet.model.task import events as ev
from ramet.model.task import lifecycle
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change, Transition, TransitionRefused
from ramet.store.maintenance import sweep
from ramet.store.rows import blocks, lineages
from ramet.store.rows.tasks import load_standings
from ramet.store.session import Session
from ramet.store.verbs import claim, settle, spawn, submit
from ramet.store.verbs import reclaim as reclaiming
from ramet.store.verbs import resources as store_resources
from tests.simulation.broken_engines import SEEDS, SHORT, found, must_be_found, rough
from tests.simulation.database import SimulatedStore


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def on(request: pytest.FixtureRequest) -> str:
    """Which database, besides SQLite. What is taken away is the same on both, and a server takes ten times as long."""
    return str(request.param)


@pytest.mark.parametrize(
    ("on", "seed"),
    [
        pytest.param(on, seed, marks=[] if seed == SHORT else pytest.mark.nightly)
        for on in ("sqlite", "postgres")
        for seed in range(SEEDS)
    ],
)
def test_the_unbroken_engine_passes_those_seeds(on: str, seed: int, tmp_path: Path) -> None:
    assert found(rough(seed, on), tmp_path) == []


def test_without_the_fence_the_simulation_fails(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def any_fence(standing: Standing, fence: int, now: float) -> bool:
        return standing.state == "processing" and standing.lease_until > now

    monkeypatch.setattr(settle, "_current", any_fence)
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_without_counting_what_is_held_the_simulation_fails(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "locked_usage", lambda session: ClaimUsage({}, {}, {}))
    must_be_found(on, tmp_path, "run at once, over")


@pytest.mark.nightly
def test_without_tokens_the_simulation_fails(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def any_number(resource: Resource, policy: ResourcePolicy, now: float, in_use: int) -> ResourceCapacity:
        return ResourceCapacity(None)

    monkeypatch.setattr(resources, "room", any_number)
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_without_the_lease_check_the_simulation_fails(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def any_lease(standing: Standing, fence: int, now: float) -> bool:
        return standing.state == "processing" and standing.fence == fence

    monkeypatch.setattr(settle, "_current", any_lease)
    must_be_found(on, tmp_path, "which was not current")


@pytest.mark.nightly
def test_without_the_identities_the_simulation_fails(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the guard's look nor the unique index: duplicates and cycles come up."""

    def no_index(store: SimulatedStore) -> None:
        store.execute("DROP TABLE ramet_identities")
        store.execute("CREATE TABLE ramet_identities (key TEXT, tracking_id TEXT, kind TEXT, seq BIGINT)")

    def blind(facts: SpawnFacts) -> Verdict:
        return check_spawn(facts._replace(holders=()))

    monkeypatch.setattr(spawn, "check_spawn", blind)
    must_be_found(on, tmp_path, prepare=no_index)


def test_without_the_budget_decrement_the_simulation_fails(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_tasks = lineages.add_tasks

    def not_counted(session: Session, taken: Iterable[tuple[int, int, str, str]]) -> None:
        add_tasks(session, [(0, live, turns, tracking_id) for _, live, turns, tracking_id in taken])

    monkeypatch.setattr(spawn, "add_tasks", not_counted)
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_spawns_that_are_counted_twice_are_found(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_tasks = lineages.add_tasks

    def twice(session: Session, taken: Iterable[tuple[int, int, str, str]]) -> None:
        add_tasks(session, [(tasks, 2 * live, turns, tracking_id) for tasks, live, turns, tracking_id in taken])

    monkeypatch.setattr(spawn, "add_tasks", twice)
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_a_batch_that_is_allowed_unasked_is_found(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "all_allowed", lambda facts, news: True)
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_a_heartbeat_that_revives_a_dead_claim_is_found(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fresh(session: Session, seqs: Any) -> dict[int, Standing]:
        standings = load_standings(session, seqs)
        return {seq: standing._replace(lease_until=session.now + 1) for seq, standing in standings.items()}

    monkeypatch.setattr(claim, "load_standings", fresh)
    must_be_found(on, tmp_path, "a heartbeat kept fence")


def test_attempts_that_are_not_counted_are_found(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transition, rule = lifecycle._RULES[ev.Claim]

    def free(row: Transition, task: Standing, event: ev.Event, now: float) -> Change | TransitionRefused:
        change = rule(row, task, event, now)
        if isinstance(change, TransitionRefused):
            return change
        return change._replace(after=change.after._replace(attempts=min(1, change.after.attempts)))

    monkeypatch.setitem(lifecycle._RULES, ev.Claim, (transition, free))
    must_be_found(on, tmp_path, "attempts_are_bounded")


@pytest.mark.nightly
def test_a_sweep_that_reclaims_live_leases_is_found(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reclaim = reclaiming.reclaim

    def too_eager(session: Session, limit: int, dead_workers: object) -> tuple[int, int]:
        rows = session.rows("SELECT DISTINCT worker FROM ramet_live WHERE worker > ''")
        everybody = {str(name): None for (name,) in rows}
        return reclaim(session, limit, everybody)

    monkeypatch.setattr(sweep, "reclaim", too_eager)
    # PostgreSQL looks before it takes rows, and would see that nothing is stale.
    monkeypatch.setattr(sweep, "due_steps", lambda session, dead_workers: [*sweep.PARTS])
    must_be_found(on, tmp_path, "whose lease runs")


def test_losing_what_a_crashed_worker_held_is_found(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale claim that nobody takes back never ends."""
    for module in (sweep, store_resources):
        monkeypatch.setattr(module, "reclaim", lambda session, limit, dead_workers=(): (0, 0))
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_a_spawn_that_is_answered_and_not_made_is_found(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = submit.create

    def forgetful(session: Session, births: submit.Births) -> None:
        for column in (births.news, births.places, births.turns) if len(births.news) > 3 else ():
            column.pop()
        create(session, births)

    monkeypatch.setattr(spawn, "create", forgetful)
    must_be_found(on, tmp_path)


@pytest.mark.nightly
def test_a_refusal_that_is_not_stored_is_found(on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_blocks = blocks.store_blocks
    monkeypatch.setattr(
        spawn, "store_blocks", lambda session, refusals, lineages: store_blocks(session, refusals[1:], lineages)
    )
    must_be_found(on, tmp_path, "refusals are stored")
