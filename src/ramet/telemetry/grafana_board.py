"""The Grafana board, made from what it shows: rows of panels, each a question in PromQL.

``make docs`` writes it to ``files/grafana.json``; a test holds the file to this text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 8, 8
"""Of a panel; a row of the board is 24 wide."""
BOARD_UID = "ramet"
_OF_KIND = 'kind=~"$kind"'


class Panel(NamedTuple):
    """One question, and how its answer looks."""

    title: str
    expr: str
    legend: str = ""
    unit: str = "short"
    """As Grafana names it."""
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
    """The board as Grafana imports it."""
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
