"""PostgreSQL: what people are told of an error."""

from __future__ import annotations

import psycopg

from ramet.store.errors import StoreError, StoreFull, StoreNewer, StoreRefused
from ramet.store.session import Overtaken, StatementFailed


def first_line(error: BaseException | None) -> str:
    """What an error says, without what it quotes."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def store_error(error: psycopg.Error | StatementFailed | Overtaken, place: str) -> StoreError:
    """One line that says what to do, for what the server or its machine did to us."""
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreFull(f"the disk of {place} is full: free some space; nothing of this step was written")
    if isinstance(error, psycopg.errors.CheckViolation) and error.diag.constraint_name == "ramet_writers_schema":
        return StoreNewer(f"{place} was migrated for newer programs: upgrade ramet; nothing of this step was written")
    refused = isinstance(error, psycopg.Error) and (error.sqlstate or "")[:2] in _WRONG
    return (StoreRefused if refused else StoreError)(f"{place}: {first_line(error)}")


_WRONG = frozenset({"22", "23", "27", "42", "44", "P0"})
"""Classes of errors that are about what was asked for: values, constraints, triggers, rights, names."""
