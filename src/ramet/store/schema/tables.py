"""Tables, indexes and schema versions.

The hot table ``ramet_live`` holds what changes while a task lives and nothing else; the wide row in ``ramet_tasks``
is written when the task is created and once when it ends, and its ``state`` is NULL in between. That halves the
writing (docs/decisions/0003). Both dialects share this text; types are chosen so that both read them.
"""

from __future__ import annotations

from ramet.store.schema.columns import HOT, WIDE, additions, definition
from ramet.store.schema.flow import FLOW_TABLES, SCHEDULE_TABLES
from ramet.store.schema.guard import GUARD_TABLES, PATH_TABLES
from ramet.store.schema.monitor import COST_TABLES, IMPORT_TABLES, MONITOR_TABLES, TALLY_TABLES

_V1 = (
    """
    CREATE TABLE ramet_lineages (
        tracking_id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        reason TEXT,
        reason_facts TEXT,
        created_at REAL NOT NULL,
        deadline_at REAL NOT NULL,
        ended_at REAL,
        max_spawn_depth INTEGER NOT NULL,
        max_tasks INTEGER NOT NULL,
        max_fan_out INTEGER NOT NULL,
        tasks INTEGER NOT NULL DEFAULT 0 CHECK (tasks <= max_tasks),
        live INTEGER NOT NULL DEFAULT 0 CHECK (live >= 0),
        success INTEGER NOT NULL DEFAULT 0,
        filtered INTEGER NOT NULL DEFAULT 0,
        skipped INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        cancelled INTEGER NOT NULL DEFAULT 0,
        blocks INTEGER NOT NULL DEFAULT 0,
        tombstones TEXT NOT NULL DEFAULT '',
        sweep INTEGER NOT NULL DEFAULT 0,
        retries_per_minute INTEGER NOT NULL DEFAULT 600,
        retry_minute INTEGER NOT NULL DEFAULT 0,
        retries INTEGER NOT NULL DEFAULT 0,
        turns TEXT NOT NULL DEFAULT '',
        max_shape INTEGER NOT NULL DEFAULT 1000,
        max_cost INTEGER,
        blob_bytes INTEGER NOT NULL DEFAULT 0,
        spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
        reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
        under_reserved INTEGER NOT NULL DEFAULT 0,
        queue TEXT NOT NULL DEFAULT 'default',
        paused_at REAL,
        paused_by TEXT,
        paused_reason TEXT,
        paused_sums TEXT NOT NULL DEFAULT '{}',
        on_end TEXT,
        ends INTEGER NOT NULL DEFAULT 0,
        end_wanted INTEGER NOT NULL DEFAULT 0,
        soft_cost INTEGER,
        left_out TEXT NOT NULL DEFAULT '',
        allowed_shapes TEXT NOT NULL DEFAULT '',
        generation INTEGER NOT NULL DEFAULT 0,
        CHECK (max_cost IS NULL OR spent + reserved <= max_cost + under_reserved)
    )
    """,
    "CREATE INDEX ramet_lineages_by_state ON ramet_lineages (state, created_at DESC, tracking_id)",
    "CREATE INDEX ramet_lineages_open ON ramet_lineages (deadline_at, queue) WHERE state IN ('running', 'paused')",
    "CREATE INDEX ramet_lineages_ended ON ramet_lineages (ended_at) WHERE ended_at IS NOT NULL",
    "CREATE INDEX ramet_lineages_by_cost ON ramet_lineages ((spent + reserved)) WHERE spent + reserved > 0",
    # Few: only what passed its hard ceiling.
    "CREATE INDEX ramet_lineages_over ON ramet_lineages (tracking_id) WHERE spent > max_cost",
    """
    CREATE INDEX ramet_lineages_end_wanted ON ramet_lineages (tracking_id)
        WHERE end_wanted = 1 AND ended_at IS NOT NULL
    """,
    "CREATE INDEX ramet_lineages_swept ON ramet_lineages (tracking_id) WHERE sweep > 0",
    f"""
    CREATE TABLE ramet_tasks (
        {definition(WIDE)}
    )
    """,
    # No index of this table names a column that the end of a task writes: PostgreSQL then puts the new version on the
    # page of the old one, and no index learns of it (docs/decisions/0039).
    "CREATE INDEX ramet_tasks_by_lineage ON ramet_tasks (tracking_id, spawn_depth, seq)",
    "CREATE INDEX ramet_tasks_children ON ramet_tasks (parent_id, seq) WHERE parent_id IS NOT NULL",
    # Tasks that did not succeed, so that they are found among all that did.
    """
    CREATE TABLE ramet_unsuccessful (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state <> 'success'),
        spawn_depth INTEGER NOT NULL
    )
    """,
    "CREATE INDEX ramet_unsuccessful_by_lineage ON ramet_unsuccessful (tracking_id, state, seq)",
    "CREATE INDEX ramet_unsuccessful_by_depth ON ramet_unsuccessful (state, spawn_depth, seq)",
    f"""
    CREATE TABLE ramet_live (
        {definition(HOT)}
    )
    """,
    "CREATE INDEX ramet_live_by_lineage ON ramet_live (tracking_id)",
    "CREATE INDEX ramet_live_by_depth ON ramet_live (state, spawn_depth, seq)",
    """
    CREATE INDEX ramet_live_claimable ON ramet_live (queue, kind, rank, turn, seq)
        WHERE state = 'pending' AND wait IS NULL
    """,
    "CREATE INDEX ramet_live_due ON ramet_live (available_at) WHERE wait = 'due'",
    "CREATE INDEX ramet_live_to_line_up ON ramet_live (available_at, seq) WHERE wait = 'ticket'",
    """
    CREATE INDEX ramet_live_overdue ON ramet_live ((CASE WHEN bound_to IS NOT NULL THEN 2
        WHEN max_attempts IS NULL AND ending IS NULL THEN 1 ELSE 0 END), deadline_at)
        WHERE state = 'pending' AND deadline_at IS NOT NULL
    """,
    "CREATE INDEX ramet_live_set_aside ON ramet_live (tracking_id) WHERE wait = 'lineage'",
    "CREATE INDEX ramet_live_by_resource ON ramet_live (resource, rank, turn, seq) "
    "WHERE wait = 'resource' AND state = 'pending'",
    "CREATE INDEX ramet_live_holding ON ramet_live (resource) WHERE wait = 'resource' AND holds_path = 1",
    "CREATE INDEX ramet_live_bound ON ramet_live (bound_to) WHERE bound_to IS NOT NULL",
    # Promise I4 by constraint: one task per (tracking_id, kind, key) until the lineage is pruned. Key first, so that
    # the same index answers "who in this lineage has this key, whatever the kind" and "is this key live anywhere".
    """
    CREATE TABLE ramet_identities (
        key TEXT NOT NULL,
        tracking_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (key, tracking_id, kind)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_checkpoints (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        pipeline_state TEXT,
        progress TEXT,
        updated_at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE ramet_attempts (
        seq INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        worker TEXT,
        claimed_at REAL NOT NULL,
        ended_at REAL NOT NULL,
        outcome TEXT NOT NULL,
        reason TEXT,
        reason_facts TEXT,
        error TEXT,
        error_class TEXT,
        fingerprint TEXT,
        traceback TEXT,
        PRIMARY KEY (seq, fence)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_transitions (
        seq INTEGER NOT NULL,
        number INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        name TEXT NOT NULL,
        from_state TEXT NOT NULL,
        to_state TEXT NOT NULL,
        at REAL NOT NULL,
        by TEXT,
        reason TEXT,
        reason_facts TEXT,
        fingerprint TEXT,
        PRIMARY KEY (seq, number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_blocks (
        tracking_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        reason TEXT NOT NULL,
        facts TEXT NOT NULL,
        count INTEGER NOT NULL,
        first_parent TEXT NOT NULL,
        last_parent TEXT NOT NULL,
        winner TEXT,
        wanted TEXT,
        first_at REAL NOT NULL,
        last_at REAL NOT NULL,
        watched_parent TEXT,
        demands INTEGER NOT NULL DEFAULT 0,
        demands_seen INTEGER NOT NULL DEFAULT 0,
        reoffered_at REAL,
        reoffered_by TEXT,
        left_out INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (tracking_id, kind, key, reason)
    ) WITHOUT ROWID
    """,
    # Blocks by task: on a column that is written once, so that counting another refusal touches no index.
    "CREATE INDEX ramet_blocks_by_parent ON ramet_blocks (first_parent)",
    """
    CREATE TABLE ramet_block_counts (
        tracking_id TEXT NOT NULL,
        parent_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        reason TEXT NOT NULL,
        count INTEGER NOT NULL,
        left_out INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (tracking_id, parent_id, kind, reason)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_blobs (
        tracking_id TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        size INTEGER NOT NULL,
        content BLOB NOT NULL,
        created_at REAL NOT NULL,
        PRIMARY KEY (tracking_id, sha256)
    )
    """,
    """
    CREATE TABLE ramet_settings (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        value_type TEXT NOT NULL CHECK (value_type IN ('int', 'float', 'string', 'json')),
        description TEXT NOT NULL,
        updated_at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE ramet_turns (
        queue TEXT NOT NULL,
        kind TEXT NOT NULL,
        rank INTEGER NOT NULL,
        resource TEXT NOT NULL DEFAULT '',
        turn INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        moved_at REAL NOT NULL,
        PRIMARY KEY (queue, kind, rank, resource)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_turns_idle ON ramet_turns (moved_at)",
    # Definitions of apps' own tables, so that copies carry those too (store/rows/own_tables.py).
    """
    CREATE TABLE ramet_own_tables (
        name TEXT PRIMARY KEY,
        position INTEGER NOT NULL,
        statement TEXT NOT NULL,
        untyped INTEGER NOT NULL DEFAULT 0,
        next_number INTEGER
    )
    """,
    "CREATE TABLE ramet_counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "INSERT INTO ramet_counters (name, value) VALUES ('task', 1), ('epoch', 0), ('ends', 0), ('schema', 0)",
    "CREATE VIEW ramet_next_number AS SELECT value AS number FROM ramet_counters WHERE name = 'task'",
    *FLOW_TABLES,
    *GUARD_TABLES,
    *SCHEDULE_TABLES,
    *COST_TABLES,
    *MONITOR_TABLES,
    *IMPORT_TABLES,
    *PATH_TABLES,
    *TALLY_TABLES,
)

_V2 = (
    # Each index of the hot table costs every claim an entry on PostgreSQL: one by state and lineage does what two did
    # (docs/decisions/0057). It has the name of the index that programs of version 1 name in their hints: they go on.
    "DROP INDEX ramet_live_by_depth",
    "CREATE INDEX ramet_live_by_depth ON ramet_live (state, tracking_id)",
    "DROP INDEX ramet_live_by_lineage",
)

_V3 = (
    # Joins (DESIGN §4, "Waiting for other tasks"): a row for each task that waits or has waited, and one for each task
    # of each of its rounds.
    """
    CREATE TABLE ramet_waits (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        round INTEGER NOT NULL,
        first INTEGER NOT NULL,
        remaining INTEGER NOT NULL CHECK (remaining >= 0),
        waiting INTEGER NOT NULL,
        branch INTEGER NOT NULL,
        skips INTEGER NOT NULL,
        failed INTEGER,
        idle_rounds INTEGER NOT NULL,
        seconds_left REAL,
        since REAL NOT NULL,
        after INTEGER NOT NULL
    )
    """,
    # Those that may go on, or are to be skipped.
    "CREATE INDEX ramet_waits_over ON ramet_waits (seq) WHERE waiting = 1 AND (remaining = 0 OR failed IS NOT NULL)",
    # Those that were skipped for a task, to come back with it.
    "CREATE INDEX ramet_waits_failed ON ramet_waits (failed) WHERE failed IS NOT NULL",
    "CREATE INDEX ramet_waits_open ON ramet_waits (tracking_id, seq) WHERE waiting = 1",
    """
    CREATE TABLE ramet_awaited (
        seq INTEGER NOT NULL,
        round INTEGER NOT NULL,
        place INTEGER NOT NULL,
        behind INTEGER NOT NULL DEFAULT 0,
        tracking_id TEXT NOT NULL,
        awaited INTEGER,
        kind TEXT,
        key TEXT,
        reason TEXT,
        facts TEXT,
        PRIMARY KEY (seq, round, place, behind)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_awaited_by ON ramet_awaited (awaited) WHERE behind = 0",
    """
    CREATE TABLE ramet_wakes (
        seq INTEGER NOT NULL,
        what TEXT NOT NULL,
        tracking_id TEXT NOT NULL,
        by TEXT,
        reason TEXT,
        done INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (seq, what)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_branches (
        id TEXT PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        parent TEXT,
        max_tasks INTEGER,
        max_cost INTEGER,
        keep_cost INTEGER NOT NULL,
        max_spawn_depth INTEGER,
        deadline_at REAL,
        tasks INTEGER NOT NULL,
        live INTEGER NOT NULL CHECK (live >= 0),
        spent INTEGER NOT NULL,
        reserved INTEGER NOT NULL,
        CHECK (max_tasks IS NULL OR tasks <= max_tasks)
    )
    """,
    "CREATE INDEX ramet_branches_of ON ramet_branches (tracking_id)",
    """
    CREATE TABLE ramet_branch_tasks (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        branch TEXT NOT NULL,
        first INTEGER NOT NULL
    )
    """,
    "ALTER TABLE ramet_lineages ADD COLUMN waits INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ramet_lineages ADD COLUMN edges INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ramet_lineages ADD COLUMN branches INTEGER NOT NULL DEFAULT 0",
    # Tags of tasks: those of roots are their lineage's.
    """
    CREATE TABLE ramet_tags (
        tag TEXT NOT NULL,
        seq INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        root INTEGER NOT NULL,
        PRIMARY KEY (tag, seq)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_tags_by_task ON ramet_tags (seq)",
    "CREATE INDEX ramet_tags_of_lineages ON ramet_tags (tag, tracking_id) WHERE root = 1",
    # Of tasks with a back-off of their own, or a payload of a later version (docs/decisions/0062).
    *additions("ramet_tasks", WIDE, 3),
    # Log lines of attempts, of kinds that ask for it.
    """
    CREATE TABLE ramet_task_logs (
        seq INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        log TEXT NOT NULL,
        PRIMARY KEY (seq, fence)
    ) WITHOUT ROWID
    """,
    # A queue that is blocked refuses submits; on_drained is the lineage to start once nothing lives in it, as JSON.
    "ALTER TABLE ramet_queues ADD COLUMN blocked_at REAL",
    "ALTER TABLE ramet_queues ADD COLUMN blocked_by TEXT",
    "ALTER TABLE ramet_queues ADD COLUMN blocked_reason TEXT",
    "ALTER TABLE ramet_queues ADD COLUMN on_drained TEXT",
    "ALTER TABLE ramet_queues ADD COLUMN drained_at REAL",
    "CREATE INDEX ramet_queues_draining ON ramet_queues (name) WHERE on_drained IS NOT NULL",
    # Paths at and below which nothing is claimed, by the number of the path; what a claim met there is set aside.
    """
    CREATE TABLE ramet_paused_paths (
        node INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        queue TEXT NOT NULL,
        tracking_id TEXT,
        paused_at REAL NOT NULL,
        paused_by TEXT NOT NULL,
        paused_reason TEXT
    )
    """,
    "CREATE INDEX ramet_paused_paths_by_lineage ON ramet_paused_paths (tracking_id) WHERE tracking_id IS NOT NULL",
    "CREATE INDEX ramet_live_paused ON ramet_live (seq) WHERE wait = 'paused'",
    # Handlers that wait inside, with their slot, for another task: each of these may be the last slot that it needs.
    """
    CREATE TABLE ramet_handler_waits (
        seq INTEGER NOT NULL,
        awaited INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        since REAL NOT NULL,
        PRIMARY KEY (seq, awaited)
    ) WITHOUT ROWID
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_V1, _V2, _V3)
"""Statements that lead from version n to n + 1, at index n. Forward only, by one process under a lock."""

COMPATIBLE_FROM: tuple[int, ...] = (1, 1, 3)
"""The oldest version whose programs may go on writing to version n + 1, at index n: steps add what older ones need not
know, and whatever cannot be done so raises this (docs/decisions/0037)."""

SCHEMA_VERSION = len(MIGRATIONS)
