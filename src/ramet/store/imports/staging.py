"""Rows of an import: read from another program's SQLite file, staged in a temporary one until all were read."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from ramet.model.importing import DEPTH_MAX, ImportedRow, advance_of
from ramet.model.task.task import LIVE, TaskState
from ramet.store.answers import ImportPlace
from ramet.store.errors import StoreError

BUSY_SECONDS = 10.0


def sqlite_table_names(path: Path) -> list[str]:
    """Return the names of the tables and views of a file.

    Raises:
        StoreError: the file is not a database, or is locked by a writer.
    """
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_SECONDS)
    try:
        return _names(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read as a SQLite database ({error}): give another file") from error
    finally:
        connection.close()


def sqlite_rows(path: Path, table: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (where, row) for every row of a table, from one consistent view of the file.

    Raises:
        StoreError: the file is not a database, has no such table, or is locked by a writer.
    """
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_SECONDS)
    try:
        connection.execute("BEGIN")
        name = _table(connection, path, table)
        cursor = connection.execute(f'SELECT * FROM "{name}"')
        columns = [column[0] for column in cursor.description]
        for number, values in enumerate(cursor, start=1):
            yield f"row {number} of table {name}", dict(zip(columns, values, strict=True))
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreError(f"{path} is being written to: stop the writer or import a copy") from error
        raise StoreError(f"{path} cannot be read as a SQLite database ({error}): give another file") from error
    finally:
        connection.close()


def _names(connection: sqlite3.Connection) -> list[str]:
    return [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY name"
        )
    ]


def _table(connection: sqlite3.Connection, path: Path, wanted: str | None) -> str:
    names = _names(connection)
    shown = ", ".join(names[:20]) or "none"
    if wanted is None and len(names) == 1:
        wanted = names[0]
    if wanted is None:
        raise StoreError(f"{path} has several tables: name one with --table (it has: {shown})")
    if wanted not in names or '"' in wanted:
        raise StoreError(f"{path} has no table {wanted!r}: it has {shown}")
    return str(wanted)


CYCLE, DEPTH, DUPLICATE = "import_cycle", "import_depth", "import_duplicate"
CHUNK = 1_000

