"""PostgreSQL: the tables that grow for ever lie in parts by task number, and whole parts are dropped.

Numbers come from a sequence, so a range of numbers is a stretch of time, and everything of a task lies in the parts of
one range (docs/decisions/0035). The newest range is made before it is needed; what writes to it never waits for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from ramet.store.session import Session

TASKS_PER_PART = 1_000_000
"""Tasks per part of a database that is made now; an existing one keeps its own number."""
PARTED = ("ramet_tasks", "ramet_attempts", "ramet_transitions")
"""Tables in parts, each with a ``seq``, in the order in which their parts are made and dropped."""
_SETTINGS = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0"
_FILL = {"ramet_tasks": "fillfactor = 45, "}

_MAKE = "\n".join(
    f"""
        IF to_regclass('{table}_p' || part) IS NULL THEN
            EXECUTE format('CREATE TABLE %I (LIKE {table} INCLUDING DEFAULTS) WITH ({_FILL.get(table, "")}{_SETTINGS})',
                '{table}_p' || part);
            EXECUTE format('ALTER TABLE {table} ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                '{table}_p' || part, part * tasks, (part + 1) * tasks);
            FOR given IN SELECT pg_get_userbyid(a.grantee) AS name, a.grantee, a.privilege_type
                FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = '{table}'::regclass
            LOOP
                EXECUTE format('GRANT %s ON %I TO %s', given.privilege_type, '{table}_p' || part,
                    CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(given.name) END);
            END LOOP;
        END IF;"""
    for table in PARTED
)
_DROP = "\n".join(f"        EXECUTE format('DROP TABLE IF EXISTS %I', '{table}_p' || part);" for table in PARTED)

STATEMENTS = (
    # emptied_to: below this number nothing is left of the part's tasks but what goes with the part.
    """
    CREATE TABLE ramet_parts (
        number BIGINT PRIMARY KEY,
        size BIGINT NOT NULL,
        emptied_to BIGINT NOT NULL DEFAULT 0
    )
    """,
    # Run with the rights of who made the tables: workers need none to make or drop any.
    f"""
    CREATE FUNCTION ramet_make_room(last BIGINT) RETURNS BIGINT LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
    DECLARE
        tasks BIGINT;
        newest BIGINT;
        part BIGINT;
        given RECORD;
    BEGIN
        IF NOT has_table_privilege(session_user, 'ramet_tasks', 'INSERT') THEN
            RAISE insufficient_privilege USING MESSAGE = 'permission denied for table ramet_tasks';
        END IF;
        PERFORM pg_advisory_xact_lock(1919774573, 2);
        SELECT p.number, p.size INTO newest, tasks FROM ramet_parts p ORDER BY p.number DESC LIMIT 1;
        FOR part IN newest + 1 .. last / tasks LOOP
{_MAKE}
            EXECUTE format('CREATE UNIQUE INDEX IF NOT EXISTS %I ON %I (id)',
                'ramet_tasks_p' || part || '_id', 'ramet_tasks_p' || part);
            INSERT INTO ramet_parts (number, size) VALUES (part, tasks);
        END LOOP;
        RETURN (SELECT (MAX(p.number) + 1) * tasks FROM ramet_parts p);
    END
    $$
    """,
    f"""
    CREATE FUNCTION ramet_drop_part(part BIGINT) RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
    BEGIN
        IF NOT has_table_privilege(session_user, 'ramet_tasks', 'DELETE') THEN
            RAISE insufficient_privilege USING MESSAGE = 'permission denied for table ramet_tasks';
        END IF;
        PERFORM pg_advisory_xact_lock(1919774573, 2);
        IF part >= (SELECT MAX(p.number) FROM ramet_parts p) THEN
            RAISE EXCEPTION 'the newest part of the history is in use';
        END IF;
{_DROP}
        DELETE FROM ramet_parts p WHERE p.number = part;
    END
    $$
    """,
)


def first_parts(size: int) -> Sequence[str]:
    """Statements that make the first part of a new database."""
    return (f"INSERT INTO ramet_parts (number, size) VALUES (-1, {size})", "SELECT ramet_make_room(0)",
            "DELETE FROM ramet_parts WHERE number = -1")  # fmt: skip


class Partitions:
    """Knowledge of a process about the parts. They only grow; a part that it does not know yet is asked for again."""

    def __init__(self, session: Session) -> None:
        [(self.size, self.until)] = session.rows("SELECT MAX(size), (MAX(number) + 1) * MAX(size) FROM ramet_parts")
        self.last = 0
        """The highest task number seen here."""
        self.block = 0
        """Numbers that may be taken at once; more while others take theirs between two tries."""

    def taken(self, first: int, count: int) -> bool:
        """Numbers were taken; False where there is no room for them."""
        self.last = max(self.last, first + count - 1)
        there_is = bool(self.last < self.until)
        self.block = max(count, self.block // 2 if there_is else self.block * 2)
        return there_is

    @property
    def short(self) -> bool:
        """Less than half a part is left: time to make one, before anybody needs it."""
        return bool(self.last + self.size // 2 >= self.until)

    def make(self, connection: psycopg.Connection[Any]) -> None:
        """Make room for half a part more, and for those who take their numbers again. It waits for no writer."""
        wanted = self.last + self.size // 2 + 2 * self.block
        [(self.until,)] = connection.execute("SELECT ramet_make_room(%s)", (wanted,)).fetchall()

    def parts_of(self, table: str, rows: Sequence[Sequence[Any]], at: int) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the rows by the part that they are about; ``at`` is the place of the task number in each.

        A statement that names the part costs what it would in a table without parts.
        """
        size = self.size
        numbers = [row[at] // size for row in rows]
        if numbers.count(numbers[0]) == len(numbers):
            yield f"{table}_p{numbers[0]}", rows
            return
        for number in sorted(set(numbers)):
            yield f"{table}_p{number}", [row for row, its in zip(rows, numbers, strict=True) if its == number]
