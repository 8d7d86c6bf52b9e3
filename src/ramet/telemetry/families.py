"""What is measured, as data: the exposition, its page of documentation and the board are made or checked from this.

Names follow the conventions of Prometheus: base units, counters that end with ``_total``. Labels are bounded
(:data:`KINDS_MAX`, :data:`REASONS_MAX`), and none is the id of a task or lineage.
"""

from __future__ import annotations

from typing import NamedTuple

KINDS_MAX = 100
"""Kinds (and queues) that have a name in metrics; the rest counts as :data:`OTHER`."""
REASONS_MAX = 50
"""Reasons of one family that have a name."""
OTHER = "other"
DEEPER = "deeper"
"""The depth of what is deeper than all depths that are told apart."""


class Family(NamedTuple):
    """One metric."""

    name: str
    """As in the exposition; counters with ``_total``."""
    type: str
    """``counter``, ``gauge``, ``histogram`` or ``info``."""
    help: str
    labels: tuple[str, ...] = ()
    source: str = ""
    """The method of the client that says it."""

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that its samples have."""
        if self.type == "histogram":
            return tuple(f"{self.name}_{suffix}" for suffix in ("bucket", "count", "sum"))
        return (self.name,)


FAMILIES = (
    Family("ramet_up", "gauge", "1 when the database answered in time, else 0 and nothing else is told."),
    Family("ramet_build_info", "info", "The version of ramet that tells this.", ("version",)),
    Family("ramet_scrape_seconds", "gauge", "How long reading the database took for what is told here."),
    # Work.
    Family("ramet_tasks_created_total", "counter", "Tasks submitted and spawned.", ("kind",), "tallies"),
    Family("ramet_tasks_revived_total", "counter", "Ended tasks that a person gave new attempts.", ("kind",),
           "tallies"),
    Family("ramet_tasks_ended_total", "counter", "Tasks that entered a terminal state.", ("kind", "state"), "tallies"),
    Family("ramet_tasks_live", "gauge", "Tasks that have not ended.", ("kind",), "tallies"),
    Family("ramet_queue_size", "gauge", "Live tasks that no live claim holds.", ("kind",), "tallies and usage"),
    Family("ramet_tasks_waiting", "gauge",
           "Pending tasks by what they wait for (worker: for nothing else); each counted up to 10,000.", ("wait",),
           "present"),
    Family("ramet_claims_active", "gauge", "Live claims, with slots still held for ended tasks.", ("kind",), "usage"),
    Family("ramet_queue_claims_active", "gauge", "The same, by queue.", ("queue",), "usage"),
    Family("ramet_workers", "gauge", "Workers that were seen within a minute.", (), "present"),
    Family("ramet_lineages", "gauge", "Lineages by state; each counted up to 10,000.", ("state",), "present"),
    # Attempts and latency.
    Family("ramet_attempts_total", "counter", "Attempts that ended, by outcome.", ("kind", "outcome"), "tallies"),
    Family("ramet_attempts_by_retry_total", "counter",
           "Attempts that succeeded or failed, by how often the task was retried before (5: five times or more).",
           ("outcome", "retry"), "tallies"),
    Family("ramet_attempt_seconds", "histogram", "From an attempt's claim to its outcome.", ("kind",), "tallies"),
    Family("ramet_wait_seconds", "histogram", "From when an attempt was due to its claim.", ("kind",), "tallies"),
    Family("ramet_store_seconds", "histogram",
           "From the call of a transaction until it was durable, as workers measured it, by what it was for.",
           ("verb",), "commit_times"),
    # Failures, blocks, depth.
    Family("ramet_failures_total", "counter", "Tasks that failed, by reason.", ("kind", "reason"), "tallies"),
    Family("ramet_retries_total", "counter", "Attempts that another one follows, by reason.", ("kind", "reason"),
           "tallies"),
    Family("ramet_blocks_total", "counter", "Spawns that the guard refused, by reason.", ("kind", "reason"),
           "tallies"),
    Family("ramet_spawn_depth", "histogram", "Tasks created, by spawn depth; what is deeper than 10 counts as 11.",
           (), "tallies"),
    Family("ramet_chain_depth_total", "counter", "Tasks that ended, by the chain depth that they reached.",
           ("depth",), "tallies"),
    # What is stuck.
    Family("ramet_tasks_stuck", "gauge", "Tasks that are processing without a live lease.", (), "present"),
    Family("ramet_oldest_lease_seconds", "gauge", "How long the oldest claim has been held.", (), "present"),
    Family("ramet_lease_overdue_seconds", "gauge", "How long ago the lease ended that should have been kept.", (),
           "present"),
    Family("ramet_oldest_waiting_seconds", "gauge", "How long a task has waited that could be claimed, at most.", (),
           "present"),
    # Budgets, money, breakers, alerts.
    Family("ramet_budget_used_ratio", "gauge",
           "The largest used part of a budget: tasks, time and cost over the 100 newest open lineages, and the "
           "ceilings of the day and of everything (global).", ("budget",), "lineages and costs"),
    Family("ramet_cost_spent_dollars_total", "counter", "Money spent since the database began.", (), "costs"),
    Family("ramet_cost_reserved_dollars", "gauge", "Money reserved for calls that are under way.", (), "costs"),
    Family("ramet_cost_day_spent_dollars", "gauge", "Money spent on the present UTC day.", (), "costs"),
    Family("ramet_breakers_open", "gauge", "Resources that are switched off.", (), "present"),
    Family("ramet_alerts_firing", "gauge", "Alerts that fire.", ("pattern", "severity"), "alerts"),
)  # fmt: skip

BY_NAME = {family.name: family for family in FAMILIES}
