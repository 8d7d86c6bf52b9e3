"""The layers of limits and their presets (DESIGN §8).

Each layer bounds what the one below it may miss. A limit is a number in the database (lineage and task rows), so
that no process has to live for it to hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from ramet.model.keys import allowed_shapes
from ramet.model.money import amount_of
from ramet.model.values import seconds, whole

GENERATIONS_MAX = 10
"""Lineages in a row of which each was begun by a handler, or the end, of the one before (I6)."""
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
RESOURCE_PAUSE_SECONDS_MAX = 259_200.0
"""A server's word pauses a resource for at most so long: three days, the longest that providers are known to name. Then
its tasks ask again."""
RESOURCE_PAUSE_SETTING = "resources.pause_seconds_max"
"""The setting that replaces it."""
ENDING_SECONDS = 3_600.0
"""Seconds for which a task that is ending stays claimable for its ``on_end`` handler; after that it ends without
(I6).
"""
ENDING_RETRY_SECONDS = 30.0
"""Seconds for which a worker that lacks a kind's ``on_end`` handler leaves an ending task to others."""
BACKOFF_SECONDS_MAX = 3_600.0
CLAIMING_SHARE = 0.8
"""An invocation takes nothing new on after this share of its time, so that what it holds can end in the rest."""
CALL_COST = 1_000_000
"""Cost of one paid call that presets assume, nano-dollars: a dollar for a thousand, the middle of what small prompts
cost. A preset's ceiling is that for each of its ``max_tasks``, so that size and money bound the same work.
"""
WARN_SHARE = 0.2
"""A limit is worth a look when this share of it is left."""
LOWERABLE = frozenset({"max_spawn_depth", "max_tasks", "max_fan_out", "max_shape"})
"""Limits of its lineage that a handler may lower (DESIGN §5)."""

LINEAGE_LIMITS = frozenset({
    "allow_shapes", "max_spawn_depth", "max_tasks", "max_fan_out", "max_shape", "retries_per_minute", "lineage_seconds",
    "max_cost", "soft_cost", "lineage_blob_bytes_max", "blob_bytes_max",
})  # fmt: skip
"""Limits of a lineage, of which most are on its row; all others are of a task, a call or a program."""

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
    """Most keys of one shape in a lineage, for kinds with ``trap=True``."""
    allow_shapes: tuple[str, ...] = ()
    """Shapes of honest pages, which ``max_shape`` does not bound: ``https://x.example/a/#``, or with a limit of its own
    ``https://x.example/a/#=5000`` (:func:`ramet.model.keys.allowed_shapes`)."""
    retries_per_minute: int = 600
    """Retries of a lineage in a minute; one more is put off."""
    schedule_seconds: float = 300.0
    max_chain_depth: int = 2
    """Times that a task may continue itself."""
    call_seconds: float = 60.0
    call_retries: int = 6
    task_seconds: float | None = 7_200.0
    """Seconds from a task's first claim to its end."""
    lineage_seconds: float = 172_800.0
    """Seconds from the earliest root's first availability to the end of the lineage."""
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
    """Nano-dollars that a lineage may spend and reserve together; once more is spent, its calls in flight end. Taken
    as a Decimal of dollars or text with a unit too (:func:`ramet.dollars`)."""
    soft_cost: int | None = None
    """Nano-dollars from which on nothing more is reserved, at most ``max_cost``; None: the same as ``max_cost``."""
    payload_bytes_max: int = 262_144
    pipeline_state_bytes_max: int = 1_048_576
    blob_bytes_max: int = 67_108_864
    """One blob: 64 MiB."""
    lineage_blob_bytes_max: int = 1_073_741_824
    """All blobs of a lineage: 1 GiB."""

    def __post_init__(self) -> None:
        if not isinstance(self.allow_shapes, tuple | list):
            raise ValueError(f"limit allow_shapes is {self.allow_shapes!r}: give a list of shapes")
        object.__setattr__(self, "allow_shapes", tuple(self.allow_shapes))  # JSON has lists only.
        allowed_shapes(self.allow_shapes)
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "allow_shapes" or (value is None and "None" in str(item.type)):
                continue
            if item.name.endswith("_cost"):
                object.__setattr__(self, item.name, amount_of(value, f"limit {item.name} is"))
            elif item.name.endswith("_seconds"):
                seconds(f"limit {item.name}", value)
            else:
                whole(f"limit {item.name}", value)
        if self.max_attempts is not None and self.max_attempts < 1:
            raise ValueError("limit max_attempts is 0: give at least 1, the first run counts")
        if self.max_attempts is None and self.task_seconds is None:
            raise ValueError("max_attempts=None needs a task deadline: give task_seconds")
        if self.soft_cost is not None and self.max_cost is not None and self.soft_cost > self.max_cost:
            raise ValueError(f"limit soft_cost is {self.soft_cost}: give at most max_cost, which is {self.max_cost}")

    def lowered(self, other: Limits) -> Limits:
        """Return the stricter of the two, field by field."""
        lower = {}
        for item in fields(self):
            lower[item.name] = stricter(getattr(self, item.name), getattr(other, item.name))
        lower["soft_cost"] = soft_within(lower["soft_cost"], lower["max_cost"])
        return replace(self, **lower)


