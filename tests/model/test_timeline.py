"""The time of a task, divided into spans: by what its attempts came to, and what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.timeline import Life, Ran, SpanKind, spans_of

W, R, F, B, J, E = (
    SpanKind.WAITING, SpanKind.RUNNING, SpanKind.FAILED, SpanKind.BACKING_OFF, SpanKind.JOINED, SpanKind.EARLIER
)  # fmt: skip
CREATED, NOW = 100.0, 200.0


def life(state: str, **changes: object) -> Life:
    """A task that was created at 100."""
    given: dict[str, Any] = {"finished_at": None, "claimed_at": None, "wait": None, **changes}
    return Life(state, CREATED, **given)


def ran(outcome: str, *, begin: float = 110.0, end: float = 130.0, reason: str | None = None) -> Ran:
    """An attempt of 20 seconds."""
    return Ran(begin, end, outcome, reason)


def spans(task: Life, *attempts: Ran, cut: bool = False) -> list[tuple[SpanKind, float, float]]:
    return [(span.what, span.begin, span.end) for span in spans_of(task, attempts, cut=cut, now=NOW)]


@pytest.mark.parametrize(
    ("attempt", "activity", "wait"),
    [
        (ran("error"), F, B),
        (ran("lost"), F, W),
        (ran("snooze"), R, B),
        (ran("snooze", reason="joined"), R, J),
        (ran("error", reason="joined"), F, J),
        (ran("returned"), R, W),
        (ran("continue"), R, W),
    ],
)
def test_an_attempt_and_the_wait_after_it(attempt: Ran, activity: SpanKind, wait: SpanKind) -> None:
    pending = [(W, 100, 110), (activity, 110, 130), (wait, 130, 200)]
    assert spans(life("pending"), attempt) == pending
    assert spans(life("pending", wait="due"), attempt) == pending
    assert spans(life("processing", claimed_at=150.0), attempt) == [
        *pending[:2], (wait, 130, 150), (R, 150, 200)
    ]  # fmt: skip
    assert spans(life("failed", finished_at=160.0), attempt) == [*pending[:2], (wait, 130, 160)]


def test_a_task_that_waits_for_tasks() -> None:
    assert spans(life("pending", wait="tasks"), ran("returned")) == [(W, 100, 110), (R, 110, 130), (J, 130, 200)]
    after = life("pending", wait="tasks", came_after=True)
    assert spans(after) == [(J, 100, 200)]
    assert spans(after._replace(wait=None), ran("success")) == [(J, 100, 110), (R, 110, 130), (W, 130, 200)]
    assert spans(after._replace(wait=None), cut=True) == [(E, 100, 200)]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (life("pending"), [(W, 100, 200)]),
        (life("processing"), []),
        (life("processing", claimed_at=180.0), [(W, 100, 180), (R, 180, 200)]),
        (life("processing", claimed_at=90.0), [(R, 100, 200)]),
        (life("processing", finished_at=160.0), [(W, 100, 160)]),
        (life("success", finished_at=160.0), [(W, 100, 160)]),
        (life("success", finished_at=160.0, claimed_at=150.0), [(W, 100, 160)]),
        (life("success"), []),
    ],
)
def test_a_task_without_attempts(task: Life, expected: list[tuple[SpanKind, float, float]]) -> None:
    assert spans(task) == expected


def test_attempts_follow_one_another() -> None:
    first, second = ran("error"), ran("success", begin=140.0, end=170.0)
    assert spans(life("success", finished_at=170.0), first, second) == [
        (W, 100, 110), (F, 110, 130), (B, 130, 140), (R, 140, 170)
    ]  # fmt: skip
    early = ran("error", begin=120.0, end=150.0)
    assert spans(life("success", finished_at=150.0), first, early) == [(W, 100, 110), (F, 110, 130), (F, 130, 150)]
    assert spans(life("pending"), first, cut=True) == [(E, 100, 110), (F, 110, 130), (B, 130, 200)]
