"""Tables of flow control and schedules; part of version 1 of the schema."""

from __future__ import annotations

from ramet.model.schedule import Schedule, ScheduleSlot

FLOW_TABLES = (
    # declared is what an app said, whatever holds; the other column of a policy what a person said of it, by name of
    # the field. paused_seconds counts a pause that goes on as the whole 30 days (DESIGN §8); its end takes the rest
    # back.
    """
    CREATE TABLE ramet_queues (
        name TEXT PRIMARY KEY,
        concurrency INTEGER,
        explicit INTEGER NOT NULL DEFAULT 0,
        declared INTEGER,
        paused_at REAL,
        paused_by TEXT,
        paused_reason TEXT,
        paused_seconds REAL NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX ramet_queues_paused ON ramet_queues (name) WHERE paused_seconds > 0",
    """
    CREATE TABLE ramet_kinds (
        name TEXT PRIMARY KEY,
        concurrency INTEGER,
        explicit INTEGER NOT NULL DEFAULT 0,
        declared INTEGER,
        limits TEXT
    )
    """,
    """
    CREATE TABLE ramet_policies (
        pattern TEXT PRIMARY KEY,
        concurrency INTEGER,
        rate_per_second REAL,
        burst REAL NOT NULL,
        breaker_failures INTEGER NOT NULL,
        cooldown_seconds REAL,
        explicit INTEGER NOT NULL DEFAULT 0,
        declared TEXT,
        told TEXT NOT NULL DEFAULT '{}'
    )
    """,
    # ready_at is when a claim looks at a resource next; NULL when nothing waits for it, so that such rows cost nothing.
    """
    CREATE TABLE ramet_resources (
        name TEXT PRIMARY KEY CHECK (name <> ''),
        tokens REAL,
        refilled_at REAL NOT NULL DEFAULT 0,
        paused_until REAL NOT NULL DEFAULT 0,
        paused_reason TEXT,
        failures INTEGER NOT NULL DEFAULT 0,
        opened_at REAL,
        opened_by TEXT,
        opened_reason TEXT,
        ready_at REAL,
        told_rate REAL,
        cut_rate REAL,
        cut_at REAL NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX ramet_resources_ready ON ramet_resources (ready_at) WHERE ready_at IS NOT NULL",
    "CREATE INDEX ramet_resources_idle ON ramet_resources (refilled_at) WHERE ready_at IS NULL AND opened_at IS NULL",
    "CREATE INDEX ramet_resources_open ON ramet_resources (opened_at) WHERE opened_at IS NOT NULL",
    # Amounts that lineages took of a resource that refused one within the last minute.
    """
    CREATE TABLE ramet_shares (
        resource TEXT NOT NULL,
        tracking_id TEXT NOT NULL,
        taken REAL NOT NULL,
        wanted REAL NOT NULL,
        asked_at REAL NOT NULL,
        until REAL NOT NULL,
        PRIMARY KEY (resource, tracking_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_shares_until ON ramet_shares (until)",
    """
    CREATE TABLE ramet_holds (
        seq INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        queue TEXT NOT NULL,
        kind TEXT NOT NULL,
        resource TEXT,
        lease_until REAL NOT NULL,
        PRIMARY KEY (seq, fence)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_holds_lapse ON ramet_holds (lease_until)",
    "CREATE INDEX ramet_holds_by_lineage ON ramet_holds (tracking_id)",
    """
    CREATE TABLE ramet_workers (
        name TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        kinds TEXT NOT NULL,
        queues TEXT NOT NULL,
        concurrency INTEGER NOT NULL,
        started_at REAL NOT NULL,
        seen_at REAL NOT NULL
    )
    """,
    # How long commits took, as all workers measured them; the buckets are those of ramet.model.flow.resources.
    """
    CREATE TABLE ramet_commit_times (
        verb TEXT NOT NULL,
        bucket INTEGER NOT NULL,
        commits INTEGER NOT NULL,
        seconds REAL NOT NULL,
        PRIMARY KEY (verb, bucket)
    ) WITHOUT ROWID
    """,
)


SCHEDULE_LIST = ", ".join(Schedule._fields)
SLOT_LIST = ", ".join(ScheduleSlot._fields)

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
