"""PostgreSQL: the mark that every commit leaves, by which a commit is looked up whose answer was lost."""

from __future__ import annotations

import os

from ramet.store.schema.tables import SCHEMA_VERSION


def seen(writer: int, commits: int) -> bytes:
    """What a new connection asks first: how far did this writer come? Its lock is held by every transaction of its own
    from the first round trip on, so the answer waits for one that the server still has, and may yet be told to commit:
    bytes that were sent arrive, though nobody waits for their answer any more."""
    return (
        f"SELECT pg_advisory_xact_lock({writer}); "
        "INSERT INTO ramet_writers (id, commits, seen_at, schema) "
        f"VALUES ({writer}, {commits}, now(), {SCHEMA_VERSION}) "
        "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING commits"
    ).encode()


def mark(writer: int, commits: int) -> str:
    """What a transaction says about itself as it commits: so many has this writer committed."""
    return (
        "INSERT INTO ramet_writers (id, commits, seen_at, schema) "
        f"VALUES ({writer}, {commits}, now(), {SCHEMA_VERSION}) "
        "ON CONFLICT (id) DO UPDATE SET commits = excluded.commits, seen_at = excluded.seen_at"
    )


def new_writer() -> int:
    """Names a writer and its lock, and is drawn by no other."""
    return int.from_bytes(os.urandom(7))
