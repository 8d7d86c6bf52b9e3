"""Tables of the import; part of version 1 of the schema."""

from __future__ import annotations

IMPORT_TABLES = (
    """
    CREATE TABLE ramet_imports (
        name TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
        rows INTEGER NOT NULL,
        created INTEGER NOT NULL,
        history INTEGER NOT NULL,
        started_at REAL NOT NULL,
        closed_at REAL,
        by TEXT NOT NULL
    )
    """,
)
