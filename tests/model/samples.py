"""Standings and events to begin with; a test names only what matters to it."""

from typing import Any

from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.retry import ErrorClass, Retry
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change, TransitionRefused

NOW = 1_000_000.0
FENCE = 7
LEASE_SECONDS = 300.0
LINEAGE_DEADLINE_AT = NOW + 172_800.0

STATES = ("pending", "processing", "success", "filtered", "skipped", "failed", "cancelled")


def standing(state: str = "processing", **changes: Any) -> Standing:
    """A task of one hour ago in its second attempt, not due to end soon."""
    held = state == "processing"
    task = Standing(
        seq=1,
        tracking_id="lineage",
        kind="job",
        queue="default",
        rank=0,
        spawn_depth=2,
        state=state,
        wait=None,
        available_at=NOW - 20.0,
        fence=FENCE,
        lease_until=NOW + LEASE_SECONDS if held else 0.0,
        worker="worker-1" if held else None,
        claimed_at=NOW - 10.0,
        started_at=NOW - 3_600.0,
        task_seconds=7_200.0,
        deadline_at=NOW + 3_600.0,
        attempts=2,
        max_attempts=4,
        losses=0,
        losses_alone=0,
        snoozes=0,
        chain_depth=0,
        max_chain_depth=2,
        progressed=0,
        fan_out=0,
        stage=None,
        on_end=0,
        ending=None,
        ending_reason=None,
        ending_facts=None,
        bound_to=None,
        turn=0,
        resource=None,
    )
    return task._replace(**changes)


def claim(**changes: Any) -> ev.Claim:
    """A claim by another worker than the one that holds the sample."""
    wanted = {"worker": "worker-2", "lease_seconds": LEASE_SECONDS, "lineage_deadline_at": LINEAGE_DEADLINE_AT}
    return ev.Claim(**{**wanted, **changes})


def error(error_class: ErrorClass = ErrorClass.TRANSIENT, **changes: Any) -> ev.Error:
    """A time-out under the sample's fence, its back-off drawn in full, from the schedule of the seeds."""
    told = {"fence": FENCE, "message": "timed out", "fingerprint": "f" * 16, "jitter": 1.0, "waits": Retry.SEED.waits}
    return ev.Error(**{**told, "error_class": error_class.value, **changes})


def changed(task: Standing, event: ev.Event, now: float = NOW) -> Change:
    """The change that must follow."""
    answer = decide(task, event, now)
    assert isinstance(answer, Change), f"{event} was refused: {answer}"
    assert answer.before is task
    return answer


def refused(task: Standing, event: ev.Event, now: float = NOW) -> str:
    """The reason for which the event must be refused."""
    answer = decide(task, event, now)
    assert isinstance(answer, TransitionRefused), f"{event} was accepted: {answer}"
    return answer.reason
