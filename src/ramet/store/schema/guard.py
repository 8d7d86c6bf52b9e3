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
    # One task per (kind, key) over all lineages. A row outlives its holder's lineage.
    """
    CREATE TABLE ramet_uniques (
        key TEXT NOT NULL,
        kind TEXT NOT NULL,
        holder TEXT NOT NULL,
        seq INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        state TEXT,
        held_until REAL,
        PRIMARY KEY (key, kind)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_uniques_expiring ON ramet_uniques (held_until) WHERE held_until IS NOT NULL",
    """
    CREATE TABLE ramet_stop_list (
        entry_type TEXT NOT NULL CHECK (entry_type IN ('host', 'domain', 'pattern')),
        value TEXT NOT NULL,
        reason TEXT,
        added_by TEXT NOT NULL,
        added_at REAL NOT NULL,
        PRIMARY KEY (entry_type, value)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_shapes (
        tracking_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        shape TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (tracking_id, kind, shape)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_edges (
        tracking_id TEXT NOT NULL,
        parent_id TEXT NOT NULL,
        child_id TEXT NOT NULL,
        PRIMARY KEY (tracking_id, parent_id, child_id)
    ) WITHOUT ROWID
    """,
    "INSERT INTO ramet_counters (name, value) VALUES ('act', 0), ('stop_list', 0)",
)
