"""Measured values, as data: the exposition, its page of documentation and the board are made or checked from this.

Names follow the conventions of Prometheus: base units, counters that end with ``_total``. Labels are bounded
(:data:`KINDS_MAX`, :data:`REASONS_MAX`), and none is the id of a task or lineage.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

KINDS_MAX = 100
"""Kinds (and queues) that have a name in metrics; the rest counts as :data:`OTHER`."""
REASONS_MAX = 50
"""Reasons of one family that have a name."""
OTHER = "other"
DEEPER = "deeper"
"""Label of spawn depths beyond the last bucket."""


class Family(NamedTuple):
    """One metric."""

    name: str
    """Name in the exposition; counters with ``_total``."""
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
    Family("ramet_up", "gauge", "1 when the database answered in time, else 0 and nothing else is shown."),
    Family("ramet_build_info", "info", "The version of ramet that answers.", ("version",)),
    Family("ramet_scrape_seconds", "gauge", "How long reading the database took for this answer."),
    # Work.
    Family("ramet_tasks_created_total", "counter", "Tasks submitted and spawned.", ("kind",), "tallies"),
    Family("ramet_tasks_revived_total", "counter", "Ended tasks that a person gave new attempts.", ("kind",),
           "tallies"),
    Family("ramet_tasks_ended_total", "counter", "Tasks that entered a terminal state.", ("kind", "state"), "tallies"),
    Family("ramet_tasks_live", "gauge", "Tasks that have not ended.", ("kind",), "tallies"),
    Family("ramet_queue_size", "gauge", "Live tasks that no live claim holds and that wait for no other task.",
           ("kind",), "tallies and usage"),
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
    # Stuck work.
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


DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 8, 8
"""Size of a panel; a row of the board is 24 wide."""
BOARD_UID = "ramet"
_OF_KIND = 'kind=~"$kind"'


class Panel(NamedTuple):
    """One question, and how its answer looks."""

    title: str
    expr: str
    legend: str = ""
    unit: str = "short"
    """Unit as Grafana names it."""
    type: str = "timeseries"


def _rate(name: str, by: str) -> str:
    return f"sum by ({by}) (rate({name}{{{_OF_KIND}}}[$__rate_interval]))"


def _quantile(name: str, share: float, by: str, only: str = f"{{{_OF_KIND}}}") -> str:
    return f"histogram_quantile({share}, sum by (le, {by}) (rate({name}_bucket{only}[$__rate_interval])))"


ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    ("Work", (
        Panel("Created", _rate("ramet_tasks_created_total", "kind"), "{{kind}}", "ops"),
        Panel("Ended", _rate("ramet_tasks_ended_total", "state"), "{{state}}", "ops"),
        Panel("Queue size", f"sum by (kind) (ramet_queue_size{{{_OF_KIND}}})", "{{kind}}"),
        Panel("Active claims", f"sum by (kind) (ramet_claims_active{{{_OF_KIND}}})", "{{kind}}"),
        Panel("Waiting, by what for", "ramet_tasks_waiting", "{{wait}}"),
        Panel("Workers", "ramet_workers", "workers"),
    )),
    ("Latency", (
        Panel("Attempt, p50", _quantile("ramet_attempt_seconds", 0.5, "kind"), "{{kind}}", "s"),
        Panel("Attempt, p95", _quantile("ramet_attempt_seconds", 0.95, "kind"), "{{kind}}", "s"),
        Panel("Wait for a claim, p95", _quantile("ramet_wait_seconds", 0.95, "kind"), "{{kind}}", "s"),
        Panel("Oldest that could be claimed", "ramet_oldest_waiting_seconds", "waiting", "s"),
        Panel("Oldest claim", "ramet_oldest_lease_seconds", "held", "s"),
        Panel("Stuck: processing without a lease", "ramet_tasks_stuck", "tasks"),
    )),
    ("Failures", (
        Panel("Share of tasks that failed", 'sum by (kind) (rate(ramet_tasks_ended_total{state="failed", '
              f'{_OF_KIND}}}[$__rate_interval])) / sum by (kind) (rate(ramet_tasks_ended_total{{{_OF_KIND}}}'
              "[$__rate_interval]))", "{{kind}}", "percentunit"),
        Panel("Failures by reason", _rate("ramet_failures_total", "reason"), "{{reason}}", "ops"),
        Panel("Attempts by outcome", _rate("ramet_attempts_total", "outcome"), "{{outcome}}", "ops"),
        Panel("Retries by reason", _rate("ramet_retries_total", "reason"), "{{reason}}", "ops"),
        Panel("Attempts by retry", "sum by (outcome, retry) (rate(ramet_attempts_by_retry_total[$__rate_interval]))",
              "{{outcome}} after {{retry}}", "ops"),
    )),
    ("Blocks and depth", (
        Panel("Blocked spawns by reason", _rate("ramet_blocks_total", "reason"), "{{reason}}", "ops"),
        Panel("Depth of new tasks", "sum by (le) (increase(ramet_spawn_depth_bucket[$__rate_interval]))", "{{le}}",
              type="heatmap"),
        Panel("Chain depth reached", "sum by (depth) (rate(ramet_chain_depth_total[$__rate_interval]))", "{{depth}}",
              "ops"),
    )),
    ("Budgets and money", (
        Panel("Largest used part of a budget", "ramet_budget_used_ratio", "{{budget}}", "percentunit"),
        Panel("Spent today", "ramet_cost_day_spent_dollars", "spent", "currencyUSD"),
        Panel("Spent, an hour", "rate(ramet_cost_spent_dollars_total[1h]) * 3600", "spent", "currencyUSD"),
        Panel("Reserved", "ramet_cost_reserved_dollars", "reserved", "currencyUSD"),
        Panel("Lineages", "ramet_lineages", "{{state}}"),
    )),
    ("Breakers and alerts", (
        Panel("Open breakers", "ramet_breakers_open", "breakers"),
        Panel("Firing alerts", "ramet_alerts_firing", "{{pattern}} ({{severity}})"),
        Panel("Database answers", "ramet_up", "up"),
    )),
    ("Store", (
        Panel("Commit, p50", _quantile("ramet_store_seconds", 0.5, "verb", ""), "{{verb}}", "s"),
        Panel("Commit, p99", _quantile("ramet_store_seconds", 0.99, "verb", ""), "{{verb}}", "s"),
        Panel("Commits", "sum by (verb) (rate(ramet_store_seconds_count[$__rate_interval]))", "{{verb}}", "ops"),
    )),
)  # fmt: skip


def board() -> dict[str, Any]:
    """Return the board as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, shown in ROWS:
        panels.append(_placed({"type": "row", "title": title, "collapsed": False, "panels": []}, len(panels), 0, y, 24))
        y += 1
        for at, panel in enumerate(shown):
            x = at * WIDTH % 24
            panels.append(_placed(_panel(panel), len(panels), x, y + at * WIDTH // 24 * HEIGHT, WIDTH))
        y += -(-len(shown) * WIDTH // 24) * HEIGHT
    return {
        "title": "ramet",
        "uid": BOARD_UID,
        "tags": ["ramet"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _VARIABLES},
        "panels": panels,
    }


def board_text() -> str:
    """Return the board as a file that Grafana imports."""
    return json.dumps(board(), indent=1) + "\n"


_VARIABLES = [
    {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
    {
        "name": "kind", "type": "query", "label": "Kind", "datasource": DATASOURCE, "refresh": 2,
        "query": {"query": "label_values(ramet_tasks_created_total, kind)", "refId": "kind"},
        "includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"},
    },
]  # fmt: skip


def _panel(panel: Panel) -> dict[str, Any]:
    target = {"refId": "A", "expr": panel.expr, "legendFormat": panel.legend, "datasource": DATASOURCE}
    if panel.type == "heatmap":
        target["format"] = "heatmap"
    return {
        "type": panel.type,
        "title": panel.title,
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [target],
    }


def _placed(panel: dict[str, Any], number: int, x: int, y: int, width: int) -> dict[str, Any]:
    height = 1 if panel["type"] == "row" else HEIGHT
    return {"id": number + 1, **panel, "gridPos": {"x": x, "y": y, "w": width, "h": height}}
