"""A lineage can live in one shard: every table says whose its rows are, or crosses lineages for a reason."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ramet.store.sqlite.store import SqliteStore

ACROSS: dict[str, str] = {
    "ramet_settings": "settings are everybody's",
    "ramet_own_tables": "definitions of apps' tables, the same on every shard",
    "ramet_turns": "how far claims have come, class by class, of all that a shard has",
    "ramet_counters": "numbers and versions of a shard",
    "ramet_queues": "pauses and limits of queues",
    "ramet_kinds": "limits of kinds",
    "ramet_policies": "limits of resources",
    "ramet_resources": "hosts and providers, which all lineages share",
    "ramet_workers": "who works here",
    "ramet_commit_times": "how long commits took, whoever made them",
    "ramet_stop_list": "what nobody may ask for",
    "ramet_schedules": "a schedule begins lineages, and each is placed then",
    "ramet_spend": "ceilings of days and of everything",
    "ramet_alert_thresholds": "of kinds",
    "ramet_alert_channels": "which ways to people workers have",
    "ramet_monitor": "how far the monitor has looked",
    "ramet_path_tickets": "who stands in line, of all lineages of a queue",
    "ramet_path_holders": "who holds which path, of all lineages of a queue",
    "ramet_path_waves": "what an end on a path still has to do, to tasks of any lineage",
    "ramet_tallies": "counts of kinds, of all lineages",
    "ramet_tally_reasons": "reasons by kind, of all lineages",
    "ramet_imports": "a run of an import makes many lineages",
}
"""Table without a tracking_id -> what it is about. On many shards these live on the first."""


def test_every_table_says_whose_its_rows_are_or_crosses_lineages_for_a_reason(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "ramet.db", inline=True).close_now()
    connection = sqlite3.connect(tmp_path / "ramet.db")
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ramet_%'").fetchall()
    without = {
        name
        for (name,) in names
        if "tracking_id" not in {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
    }
    connection.close()
    assert without == ACROSS.keys()
