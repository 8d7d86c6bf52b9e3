"""People hear of blocked spawns once a minute per lineage and reason, with the count; duplicates stay quiet."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ramet.engine.base import task_log
from ramet.engine.base.task_log import WARN_SECONDS, BlockLog
from ramet.model.lineage.guard import BlockReason
from ramet.store.answers import SpawnResult
from tests.support.fakes import Hands


def blocked(reason: BlockReason, key: str = "k") -> SpawnResult:
    return SpawnResult(None, "page", key, reason, {"value": 7, "limit": 6})


@pytest.fixture(autouse=True)
def everything_is_heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="ramet.guard")


def test_one_warning_a_minute_for_each_lineage_and_reason(caplog: pytest.LogCaptureFixture) -> None:
    clock = Hands()
    told = BlockLog(clock)
    for _ in range(3):
        told.note("lineage-1", "task", 2, [blocked(BlockReason.DEPTH), blocked(BlockReason.BUDGET)])
        told.note("lineage-2", "task", 2, [blocked(BlockReason.DEPTH)])
    assert [(r.levelname, r.tracking_id, r.reason, r.count) for r in map(vars_of, caplog.records)] == [
        ("WARNING", "lineage-1", "depth", 1),
        ("WARNING", "lineage-1", "budget", 1),
        ("WARNING", "lineage-2", "depth", 1),
    ]


def test_the_next_warning_counts_what_was_not_said(caplog: pytest.LogCaptureFixture) -> None:
    clock = Hands()
    told = BlockLog(clock)
    told.note("lineage", "task", 2, [blocked(BlockReason.CYCLE)] * 5)
    clock.at += WARN_SECONDS - 0.01
    told.note("lineage", "task", 2, [blocked(BlockReason.CYCLE)])
    assert len(caplog.records) == 1
    clock.at += 0.01
    told.note("lineage", "task", 2, [blocked(BlockReason.CYCLE)])
    assert vars_of(caplog.records[1]).count == 6
    assert "and 5 more since the last warning" in caplog.records[1].getMessage()
    clock.at += WARN_SECONDS
    told.note("lineage", "task", 2, [blocked(BlockReason.CYCLE)])
    assert vars_of(caplog.records[2]).count == 1
    assert "more since" not in caplog.records[2].getMessage()


def test_the_warning_names_what_a_person_needs(caplog: pytest.LogCaptureFixture) -> None:
    BlockLog(Hands()).note("lineage", "task-7", 2, [blocked(BlockReason.DEPTH, "the key")])
    fields = vars_of(caplog.records[0])
    assert (fields.task_id, fields.tracking_id, fields.spawn_depth, fields.chain_length) == ("task-7", "lineage", 2, 3)
    for word in ("page", "'the key'", "depth", "depth 7 is over max_spawn_depth 6", "task-7", "lineage"):
        assert word in caplog.records[0].getMessage()


@pytest.mark.parametrize("reason", list(BlockReason))
def test_duplicates_are_told_at_debug_and_all_else_warns(reason: BlockReason, caplog: pytest.LogCaptureFixture) -> None:
    BlockLog(Hands()).note("lineage", "task", 0, [blocked(reason)])
    everyday = reason in {"in_flight", "done", "elsewhere"}
    assert [record.levelname for record in caplog.records] == ["DEBUG" if everyday else "WARNING"]
    assert vars_of(caplog.records[0]).reason == reason.value


def test_granted_spawns_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    BlockLog(Hands()).note("lineage", "task", 0, [SpawnResult("id", "page", "k")])
    assert caplog.records == []


def test_what_it_remembers_is_bounded(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_log, "REMEMBERED_MAX", 10)
    told = BlockLog(Hands())
    for number in range(25):
        told.note(f"lineage-{number}", "task", 0, [blocked(BlockReason.DEPTH)])
        assert len(told._since) <= 10
    assert len(caplog.records) == 25, "forgetting may repeat a warning, it never swallows one"


def vars_of(record: logging.LogRecord) -> Any:
    """A record with its extra fields, for the type checker."""
    return record
