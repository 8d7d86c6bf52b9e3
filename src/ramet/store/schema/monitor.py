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
    "CREATE INDEX ramet_attempts_lost ON ramet_attempts (ended_at) WHERE outcome = 'lost'",
    # Few: running lineages that have used half of their money or more.
    """
    CREATE INDEX ramet_lineages_spending ON ramet_lineages (tracking_id)
        WHERE state IN ('running', 'paused') AND 2 * (spent + reserved) >= COALESCE(soft_cost, max_cost)
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
        count INTEGER NOT NULL,
        notified_at REAL,
        notified_state TEXT,
        acknowledged_at REAL,
        acknowledged_by TEXT
    )
    """,
    # Two workers that find the same thing at once cannot both tell it.
    "CREATE UNIQUE INDEX ramet_alerts_firing ON ramet_alerts (tracking_id, pattern) WHERE state = 'firing'",
    "CREATE INDEX ramet_alerts_by_lineage ON ramet_alerts (tracking_id, id)",
    "CREATE INDEX ramet_alerts_by_state ON ramet_alerts (state, last_at)",
    "CREATE TABLE ramet_alert_thresholds (kind TEXT PRIMARY KEY, demands INTEGER)",
    "CREATE TABLE ramet_monitor (name TEXT PRIMARY KEY, at REAL NOT NULL, number INTEGER NOT NULL)",
    # The outbox: written with what it tells of, sent by workers. next_at is NULL once nothing is left to do.
    """
    CREATE TABLE ramet_alert_notices (
        id INTEGER PRIMARY KEY,
        alert_id INTEGER,
        tracking_id TEXT NOT NULL,
        event TEXT NOT NULL,
        channel TEXT NOT NULL,
        delivery_id TEXT NOT NULL UNIQUE,
        body TEXT NOT NULL,
        created_at REAL NOT NULL,
        attempts INTEGER NOT NULL,
        next_at REAL,
        claimed_until REAL NOT NULL,
        delivered_at REAL,
        given_up_at REAL,
        error TEXT
    )
    """,
    "CREATE INDEX ramet_alert_notices_waiting ON ramet_alert_notices (id) WHERE next_at IS NOT NULL",
    "CREATE INDEX ramet_alert_notices_by_alert ON ramet_alert_notices (alert_id, id)",
    "CREATE INDEX ramet_alert_notices_by_lineage ON ramet_alert_notices (tracking_id, id)",
    "CREATE INDEX ramet_alert_notices_by_age ON ramet_alert_notices (created_at)",
    "CREATE TABLE ramet_alert_channels (name TEXT PRIMARY KEY, target TEXT NOT NULL, seen_at REAL NOT NULL)",
    "INSERT INTO ramet_counters (name, value) VALUES ('alert', 0), ('alert_notice', 0)",
)
