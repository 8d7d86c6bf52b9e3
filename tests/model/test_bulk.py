"""Which tasks a filter means, and what an act on many of them leads from."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.operations import BulkAction, BulkSelection, TaskFilter
from ramet.model.paths import path_of
from ramet.model.task.task import Task, TaskState
from ramet.model.values import InvalidText


def task(**changes: Any) -> Task:
    values: dict[str, Any] = {
        "id": "t", "tracking_id": "line-1", "parent_id": None, "kind": "page", "key": "a", "queue": "default",
        "priority": 0, "payload": None, "ancestry_chain": (), "spawn_depth": 0, "max_spawn_depth": 10,
        "state": TaskState.FAILED, "reason": "attempts_exhausted: 4", "error": "Timeout: too slow", "result": None,
        "created_at": 100.0, "available_at": None, "finished_at": 200.0, "attempts": 4, "max_attempts": 4, "losses": 0,
        "snoozes": 0, "chain_depth": 0, "stage": None, "fence": 4, "lease_until": None, "worker": None,
        "deadline_at": None, "wait": None,
    }  # fmt: skip
    return Task(**{**values, **changes})


@pytest.mark.parametrize(
    ("wanted", "changes", "matches"),
    [
        ({}, {}, True),
        ({"error": "TOO slow"}, {}, True),
        ({"error": "Exhausted"}, {}, True),
        ({"error": "slow\nattempts"}, {}, True),
        ({"error": "other"}, {}, False),
        ({"error": "none"}, {"error": None, "reason": None}, False),
        ({"error": "x"}, {"error": None, "reason": None}, False),
        ({"since": 200.0}, {}, True),
        ({"since": 200.5}, {}, False),
        ({"since": 100.0}, {"finished_at": None}, True),
        ({"since": 150.0}, {"finished_at": None}, False),
        ({"kind": "page"}, {}, True),
        ({"kind": "pag"}, {}, False),
        ({"tracking_id": "line-1"}, {}, True),
        ({"tracking_id": "line"}, {}, False),
        ({"queue": "default"}, {}, True),
        ({"queue": "slow"}, {}, False),
        ({"path": ["a"]}, {"path": ("a", "b")}, True),
        ({"path": ["a", "b"]}, {"path": ("a", "b")}, True),
        ({"path": ["a", "b"]}, {"path": ("a",)}, False),
        ({"path": ["b"]}, {"path": ("a", "b")}, False),
        ({"path": ["a"]}, {"path": ("a", "b"), "queue": "slow"}, False),
        ({"path": ["a"], "queue": "slow"}, {"path": ("a", "b"), "queue": "slow"}, True),
        ({"task_ids": ["other"]}, {}, True),
        ({"lineage_prefix": "line"}, {}, True),
        ({"lineage_prefix": "ine"}, {}, False),
        ({"since": 200.0, "error": "slow", "lineage_prefix": "line-1"}, {}, True),
        ({"since": 200.0, "error": "other", "lineage_prefix": "line-1"}, {}, False),
        ({"since": 300.0, "error": "slow", "lineage_prefix": "line-1"}, {}, False),
        ({"since": 200.0, "error": "slow", "lineage_prefix": "line-2"}, {}, False),
    ],
)
def test_a_task_is_meant_when_all_that_is_given_applies(
    wanted: dict[str, Any], changes: dict[str, Any], matches: bool
) -> None:
    assert TaskFilter(**wanted).matches(task(**changes)) is matches


@pytest.mark.parametrize(
    ("act", "states"),
    [("retry", {"failed"}), ("cancel", {"pending", "processing"}), ("exclude", {"failed"})],
)
def test_an_act_means_certain_states_where_none_is_named(act: str, states: set[str]) -> None:
    assert TaskFilter().wanted(BulkAction(act)) == states


@pytest.mark.parametrize(
    ("act", "state", "possible"),
    [
        ("retry", "success", "cancelled, failed, filtered, skipped"),
        ("cancel", "failed", "pending, processing"),
        ("exclude", "processing", "cancelled, failed, pending"),
    ],
)
def test_a_state_from_which_an_act_leads_nowhere_is_refused(act: str, state: str, possible: str) -> None:
    with pytest.raises(ValueError, match=f"^cannot {act} tasks that are {state}: give {possible}$"):
        TaskFilter(states=[state]).wanted(BulkAction(act))
    for one in possible.split(", "):
        assert TaskFilter(states=[one]).wanted(BulkAction(act)) == {one}


def test_a_filter_is_recorded_as_json() -> None:
    everything = TaskFilter(("failed",), "page", "slow", 5.0, "line")
    assert everything.facts(BulkAction.RETRY) == {
        "states": ["failed"], "kind": "page", "error": "slow", "since": 5.0, "lineage_prefix": "line",
    }  # fmt: skip
    assert TaskFilter().facts(BulkAction.CANCEL) == {"states": ["pending", "processing"]}
    named = TaskFilter(tracking_id="line", task_ids=["b", "a", "b"], path=["x"])
    assert named.facts(BulkAction.EXCLUDE) == {
        "states": ["failed"], "path": ["x"], "queue": "default", "tracking_id": "line", "task_ids": ["b", "a"],
    }  # fmt: skip


def test_a_filter_names_at_most_a_thousand_tasks_each_once() -> None:
    ids = [str(number) for number in range(1_000)]
    assert TaskFilter(task_ids=[*ids, *ids]).task_ids == tuple(ids)
    with pytest.raises(ValueError, match=r"^1001 tasks: name at most 1000, or filter them$"):
        TaskFilter(task_ids=[*ids, "more"])


@pytest.mark.parametrize("wrong", [{"states": ["lost"]}, {"since": float("nan")}, {"since": float("inf")}])
def test_what_cannot_be_a_filter_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"lost|^since is (nan|inf): give a moment in Unix seconds$"):
        TaskFilter(**wrong)


@pytest.mark.parametrize(
    ("name", "said", "most"),
    [
        ("kind", "kind", 255), ("error", "error", 2_000), ("lineage_prefix", "lineage prefix", 255),
        ("tracking_id", "tracking id", 255), ("queue", "queue", 255),
    ],
)  # fmt: skip
def test_a_text_that_no_task_can_have_is_refused_by_name(name: str, said: str, most: int) -> None:
    assert getattr(TaskFilter(**{name: "x" * most}), name) == "x" * most  # type: ignore[arg-type]
    with pytest.raises(InvalidText, match=f"^{said} has {most + 1} characters: give at most {most}$"):
        TaskFilter(**{name: "x" * (most + 1)})  # type: ignore[arg-type]
    with pytest.raises(InvalidText, match=f"^{said} 'a"):
        TaskFilter(**{name: "a\0"})  # type: ignore[arg-type]


def test_a_selection_counts_by_kind_and_state_and_keeps_the_order() -> None:
    rows = [("3", "b", "failed"), ("1", "a", "failed"), ("2", "b", "failed"), ("4", "a", "cancelled")]
    found = BulkSelection.of(BulkAction.RETRY, TaskFilter(), rows)
    assert found.more is False
    assert (found.act, found.filter, found.task_ids) == (BulkAction.RETRY, TaskFilter(), ("3", "1", "2", "4"))
    assert list(found.counts.items()) == [(("a", "cancelled"), 1), (("a", "failed"), 1), (("b", "failed"), 2)]


def test_a_path_of_a_filter_is_a_path() -> None:
    assert TaskFilter(path=["a", "b"]).path == path_of(["a", "b"]) == ("a", "b")
