"""Tables of paths (docs/decisions/0041); part of version 1 of the schema.

Rows are paid for when a ticket is taken and when its task ends. A claim reads none of them.
"""

from __future__ import annotations

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
    # Who stands in line at each prefix of its path (exact = 0), and at the path itself (exact = 1).
    """
    CREATE TABLE ramet_path_tickets (
        node INTEGER NOT NULL,
        exact INTEGER NOT NULL CHECK (exact IN (0, 1)),
        ticket INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (node, exact, ticket)
    ) WITHOUT ROWID
    """,
    # Promise I7 by constraint: who holds a path holds it alone, and nobody holds anything below it.
    """
    CREATE TABLE ramet_path_holders (
        node INTEGER PRIMARY KEY,
        holders INTEGER NOT NULL CHECK (holders IN (0, 1)),
        below INTEGER NOT NULL CHECK (below >= 0),
        CHECK (holders = 0 OR below = 0)
    )
    """,
    # What is left to do after an end, in batches: written with the end, so that no crash loses it.
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
    # Who was skipped because of whom, so that they come back together, in their old order.
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
