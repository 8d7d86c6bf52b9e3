"""A clock that is set wrong for a moment ends nothing; one that stays where it was set is believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramet.model.task.task import NewTask
from ramet.store.requests import NewLineage
from ramet.store.sqlite.store import SqliteStore
from ramet.store.wall_time import BELIEVED_SECONDS, JUMP_SECONDS, SteadyWallClock, steady_seconds

DAY_SECONDS = 86_400.0
BEGIN = 1_800_000_000.0


class Machine:
    """Its two clocks."""

    def __init__(self) -> None:
        self.wall, self.steady = BEGIN, 1_000.0
        self.time = SteadyWallClock(lambda: self.wall, lambda: self.steady)

    def pass_seconds(self, seconds: float, *, set_by: float = 0.0) -> None:
        """Time goes on, and somebody sets the clock."""
        self.steady += seconds
        self.wall += seconds + set_by


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize("jump", [11 * DAY_SECONDS, -11 * DAY_SECONDS, JUMP_SECONDS + 1.0, -JUMP_SECONDS - 1.0])
def test_a_jump_and_back_is_never_seen(machine: Machine, jump: float) -> None:
    machine.pass_seconds(10.0, set_by=jump)
    assert machine.time() == BEGIN + 10.0
    machine.pass_seconds(BELIEVED_SECONDS - 1.0)
    assert machine.time() == BEGIN + 10.0 + BELIEVED_SECONDS - 1.0
    machine.pass_seconds(5.0, set_by=-jump)
    assert machine.time() == machine.wall


@pytest.mark.parametrize("jump", [11 * DAY_SECONDS, -11 * DAY_SECONDS])
def test_a_jump_that_lasts_is_believed_and_told_twice(
    machine: Machine, jump: float, caplog: pytest.LogCaptureFixture
) -> None:
    machine.pass_seconds(0.0, set_by=jump)
    assert machine.time() == BEGIN
    machine.pass_seconds(BELIEVED_SECONDS)
    assert [machine.time(), machine.time()] == [machine.wall, machine.wall]
    assert len(caplog.records) == 2


def test_small_corrections_are_followed_at_once_and_add_up(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(10):
        machine.pass_seconds(1.0, set_by=JUMP_SECONDS)
        assert machine.time() == machine.wall
    assert caplog.records == []


def test_each_jump_has_its_own_time_to_last(machine: Machine) -> None:
    for _ in range(3):
        machine.pass_seconds(0.0, set_by=DAY_SECONDS)
        assert machine.time() < machine.wall
        machine.pass_seconds(BELIEVED_SECONDS / 2, set_by=-DAY_SECONDS)
        assert machine.time() == machine.wall


def test_the_steady_clock_does_not_run_backwards() -> None:
    assert 0.0 < steady_seconds() <= steady_seconds()


async def test_no_lineage_ends_by_a_clock_that_is_eleven_days_ahead_for_a_moment(
    machine: Machine, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "ramet.db", clock=machine.time, inline=True)
    lineages = [NewLineage(f"line{n}", [NewTask(f"t{n}", "page", "a", "null")]) for n in range(13)]
    await store.submit(lineages)
    machine.pass_seconds(60.0, set_by=11 * DAY_SECONDS)
    assert (await store.sweep()).lineages_ended == 0
    machine.pass_seconds(60.0, set_by=-11 * DAY_SECONDS)
    assert (await store.sweep()).lineages_ended == 0
    machine.pass_seconds(0.0, set_by=11 * DAY_SECONDS)
    assert (await store.sweep()).lineages_ended == 0
    machine.pass_seconds(BELIEVED_SECONDS)
    assert (await store.sweep()).lineages_ended == 13
    await store.close()
