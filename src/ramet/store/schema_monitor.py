"""Tables of the monitor; part of version 1 of the schema."""

from __future__ import annotations

MONITOR_TABLES = (
    # Ordinary links are in neither: their demands stay at 0.
    "CREATE INDEX ramet_blocks_demanded ON ramet_blocks (tracking_id, key) WHERE demands > 0",
    "CREATE INDEX ramet_blocks_unseen ON ramet_blocks (tracking_id, key) WHERE demands > demands_seen",
    "CREATE INDEX ramet_transitions_revives ON ramet_transitions (at, seq) WHERE name = 'revive'",
    "CREATE INDEX ramet_attempts_storms ON ramet_attempts (ended_at) WHERE reason = 'retry_storm'",
    """
    CREATE INDEX ramet_attempts_timeouts ON ramet_attempts (ended_at)
        WHERE substr(reason, 1, 13) = 'task_deadline'
    """,
    "CREATE INDEX ramet_transitions_timeouts ON ramet_transitions (at) WHERE name = 'task_deadline'",
    # A lineage's id, or the empty string for an alert about none.
    """
    CREATE TABLE ramet_alerts (
        id INTEGER PRIMARY KEY,
        pattern TEXT NOT NULL,
        tracking_id TEXT NOT NULL,
        subject TEXT NOT NULL,
        evidence TEXT NOT NULL,
        severity TEXT NOT NULL,
        first_at REAL NOT NULL,
        last_at REAL NOT NULL,
        resolved_at REAL,
        state TEXT NOT NULL CHECK (state IN ('firing', 'resolved')),
        count INTEGER NOT NULL
    )
    """,
    # Two workers that find the same thing at once cannot both tell it.
    "CREATE UNIQUE INDEX ramet_alerts_firing ON ramet_alerts (tracking_id, pattern) WHERE state = 'firing'",
    "CREATE INDEX ramet_alerts_by_lineage ON ramet_alerts (tracking_id, id)",
    "CREATE INDEX ramet_alerts_by_state ON ramet_alerts (state, last_at)",
    "CREATE TABLE ramet_alert_thresholds (kind TEXT PRIMARY KEY, demands INTEGER)",
    "CREATE TABLE ramet_monitor (name TEXT PRIMARY KEY, at REAL NOT NULL, number INTEGER NOT NULL)",
    "INSERT INTO ramet_counters (name, value) VALUES ('alert', 0)",
)
