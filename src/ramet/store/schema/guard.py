"""Tables of the guard, of operators and of paths (docs/decisions/0041); part of version 1 of the schema."""

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


PATH_TABLES = (
    # One row for each live task with a path, and for one that ended while a worker may still run it.
    """
    CREATE TABLE ramet_paths (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        slot INTEGER NOT NULL,
        nodes TEXT NOT NULL,
        skips INTEGER NOT NULL,
        ticket INTEGER,
        waits_on INTEGER,
        behind INTEGER,
        was_ticket INTEGER,
        since REAL NOT NULL,
        returned_at REAL,
        ended TEXT,
        CHECK (waits_on IS NULL OR waits_on < ticket)
    )
    """,
    "CREATE INDEX ramet_paths_waiting ON ramet_paths (waits_on, ticket) WHERE waits_on IS NOT NULL",
    "CREATE INDEX ramet_paths_behind ON ramet_paths (behind, was_ticket) WHERE behind IS NOT NULL",
    # Tasks in line at each prefix of a path (exact = 0), and at the path itself (exact = 1).
    """
    CREATE TABLE ramet_path_tickets (
        node INTEGER NOT NULL,
        exact INTEGER NOT NULL CHECK (exact IN (0, 1)),
        ticket INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (node, exact, ticket)
    ) WITHOUT ROWID
    """,
    # Promise I7 by constraint: the holder of a path holds it alone, and no path below it is held.
    """
    CREATE TABLE ramet_path_holders (
        node INTEGER PRIMARY KEY,
        holders INTEGER NOT NULL CHECK (holders IN (0, 1)),
        below INTEGER NOT NULL CHECK (below >= 0),
        CHECK (holders = 0 OR below = 0)
    )
    """,
    # Work that is left to do after an end, in batches: written with the end, so that no crash loses it.
    """
    CREATE TABLE ramet_path_waves (
        seq INTEGER NOT NULL,
        what TEXT NOT NULL CHECK (what IN ('wake', 'skip', 'away', 'back', 'revive')),
        ticket INTEGER NOT NULL,
        node INTEGER NOT NULL,
        until_ticket INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        because INTEGER NOT NULL,
        by TEXT,
        reason TEXT,
        PRIMARY KEY (seq, what, ticket, node)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_path_waves_by_what ON ramet_path_waves (what, seq)",
    "CREATE INDEX ramet_path_waves_at ON ramet_path_waves (node, ticket) WHERE what IN ('skip', 'away', 'back')",
    # Tasks that were skipped, and the tasks because of which, so that they come back together, in their old order.
    """
    CREATE TABLE ramet_path_skips (
        because INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        ticket INTEGER NOT NULL,
        tracking_id TEXT NOT NULL,
        PRIMARY KEY (because, seq)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_path_skips_in_order ON ramet_path_skips (because, ticket)",
    "CREATE INDEX ramet_path_skips_by_lineage ON ramet_path_skips (tracking_id)",
)
