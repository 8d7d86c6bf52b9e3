"""Tables of tallies; part of version 1 of the schema."""

from __future__ import annotations

from ramet.model.tallies import COLUMNS

TALLY_TABLES = (
    # What a span of time holds: 60 seconds from ``at`` on, an hour, or all time (0). A stripe is written by one
    # connection at a time; rows of stripe -1 are folded together, and in the row of all time already.
    f"""
    CREATE TABLE ramet_tallies (
        stripe INTEGER NOT NULL,
        seconds INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        {", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in COLUMNS)},
        PRIMARY KEY (stripe, seconds, at, kind)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_tally_reasons (
        stripe INTEGER NOT NULL,
        seconds INTEGER NOT NULL,
        at INTEGER NOT NULL,
        what TEXT NOT NULL,
        kind TEXT NOT NULL,
        reason TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (stripe, seconds, at, what, kind, reason)
    ) WITHOUT ROWID
    """,
)
