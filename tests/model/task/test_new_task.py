"""What somebody who wants a task may say: never where it hangs (DESIGN §5)."""

from __future__ import annotations

import inspect
import json

import pytest

from ramet import Client, Context
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.lineage import Placement
from ramet.model.paths import PathRule
from ramet.model.task.task import After, NewTask

TRACKING = {*Placement._fields, "max_spawn_depth", "fence", "state"}


def test_a_wanted_task_has_no_tracking_field() -> None:
    assert not TRACKING & set(NewTask._fields)


@pytest.mark.parametrize("verb", [Context.spawn, Context.spawn_now, Client.submit])
def test_nobody_can_say_where_a_task_hangs(verb: object) -> None:
    assert callable(verb)
    asked = set(inspect.signature(verb).parameters)
    # A submit may name its lineage; that makes a new one, or repeats the one with these very roots.
    assert TRACKING & asked <= {"tracking_id"}
    assert verb is Client.submit or "tracking_id" not in asked


def test_a_wanted_task_comes_back_from_what_json_made_of_it() -> None:
    new = NewTask("t1", "job", "k", "{}", priority=3, path=PathRule(("a", "b"), "lineage"))
    plain = NewTask("t2", "job", "k", "{}")
    after = plain._replace(after=After((("t1",), ("page", "a")), False))
    part = plain._replace(budget=Budget(max_tasks=5, seconds=60.0), path=PathRule(("a",)))
    for wanted in (new, plain, after, part):
        restored = NewTask.restored(json.loads(json.dumps(wanted._asdict())))
        assert restored == NewTask.listed(json.loads(json.dumps(wanted))) == wanted
        assert [type(value) for value in restored] == [type(value) for value in wanted]
    assert NewTask.restored({"id": "t2", "kind": "job", "key": "k", "payload": "{}", "gone": 1}) == plain


def test_a_stage_holds_a_unique_key_for_its_base_kind() -> None:
    assert NewTask("t1", "job.fetch", "k", "{}", base="job").unique_kind == "job"
    assert NewTask("t1", "job", "k", "{}").unique_kind == "job"


def test_what_a_task_comes_after_is_restored_from_json() -> None:
    for after in (After((("id",), ("page", "a")), True), After((("page", "b"),), False)):
        assert After.restored(json.loads(json.dumps(after))) == after
