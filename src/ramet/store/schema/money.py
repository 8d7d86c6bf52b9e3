"""Tables of money; part of version 1 of the schema. Amounts are nano-dollars."""

from __future__ import annotations

COST_TABLES = (
    # Only tasks of staged kinds have a row: the places that the first one takes, 0 for the later ones.
    """
    CREATE TABLE ramet_stages (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        base TEXT NOT NULL,
        places INTEGER NOT NULL
    )
    """,
    # One row per reservation, and one per settlement that charged: a charge is a reservation settled at once.
    # A task that ends closes what it left open: that counts as spent until somebody settles it.
    """
    CREATE TABLE ramet_reservations (
        id TEXT PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        day INTEGER NOT NULL,
        amount INTEGER NOT NULL CHECK (amount >= 0),
        actual INTEGER CHECK (actual >= 0),
        reserved_at REAL NOT NULL,
        closed_at REAL,
        settled_at REAL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_reservations_by_lineage ON ramet_reservations (tracking_id, seq)",
    """
    CREATE INDEX ramet_reservations_open ON ramet_reservations (seq)
        WHERE settled_at IS NULL AND closed_at IS NULL
    """,
    # Few: only the end of a task closes one. Once its lineage is pruned it goes by its age.
    """
    CREATE INDEX ramet_reservations_closed ON ramet_reservations (closed_at)
        WHERE closed_at IS NOT NULL
    """,
    # Day -1 is the sum over all days.
    """
    CREATE TABLE ramet_spend (
        day INTEGER PRIMARY KEY,
        spent INTEGER NOT NULL CHECK (spent >= 0),
        reserved INTEGER NOT NULL CHECK (reserved >= 0)
    )
    """,
)
