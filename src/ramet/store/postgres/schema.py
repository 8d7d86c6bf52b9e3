"""PostgreSQL: the schema, made from the one text that both databases share, and how it comes to its version."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ramet.store.postgres import partitions
from ramet.store.postgres.partitions import PARTED, STATEMENTS, first_parts
from ramet.store.schema.versions import Plan

_TYPES = (
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    # Names compare byte by byte, as on SQLite, whatever language the database was made for.
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) WITHOUT ROWID\b"), ")"),
)
_CREATED = re.compile(r"\s*CREATE TABLE (\w+)")

# Rows that are rewritten all the time find room on their own page, so that no index has to learn of it, and dead ones
# go soon: a vacuum after thousands of changes instead of a fifth of the table.
_BUSY = (
    "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, "
    "autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05, "
    "autovacuum_vacuum_cost_delay = 0"
)
_SETTINGS = {
    "ramet_live": _BUSY,
    "ramet_lineages": _BUSY,
    "ramet_turns": _BUSY,
    "ramet_counters": _BUSY,
    "ramet_resources": _BUSY,
    "ramet_holds": _BUSY,
    "ramet_spend": _BUSY,
    "ramet_writers": _BUSY,
    "ramet_checkpoints": _BUSY,
    "ramet_paths": _BUSY,
    "ramet_path_holders": _BUSY,
    "ramet_path_waves": _BUSY,
    "ramet_tallies": _BUSY.replace("70", "20"),  # A few wide rows, each written again by every commit.
    "ramet_tally_reasons": _BUSY,
}

_OWN = (
    "CREATE TABLE ramet_writers (id BIGINT PRIMARY KEY, commits BIGINT NOT NULL, seen_at TIMESTAMPTZ NOT NULL, "
    "schema BIGINT NOT NULL)",
    "CREATE SEQUENCE ramet_task_numbers",
    # A block of numbers in a row. The lock is held for the call only, so nobody waits for another's commit.
    """
    CREATE FUNCTION ramet_take_numbers(wanted BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
    DECLARE
        first BIGINT;
    BEGIN
        PERFORM pg_advisory_lock(1919774573, 1);
        first := nextval('ramet_task_numbers');
        PERFORM setval('ramet_task_numbers', first + wanted - 1);
        PERFORM pg_advisory_unlock(1919774573, 1);
        RETURN first;
    END
    $$
    """,
)
_NEXT_NUMBER = (
    "CREATE VIEW ramet_next_number AS SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END AS number "
    "FROM ramet_task_numbers"
)


def translated_steps(plan: Plan) -> Sequence[Sequence[str]]:
    """Statements that lead from version n to n + 1, at index n."""
    first = [*_OWN, *(_translated(statement) for statement in plan.steps[0])]
    first += [f"ALTER TABLE {table} SET ({settings})" for table, settings in _SETTINGS.items()]
    first += [*STATEMENTS, *first_parts(partitions.TASKS_PER_PART)]
    return [first, *([_translated(statement) for statement in step] for step in plan.steps[1:])]


def _translated(statement: str) -> str:
    if statement.startswith("CREATE VIEW ramet_next_number"):
        return _NEXT_NUMBER
    for pattern, name in _TYPES:
        statement = pattern.sub(name, statement)
    created = _CREATED.match(statement)
    if created is not None and created[1] in PARTED:
        # An id is unique in each part, by an index of the part's own (docs/decisions/0035).
        statement = f"{statement.rstrip().replace(' UNIQUE', '')} PARTITION BY RANGE (seq)"
    return statement
