"""Tables of schedules; part of version 1 of the schema."""

from __future__ import annotations

from ramet.model.schedule import Schedule, Slot

SCHEDULE_LIST = ", ".join(Schedule._fields)
SLOT_LIST = ", ".join(Slot._fields)

SCHEDULE_TABLES = (
    """
    CREATE TABLE ramet_schedules (
        name TEXT PRIMARY KEY,
        cron TEXT,
        every_seconds REAL,
        timezone TEXT NOT NULL,
        kind TEXT NOT NULL,
        task TEXT NOT NULL,
        limits TEXT,
        overlap TEXT NOT NULL CHECK (overlap IN ('skip', 'allow')),
        catch_up INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('active', 'paused')),
        declared_by TEXT NOT NULL CHECK (declared_by IN ('app', 'person')),
        reason TEXT,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        planned_at REAL NOT NULL,
        next_at REAL NOT NULL,
        last_slot REAL,
        last_tracking_id TEXT,
        runs INTEGER NOT NULL DEFAULT 0,
        skipped INTEGER NOT NULL DEFAULT 0,
        missed INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX ramet_schedules_due ON ramet_schedules (next_at) WHERE state = 'active'",
    "CREATE INDEX ramet_schedules_planned ON ramet_schedules (planned_at) WHERE state = 'active'",
    # One row per slot, over all workers and whatever the clock does: the last guard of "one run per slot".
    """
    CREATE TABLE ramet_slots (
        schedule TEXT NOT NULL,
        slot_at REAL NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('run', 'skipped', 'missed', 'manual')),
        tracking_id TEXT,
        reason TEXT,
        slots INTEGER NOT NULL,
        decided_at REAL NOT NULL,
        PRIMARY KEY (schedule, slot_at)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_slots_by_age ON ramet_slots (decided_at)",
)
