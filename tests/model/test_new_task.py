"""What somebody who wants a task may say: never where it hangs (DESIGN §5)."""

from __future__ import annotations

import inspect

import pytest

from ramet import Client, Context
from ramet.model.lineage import Place
from ramet.model.task import NewTask

TRACKING = {*Place._fields, "max_spawn_depth", "fence", "state"}


def test_a_wanted_task_has_no_tracking_field() -> None:
    assert not TRACKING & set(NewTask._fields)


@pytest.mark.parametrize("verb", [Context.spawn, Context.spawn_now, Client.submit])
def test_nobody_can_say_where_a_task_hangs(verb: object) -> None:
    assert callable(verb)
    asked = set(inspect.signature(verb).parameters)
    # A submit may name its lineage; that makes a new one, or repeats the one with these very roots.
    assert TRACKING & asked <= {"tracking_id"}
    assert verb is Client.submit or "tracking_id" not in asked
