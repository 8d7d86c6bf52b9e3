"""Versions of the schema that do not exist yet, for tests: what a later ramet may do to a database."""

from __future__ import annotations

from ramet.store.schema.tables import COMPATIBLE_FROM, MIGRATIONS
from ramet.store.schema.versions import SchemaPlan

LATER = (
    "ALTER TABLE ramet_live ADD COLUMN later INTEGER NOT NULL DEFAULT 7",
    "ALTER TABLE ramet_tasks ADD COLUMN later TEXT",
    "ALTER TABLE ramet_lineages ADD COLUMN later REAL NOT NULL DEFAULT 0.5",
    "CREATE TABLE ramet_later (seq INTEGER PRIMARY KEY, tracking_id TEXT NOT NULL)",
    "CREATE INDEX ramet_live_later ON ramet_live (later, seq)",
)
NOW = len(MIGRATIONS)
NEXT = SchemaPlan((*MIGRATIONS, LATER), (*COMPATIBLE_FROM, COMPATIBLE_FROM[-1]))
"""Programs of today go on beside it."""
WITHOUT_US = SchemaPlan((*MIGRATIONS, LATER), (*COMPATIBLE_FROM, NOW + 1))
"""Programs of today may not write to it."""
