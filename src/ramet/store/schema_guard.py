"""Tables of the guard and of what people do; part of version 1 of the schema."""

from __future__ import annotations

GUARD_TABLES = (
    """
    CREATE TABLE ramet_acts (
        seq INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        by TEXT NOT NULL,
        act TEXT NOT NULL,
        subject TEXT NOT NULL,
        tracking_id TEXT,
        reason TEXT,
        detail TEXT
    )
    """,
    "CREATE INDEX ramet_acts_by_lineage ON ramet_acts (tracking_id, seq) WHERE tracking_id IS NOT NULL",
    "INSERT INTO ramet_counters (name, value) VALUES ('act', 0)",
)
