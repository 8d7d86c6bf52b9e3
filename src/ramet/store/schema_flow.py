"""Tables of flow control: queues, kinds, resources, slots held on, workers; part of version 1 of the schema."""

from __future__ import annotations

FLOW_TABLES = (
    # paused_seconds counts a pause that goes on as the whole 30 days (DESIGN §8); its end takes the rest back.
    """
    CREATE TABLE ramet_queues (
        name TEXT PRIMARY KEY,
        concurrency INTEGER,
        explicit INTEGER NOT NULL DEFAULT 0,
        paused_at REAL,
        paused_by TEXT,
        paused_reason TEXT,
        paused_seconds REAL NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX ramet_queues_paused ON ramet_queues (name) WHERE paused_seconds > 0",
)
