"""What a task that joined finds, from the JSON values that travel to its process."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from ramet.model.task.joined import JoinedTask, joined_task
from ramet.model.task.task import TaskState


@pytest.mark.parametrize("state", [None, *TaskState])
def test_a_joined_task_is_the_same_after_its_journey(state: TaskState | None) -> None:
    task = JoinedTask("page", "a", None if state is None else "id", state, result={"links": 3}, reason="done")
    row = {**asdict(task), "state": None if state is None else state.value}
    assert joined_task(row) == task
    assert joined_task(row).state is state
    assert task.ok is (state is TaskState.SUCCESS)
