"""Where a task on a path stands, in a word."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.paths import PathTask

WAITING = PathTask(
    "t", "line", "page", "key", "pending", "path", ("doc",), "default", "queue", 7, False, False, "u", 0.0, None
)  # fmt: skip
PLACES: list[tuple[str, dict[str, Any]]] = [
    ("runs", {"state": "processing", "holds": True}),
    ("ended", {"state": "cancelled", "holds": True}),
    ("next", {"holds": True}),
    ("waits", {}),
    ("gave up", {"ticket": None, "gave_up": True, "waits_for": None}),
    ("after", {"ticket": None, "gave_up": True}),
]


@pytest.mark.parametrize(("place", "fields"), PLACES, ids=[place for place, _ in PLACES])
def test_a_task_stands_in_one_place(place: str, fields: dict[str, Any]) -> None:
    assert WAITING._replace(**fields).place == place