_TABLES = """
CREATE TABLE staged (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, place TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    loose INTEGER NOT NULL, parent TEXT, tracking TEXT, depth_max INTEGER, advance INTEGER NOT NULL,
    tries INTEGER NOT NULL, row TEXT NOT NULL,
    known INTEGER NOT NULL DEFAULT 0, lineage TEXT, depth INTEGER, chain TEXT, bound INTEGER, verdict TEXT, detail TEXT,
    hue INTEGER NOT NULL DEFAULT 0, lines_up INTEGER NOT NULL, unique_kind TEXT, takes_key INTEGER NOT NULL DEFAULT 1,
    floor INTEGER NOT NULL, step TEXT
);
CREATE TABLE outside (id TEXT PRIMARY KEY, lineage TEXT, depth INTEGER, chain TEXT, kind TEXT, key TEXT, bound INTEGER);
CREATE TABLE kind_bounds (kind TEXT PRIMARY KEY, bound INTEGER);
CREATE TABLE bounds (lineage TEXT PRIMARY KEY, bound INTEGER);
"""
_INSERT = (
    "INSERT INTO staged (id, place, kind, key, loose, parent, tracking, depth_max, advance, tries, row, "
    "lines_up, unique_kind, floor, step) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# From every placed row that has not been walked yet down to all that it leads to. A row that names another lineage
# than its parent's is not reached: it stays where it says it is.
_WALK = f"""
WITH RECURSIVE walk (n, id, lineage, depth, chain, bound) AS (
    SELECT n, id, lineage, depth, chain, bound FROM staged WHERE hue = 1
    UNION ALL
    SELECT c.n, c.id, w.lineage, w.depth + 1,
        CASE WHEN w.depth < {DEPTH_MAX} THEN w.chain || CASE w.chain WHEN '' THEN '' ELSE ', ' END || json_quote(w.id)
        ELSE '' END, w.bound
    FROM walk w JOIN staged c ON c.parent = w.id
    WHERE c.lineage IS NULL AND (c.tracking IS NULL OR c.tracking = w.lineage)
)
UPDATE staged SET lineage = w.lineage, depth = w.depth, chain = w.chain, bound = w.bound, hue = 2
FROM walk w WHERE w.n = staged.n
"""


def _root(lineage: str) -> str:
    """Return SQL that makes rows roots of a lineage. One that is in the database already has its bound from there."""
    return (
        f"UPDATE staged SET lineage = {lineage}, depth = floor, chain = '', hue = 1, parent = NULL, "
        f"bound = COALESCE((SELECT bound FROM bounds b WHERE b.lineage = {lineage}), depth_max, "
        "(SELECT bound FROM kind_bounds k WHERE k.kind = staged.kind))"
    )


_ROOT = _root("COALESCE(tracking, new_lineage(id))")
_ROOT_OF_CIRCLE = f"{_root('COALESCE(tracking, ?1)')}, verdict = ?2, detail = ?3 WHERE n = ?4"


class UnplacedRow(NamedTuple):
    """A row of the file before it has a place."""

    where: str
    """Line or row of the file."""
    incoming: ImportedRow
    loose: bool
    """Whether its kind looks for cycles among its own kind only."""
    unique_kind: str | None
    """Kind for which its key is held over all lineages; None: its key counts in its own lineage only."""


class PlacedRow(NamedTuple):
    """A row with its place."""

    n: int
    where: str
    """Line or row of the file."""
    incoming: ImportedRow
    tracking_id: str
    parent_id: str | None
    ancestry_chain: tuple[str, ...]
    spawn_depth: int
    max_spawn_depth: int
    verdict: str | None
    """Reason why the row is kept as history only."""
    detail: str | None
    takes_key: bool
    """Whether an ended row may hold its unique key: no row of the file that is to run has it."""


class Staging:
    """The waiting room; use it in ``with``."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ramet-import-")
        self._db = sqlite3.connect(Path(self._folder.name) / "staged.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA temp_store = FILE")
        self._db.executescript(_TABLES)
        self._db.create_function("new_lineage", 1, _new_lineage, deterministic=True)
        self._db.execute("BEGIN")
        self.orphans = 0
        """Rows whose parent is nowhere; known once they are placed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
        self._folder.cleanup()

    # --- filling

    def add(self, rows: Sequence[UnplacedRow]) -> list[tuple[str, str, str]]:
        """Keep rows.

        Returns:
            Of rows whose id an earlier row has: (where it is, the id, where the other is). They are not kept.
        """
        twice = []
        for where, row, loose, unique_kind in rows:
            values = (
                row.id, where, row.kind, row.key, int(loose), row.parent_id, row.tracking_id, row.max_spawn_depth,
                advance_of(row.state), row.retry_count, json.dumps(row), int(bool(row.path) and row.state in LIVE),
                unique_kind, row.spawn_depth, row.step,
            )  # fmt: skip
            try:
                self._db.execute(_INSERT, values)
            except sqlite3.IntegrityError:
                [(other,)] = self._db.execute("SELECT place FROM staged WHERE id = ?", (row.id,))
                twice.append((where, row.id, str(other)))
        return twice

    def _chunks(self, sql: str) -> Iterator[list[str]]:
        cursor = self._db.execute(sql)
        while rows := cursor.fetchmany(CHUNK):
            yield [row[0] for row in rows]

    def ids(self) -> Iterator[list[str]]:
        """Ids of all rows, a thousand at a time."""
        return self._chunks("SELECT id FROM staged ORDER BY n")

    def missing_parents(self) -> Iterator[list[str]]:
        """Ids of parents that are no row of the file."""
        return self._chunks(
            "SELECT DISTINCT parent FROM staged s WHERE parent IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM staged p WHERE p.id = s.parent)"
        )

    def missing_ancestors(self) -> Iterator[list[str]]:
        """Ids of ancestors of tasks outside that are not known yet."""
        return self._chunks(
            "SELECT DISTINCT a.value FROM outside o, json_each(o.chain) a WHERE NOT EXISTS "
            "(SELECT 1 FROM outside k WHERE k.id = a.value)"
        )

    def named_lineages(self) -> Iterator[list[str]]:
        """Lineages that rows name."""
        return self._chunks("SELECT DISTINCT tracking FROM staged WHERE tracking IS NOT NULL")

    def found(self, places: Sequence[ImportPlace], bounds: dict[str, int] | None = None) -> None:
        """Tell what the database has."""
        self._db.executemany(
            "INSERT OR IGNORE INTO outside (id, lineage, depth, chain, kind, key, bound) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (p.id, p.tracking_id, p.spawn_depth, p.ancestry_chain, p.kind, p.key, min(p.max_spawn_depth, DEPTH_MAX))
                for p in places
            ],
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO bounds (lineage, bound) VALUES (?, ?)",
            [(name, min(bound, DEPTH_MAX)) for name, bound in (bounds or {}).items()],
        )

    # --- placing

    def place(self, max_spawn_depths: Mapping[str, int]) -> None:
        """Give every row its lineage, depth and ancestry, and find the rows that are history only.

        Args:
            max_spawn_depths: by kind, of lineages whose root is of it and says nothing itself.
        """
        run = self._db.execute
        self._db.executemany(
            "INSERT INTO kind_bounds (kind, bound) VALUES (?, ?)",
            [(kind, min(bound, DEPTH_MAX)) for kind, bound in max_spawn_depths.items()],
        )
        run("CREATE INDEX staged_parent ON staged (parent)")
        run("CREATE INDEX staged_hue ON staged (hue)")
        bare = "substr(o.chain, 2, length(o.chain) - 2)"
        run(
            "UPDATE staged SET known = 1, key = o.key, lineage = o.lineage, depth = o.depth, bound = o.bound, hue = 1, "
            f"chain = {bare} FROM outside o WHERE o.id = staged.id"
        )
        run(
            "UPDATE staged SET lineage = o.lineage, depth = o.depth + 1, bound = o.bound, hue = 1, "
            f"chain = {bare} || CASE WHEN {bare} = '' THEN '' ELSE ', ' END || json_quote(o.id) "
            "FROM outside o WHERE o.id = staged.parent AND staged.known = 0 "
            "AND (staged.tracking IS NULL OR staged.tracking = o.lineage)"
        )
        self.orphans = self.count(
            "known = 0 AND lineage IS NULL AND parent IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM staged p WHERE p.id = staged.parent) AND NOT EXISTS "
            "(SELECT 1 FROM outside o WHERE o.id = staged.parent)"
        )
        run(f"{_ROOT} WHERE known = 0 AND lineage IS NULL AND (parent IS NULL OR "
            "NOT EXISTS (SELECT 1 FROM staged p WHERE p.id = staged.parent))")  # fmt: skip
        self._walk_all()
        while self._break_circles():
            self._walk_all()
        # A lineage has one bound, and its roots may each name another.
        run(
            "UPDATE staged SET bound = least FROM (SELECT lineage AS name, MIN(bound) AS least FROM staged "
            "GROUP BY lineage) WHERE name = lineage AND least < bound"
        )
        run(
            "UPDATE staged SET verdict = ?, detail = 'depth ' || depth || ' is over max_spawn_depth ' || bound || "
            "COALESCE(', below task ' || parent, ''), parent = NULL, depth = bound, chain = '' "
            "WHERE known = 0 AND depth > bound",
            (DEPTH,),
        )
        self._find_duplicates()
        self._find_key_cycles()
        self._find_unique_keys()

    def _walk_all(self) -> None:
        """Walk from what was placed; a row below it that names another lineage is a root of that one, and goes on."""
        changed = 1
        while changed:
            self._db.execute(_WALK)
            self._db.execute("UPDATE staged SET hue = 2 WHERE hue = 1")
            changed = self._db.execute(
                f"{_ROOT} WHERE lineage IS NULL AND tracking IS NOT NULL AND EXISTS "
                "(SELECT 1 FROM staged p WHERE p.id = staged.parent AND p.lineage IS NOT NULL)"
            ).rowcount

    def _break_circles(self) -> bool:
        """Find the circles among rows without a place, and make roots of their members; False when there are none."""
        left = self._db.execute("SELECT n FROM staged WHERE lineage IS NULL ORDER BY n").fetchall()
        seen: dict[int, int] = {}
        broken = False
        for (start,) in left:
            trail: list[int] = []
            at: int | None = start
            while at is not None and at not in seen:
                seen[at] = start
                trail.append(at)
                at = self._parent_without_place(at)
            if at is not None and seen[at] == start:
                self._break(trail[trail.index(at) :])
                broken = True
        return broken

    def _parent_without_place(self, n: int) -> int | None:
        found = self._db.execute(
            "SELECT p.n FROM staged s JOIN staged p ON p.id = s.parent WHERE s.n = ? AND p.lineage IS NULL", (n,)
        ).fetchone()
        return None if found is None else int(found[0])

    def _break(self, circle: list[int]) -> None:
        shown = [self._db.execute("SELECT id FROM staged WHERE n = ?", (n,)).fetchone()[0] for n in circle[:5]]
        detail = "parents form a circle: " + " below ".join([*shown, "..." if len(circle) > 5 else shown[0]])
        # All of a circle are one lineage: that of its first row, or the one that the row names.
        lineage = _new_lineage(self._db.execute("SELECT id FROM staged WHERE n = ?", (min(circle),)).fetchone()[0])
        for n in circle:
            self._db.execute(_ROOT_OF_CIRCLE, (lineage, CYCLE, detail, n))

    def _find_duplicates(self) -> None:
        """Of rows with one identity the most advanced wins, then the one with more tries, then the first.

        Where they are the steps of one piece of work, that holds for the rows of each step. Of the steps the one that
        has come least far wins, what is to run before what ended: the work is done when all of its steps are.
        """
        self._db.execute("CREATE INDEX staged_identity ON staged (lineage, key, kind, step)")
        self._db.execute(
            "UPDATE staged SET verdict = ?, detail = r.winner FROM (SELECT n, FIRST_VALUE(id) OVER least "
            "AS winner, ROW_NUMBER() OVER least AS place FROM (SELECT *, ROW_NUMBER() OVER best > 1 AS beaten "
            "FROM staged WHERE verdict IS NULL WINDOW best AS (PARTITION BY lineage, key, kind, step "
            "ORDER BY known DESC, advance DESC, tries DESC, n)) WINDOW least AS (PARTITION BY lineage, key, kind "
            "ORDER BY known DESC, beaten, CASE advance WHEN ? THEN -1 ELSE advance END, tries DESC, n)) r "
            "WHERE r.n = staged.n AND r.place > 1 AND staged.known = 0",
            (DUPLICATE, advance_of(TaskState.PROCESSING)),
        )

    def _find_key_cycles(self) -> None:
        """Find rows that work on the key of one of their ancestors (promise I3)."""
        for table, condition in (("staged", "a.verdict IS NULL"), ("outside", "1")):
            self._db.execute(
                "UPDATE staged SET verdict = ?, detail = 'ancestor ' || f.ancestor || ' works on this key' FROM ("
                f"SELECT s.n AS n, MIN(a.id) AS ancestor FROM staged s, json_each('[' || s.chain || ']') c "
                f"JOIN {table} a ON a.id = c.value WHERE s.chain <> '' AND s.verdict IS NULL AND s.known = 0 "
                f"AND a.key = s.key AND (a.kind = s.kind OR NOT s.loose) AND {condition} GROUP BY s.n) f "
                "WHERE f.n = staged.n",
                (CYCLE,),
            )

    def _find_unique_keys(self) -> None:
        """Of a key that is held over all lineages one row to run has it, before all that ended."""
        run, live = self._db.execute, f"known = 0 AND verdict IS NULL AND advance <= {advance_of(TaskState.PROCESSING)}"
        run("CREATE INDEX staged_unique ON staged (unique_kind, key) WHERE unique_kind IS NOT NULL")
        run(
            "UPDATE staged SET verdict = ?, detail = r.winner FROM (SELECT n, FIRST_VALUE(id) OVER best "
            f"AS winner, ROW_NUMBER() OVER best AS place FROM staged WHERE unique_kind IS NOT NULL AND {live} "
            "WINDOW best AS (PARTITION BY unique_kind, key ORDER BY advance DESC, tries DESC, n)) r "
            "WHERE r.n = staged.n AND r.place > 1",
            (DUPLICATE,),
        )
        run(
            "UPDATE staged SET takes_key = 0 FROM (SELECT unique_kind AS of_kind, key AS held FROM staged "
            f"WHERE unique_kind IS NOT NULL AND {live}) w WHERE unique_kind = of_kind AND key = held"
        )

    # --- reading

    def count(self, condition: str = "1", parameters: Sequence[Any] = ()) -> int:
        """Return the number of rows that match an SQL condition."""
        return int(self._db.execute(f"SELECT COUNT(*) FROM staged WHERE {condition}", parameters).fetchone()[0])

    def count_state(self, state: str, *, kept: bool = False) -> int:
        """Return the number of rows to create that had a state there; with ``kept`` without those that are history."""
        only = " AND verdict IS NULL" if kept else ""
        return self.count(f"known = 0 AND advance = ?{only}", (advance_of(state),))

    def count_lineages(self) -> int:
        """Return the number of lineages of the rows."""
        return int(self._db.execute("SELECT COUNT(DISTINCT lineage) FROM staged").fetchone()[0])

    def placed(self) -> Iterator[list[PlacedRow]]:
        """Rows to create, parents before children; lineages follow one another, each list is of one lineage."""
        cursor = self._db.execute(
            "SELECT n, place, row, lineage, parent, chain, depth, bound, verdict, detail, takes_key FROM staged "
            "WHERE known = 0 ORDER BY lineage, depth, n"
        )
        part: list[PlacedRow] = []
        for n, where, row, lineage, parent, chain, depth, bound, verdict, detail, takes_key in cursor:
            if part and (part[-1].tracking_id != lineage or len(part) == CHUNK):
                yield part
                part = []
            ancestors = tuple(json.loads(f"[{chain}]")) if chain else ()
            incoming = ImportedRow(*json.loads(row))
            part.append(
                PlacedRow(
                    n, where, incoming, lineage, parent, ancestors, depth, bound, verdict, detail,
                    takes_key == 1,
                )
            )  # fmt: skip
        if part:
            yield part

    def lining_up(self) -> Iterator[list[tuple[int, str]]]:
        """Return number and id of rows that wait in line, in the order of the file; whether or not they are to be
        created.
        """
        cursor = self._db.execute("SELECT n, id FROM staged WHERE lines_up = 1 AND verdict IS NULL ORDER BY n")
        while rows := cursor.fetchmany(CHUNK):
            yield rows

    def large_lineages(self) -> frozenset[str]:
        """Lineages with more rows to create than one list of :meth:`placed` has."""
        rows = self._db.execute(
            "SELECT lineage FROM staged WHERE known = 0 GROUP BY lineage HAVING COUNT(*) > ?", (CHUNK,)
        )
        return frozenset(row[0] for row in rows)

    def root_kinds(self, lineage: str) -> list[str]:
        """Kinds of a lineage's roots."""
        rows = self._db.execute(
            "SELECT DISTINCT kind FROM staged WHERE lineage = ? AND parent IS NULL AND COALESCE(verdict, ?) = ?",
            (lineage, DUPLICATE, DUPLICATE),
        )
        return [row[0] for row in rows]

    def raised(self) -> list[tuple[str, int, int]]:
        """Roots that the database has at a smaller depth than the file gives: (id, depth there, depth in the file)."""
        return self._db.execute(
            "SELECT id, depth, MIN(floor, bound) FROM staged WHERE known = 1 AND chain = '' "
            "AND depth < MIN(floor, bound) ORDER BY n"
        ).fetchall()

    def known_lineages(self) -> Iterator[list[str]]:
        """Lineages of rows that the database has."""
        return self._chunks("SELECT DISTINCT lineage FROM staged WHERE known = 1")

    def where(self, task_id: str) -> str:
        """Line or row of the file that a task came from."""
        [(place,)] = self._db.execute("SELECT place FROM staged WHERE id = ?", (task_id,))
        return str(place)


def _new_lineage(task_id: str) -> str:
    """Return the lineage that a root without one begins: the same in every run, so that no run splits it."""
    return str(uuid5(NAMESPACE_URL, f"ramet:import:{task_id}"))
