"""The judge of every answer notices what is broken: paths, pauses, trees, breakers, chains, schedules, copies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ramet.model.flow import resources
from ramet.model.flow.resources import Resource, ResourceCapacity, ResourcePolicy
from ramet.model.task import events as ev
from ramet.model.task import lifecycle
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change, Transition, TransitionRefused
from ramet.store.rows import lineages, paths
from ramet.store.rows.paths import PathRow
from ramet.store.schema import versions
from ramet.store.session import Session
from ramet.store.sqlite import store as sqlite
from ramet.store.sqlite.session import SqliteSession
from ramet.store.verbs import claim, fenced, lineage_followup, pause, schedule, settle
from tests.simulation.broken_engines import must_be_found_with
from tests.upgrade.plans import LATER, NEXT


@pytest.mark.nightly
def test_paths_that_do_not_exclude_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither who stands before a task nor who holds its path is looked at."""

    def nobody(session: Session, lines: Sequence[PathRow]) -> list[int | None]:
        return [None] * len(lines)

    monkeypatch.setattr(paths, "blockers", nobody)
    monkeypatch.setattr(paths, "shift_holders", lambda session, left, came: None)
    must_be_found_with({"paths"}, tmp_path, "run at once on")


@pytest.mark.nightly
def test_a_task_that_overtakes_on_its_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs is waited for, and who waits is not: the constraint alone keeps promise I7, and not its order."""
    blockers = paths.blockers

    def only_holders(session: Session, lines: Sequence[PathRow]) -> list[int | None]:
        holding = {ticket for (ticket,) in session.rows("SELECT ticket FROM ramet_paths WHERE waits_on IS NULL")}
        return [ticket if ticket in holding else None for ticket in blockers(session, lines)]

    monkeypatch.setattr(paths, "blockers", only_holders)
    must_be_found_with({"paths"}, tmp_path, "")


@pytest.mark.nightly
def test_claims_in_a_pause_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = lineages.read_lineages

    def all_run(session: Session, tracking_ids: Any) -> dict[str, Any]:
        found = read(session, tracking_ids)
        return {name: row._replace(state="running") if row.state == "paused" else row for name, row in found.items()}

    monkeypatch.setattr(claim, "read_lineages", all_run)
    must_be_found_with({"at once"}, tmp_path, "was paused")


@pytest.mark.nightly
def test_a_clock_that_no_pause_stops_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "stopped_since", lambda since, now: 0.0)
    must_be_found_with(set(), tmp_path, "and its clock stood still for 0")


def test_a_cancelled_tree_that_goes_on_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks for a grave: not claims, heartbeats and settlements, nor the follow-up, which is prompt enough here
    to hide that the others do not.
    """
    monkeypatch.setattr(claim, "_under_tombstone", lambda session, standing, marks: False)
    for module in (settle, lineage_followup):
        monkeypatch.setattr(module, "tombstone_over", lambda marks, task_id, chain: None)
    must_be_found_with({"trees"}, tmp_path, "below a task that was cancelled")


@pytest.mark.nightly
@pytest.mark.parametrize("part", ["source", "paths"])
def test_claims_past_an_open_breaker_are_found(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a source that a person closes, and of a host with a cool-down."""

    def always(resource: Resource, policy: ResourcePolicy, now: float, in_use: int) -> ResourceCapacity:
        return ResourceCapacity(None)

    monkeypatch.setattr(resources, "room", always)
    must_be_found_with({part}, tmp_path, "was open")


def test_failures_that_a_breaker_does_not_count_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(resource: Resource, policy: ResourcePolicy, now: float, reason: str) -> Resource:
        return resource

    monkeypatch.setattr(resources, "failed", forgetful)
    must_be_found_with({"source"}, tmp_path, "counts 0 failures, not 1")


def test_a_breaker_that_never_opens_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(resource: Resource, policy: ResourcePolicy, now: float, reason: str) -> Resource:
        return resource._replace(failures=resource.failures + 1)

    monkeypatch.setattr(resources, "failed", counts)
    must_be_found_with({"source"}, tmp_path, "is closed after")


def test_chains_without_end_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transition, rule = lifecycle._RULES[ev.Continue]

    def endless(row: Transition, task: Standing, event: ev.Event, now: float) -> Change | TransitionRefused:
        return rule(row, task._replace(max_chain_depth=task.max_chain_depth + 3), event, now)

    monkeypatch.setitem(lifecycle._RULES, ev.Continue, (transition, endless))
    must_be_found_with({"chains"}, tmp_path, "goes on for the 3th time")


def test_money_without_a_ceiling_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what is decided, nor the condition of the update that does it, nor the constraint of the row holds it."""
    run = SqliteSession.run

    def unbounded(self: SqliteSession, sql: str, parameters: Sequence[Any] = ()) -> int:
        return run(self, sql.replace("spent + reserved + ? <= max_cost", "? IS NOT NULL"), parameters)

    monkeypatch.setattr(SqliteSession, "run", unbounded)
    monkeypatch.setattr(fenced, "refusal", lambda *_: None)
    must_be_found_with(
        {"money"},
        tmp_path,
        "spent or reserved",
        prepare=lambda store: store.execute("PRAGMA ignore_check_constraints = ON"),
    )


@pytest.mark.nightly
def test_slots_that_run_beside_the_run_before_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_open", lambda session, tracking_id: False)
    must_be_found_with({"schedules"}, tmp_path, "of bell runs beside")


@pytest.mark.nightly
def test_an_upgrade_that_changes_what_tasks_know_is_found(tmp_path: Path) -> None:
    careless = versions.SchemaPlan(
        (*NEXT.steps[:-1], (*LATER, "UPDATE ramet_live SET rank = rank + 1")), NEXT.compatible_from
    )
    must_be_found_with({"upgrade"}, tmp_path, "the upgrade changed table ramet_live", later=careless)


@pytest.mark.nightly
def test_a_copy_that_hands_out_fences_again_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in the epoch of the database of which it is a copy."""

    def same_epoch(session: Session) -> int:
        session.run("DELETE FROM ramet_counters WHERE name = 'copied'")
        return 0

    monkeypatch.setattr(sqlite, "begin_epoch", same_epoch)
    must_be_found_with({"restore"}, tmp_path, "was claimed with fence")
