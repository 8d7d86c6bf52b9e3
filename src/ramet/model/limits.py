"""The layers of limits and their presets (DESIGN §8).

Each layer bounds what the one below it may miss. A limit is a number in the database (lineage and task rows), so
that no process has to live for it to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

LEASE_SECONDS = 300.0
"""A claim lives this long without a heartbeat (DESIGN §2)."""
HEARTBEAT_SECONDS = 30.0
LOSSES_ALONE_MAX = 3
"""Leases lost while running alone, after which a task counts as poison (DESIGN §10)."""
LOSSES_MAX = 10
"""Leases lost in any company, after which a task counts as poison (DESIGN §10)."""
SNOOZE_SECONDS_MIN = 1.0
PAUSE_SECONDS_MAX = 30 * 86_400.0
"""A pause stops clocks for so long at most; then they run again (DESIGN §8)."""
PATH_HOLD_SECONDS_MAX = 900.0
"""A task that comes back (retry, snooze, lost lease) keeps its place on its path for at most so long."""
PATH_HOLD_SETTING = "paths.hold_seconds_max"
"""The setting that replaces it."""
ENDING_SECONDS = 3_600.0
"""How long a task that is ending stays claimable for its ``on_end`` handler; after that it ends without (I6)."""
ENDING_RETRY_SECONDS = 30.0
"""How long a worker that lacks a kind's ``on_end`` handler leaves an ending task to others."""
BACKOFF_SECONDS_MAX = 3_600.0
CLAIMING_SHARE = 0.8
"""An invocation takes nothing new on after this share of its time, so that what it holds can end in the rest."""
CALL_COST = 1_000_000
"""What presets take one paid call to cost, nano-dollars: a dollar for a thousand, the middle of what small prompts
cost. A preset's ceiling is that for each of its ``max_tasks``, so that size and money bound the same work."""
WARN_SHARE = 0.2
"""A limit is worth a look when this share of it is left."""
LOWERABLE = frozenset({"max_spawn_depth", "max_tasks", "max_fan_out", "max_shape"})
"""Limits of its lineage that a handler may lower (DESIGN §5)."""

RAISABLE = LOWERABLE | {"retries_per_minute", "max_cost", "soft_cost"}
"""Limits of a lineage that a person may raise while it exists (DESIGN §5); its deadline may be put off too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every bound of the engine. The defaults are the *balanced* preset.

    ``None`` means no limit of this kind; the lineage's deadline always remains.
    """

    max_spawn_depth: int = 10
    """Largest ``spawn_depth`` of any task."""
    max_tasks: int = 100_000
    """Tasks a lineage may ever create."""
    max_fan_out: int = 5_000
    """Children one task may ever create, over all its attempts."""
    max_shape: int = 1_000
    """Keys of one shape in a lineage, for kinds with ``trap=True``."""
    retries_per_minute: int = 600
    """Retries of a lineage in a minute; one more is put off."""
    schedule_seconds: float = 300.0
    max_chain_depth: int = 2
    """How often a task may continue itself."""
    call_seconds: float = 60.0
    call_retries: int = 6
    task_seconds: float | None = 7_200.0
    """From a task's first claim to its end."""
    lineage_seconds: float = 172_800.0
    """From the earliest root's first availability to the end of the lineage."""
    invocation_seconds: float = 600.0
    """Wall clock of one handler call."""
    invocation_items: int = 1_000
    """Items that one invocation may take on."""
    invocation_concurrency: int = 16
    """Calls that one invocation has in flight at once. Its items are done in time when a call takes no longer than
    ``CLAIMING_SHARE * invocation_seconds * invocation_concurrency / invocation_items``: 7.7 s here."""
    max_attempts: int | None = 4
    """One run and three retries."""
    max_cost: int | None = None
    """Nano-dollars that a lineage may spend and reserve together; once more is spent, its calls in flight end."""
    soft_cost: int | None = None
    """Nano-dollars from which on nothing more is reserved, at most ``max_cost``; None: the same as ``max_cost``."""
    payload_bytes_max: int = 262_144
    pipeline_state_bytes_max: int = 1_048_576
    blob_bytes_max: int = 67_108_864
    """One blob: 64 MiB."""
    lineage_blob_bytes_max: int = 1_073_741_824
    """All blobs of a lineage: 1 GiB."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not value >= 0:  # refuses NaN too, which no deadline would ever pass
                raise ValueError(f"limit {item.name} is {value}: give a number of at least 0")
        if self.max_attempts is not None and self.max_attempts < 1:
            raise ValueError("limit max_attempts is 0: give at least 1, the first run counts")
        if self.max_attempts is None and self.task_seconds is None:
            raise ValueError("max_attempts=None needs a task deadline: give task_seconds")
        if self.soft_cost is not None and self.max_cost is not None and self.soft_cost > self.max_cost:
            raise ValueError(f"limit soft_cost is {self.soft_cost}: give at most max_cost, which is {self.max_cost}")

    def lowered(self, other: Limits) -> Limits:
        """The stricter of the two, field by field."""
        stricter = {}
        for item in fields(self):
            mine, theirs = getattr(self, item.name), getattr(other, item.name)
            stricter[item.name] = mine if theirs is None else theirs if mine is None else min(mine, theirs)
        stricter["soft_cost"] = soft_within(stricter["soft_cost"], stricter["max_cost"])
        return replace(self, **stricter)


def soft_within(soft: int | None, most: int | None) -> int | None:
    """A soft ceiling that came from elsewhere than its hard one: the lower of the two holds."""
    return soft if soft is None or most is None else min(soft, most)


def _sized(limits: Limits, factor: float) -> Limits:
    """The size row of DESIGN §8 times ``factor``, and the ceiling that fits it."""
    return _with_ceiling(
        replace(
            limits,
            max_tasks=int(limits.max_tasks * factor),
            max_fan_out=int(limits.max_fan_out * factor),
            max_shape=int(limits.max_shape * factor),
            retries_per_minute=int(limits.retries_per_minute * factor),
        )
    )


def _with_ceiling(limits: Limits) -> Limits:
    return replace(limits, max_cost=limits.max_tasks * CALL_COST)


BALANCED = Limits()
"""What holds where nobody chose: the balanced preset, without a ceiling on money."""
CONSERVATIVE = _sized(
    Limits(task_seconds=3_600.0, lineage_seconds=86_400.0, max_chain_depth=1, call_retries=3, invocation_concurrency=4),
    0.1,
)
AGGRESSIVE = _sized(
    Limits(
        task_seconds=14_400.0, lineage_seconds=345_600.0, max_chain_depth=5, call_retries=10, invocation_concurrency=64
    ),
    10,
)
PRESETS = {"conservative": CONSERVATIVE, "balanced": _with_ceiling(BALANCED), "aggressive": AGGRESSIVE}
"""By name. Whoever names one gets its ceiling too; without one nothing bounds money, as most tasks cost none."""