def named_limits(limits: Limits | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the named limits of a lineage: all of a mapping, and of :class:`Limits` those that differ from the
    default.

    Raises:
        ValueError: there is no limit of that name.
    """
    if limits is None:
        return {}
    if isinstance(limits, Limits):
        return {
            name: getattr(limits, name)
            for name in sorted(LINEAGE_LIMITS)
            if getattr(limits, name) != getattr(BALANCED, name)
        }
    unknown = sorted(set(limits) - LINEAGE_LIMITS)
    if unknown:
        raise ValueError(f"a lineage has no limit {unknown[0]!r}: give some of {', '.join(sorted(LINEAGE_LIMITS))}")
    return {name: getattr(Limits(**{name: value}), name) for name, value in limits.items()}


def stricter(one: Any, other: Any) -> Any:
    """Return the lower of two values of a limit, None meaning no limit; of allowed shapes, those that both allow."""
    if isinstance(one, tuple):
        return tuple(shape for shape in one if shape in other)
    return one if other is None else other if one is None else min(one, other)


def lineage_limits(
    roots: Iterable[Limits | Mapping[str, Any]],
    app: Limits,
    given: Limits | Mapping[str, Any] | None = None,
    *,
    may_raise: bool = False,
) -> Limits:
    """Return the limits of a new lineage, decided where it is created, before settings are applied (DESIGN §8).

    Args:
        roots: what the kinds of its roots say. Of several that name one limit the lowest holds.
        app: what the app says that submits or schedules it, for limits that no root's kind names.
        given: what the submit asks for. It lowers what was declared, and sets what is not declared.
        may_raise: True where an operator decides: what is given then holds as it is.

    Raises:
        ValueError: there is no such limit, or it cannot have this value.
    """
    declared: dict[str, Any] = {}
    for root in roots:
        for name, value in named_limits(root).items():
            declared[name] = stricter(declared[name], value) if name in declared else value
    declared = named_limits(app) | declared
    asked = named_limits(given)
    if not may_raise:
        asked = {name: stricter(declared[name], value) if name in declared else value for name, value in asked.items()}
    found = declared | asked
    if "soft_cost" not in asked or not may_raise:
        found["soft_cost"] = soft_within(found.get("soft_cost"), found.get("max_cost"))
    return Limits(**found)


def soft_within(soft: int | None, most: int | None) -> int | None:
    """Return a soft ceiling that came from elsewhere than its hard one: the lower of the two holds."""
    return soft if soft is None or most is None else min(soft, most)


def _sized(limits: Limits, factor: float) -> Limits:
    """Return the size row of DESIGN §8 times ``factor``, and the ceiling that fits it."""
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
"""Limits where none were chosen: the balanced preset, without a ceiling on money."""
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
"""Presets by name. Choosing one sets its ceiling too; without a preset nothing bounds money, as most tasks cost
none.
"""


HOUR_SECONDS = 3_600.0
RETRY_SECONDS = 0.5
"""Between a call and its first retry, doubled for each further one, as clients of providers do it."""
RETRY_SECONDS_MAX = 8.0


class WorstCase(NamedTuple):
    """The most that can happen in any hour, and what one stuck item holds up."""

    cycles: int
    invocations: int
    items_per_cycle: int
    items: int
    calls: int
    """Each item with all retries of its call."""
    item_seconds: float
    """Wall clock of one stuck item: all its calls time out, with the waits between them."""
    waiting_seconds: float
    """Seconds of these that are waits."""
    item_seconds_within: float
    """Seconds of that which the invocation's own limit leaves."""
    claiming_seconds: float
    """Seconds in which an invocation takes items on."""
    call_seconds_in_time: float
    """Seconds that a call may take, on average, for an invocation to get through its items; infinite without items."""
    overlapping: int
    """Runs of the schedule at once, if they were allowed to overlap and every invocation used its time up."""
    running_seconds: float
    """Time that invocations run, all together, if runs may overlap."""
    running_seconds_alone: float
    """Seconds of the same where a run is skipped while the last one goes on, which is the default of schedules."""


class HourlyCost(NamedTuple):
    """Money in the worst hour, nano-dollars."""

    call_price: int
    items: int
    """Every item is billed once."""
    calls: int
    """Every retry is billed like the first call."""


def worst_case(limits: Limits) -> WorstCase:
    """Return the most that these limits allow in an hour."""
    every = max(limits.schedule_seconds, 1.0)
    cycles = math.ceil(HOUR_SECONDS / every)
    runs = limits.max_chain_depth + 1
    per_cycle = runs * limits.invocation_items
    waiting = waits(limits.call_retries)
    item = (limits.call_retries + 1) * limits.call_seconds + waiting
    claiming = limits.invocation_seconds * CLAIMING_SHARE
    running = cycles * runs * limits.invocation_seconds
    in_time = (
        claiming * limits.invocation_concurrency / limits.invocation_items if limits.invocation_items else math.inf
    )
    return WorstCase(
        cycles=cycles,
        invocations=cycles * runs,
        items_per_cycle=per_cycle,
        items=cycles * per_cycle,
        calls=cycles * per_cycle * (limits.call_retries + 1),
        item_seconds=item,
        waiting_seconds=waiting,
        item_seconds_within=min(item, limits.invocation_seconds),
        claiming_seconds=claiming,
        call_seconds_in_time=in_time,
        overlapping=max(1, math.ceil(runs * limits.invocation_seconds / every)),
        running_seconds=running,
        running_seconds_alone=min(running, HOUR_SECONDS),
    )


def waits(retries: int) -> float:
    """Seconds between a call and all its retries, together."""
    return sum(min(RETRY_SECONDS * 2.0 ** min(number, 10), RETRY_SECONDS_MAX) for number in range(retries))


def bill(worst: WorstCase, call_price: int) -> HourlyCost:
    """Return the cost of the worst hour when a call costs ``call_price`` nano-dollars."""
    return HourlyCost(call_price, worst.items * call_price, worst.calls * call_price)
