"""PostgreSQL: what a user is told of an error of the server's."""

from __future__ import annotations

import psycopg

from ramet.store.errors import StoreError, StoreFull
from ramet.store.session import Overtaken, StatementFailed


def store_error(error: psycopg.Error | StatementFailed | Overtaken, place: str) -> StoreError:
    """One line that says what to do, for what the server or its machine did to us."""
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreFull(f"the disk of {place} is full: free some space; nothing of this step was written")
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return StoreError(f"{place}: {lines[0]}")
