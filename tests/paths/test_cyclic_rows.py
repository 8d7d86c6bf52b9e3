"""Rows that lead in a circle, as only damage can make them, are followed to a bound and no further."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ramet.store.reads import path_reach, paths
from ramet.store.reads.tasks import LIMIT_MAX


def test_a_task_that_comes_after_itself_is_looked_at_a_hundred_times(monkeypatch: pytest.MonkeyPatch) -> None:
    line: Any = SimpleNamespace(behind=1)
    session: Any = None
    monkeypatch.setattr(path_reach, "select", lambda *asked: [line])
    assert len(list(path_reach._chain(session, line))) == path_reach.BEHIND_MAX == 100


def test_a_circle_of_tasks_that_wait_has_no_first(monkeypatch: pytest.MonkeyPatch) -> None:
    one: Any = SimpleNamespace(ticket=None)
    asked: list[Any] = []
    session: Any = None
    monkeypatch.setattr(paths, "_waits", lambda seen: True)

    def before(session: Any, seen: Any) -> Any:
        asked.append(seen)
        return one

    monkeypatch.setattr(paths, "_before", before)
    assert paths._first(session, one) is None
    assert len(asked) == LIMIT_MAX
