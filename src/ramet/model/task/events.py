"""Events of a task. Each is a value that :func:`ramet.model.task.lifecycle.decide` reads.

Events with a ``fence`` come from a worker and are refused as *stale* unless it is the fence of the current claim.
"""

from __future__ import annotations

from dataclasses import dataclass

from ramet.model.task.retry import DEFAULT_WAITS, Waits


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker takes the task for ``lease_seconds``."""

    worker: str
    lease_seconds: float
    lineage_deadline_at: float


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The worker is alive: the lease runs ``lease_seconds`` from now."""

    fence: int
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """The handler reported its progress. It extends the lease; it is not the progress that *continue* needs."""

    fence: int
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The handler commits what it has so far; a crash resumes after it."""

    fence: int
    lease_seconds: float
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """The handler returned."""

    fence: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """The handler rejected what the task is about."""

    fence: int
    reason: str


@dataclass(frozen=True, slots=True)
class Skip:
    """The handler found that the work need not be done."""

    fence: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The handler declared the task failed; what it buffered is kept."""

    fence: int
    reason: str


@dataclass(frozen=True, slots=True)
class Error:
    """The handler raised, or ran past its time."""

    fence: int
    message: str
    error_class: str
    fingerprint: str
    jitter: float
    """Draw of the caller for the back-off, in [0, 1)."""
    repeats: str | None = None
    """Id of the task whose final failure had this fingerprint, where DESIGN §6 says that it counts."""
    not_before_at: float | None = None
    """Set when the lineage's retries of this minute are used up."""
    reason: str | None = None
    """Reason that the task of a permanent error ends with, where more is known than its class."""
    traceback: str | None = None
    """Traceback as text that can be stored; kept with the attempt."""
    waits: Waits = DEFAULT_WAITS
    """The back-off of its kind."""


@dataclass(frozen=True, slots=True)
class Snooze:
    """The handler wants to be called again later; the attempt is given back."""

    fence: int
    seconds: float
    reason: str | None = None
    resource: str | None = None
    """A server named the time to come back: the resource that this pauses, empty for the task's own."""
    uses_time: bool = True
    """False where the task's own time does not run meanwhile: it waits for money, for a server or for a rate."""
    bound_at: float | None = None
    """Deadline of its lineage or branch, which bounds a snooze with ``uses_time`` False; read by the store."""


RefusedSpawn = tuple[str | None, str, str, str, str]
"""The id of the last spawn that was granted before it, and its kind, key, reason and facts (JSON)."""


@dataclass(frozen=True, slots=True)
class Join:
    """The handler waits for tasks of its lineage and is called again when they have ended; the attempt is given back.

    It waits for every child granted since the task was created, or since its last join.
    """

    fence: int
    branch: bool = False
    """True to wait for all that grows below those children, too."""
    skip_on_failure: bool = False
    """True where the task is skipped when one of them fails, is cancelled, or is skipped for such a reason."""
    refused: tuple[RefusedSpawn, ...] = ()
    """Spawns that the guard refused earlier under this claim."""
    last: str | None = None
    """Id of the last spawn that was granted earlier under this claim."""
    live: int = 0
    """Number of them that have not ended, read by the store."""
    idle_rounds: int = 0
    """Rounds in a row, this one included, in which there was nothing live to wait for; the store says."""
    circle: str | None = None
    """Id of one of them that waits for this task itself, by whatever other tasks; the store says."""


@dataclass(frozen=True, slots=True)
class Wake:
    """The tasks that it waits for have ended."""

    lineage_deadline_at: float
    seconds_left: float | None = None
    """Seconds of its own time that were left when it began to wait; None where it has none."""


@dataclass(frozen=True, slots=True)
class Continue:
    """The handler did part of the work and wants another invocation."""

    fence: int
    progressed: bool
    """True when what it buffered in this settlement is progress."""


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """The claim's lease has expired."""

    alone: bool = False
    """True when the task ran alone in a probation child: then the loss is its own."""
    worker_dead: bool = False
    """True when the store proved that the worker's process is gone: then there is no lease to wait for."""
    error: str | None = None
    """Error of the process that ended, where its supervisor saw it."""


@dataclass(frozen=True, slots=True)
class HandBack:
    """A prefetched claim whose handler never started is returned."""

    fence: int
    delay_seconds: float = 0.0
    """Seconds for which it cannot be claimed, when above 0: this worker cannot run it, another one may."""


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The task's deadline passed."""

    polled: bool = False
    """True for a bound task whose settler began to work after the deadline, and left it unsettled."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A running task makes this one its own to settle."""

    settler: str
    lineage_deadline_at: float
    """Deadline of the bound task's lineage."""


@dataclass(frozen=True, slots=True)
class SettledBy:
    """The task that this one is bound to settled it."""

    settler: str
    binding: int
    """The fence that the task got when it was bound."""
    state: str
    """``success``, ``failed``, ``cancelled``, or ``pending`` to let it go."""
    reason: str | None = None
    delay_seconds: float = 0.0
    """Seconds for which it is held back, with ``pending``."""
    known: bool = True
    """False with ``pending`` where the settler ended and says nothing of the task."""
    uses_time: bool = True
    """True when, with ``pending``, the delay counts in its own time, as in a snooze."""
    bound_at: float | None = None


@dataclass(frozen=True, slots=True)
class LineageEnded:
    """The lineage row says that it is over, or a tombstone covers the task."""

    state: str
    """``failed`` (deadline) or ``cancelled``."""
    reason: str
    by: str = "engine"


@dataclass(frozen=True, slots=True)
class OverCeiling:
    """More was spent than a hard ceiling allows, and the task has a call in flight that costs."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A person or a program cancels this task."""

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SourceDisabled:
    """The breaker of its resource is open, and only a person closes it."""

    reason: str


@dataclass(frozen=True, slots=True)
class DependencyFailed:
    """A task that it waited for (on its path, in a join, or as one that it comes after) did not succeed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Exclude:
    """A person takes the task out for good."""

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reprioritise:
    """A person gives a pending task another place in the order of claims."""

    by: str
    rank: int
    """See :mod:`ramet.model.task.ordering`."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reschedule:
    """A person moves the moment from which a pending task may be claimed."""

    by: str
    available_at: float
    """Unix seconds; in the past for at once."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Revive:
    """A person gives an ended task new attempts."""

    by: str
    reason: str | None = None
    waits: bool = False
    """True for a task that ended while it waited for other tasks: it waits for the rest of them."""


Event = (
    Claim
    | Heartbeat
    | Progress
    | Checkpoint
    | Complete
    | Filter
    | Skip
    | Fail
    | Error
    | Snooze
    | Join
    | Wake
    | Continue
    | LeaseExpired
    | HandBack
    | DeadlinePassed
    | Bind
    | SettledBy
    | LineageEnded
    | OverCeiling
    | Cancel
    | SourceDisabled
    | DependencyFailed
    | Exclude
    | Reprioritise
    | Reschedule
    | Revive
)
